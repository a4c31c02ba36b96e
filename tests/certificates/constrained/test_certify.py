"""Every number of a constrained certificate from dense arrays, what multipliers prove, and wrong proofs refused."""

from dataclasses import replace

import numpy as np
import pytest

from psdopt import Constrained, LowRankPSD, QuadraticSDP, Status, certify, constraints, solve
from psdopt.certificates.constrained.multipliers import Multipliers
from psdopt.constraints.limits import FEASIBLE
from psdopt.testing.constrained import DenseConstraints
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


@pytest.mark.parametrize(("above", "counts"), [(-1.0, False), (0.0, True)])
def test_a_bound_of_the_problem_counts_where_it_is_better(solved, above, counts) -> None:
    """`dual` then belongs to the problem, which makes multipliers from it."""
    problem, result = solved
    best = result.certificate.constraints.multipliers
    own = result.value + above

    class Own(type(problem.duality)):
        def dual_bound(self, evaluation, dual=None):
            return dual["bound"]

        def multipliers(self, evaluation, dual):
            return dual["y"]

    class Knows(Constrained):
        @property
        def duality(self):
            return Own(self)

    same = Knows(problem.problem, problem.constraints, problem.given_trace_bound)
    for y in (best, best + np.array([0.5, 0.2])):
        plain = certify(problem, result.matrix, dual=y)
        certificate = certify(same, result.matrix, dual={"bound": own, "y": y})
        np.testing.assert_array_equal(certificate.constraints.multipliers, plain.constraints.multipliers)
        assert certificate.dual_value == (own if counts else plain.dual_value)
        assert certificate.proves(1e-5) == (counts or plain.proves(1e-5))
    assert not certify(same, 0.99 * result.matrix.factor, dual={"bound": own, "y": best}).proves(1e-3)


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


def test_the_reach_is_what_multipliers_prove(solved) -> None:
    certificate = solved[1].certificate
    assert certificate.reach(1e-6) == np.inf
    known, unproven = certificate.constraints, replace(certificate, gap=None, gap_relative=None)
    assert known.base == pytest.approx(certificate.value, rel=1e-7)
    room = 1e-3 * certificate.unit - (certificate.value - known.base)
    assert replace(unproven, dual_infeasibility=1e-5).reach(1e-3) == pytest.approx(1e5 * room)
    assert not replace(unproven, dual_infeasibility=room).holds_within(1e-3)  # up to a trace of 1, where tr M is 2
    far, near = (replace(known, base=certificate.value - share * certificate.unit) for share in (2e-3, 0.5e-3))
    assert replace(unproven, constraints=far).reach(1e-3) == 0.0
    assert replace(unproven, constraints=near).holds_within(1e-3)
    assert not replace(unproven, constraints=replace(near, primal_infeasibility=2e-3)).holds_within(1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_where_solutions_are_unbounded_a_minimum_is_proven_within_a_trace(seed) -> None:
    """⟨A, M⟩ = 1 for A = q qᵀ − p pᵀ, S p = S q = 0: rounding of a singular S is all that is in the way of a proof."""
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((6, 6)))[0]
    S, A = ((Q * np.array(values, dtype=float)) @ Q.T for values in ([0, 0, 0, 1, 2, 3], [1, -1, 0, 0, 0, 0]))
    S, A = 0.5 * (S + S.T), 0.5 * (A + A.T)
    problem = Constrained(QuadraticSDP(C=0.5 * (S - 2.0 * A)), constraints.sparse_forms([A], 1.0))
    result = solve(problem)
    assert result.status in (Status.OPTIMAL, Status.OPTIMAL_WITHIN)  # a kernel may round S upwards
    assert result.value == pytest.approx(-2.0, rel=1e-6)
    certificate = result.certificate
    assert certificate.reach(1e-6) >= 1e3 * certificate.trace
    worse = certify(problem, LowRankPSD(1.001 * result.matrix.factor), dual=certificate.constraints.multipliers)
    assert not worse.holds_within(1e-6)


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


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("rank", [1, 3])
def test_every_number_of_a_constrained_certificate(scale, rank):
    """⟨C, M⟩ with tr M = 2, two entries in intervals, M_33 <= 0.4 and M_40 >= −0.3, from dense arrays."""
    C, rng = symmetric(np.random.default_rng(0), 5), np.random.default_rng(rank)
    pairs = constraints.entries([0, 1], [1, 2], 5, lower=-0.1, upper=0.2)
    sides = [constraints.entries([3], [3], 5, upper=0.4), constraints.entries([4], [0], 5, lower=-0.3)]
    problem = Constrained(QuadraticSDP(C=0.5 * C), [constraints.trace(5, 2.0), pairs, *sides])
    dense, Y = DenseConstraints(problem), scale * rng.standard_normal((5, rank))
    found = certify(problem, Y, dual=rng.standard_normal(problem.m))
    y, M, known = found.constraints.multipliers, Y @ Y.T, found.constraints.dimacs
    S, a, value = C + dense.adjoint(y), dense.measured(M), np.sum(C * M)
    least, size, bound = np.linalg.eigvalsh(S)[0], np.linalg.norm(S), found.dual_value
    violation = a - np.clip(a, dense.lower, dense.upper)
    assert np.any(y)
    assert np.array_equal(y, dense.admissible(y))
    close = lambda x, z, size=1.0: np.testing.assert_allclose(x, z, rtol=1e-9, atol=1e-10 * size)  # noqa: E731
    close([found.value, found.value_at_zero, found.trace], [value, 0.0, np.trace(M)], scale**2)
    spectral = [found.smallest_eigenvalue, found.lower_bound, found.dual_infeasibility]
    close(spectral, [least, least, max(0.0, -least)], size)
    close(found.stationarity, np.linalg.norm(S @ Y), size * scale)
    close(found.complementarity, abs(np.sum(S * M)), size * scale**2)
    close(bound, 2.0 * least - dense.support(y), size)
    close(found.gap, abs(value - bound), size * scale**2)
    close(known["primal"], np.linalg.norm(violation) / (1.0 + 2.0))
    close(known["dual"], max(0.0, -least) / (1.0 + np.abs(C).max()))
    close(known["gap"], abs(value - bound) / (1.0 + abs(value) + abs(bound)))
    close(known["complementarity"], abs(np.sum(S * M)) / (1.0 + abs(value) + abs(bound)))
    close(found.stationarity_relative, np.linalg.norm(S @ Y) * np.linalg.norm(Y) / found.unit)
    close(found.dual_infeasibility_relative, max(0.0, -least) * np.trace(M) / found.unit)
    close(found.complementarity_relative, abs(np.sum(S * M)) / found.unit)
    assert found.constraints.trace_bound == pytest.approx(2.0)
    assert (found.infeasible, found.unbounded) == (False, False)


