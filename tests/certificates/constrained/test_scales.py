"""Units of gaps and violations under constraints: no instance makes a large gap small by them."""

import math
from typing import Any

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import Ability, AutogradProblem, Constrained, QuadraticSDP, TermSum, certify, constraints, solve
from psdopt.certificates.constrained import scales
from psdopt.certificates.constrained.best_bound import BoundSearch
from psdopt.certificates.constrained.certify import _zero_to_rounding
from psdopt.linalg import deadline
from psdopt.terms import Entries, LeastSquares, LinearTerm, MeasuredTerm, QuadraticForms


def log_det(n: int, floor: float = 0.0) -> AutogradProblem:
    """tr(C M) − log det(M + floor I), C = diag(1, ..., n): F(0) is infinite, or large, and the minimum is C⁻¹."""
    C = np.diag(np.arange(1.0, n + 1.0))

    def value(M: Any) -> Any:
        return anp.sum(C * M) - anp.linalg.slogdet(M + floor * np.eye(n))[1]

    return AutogradProblem(value, n=n, convex=True)


def test_violation_of_homogeneous_equations_is_relative_to_M() -> None:
    """Where every bound is zero, values near zero violate little, however many there are.

    M_01 can be as large as √(M_00 M_11).
    """
    problem = Constrained(QuadraticSDP(C=np.eye(3)), constraints.entries([0, 0], [1, 2], 3, 0.0))
    Y = np.eye(3)
    a = np.array([1e-9, -1e-9])
    assert scales.relative_violation(problem, a, Y) == pytest.approx(1e-9)
    assert scales.relative_violation(problem, np.zeros(2), Y) == 0.0


@pytest.mark.parametrize("floor", [0.0, 1e-280], ids=["infinite", "large"])
def test_a_value_at_zero_out_of_proportion_hides_no_gap(floor: float) -> None:
    """At M = I a gap near F(M) is not small, though F(0) is infinite or two hundred times as large."""
    problem = Constrained(log_det(6, floor), constraints.entries([0], [5], 6, 0.0), trace_bound=1000.0)
    evaluation = problem.at(np.eye(6))
    certificate = certify(problem, evaluation, tol=1e-6)
    assert certificate.gap > 10.0
    assert certificate.gap_relative > 0.1
    assert not certificate.proves(1e-2)


def test_minimum_of_a_barrier_under_constraints_is_optimal() -> None:
    problem = Constrained(log_det(5), constraints.entries([0, 1], [3, 4], 5, 0.0), trace_bound=10.0)
    result = solve(problem)
    assert result.status.label == "optimal"
    assert result.value == pytest.approx(5.0 + math.log(math.factorial(5)), abs=1e-5)
    assert not certify(problem, result.matrix, dual=result.certificate.constraints.multipliers).misses(1e-6)


def test_unit_of_a_linear_F_is_its_decrease_or_that_of_the_bound() -> None:
    problem = Constrained(QuadraticSDP(C=-np.eye(2)), constraints.trace(2, 1.0))
    assert scales.GapUnits(problem, problem.at(np.eye(2)))(-7.0) == pytest.approx(7.0)
    assert scales.GapUnits(problem, problem.at(np.eye(2)))(-math.inf) == pytest.approx(4.0)


def test_unit_where_F_is_the_same_at_zero_and_at_M() -> None:
    """|M|² − 2 tr M at M = 2 I is F(0): the unit is how far F falls between them."""
    problem = Constrained(QuadraticSDP(B=1.0, C=-np.eye(2)), constraints.trace(2, 4.0))
    evaluation = problem.at(math.sqrt(2.0) * np.eye(2))
    assert evaluation.value == pytest.approx(problem.value_at_zero())
    assert scales.GapUnits(problem, evaluation)(evaluation.value - 1e-3) == pytest.approx(2.0)


ENTRY = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])


@pytest.mark.parametrize(("options", "groups", "value"), [
    ({"C": np.zeros((4, 4))}, [constraints.diagonal(4, 1.0)], 0.0),
    ({"C": np.zeros((4, 4))}, [constraints.diagonal(4, 1.0), constraints.entries([0, 1], [1, 2], 4, [0.5, -0.5])], 0.0),
    ({"C": ENTRY}, [constraints.entries([0], [1], 3, lower=0.0), constraints.trace(3, upper=1.0)], 0.0),
    ({"C": ENTRY}, [constraints.entries([0], [1], 3, lower=0.0), constraints.trace(3, 1.0)], 0.0),
    ({"C": np.diag([1.0, -1.0, 0.0])}, [constraints.diagonal(3, 1.0)], 0.0),
    ({"B": 1.0, "C": np.zeros((3, 3))}, [constraints.trace(3, 1.0)], 1.0 / 3.0),
], ids=["feasible", "feasible-entries", "zero-at-most", "zero-at-trace", "cancels", "nothing-projected"])  # fmt: skip
def test_a_minimum_at_which_there_is_next_to_nothing_is_optimal(options: Any, groups: list[Any], value: float) -> None:
    """F varies by rounding only between 0 and M: a gap of that size is none. Or the first Newton system is empty."""
    result = solve(Constrained(QuadraticSDP(**options), groups))
    assert result.status.label == "optimal"
    assert result.value == pytest.approx(value, rel=1e-6, abs=1e-12)


