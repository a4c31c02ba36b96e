"""Certificates: what they claim is recomputed densely, and objects that look optimal but are not are rejected."""

from __future__ import annotations

import autograd.numpy as anp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import AutogradProblem, LowRankPSD, QuadraticSDP, certify
from psdopt.escape import rank_binds, widened
from psdopt.linalg.tolerances import EPS
from psdopt.roles import Duality
from psdopt_plugins.manifold_learning.mvu_problem import mvu_problem
from psdopt_plugins.regression import psd_regression_problem

from .instances import INSTANCES, N, psd, symmetric


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(INSTANCES)), st.integers(1, N), st.integers(0, 2**31), st.floats(-3, 3))
def test_every_number_equals_its_dense_twin(name, r, seed, log_scale):
    rng = np.random.default_rng(seed)
    instance = INSTANCES[name](rng)
    Y = 10.0**log_scale * rng.standard_normal((N, r))
    certificate = certify(instance.problem, Y)
    M = Y @ Y.T
    S = instance.twin.dense_gradient(M)
    size = np.linalg.norm(S, 2)
    allowed = 1e4 * EPS * max(size, np.linalg.norm(instance.twin.dense_gradient(np.zeros((N, N))), 2))
    smallest = np.linalg.eigvalsh(S)[0]
    assert certificate.lower_bound <= smallest + allowed
    assert certificate.smallest_eigenvalue == pytest.approx(smallest, abs=allowed)
    assert certificate.dual_infeasibility >= max(0.0, -smallest) - allowed
    assert certificate.omega == -certificate.smallest_eigenvalue
    assert certificate.trace == pytest.approx(np.trace(M), rel=1e3 * EPS)
    assert certificate.stationarity == pytest.approx(np.linalg.norm(S @ Y), abs=allowed * np.linalg.norm(Y))
    assert certificate.complementarity == pytest.approx(abs(np.vdot(S, M)), abs=allowed * np.linalg.norm(Y) ** 2)
    v = certificate.eigenvector
    assert np.linalg.norm(v) == pytest.approx(1.0)
    assert v @ S @ v == pytest.approx(smallest, abs=allowed)
    decrease = instance.twin.at(np.zeros((N, 1))).value - instance.twin.at(Y).value
    assert certificate.value_at_zero - certificate.value == pytest.approx(
        decrease, abs=allowed * np.trace(M) + 1e4 * EPS * abs(certificate.value)
    )
    quarter = instance.twin.at(0.5 * Y).value
    unit = max(min(decrease, 4.0 * (quarter - instance.twin.at(Y).value)), 0.0)
    assert certificate.unit == pytest.approx(unit, abs=allowed * np.trace(M) + 1e4 * EPS * abs(certificate.value))
    if unit > 1e-6 * abs(certificate.value):
        assert certificate.complementarity_relative == pytest.approx(abs(np.vdot(S, M)) / unit, rel=1e-4, abs=1e-9)


def test_it_accepts_matrices_in_every_form_and_recomputes_images():
    instance = INSTANCES["qsdp-dense"](np.random.default_rng(0))
    Y = np.random.default_rng(1).standard_normal((N, 2))
    here = instance.problem.at(Y)
    forms = [certify(instance.problem, form) for form in (Y, LowRankPSD(Y), here)]
    assert forms[0].as_dict() == forms[1].as_dict() == forms[2].as_dict()
    # an evaluation whose images were tampered with does not get its lie certified
    here.factor_gradient()
    here.images._arrays = {key: 0.0 * Z for key, Z in here.images._arrays.items()}
    here._factor_gradient = np.zeros_like(Y)
    assert certify(instance.problem, here).stationarity == pytest.approx(forms[0].stationarity)


