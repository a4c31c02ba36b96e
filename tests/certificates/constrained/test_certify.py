"""What multipliers prove, and wrong proofs that must be refused: the animals of the constraints' zoo."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, certify, constraints, solve
from psdopt.certificates.constrained import certify as certify_module
from psdopt.certificates.constrained.certify import SHRUNK, Multipliers, multipliers_at_zero
from psdopt.certificates.constrained.dual_bound import dual_bound
from psdopt.certificates.constrained.scales import gap_unit
from psdopt.constraints.limits import FEASIBLE


def test_the_bound_is_reached_and_binding_multipliers_have_their_sign(solved) -> None:
    _, result = solved
    y = result.certificate.constraints.multipliers
    assert y[1] > 0.1
    assert result.certificate.proves(1e-7)


def test_a_multiplier_of_the_wrong_sign_proves_nothing(solved) -> None:
    problem, result = solved
    y = result.certificate.constraints.multipliers * np.array([1.0, -1.0])
    certificate = certify(problem, result.matrix, dual=y)
    assert certificate.constraints.multipliers[1] == 0.0  # σ would be infinite: it counts as zero
    assert not certificate.proves(1e-3)
    assert certificate.dual_value < result.value - 1e-3


def test_a_bound_that_forgets_the_support_function_is_none(solved) -> None:
    problem, result = solved
    y = result.certificate.constraints.multipliers
    found = dual_bound(problem, problem.at(result.matrix.factor), 0.0, y, 1e-9)
    forgetful = found.bound + problem.support(y)
    assert found.bound == pytest.approx(result.value, rel=1e-6)
    assert abs(forgetful - result.value) > 1e-3


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


def test_a_bound_on_the_cone_is_asked_for_within_the_tolerance(monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(certify_module, "cone_bound", lambda problem, Y, y, goal: asked.append(goal) or None)
    problem = Constrained(
        QuadraticSDP(np.diag([1.0, 1.0, 0.0]), C=-3.0 * np.eye(3)), constraints.entries([0], [1], 3, equals=0.5)
    )
    evaluation = problem.at(np.eye(3))
    certificate = certify(problem, np.eye(3), tol=1e-3)
    assert certificate.dual_value is None
    assert len(asked) == 1
    assert 0.1 <= asked[0] / (1e-3 * gap_unit(problem, evaluation, evaluation.value)) < 1.0


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize(("wide", "shrunk"), [(0.9, []), (1.1, list(SHRUNK))])
def test_an_eigenvalue_is_sharp_within_the_tolerance_or_multipliers_shrink(tol, wide, shrunk, monkeypatch) -> None:
    """A share of the allowed gap per unit of the bound on the trace; only what is wider costs further bounds."""
    asked = []

    def widened(problem, evaluation, offset, y, accuracy, start, seed):
        bounded = dual_bound(problem, evaluation, offset, y, accuracy, start, seed)
        asked.append((y, accuracy, seed))
        lower = bounded.pair.value - wide * accuracy
        return replace(bounded, pair=replace(bounded.pair, lower_bound=lower))

    monkeypatch.setattr(certify_module, "dual_bound", widened)
    held = [constraints.trace(3, 8.0), constraints.entries([0], [1], 3, equals=0.0)]
    problem = Constrained(QuadraticSDP(C=np.diag([1.0, 2.0, 6.0])), held)
    Y, y = np.sqrt(8.0) * np.array([[0.6], [0.0], [0.8]]), np.array([-1.0, 0.25])
    evaluation = problem.at(Y)
    certificate = certify(problem, Y, tol=tol, dual=y)
    unit = min(problem.duality.value_unit(evaluation.value, 8.0), gap_unit(problem, evaluation, evaluation.value))
    shares = [accuracy / (tol * unit / 8.0) for _, accuracy, _ in asked]
    assert 0.01 < shares[0] <= 0.5
    np.testing.assert_allclose(shares, shares[0], rtol=1e-12)
    assert [other.tolist() for other, _, _ in asked if other[1] not in (0.0, 0.25)] == [
        [-1.0, 0.25 * x] for x in shrunk
    ]
    assert certificate.constraints.trace_bound == pytest.approx(8.0, rel=1e-12)


def test_at_zero_a_ray_is_offered_where_zero_alone_may_be_feasible_and_is_not() -> None:
    for only_zero, off, ray in ((True, [0.0, 2.0], [0.0, 2.0]), (True, [0.0, 0.0], None), (False, [0.0, 2.0], None)):
        problem = SimpleNamespace(m=2, only_zero=only_zero, violation=lambda a, off=off: np.array(off))
        found = multipliers_at_zero(problem)
        assert found.y.tolist() == [0.0, 0.0]
        assert (None if found.ray is None else found.ray.tolist()) == ray


def test_dimacs_errors_divide_by_largest_entries() -> None:
    """e1 = |A(M) − b|/(1 + max |b_t|), whatever the number of constraints, and e4 = −λ_min(S)/(1 + max |C_ij|)."""
    n = 50
    C = 3.0 * np.ones((n, n))
    b = np.linspace(1.0, 4.0, n)
    problem = Constrained(QuadraticSDP(C=C / 2), constraints.diagonal(n, b))
    y = -7.0 * np.ones(n)
    certificate = certify(problem, np.diag(np.sqrt(b + 1e-3)), dual=y)
    assert certificate.constraints.dimacs["primal"] == pytest.approx(1e-3 * np.sqrt(n) / 5.0)
    assert certificate.constraints.dimacs["dual"] == pytest.approx(7.0 / 4.0)


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
