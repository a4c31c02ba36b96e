"""The steps of a certificate: residuals, checked eigenpairs, bounds at hand, the proof or the step that refutes."""

import math
from dataclasses import replace

import numpy as np
import pytest

from psdopt import ConjugateGradient, Constrained, FlatQuotient, Polar, Status, certify, constraints, solve
from psdopt.certificates import bounds
from psdopt.certificates.computation import Computation
from psdopt.contracts.roles import Duality
from psdopt.linalg.extreme import DENSE_LIMIT, smallest_eigenpair
from psdopt.problems import AutogradProblem, QuadraticSDP, TermSum
from psdopt.terms import IdentityForm, LinearTerm
from tests.instances import symmetric


def begun(problem, Y, tol=1e-6, trace=None, proof="full"):
    inspection = Computation(problem, problem.at(Y), tol, trace, None, proof)
    inspection.find_eigenpair(None, 0)
    inspection.measure_residuals()
    return inspection


def quadratic(n=5, seed=0):
    rng = np.random.default_rng(seed)
    return QuadraticSDP(None, 1.0, symmetric(rng, n)), rng


def test_at_a_fixed_trace_the_eigenvalue_is_taken_from_s():
    problem, rng = quadratic(seed=1)
    Y = rng.standard_normal((5, 1))
    Y /= np.linalg.norm(Y)
    S = problem.at(Y).gradient @ np.eye(5)
    least = np.linalg.eigvalsh(S)[0]
    found = begun(problem, Y, trace=1.0)
    assert found.shift == pytest.approx(least)
    assert found.stationarity == pytest.approx(np.linalg.norm(S @ Y - least * Y))
    found.collect_bounds(None)
    assert found.gaps[0] == pytest.approx(np.sum((S @ Y) * Y) - least)
    assert min(found.gaps) <= found.gaps[0]


@pytest.mark.parametrize(("away", "worth"), [(1e-9, True), (1.0, False)])
def test_a_proof_is_tried_next_to_an_optimum_only(away, worth):
    problem = AutogradProblem(lambda M: ((M - np.eye(3)) ** 2).sum(), 3, convex=True)
    found = begun(problem, (1.0 + away) * np.eye(3), tol=1e-6)
    found.collect_bounds(None)
    found.gaps = []  # whatever is known already
    assert found.worth_a_proof == worth


def test_a_cheap_proof_is_none_on_the_whole_cone():
    problem = AutogradProblem(lambda M: ((M - np.eye(3)) ** 2).sum(), 3, convex=True)
    found = begun(problem, (1.0 + 1e-9) * np.eye(3), proof="cheap")
    found.collect_bounds(None)
    assert max(found.ratios.values()) <= found.tol
    assert not found.worth_a_proof
    assert found.fields()["provable"] is False


def test_a_stationary_point_that_is_no_optimum_is_refuted():
    problem = QuadraticSDP(None, 1.0, np.diag([-1.0, -1e-3]))
    Y = np.eye(2)[:, :1] * math.sqrt(problem.at(np.eye(2)[:, :1]).best_multiple())
    found = begun(problem, Y, tol=1e-2)
    found.gaps, found.bound = [], None
    found.tol = 1e-9
    found.prove_or_refute()
    assert found.decrease > 0.0
    np.testing.assert_allclose(np.abs(found.descent), [0.0, 1.0], atol=1e-12)


def test_a_value_that_is_no_number_ends_it():
    problem = AutogradProblem(lambda M: (M * math.nan).sum(), 2, convex=True)
    with pytest.raises(FloatingPointError, match="not a number"):
        certify(problem, np.eye(2))


def test_curvature_proves_what_an_eigenvalue_in_units_of_values_does_not():
    """F = ½ tr((A M)²) + ⟨C, M⟩: where F is 1e6 times as steep, λ_min(S) = −1e-5 is worth little.

    One direction is flat, so that no modulus of curvature is known.
    """
    A, Y = np.diag([1e3, 1.0, 0.0]), np.array([[0.0], [math.sqrt(0.5)], [0.0]])
    problem = QuadraticSDP(A, None, -np.diag([0.5e-5, 0.5, -1.0]))
    certificate = certify(problem, Y, tol=1e-6)
    assert certificate.dual_infeasibility_relative > 1e-6
    assert certificate.proves(1e-6)
    assert certificate.gap >= problem.at(Y).value - solve(problem, tol=1e-12).value
    steep = QuadraticSDP(A, None, -np.diag([0.5, 0.5, -1.0]))
    weak = certify(steep, Y, tol=1e-6)
    assert not weak.proves(1e-6)
    assert weak.gap >= weak.value - solve(steep, tol=1e-12).value  # but a bound there is, at any M


