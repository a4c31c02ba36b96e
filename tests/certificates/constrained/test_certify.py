"""Every number of a constrained certificate from dense arrays, what multipliers prove, and wrong proofs refused."""

from dataclasses import replace

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, certify, constraints, solve
from psdopt.certificates.constrained.certify import Multipliers
from psdopt.constraints.limits import FEASIBLE
from tests.instances import symmetric


def test_a_multiplier_of_the_wrong_sign_proves_nothing(solved) -> None:
    problem, result = solved
    y = result.certificate.constraints.multipliers * np.array([1.0, -1.0])
    certificate = certify(problem, result.matrix, dual=y)
    assert certificate.constraints.multipliers[1] == 0.0  # σ would be infinite: it counts as zero
    assert not certificate.proves(1e-3)
    assert certificate.dual_value < result.value - 1e-3


def test_too_small_a_trace_bound_is_seen_in_the_gap(solved) -> None:
    problem, result = solved
    wrong = Constrained(problem.problem, problem.constraints[1], trace_bound=0.5)
    certificate = certify(wrong, result.matrix, dual=np.array([result.certificate.constraints.multipliers[1]]))
    assert certificate.constraints.trace_source == "given"
    assert not certificate.proves(1e-3)  # a feasible M below the "bound": the distance of both counts, not its sign


def test_the_best_multipliers_count_and_are_checked(solved) -> None:
    problem, result = solved
    best = result.certificate.constraints.multipliers
    worse = best + np.array([0.5, 0.2])
    both = certify(problem, result.matrix, dual=Multipliers(worse, best=best))
    assert both.dual_value == pytest.approx(result.certificate.dual_value, abs=1e-7)
    assert certify(problem, result.matrix, dual=worse).dual_value < both.dual_value - 1e-3


def test_an_infeasible_point_is_never_optimal(solved) -> None:
    problem, result = solved
    shorter = certify(problem, result.matrix.factor * 0.99, dual=result.certificate.constraints.multipliers)
    assert not shorter.proves(1e-3)
    off = replace(result.certificate.constraints, primal_infeasibility=1e-2)
    assert not replace(result.certificate, constraints=off).proves(1e-3)
    assert not replace(result.certificate, gap=None, gap_relative=None).proves(1.0)


def test_a_direction_of_descent_counts_from_points_that_are_feasible(solved) -> None:
    certificate = solved[1].certificate
    for infeasibility, unbounded in ((0.0, True), (FEASIBLE, True), (1.01 * FEASIBLE, False)):
        known = replace(certificate.constraints, ray=np.ones((6, 1)), primal_infeasibility=infeasibility)
        assert replace(certificate, constraints=known).unbounded == unbounded
    assert not solved[1].certificate.unbounded


def test_only_a_proven_gap_reaches_anywhere(solved) -> None:
    certificate = solved[1].certificate
    assert certificate.reach(1e-6) == np.inf
    assert replace(certificate, gap=None, gap_relative=None).reach(1.0) == 0.0
    assert not certificate.holds_within(1.0)


def test_a_positive_definite_slack_has_no_dual_infeasibility() -> None:
    """S = C + y I ⪰ 2 I at y = 1: its least eigenvalue is no infeasibility, and no face is met."""
    problem = Constrained(QuadraticSDP(C=0.5 * np.diag([1.0, 2.0, 3.0])), constraints.trace(3, 1.0))
    certificate = certify(problem, np.eye(3)[:, :1], dual=np.array([1.0]))
    assert certificate.smallest_eigenvalue == pytest.approx(2.0)
    known = certificate.constraints
    assert (certificate.dual_infeasibility, known.dimacs["dual"], known.on_face) == (0.0, 0.0, 0)


def test_at_zero_multipliers_that_are_nearly_plain_numbers_are_plain() -> None:
    """F >= 0 by y = (1, 0) exactly; rounding of y would leave a gap that no tolerance relative to F(0) allows."""
    held = [constraints.sparse_forms([np.diag([1.0, -1.0])], upper=0.0), constraints.trace(2, upper=1.0)]
    problem = Constrained(QuadraticSDP(C=0.5 * np.diag([-1.0, 1.0])), held)
    certificate = certify(problem, np.zeros((2, 1)), dual=np.array([1.0 + 1e-9, 1e-9]))
    assert certificate.dual_value == 0.0
    assert certificate.constraints.multipliers.tolist() == [1.0, 0.0]
    assert certificate.proves(1e-6)


def test_the_primal_error_of_dimacs_knows_the_bounds_of_inequalities() -> None:
    problem = Constrained(QuadraticSDP(A=np.eye(2)), constraints.entries([0], [0], 2, lower=1e4, upper=np.inf))
    certificate = certify(problem, np.array([[np.sqrt(9999.0)], [0.0]]))
    assert certificate.constraints.dimacs["primal"] == pytest.approx(1.0 / (1.0 + 1e4), rel=1e-6)