class TestInfeasiblePoints:
    """F = (M_11 − 2)² + ((M_00 − 1)/eps)² + c with |M_00 − 1| <= eps and M_11 <= 5: F(0) is 1/eps², F at most 10 + c
    where M is feasible, and the minimum is c."""

    THIN = 1e-4

    def problem(self, constant: float = 0.0, scale: float = 1.0, of_constraints: float = 1.0) -> Constrained:
        fit = LeastSquares(np.array([1.0, 2.0]), scale * np.array([self.THIN**-2, 1.0]))
        F = TermSum([MeasuredTerm(Entries([0, 1], [0, 1], 2), fit)], scale * constant)
        forms = [of_constraints * np.diag([1.0, 0.0]), np.diag([0.0, 1.0])]
        low, high = np.array([1.0 - self.THIN, -math.inf]), np.array([1.0 + self.THIN, 5.0])
        held = constraints.sparse_forms(forms, lower=low * [of_constraints, 1.0], upper=high * [of_constraints, 1.0])
        return Constrained(F, held)

    def test_they_make_no_gap_small(self) -> None:
        """At M_11 = 2.1 the gap is 1e-2 and more: 1e-10 of F(0), and no small part of what F is on the feasible set."""
        problem = self.problem()
        evaluation = problem.at(np.diag(np.sqrt([1.0, 2.1])))
        certificate = certify(problem, evaluation, tol=1e-6)
        assert certificate.gap >= 1e-2
        assert certificate.unit <= 100.0
        assert scales.range_on_ray(problem, evaluation, 0.0) > 1e7
        assert not certificate.proves(1e-4)

    @pytest.mark.parametrize("constant", [0.0, 10.0, -10.0, 1e3])
    def test_a_minimum_of_any_value_is_optimal(self, constant: float) -> None:
        """Zero, above, or below: the range of F over feasible points counts where the value is small."""
        result = solve(self.problem(constant))
        assert result.status.label == "optimal"
        assert result.value == pytest.approx(constant, abs=1e-4 * max(1.0, abs(constant)))

    def test_the_unit_scales_with_F_and_not_with_constraints(self) -> None:
        Y = np.diag(np.sqrt([1.0, 2.1]))
        units = [
            certify(problem, problem.at(Y)).unit
            for problem in (self.problem(), self.problem(scale=1e6), self.problem(of_constraints=1e6))
        ]
        assert units[1] == pytest.approx(1e6 * units[0], rel=1e-6)
        assert units[2] == pytest.approx(units[0], rel=1e-3)

    @pytest.mark.parametrize("constant", [0.0, 1.0, -1e6, 1e6])
    def test_a_constant_leaves_the_unit_between_the_two_ranges(self, constant: float) -> None:
        problem = self.problem(constant)
        evaluation = problem.at(np.diag(np.sqrt([1.0, 2.1])))
        least, most = scales.feasible_range(problem, evaluation), scales.range_on_ray(problem, evaluation, constant)
        assert 1e-3 < least < 100.0
        assert most == pytest.approx(4.0 * (0.75 / self.THIN) ** 2, rel=0.9)
        assert least <= scales.GapUnits(problem, evaluation)(constant) <= most


def test_ranges_towards_a_feasible_matrix_are_computed_once_for_all_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, asked = Constrained(QuadraticSDP(B=1.0, C=-np.eye(2)), constraints.trace(2, 4.0)), []
    real = scales.feasible_range
    monkeypatch.setattr(scales, "feasible_range", lambda *given: asked.append(given) or real(*given))
    units = scales.GapUnits(problem, problem.at(math.sqrt(2.0) * np.eye(2)))
    assert [units(bound) for bound in (-1e-3, -1e-2, 0.0)] == [units(0.0)] * 3
    assert len(asked) == 1


