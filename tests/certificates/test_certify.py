"""The steps of a certificate, one by one: residuals, bounds, the proof or the step that refutes."""

import math

import numpy as np
import pytest

from psdopt import AutogradProblem, QuadraticSDP, certify, solve
from psdopt.certificates.bounds import CHECKED_COLUMNS
from psdopt.certificates.certify import Computation
from psdopt.linalg.extreme import DENSE_LIMIT
from tests.instances import symmetric


def begun(problem, Y, tol=1e-6, trace=None, full=True):
    inspection = Computation(problem, problem.at(Y), tol, trace, None, full)
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
    assert min(found.gaps) == pytest.approx(np.sum((S @ Y) * Y) - least)


@pytest.mark.parametrize(("away", "worth"), [(1e-9, True), (1.0, False)])
def test_a_proof_is_tried_next_to_an_optimum_only(away, worth):
    problem = AutogradProblem(lambda M: ((M - np.eye(3)) ** 2).sum(), 3, convex=True)
    found = begun(problem, (1.0 + away) * np.eye(3), tol=1e-6)
    found.collect_bounds(None)
    found.gaps = []  # whatever is known already
    assert found.worth_a_proof == worth


def test_a_cheap_proof_is_none_on_the_whole_cone():
    problem = AutogradProblem(lambda M: ((M - np.eye(3)) ** 2).sum(), 3, convex=True)
    found = begun(problem, (1.0 + 1e-9) * np.eye(3), full=False)
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
    assert found.descent is not None
    np.testing.assert_allclose(np.abs(found.descent), [0.0, 1.0], atol=1e-12)


def test_a_value_that_is_no_number_ends_it():
    problem = AutogradProblem(lambda M: (M * math.nan).sum(), 2, convex=True)
    with pytest.raises(FloatingPointError, match="not a number"):
        certify(problem, np.eye(2))


def test_curvature_proves_what_an_eigenvalue_in_units_of_values_does_not():
    """F = ½ tr((A M)²) + ⟨C, M⟩, A = diag(1e3, 1): where F is 1e6 times as steep, λ_min(S) = −1e-5 is worth little."""
    A, Y = np.diag([1e3, 1.0]), np.array([[0.0], [math.sqrt(0.5)]])
    problem = QuadraticSDP(A, None, -np.diag([0.5e-5, 0.5]))
    found = begun(problem, Y, tol=1e-6)
    found.collect_bounds(None)
    assert found.ratios["dual_infeasibility_relative"] > 1e-6
    assert found.worth_a_bound
    found.prove_by_curvature()
    assert min(found.gaps) <= 1e-6 * found.unit
    certificate = certify(problem, Y, tol=1e-6)
    assert certificate.proves(1e-6)
    assert certificate.gap >= problem.at(Y).value - solve(problem, tol=1e-12).value
    far = begun(QuadraticSDP(A, None, -np.diag([0.5, 0.5])), Y, tol=1e-6)
    far.collect_bounds(None)
    assert not far.worth_a_bound


def test_beyond_the_dense_orders_a_factorisation_comes_before_lanczos_steps():
    """F = |M − T|² (n, n): M = T₊ is optimal, with S = 2 T₋; without its least column λ_min(S) is −2."""
    n = DENSE_LIMIT + 4
    values = np.r_[3.0, 2.0, 1.0, -np.linspace(0.5, 2.0, n - 3)]
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    problem, Y = QuadraticSDP(np.eye(n), None, -(Q * values) @ Q.T), Q[:, :3] * np.sqrt(values[:3])
    proven, convex = certify(problem, Y), QuadraticSDP(None, 1.0, -(Q * values) @ Q.T)
    assert proven.proves(1e-6)
    assert (proven.failure_probability, proven.products <= CHECKED_COLUMNS + 4) == (0.0, True)
    assert -1e-5 < proven.lower_bound <= np.linalg.eigvalsh(2.0 * (Y @ Y.T - (Q * values) @ Q.T))[0]
    assert proven.dual_infeasibility_relative <= 1e-6
    assert certify(convex, Y).products > proven.products
    refuted = certify(problem, Y[:, :2])
    assert not refuted.proves(1e-6)
    assert refuted.lower_bound <= refuted.smallest_eigenvalue <= -2.0 + 1e-3