def test_each_residual_alone_does_not_prove():
    """S M = 0 without S ⪰ 0, and S ⪰ 0 without S M = 0: both are rejected, each by its own residual."""
    problem = QuadraticSDP(None, 1.0, np.diag([-1.0, -2.0, 1.0]))  # optimum diag(1, 2, 0)
    stationary = certify(problem, np.diag([1.0, 0.0, 0.0])[:, :1])
    assert stationary.stationarity <= 64 * EPS
    assert stationary.complementarity <= 64 * EPS
    assert stationary.dual_infeasibility == pytest.approx(4.0)
    assert not stationary.proves(0.5)
    feasible = certify(problem, np.diag([2.0, 2.0, 0.0])[:, :2])
    assert feasible.dual_infeasibility == 0.0
    assert feasible.complementarity > 1.0
    assert not feasible.proves(1e-2)
    optimum = certify(problem, np.diag([1.0, np.sqrt(2.0), 0.0])[:, :2])
    assert optimum.proves(1e-10)
    assert optimum.relative <= 1e-12


def test_zero_matrix():
    assert certify(QuadraticSDP(None, 1.0, np.eye(3)), np.zeros((3, 1))).proves(1e-10)
    wrong = certify(QuadraticSDP(None, 1.0, np.diag([1.0, -1e-3, 1.0])), np.zeros((3, 1)))
    assert wrong.stationarity == 0.0
    assert not wrong.proves(1e-4)


@pytest.mark.parametrize("s", [2.0**-40, 1.0, 2.0**40])
def test_a_gap_at_the_zero_matrix_is_measured_in_no_unit_of_the_gradient(s):
    """F(0) − F(M) is nothing there: a bound on the gap that is above 0 must not pass for small next to |∇F(0)|."""
    problem = mvu_problem(sp.csr_array(s * (np.ones((5, 5)) - np.eye(5))), nu=0.1 * s)
    wrong = certify(problem, np.zeros((5, 1)))
    assert wrong.value_at_zero - problem.at(np.sqrt(s) * np.eye(5)).value > 0.0  # zero is not optimal
    assert wrong.dual_value is not None
    assert wrong.gap > 0.0
    assert not wrong.proves(0.5)
    base = certify(mvu_problem(sp.csr_array(np.ones((5, 5)) - np.eye(5)), nu=0.1), np.zeros((5, 1)))
    assert wrong.relative == pytest.approx(base.relative, rel=1e-6)


def test_what_is_worse_than_zero_is_never_optimal():
    """F is flat along eeᵀ: with enough of it |S Y| and ⟨S, M⟩ are small next to |∇F(0)| tr M, and S ⪰ 0, at a point
    where all distances are too long."""
    n = 6
    i, j = np.triu_indices(n, 1)
    problem = psd_regression_problem(None, 1.0, np.column_stack([i, j]), n=n)
    Y = np.hstack([3.0 * np.eye(n), 1e9 * np.ones((n, 1))])
    wrong = certify(problem, Y)
    assert wrong.value > 2.0 * wrong.value_at_zero
    assert wrong.above_zero
    assert wrong.relative == np.inf
    assert not wrong.proves(0.5)
    right = certify(problem, np.hstack([np.sqrt(0.5) * np.eye(n), 1e3 * np.ones((n, 1))]))
    assert not right.above_zero
    assert right.proves(1e-6)
    assert wrong.rows()[-1][0] not in [row[0] for row in right.rows()]
    assert wrong.rows()[-1] == ("F(M) - F(0): M = 0 is better", wrong.value - wrong.value_at_zero, np.inf)
    tie = certify(QuadraticSDP(C=np.diag([1.0, 0.0])), np.array([[0.0], [1.0]]))  # F = 0 there as well as at 0
    assert not tie.above_zero
    assert tie.proves(1e-9)


def test_a_unit_of_values_is_none_for_eigenvalues():
    """With a value unit of its own a problem at M = 0 still has |∇F(0)| for S: here λ_min(S) is half of it below 0."""

    class Unit(Duality):
        def value_unit(self, value, trace):
            return 1e12

    class Valued(QuadraticSDP):
        duality = Unit()

    wrong = certify(Valued(None, 1.0, np.diag([2.0, -1.0, 2.0])), np.zeros((3, 1)))
    assert wrong.dual_infeasibility_relative == pytest.approx(0.5, rel=0.3)
    assert not wrong.proves(1e-2)