def test_a_fit_whose_minimum_is_zero_under_constraints_is_optimal() -> None:
    """|M − K|² with K feasible: F, its gradient and every multiplier vanish at the minimum."""
    K = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.4], [0.2, 0.4, 1.0]])
    F = AutogradProblem(lambda M: ((M - K) ** 2).sum(), n=3, convex=True)
    result = solve(Constrained(F, constraints.diagonal(3, 1.0)))
    assert result.status.label == "optimal"
    assert result.matrix.to_dense() == pytest.approx(K, abs=1e-3)


def test_no_unit_where_nothing_else_is_feasible_but_the_values() -> None:
    """Where all of M is fixed F has no range: |F(M)| is the unit."""
    held = constraints.entries([0, 0, 1], [0, 1, 1], 2, [2.0, 1.0, 2.0])
    problem = Constrained(AutogradProblem(lambda M: (M**2).sum(), n=2, convex=True), held)
    result = solve(problem)
    assert result.status.label == "optimal"
    assert result.certificate.unit == pytest.approx(10.0, rel=0.01)


def test_a_minimum_at_zero_of_a_curved_F_is_taken() -> None:
    """F = |M|²/2 + 2 M_01 with M_01 >= 0: M shrinks towards 0, the minimum; 0 or a matrix near it ends the run."""
    result = solve(off_diagonal(0.5))
    assert result.status.label == "optimal"
    assert abs(result.value) < 1e-30
    assert result.certificate.trace < 1e-15


def off_diagonal(c: float) -> Constrained:
    """F = |M|²/2 + 4 c M_01 with M_01 >= 0: the minimum is 0, with y = −4 c."""
    C = np.zeros((3, 3))
    C[0, 1] = C[1, 0] = c
    held = [constraints.entries([0], [1], 3, lower=0.0), constraints.diagonal(3, upper=1.0)]
    return Constrained(QuadraticSDP(B=1.0, C=C), held)


@pytest.mark.parametrize("c", [0.1, 1.0 / 3.0, 1e-9 / 3.0, 1e9 / 7.0])
@pytest.mark.parametrize("roundings", [-2, -1, 0, 1, 2])
def test_at_zero_the_rounding_of_multipliers_refutes_no_minimum(c: float, roundings: int) -> None:
    """S = ∇F(0) + A*(y) is zero; it has two eigenvalues ± |its rounding|, and no gap is small beside a range of 0."""
    problem, y = off_diagonal(c), np.zeros(4)
    y[0] = -4.0 * c * (1.0 + roundings * np.finfo(float).eps)
    assert certify(problem, np.zeros((3, 1)), dual=y).proves(1e-6)
    at, y[0] = problem.at(np.zeros((3, 1))), -4.0 * c * (1.0 + 1e-12)
    best = BoundSearch(problem, at, 0.0, None, 0, "full").of(y)
    assert not _zero_to_rounding(problem, best, at.value, scales.gradient_size(problem, at))


@pytest.mark.parametrize("error", [1e-12, -1e-9, 1e-3])
def test_at_zero_least_squares_take_errors_of_multipliers_away(error: float) -> None:
    problem, y = off_diagonal(1.0 / 3.0), np.array([-4.0 / 3.0 * (1.0 + error), 0.0, 0.0, 0.0])
    found = certify(problem, np.zeros((3, 1)), dual=y)
    assert found.proves(1e-6)
    assert found.constraints.multipliers[0] == pytest.approx(-4.0 / 3.0, rel=1e-14)
    assert not certify(off_diagonal(-1.0), np.zeros((3, 1)), dual=y).proves(1e-6)  # F falls there


def fourth() -> tuple[Constrained, Any]:
    """F = (tr M)² − 3 tr M + 2, no linear F, at tr M = 4 with tr M held to 1: F(0) = 2, F(M) = 6, least −1/4."""
    F = AutogradProblem(lambda M: anp.trace(M) ** 2 - 3.0 * anp.trace(M) + 2.0, n=2, convex=True)
    problem = Constrained(F, constraints.trace(2, 1.0))
    return problem, problem.at(math.sqrt(2.0) * np.eye(2))


def test_the_range_on_the_ray_is_that_at_four_points_and_no_more_than_four_times_that_of_three() -> None:
    """F at tr 0, 1, 2, 4 is 2, 0, 0, 6: min(6, 24)."""
    problem, evaluation = fourth()
    assert scales.range_on_ray(problem, evaluation, 0.0) == pytest.approx(6.0)
    high = Constrained(
        AutogradProblem(lambda M: 100.0 * anp.exp(-50.0 * anp.trace(M)) + anp.trace(M), n=2, convex=True),
        constraints.trace(2, 1.0),
    )
    assert scales.range_on_ray(high, high.at(math.sqrt(2.0) * np.eye(2)), 0.0) == pytest.approx(4.0 * 3.0, rel=1e-6)
    undefined = Constrained(
        AutogradProblem(lambda M: anp.sqrt(anp.trace(M) - 3.9), n=2, convex=True), constraints.trace(2, 4.0)
    )
    with np.errstate(invalid="ignore"):
        found = scales.range_on_ray(undefined, undefined.at(math.sqrt(2.0) * np.eye(2)), 0.0)
    assert found == pytest.approx(math.sqrt(0.1))