@pytest.mark.parametrize("seed", range(4))
def test_the_rounding_of_an_m_beyond_the_trace_of_solutions_proves_nothing(seed: int) -> None:
    """F >= 0 is 0 on a subspace. At 10⁸ of a solution's size F is computed as −100 to −1000, within its rounding."""
    n, rng = 30, np.random.default_rng(seed)
    H, X = rng.standard_normal((n, 5)), rng.standard_normal((6, n))
    inside = np.linalg.svd(H)[0][:, 5:] @ rng.standard_normal((n - 5, 6))
    rows = constraints.quadratic_forms(X, lower=1.0)
    problem = Constrained(QuadraticSDP(C=H @ H.T), rows, trace_bound=100.0)
    for size, proven in ((1.0, True), (1e8, False)):
        found = certify(problem, LowRankPSD(size * inside), dual=np.zeros(6))
        assert found.constraints.primal_infeasibility == 0.0
        assert found.proves(1e-6) is proven


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("size", [1e150, 1e300, 1.7e308])
def test_multipliers_that_overflow_prove_no_more_than_zeros(curved, size) -> None:
    """σ(y), S or |y A_t|² is infinite."""
    rng = np.random.default_rng(3)
    A, C = np.eye(3) * curved, symmetric(rng, 3) + 4.0 * np.eye(3)
    rows = constraints.sparse_forms([np.diag([5.0, 1, 1]), np.diag([1.0, 7, 1])], lower=1.0, upper=20.0)
    problem = Constrained(QuadraticSDP(A=A, C=C), rows)
    least = solve(problem).value
    for y in (np.array([size, 0.0]), np.array([size, -size]), np.array([-size, -size])):
        bound = certify(problem, np.eye(3), dual=y).dual_value
        assert bound is None or bound <= least * (1.0 + 1e-6)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_value_that_overflows_has_no_bound() -> None:
    rows = constraints.sparse_forms([np.eye(2)], lower=1.0)
    certificate = certify(Constrained(QuadraticSDP(A=np.eye(2)), rows), 1e100 * np.eye(2), dual=np.zeros(1))
    assert certificate.value == np.inf
    assert certificate.dual_value is None
    assert not certificate.proves(1e-3)