def test_relative_residuals_do_not_depend_on_units():
    rng = np.random.default_rng(2)
    A, B, C = psd(rng), psd(rng), symmetric(rng)
    Y = rng.standard_normal((N, 2)) * 0.3
    base = certify(QuadraticSDP(A, B, C), Y)
    for c in (1e-8, 1e8):
        for problem, factor in (
            (QuadraticSDP(np.sqrt(c) * A, c * B, c * C), Y),
            (QuadraticSDP(c * A, c**2 * B, c * C), Y / np.sqrt(c)),
        ):
            other = certify(problem, factor)
            for name in ("stationarity_relative", "dual_infeasibility_relative", "complementarity_relative"):
                assert getattr(other, name) == pytest.approx(getattr(base, name), rel=1e-6)


def test_nothing_global_is_proved_without_convexity():
    problem = AutogradProblem(lambda M: anp.sum(M * M) - 2.0 * anp.trace(M), 3)
    certificate = certify(problem, np.eye(3))
    assert certificate.relative <= 1e-12
    assert not certificate.proves(0.5)


@pytest.mark.parametrize("seed", range(4))
def test_gap_on_the_trace_one_set_is_a_bound(seed):
    """K1: F* >= F(M) − (<S, M> − λ_min(S)), checked against every vertex and a projected-gradient optimum."""
    rng = np.random.default_rng(seed)
    C = symmetric(rng)
    problem = QuadraticSDP(None, 1.0, C)
    # exact optimum of |M + C|² on the spectraplex: eigenvalues projected on the simplex
    values, vectors = np.linalg.eigh(-C)
    ordered = np.sort(values)[::-1]
    k = max(t for t in range(1, N + 1) if ordered[t - 1] - (np.sum(ordered[:t]) - 1.0) / t > 0)
    x = np.maximum(values - (np.sum(ordered[:k]) - 1.0) / k, 0.0)
    best = LowRankPSD.from_dense((vectors * x) @ vectors.T)
    optimum = certify(problem, best, trace=1.0, tol=1e-9)
    assert optimum.gap == pytest.approx(0.0, abs=1e-12)
    assert optimum.proves(1e-9)
    Y = rng.standard_normal((N, 3))
    Y /= np.linalg.norm(Y)
    certificate = certify(problem, Y, trace=1.0)
    assert certificate.gap >= certificate.value - optimum.value - 1e-12
    assert not certificate.proves(1e-3)


# --------------------------------------------------------------------------------------------------------- escape


def test_widening_goes_down_and_keeps_the_matrix_it_started_from():
    problem = QuadraticSDP(None, 1.0, np.diag([-1.0, -2.0, -3.0, 1.0]))
    here = problem.at(np.eye(4)[:, :1])  # stationary at value −1
    wider = widened(here, 4, -6.0)
    assert wider.value < here.value - 1.0
    assert wider.factor.shape[1] == 2
    np.testing.assert_array_equal(wider.factor[:, 0], here.factor[:, 0])
    assert widened(here, 1, -6.0) is None  # no room
    optimal = problem.at(np.diag(np.sqrt([1.0, 2.0, 3.0, 0.0]))[:, :3])
    assert widened(optimal, 4, -1e-12) is None or widened(optimal, 4, -1e-12).value >= optimal.value - 1e-12


def test_negligible_columns_make_room():
    problem = QuadraticSDP(None, 1.0, np.diag([-1.0, -2.0]))
    Y = np.zeros((2, 2))
    Y[0, 0] = 1.0
    wider = widened(problem.at(Y), 2, -4.0)
    assert wider.factor.shape[1] == 2
    assert wider.value == pytest.approx(-5.0)
    zero = widened(problem.at(np.zeros((2, 2))), 2, -4.0)
    assert zero.value < 0.0
    assert not rank_binds(problem.at(Y), 1e-6)
    assert rank_binds(problem.at(np.eye(2)), 1e-6)


def test_widening_along_an_unbounded_ray_still_moves():
    here = QuadraticSDP(np.diag([1.0, 0.0]), None, -np.eye(2)).at(np.array([[1.0], [0.0]]))
    assert widened(here, 2, -2.0).value < here.value