def test_ranges_of_a_quadratic_are_those_of_its_evaluations() -> None:
    rng = np.random.default_rng(0)
    F = QuadraticSDP(B=0.5, C=np.diag([-1.0, 2.0, -3.0]), constant=7.0)
    problem = Constrained(F, constraints.diagonal(3, 1.0))
    evaluation = problem.at(rng.standard_normal((3, 2)))
    ranges = scales.feasible_range(problem, evaluation), scales.range_on_ray(problem, evaluation, 0.0)
    F.abilities -= {Ability.QUADRATIC}
    evaluated = scales.feasible_range(problem, evaluation), scales.range_on_ray(problem, evaluation, 0.0)
    assert ranges == pytest.approx(evaluated, rel=1e-12)
    assert min(ranges) > 0.0


def test_a_gap_of_rounding_is_none() -> None:
    """16 eps Σ |C_ij| √(M_ii M_jj), in whatever units rows of M are; beyond it the gap counts, in its unit."""
    problem = Constrained(QuadraticSDP(C=-2.0 * np.eye(2)), constraints.trace(2, 4.0))
    evaluation = problem.at(math.sqrt(2.0) * np.eye(2))  # F = −4 tr M = −16, |∇F| = 4 √2, tr M = 4
    assert scales.gradient_size(problem, evaluation) == pytest.approx(4.0 * math.sqrt(2.0))
    rounding = 16.0 * np.finfo(float).eps * 16.0
    for share, counts in ((0.9, False), (1.2, True)):
        gap = scales.relative_gap(problem, evaluation, evaluation.value - share * rounding)
        assert (gap > 0.0) == counts
    apart = Constrained(QuadraticSDP(C=np.diag([1e8, 1e-8])), constraints.trace(2, 1.0))
    there = apart.at(np.diag([1e-4, 1e4]))  # the terms of F are 2, though |C| tr M = 2e16
    assert scales.relative_gap(apart, there, there.value - 1e-6) > 0.0
    assert scales.relative_gap(problem, evaluation, -20.0) == pytest.approx(4.0 / 20.0)
    assert scales.relative_gap(problem, evaluation, -12.0) == pytest.approx(4.0 / 16.0)
    curved, at = fourth()  # ∇F = 5 I there
    assert scales.gradient_size(curved, at) == pytest.approx(5.0 * math.sqrt(2.0), rel=0.7)


def test_the_search_for_a_feasible_matrix_ends_with_the_time() -> None:
    """Without the time to find one its range does not count; the next certificate looks again."""
    groups = [constraints.diagonal(4, np.arange(1.0, 5.0)), constraints.entries([0], [1], 4, 0.3)]
    problem = Constrained(QuadraticSDP(A=np.eye(4)), groups)
    evaluation = problem.at(np.eye(4))
    with deadline.until(deadline.now()):
        assert scales.feasible_range(problem, evaluation) == 0.0
    assert scales.feasible_range(problem, evaluation) > 0.0
    assert scales.feasible_range(problem, problem.at(np.zeros((4, 1)))) == 0.0


def test_a_bound_on_the_rounding_of_F_that_leaves_no_digit_proves_nothing() -> None:
    """F falls without end along this M, whose measurements are what cancellation leaves: 1e25 of terms of 1e41."""
    rng = np.random.default_rng(32)
    G, X = rng.standard_normal((6, 6)), rng.standard_normal((3, 6))
    F = TermSum([LinearTerm(G + G.T), MeasuredTerm(QuadraticForms(X), LeastSquares(-np.ones(3)))])
    problem = Constrained(F, constraints.trace(6, lower=1.0))
    Y = np.array(
        [
            [
                -1.609628653784725e20,
                2.3970808069611916e20,
                1.668402887448343e20,
                2.972712308737473e19,
                -1.5017539566502645e20,
                1.6324438963425565e20,
            ]
        ]
    )
    assert problem.at(1e3 * Y.T).value < 1e5 * problem.at(Y.T).value < 0.0
    assert not certify(problem, Y.T, tol=1e-6).proves(1e-6)