def test_beyond_the_dense_orders_lanczos_steps_prove_or_refute():
    """F = |M − T|² (n, n): M = T₊ is optimal, with S = 2 T₋; without its least column λ_min(S) is −2."""
    n = DENSE_LIMIT + 4
    values = np.r_[3.0, 2.0, 1.0, -np.linspace(0.5, 2.0, n - 3)]
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    problem, Y = QuadraticSDP(np.eye(n), None, -(Q * values) @ Q.T), Q[:, :3] * np.sqrt(values[:3])
    proven = certify(problem, Y)
    assert proven.proves(1e-6)
    assert proven.failure_probability <= 1e-8
    assert -1e-5 < proven.lower_bound <= np.linalg.eigvalsh(2.0 * (Y @ Y.T - (Q * values) @ Q.T))[0]
    assert proven.dual_infeasibility_relative <= 1e-6
    refuted = certify(problem, Y[:, :2])
    assert not refuted.proves(1e-6)
    assert refuted.lower_bound <= refuted.smallest_eigenvalue <= -2.0 + 1e-3


e = np.eye(2)


def test_a_ray_of_rounding_is_not_confirmed():
    """B has an eigenvalue −1e-17 where it should have 0: F falls along it by what rounding makes of other terms."""
    problem = QuadraticSDP(C=np.diag([1.0, -1e-17]))
    assert not bounds.falls_without_end(problem, e[:, :1], e[:, 1:])
    assert not bounds.falls_without_end(QuadraticSDP(None, 1.0, np.diag([-1.0, 1.0])), e[:, :1], e[:, 1:])


def test_an_exact_eigenpair_of_the_problem_is_used_beyond_the_dense_order():
    """Rounding of the check does not speak against a bound that is the eigenvalue itself."""
    n = DENSE_LIMIT + 1
    values = np.linspace(-1.0, 1.0, n)
    C = np.diag(values)

    class Known(QuadraticSDP):
        @property
        def duality(self):
            return Told()

    class Told(Duality):
        def smallest_eigenpair(self, evaluation, S, **options):
            told.append(replace(true, lower_bound=-1.0))
            return told[-1]

    told, problem = [], Known(C=0.5 * C)
    evaluation = problem.at(np.zeros((n, 1)))
    true = smallest_eigenpair(evaluation.gradient, start=np.eye(n)[:, :1])
    found = bounds.checked_eigenpair(
        problem, evaluation, evaluation.gradient, tol=1e-3, threshold=-math.inf, start=None, seed=0
    )
    assert len(told) == 1
    assert found is told[0]


def test_beyond_the_dense_order_a_semidefinite_gradient_is_a_proof():
    """F = tr M at M = e e': S = I, so that F(M) - min F <= <S, M>, and nothing else proves it at this order."""
    n = DENSE_LIMIT + 1
    problem = TermSum([LinearTerm(IdentityForm(n))])
    certificate = certify(problem, np.eye(n)[:, :1] * 2.0)
    assert certificate.lower_bound > 0.0
    assert certificate.gap == pytest.approx(4.0)


def symmetric_of(*entries: str) -> np.ndarray:
    a, b, c = map(float.fromhex, entries)
    return np.array([[a, b], [b, c]])


def test_rounding_of_the_data_makes_no_convex_function_unbounded() -> None:
    """B and C are singular but for the rounding of their entries: the eigenvalues that should be zero are -3e-20."""
    problem = QuadraticSDP(
        B=symmetric_of("0x1.a6bbded2b9884p-12", "0x1.a244e583a940ap-12", "0x1.9dd9fe8a587f1p-12"),
        C=symmetric_of("0x1.a60f303328318p-12", "0x1.a19a09c8801e0p-12", "0x1.9d30f0c5396c6p-12"),
    )
    for geometry in (Polar(2, 2), FlatQuotient(2, 2)):
        for seed in (5000125, 1, 2, 3):
            result = solve(problem, geometry, ConjugateGradient(), rng=seed, escape=False)
            assert result.status is not Status.UNBOUNDED


def test_a_gap_by_strong_convexity_is_not_lost_where_squares_underflow() -> None:
    """|S₋|² of an S of 1e-168 is 0 as a number; min F = −|C₋|² / B is not."""
    problem = QuadraticSDP(B=1e-202, C=1e-168 * np.diag([1.0, -1.0]))
    least = -1e-134
    assert problem.at(np.array([[0.0], [1e17]])).value == pytest.approx(least)
    assert certify(problem, np.zeros((2, 1))).gap >= -least * (1.0 - 1e-9)
    assert solve(problem).value == pytest.approx(least)


@pytest.mark.filterwarnings("ignore:(overflow|invalid):RuntimeWarning")
@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize(("scale", "weight"), [(1e45, 1e100), (1e40, 1e110), (1e47, 1e95)])
def test_nothing_is_proven_where_f_overflows(scale, weight, constrained):
    rng = np.random.default_rng(7)
    A, C = symmetric(rng, 6), symmetric(rng, 6)
    problem = QuadraticSDP(weight * A @ A, weight, C)
    inside = Constrained(problem, constraints.entries([0], [1], 6, lower=-1e99, upper=1e99)) if constrained else problem
    certificate = certify(inside, scale * rng.standard_normal((6, 2)))
    assert not math.isfinite(certificate.value)
    assert certificate.gap is None
    assert not certificate.proves(1e-6)