def test_the_dual_error_of_dimacs_is_that_of_the_multipliers_handed_out() -> None:
    """On a face λ_min(S) counts there only; e4 is that of the whole S."""
    one = np.ones((6, 6))
    rows = [constraints.sparse_forms([one], 0.0), constraints.diagonal(6, 1.0)]
    C = np.random.default_rng(0).standard_normal((6, 6))
    problem = Constrained(QuadraticSDP(C=C + C.T), rows)
    result = solve(problem)
    certificate = result.certificate
    assert certificate.constraints.on_face > 0
    gradient = problem.problem.at(np.zeros((6, 1))).gradient @ np.eye(6)
    S = gradient + np.tensordot(certificate.constraints.multipliers, [one, *(np.diag(e) for e in np.eye(6))], 1)
    expected = max(0.0, -float(np.linalg.eigvalsh(S)[0])) / (1.0 + np.abs(gradient).max())
    assert expected - 1e-9 <= certificate.constraints.dimacs["dual"] <= expected + 1e-9


N = 5


def program(seed=0):
    """⟨C, M⟩ with tr M = 2, two entries in intervals, M_33 <= 0.4 and M_40 >= −0.3."""
    rng = np.random.default_rng(seed)
    C = symmetric(rng, N)
    held = [
        constraints.trace(N, 2.0),
        constraints.entries([0, 1], [1, 2], N, lower=-0.1, upper=0.2),
        constraints.entries([3], [3], N, upper=0.4),
        constraints.entries([4], [0], N, lower=-0.3),
    ]
    return Constrained(QuadraticSDP(C=0.5 * C), held), C


def measured(M):
    return np.array([np.trace(M), M[0, 1], M[1, 2], M[3, 3], M[4, 0]])


LOWER, UPPER = np.array([2.0, -0.1, -0.1, -np.inf, -0.3]), np.array([2.0, 0.2, 0.2, 0.4, np.inf])


def adjoint(y):
    S = y[0] * np.eye(N)
    for t, (i, j) in zip(y[1:], ((0, 1), (1, 2), (3, 3), (4, 0)), strict=True):
        S[i, j] += 0.5 * t
        S[j, i] += 0.5 * t
    return S


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("rank", [1, 3])
def test_every_number_of_a_constrained_certificate(scale, rank):
    problem, C = program()
    Y = scale * np.random.default_rng(rank).standard_normal((N, rank))
    M = Y @ Y.T
    found = certify(problem, Y)
    y, a = found.constraints.multipliers, measured(M)
    np.testing.assert_allclose([problem.lower, problem.upper], [LOWER, UPPER])
    S = C - adjoint(y)
    close = lambda x, z, size=1.0: np.testing.assert_allclose(x, z, rtol=1e-9, atol=1e-10 * size)  # noqa: E731
    close(found.value, np.sum(C * M), scale**2)
    close(found.value_at_zero, 0.0)
    close(found.trace, np.trace(M))
    least = np.linalg.eigvalsh(S)[0]
    size = np.linalg.norm(S)
    close(found.smallest_eigenvalue, least, size)
    close(found.lower_bound, least, size)
    close(found.stationarity, np.linalg.norm(S @ Y), size * scale)
    close(found.dual_infeasibility, max(0.0, -least), size)
    close(found.complementarity, abs(np.sum(S * M)), size * scale**2)
    # σ(y): the least ⟨y, a⟩ over the intervals; and tr M = 2
    least_a = np.where(y > 0.0, LOWER, UPPER)
    support = sum(t * b for t, b in zip(y, least_a, strict=True) if t != 0.0)
    close(found.dual_value, support + 2.0 * least if least < 0.0 else found.dual_value, size)
    assert np.all(y[3] <= 0.0)
    assert np.all(y[4] >= 0.0)
    if found.gap is not None:
        close(found.gap, abs(found.value - found.dual_value), size * scale**2)
    v = np.maximum(LOWER - a, 0.0) + np.maximum(a - UPPER, 0.0)
    values = 1.0 + abs(found.value) + abs(found.dual_value)
    close(found.constraints.dimacs["primal"], np.linalg.norm(v) / (1.0 + 2.0))
    close(found.constraints.dimacs["dual"], max(0.0, -least) / (1.0 + np.abs(C).max()))
    close(found.constraints.dimacs["gap"], abs(found.value - found.dual_value) / values)
    close(found.constraints.dimacs["complementarity"], abs(np.sum(S * M)) / values)
    close(found.stationarity_relative, np.linalg.norm(S @ Y) * np.linalg.norm(Y) / found.unit)
    close(found.dual_infeasibility_relative, max(0.0, -least) * np.trace(M) / found.unit)
    close(found.complementarity_relative, abs(np.sum(S * M)) / found.unit)
    assert found.constraints.trace_bound == pytest.approx(2.0)
    assert not found.infeasible
    assert not found.unbounded
