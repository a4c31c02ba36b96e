"""The dense reference: optimum on both sets, monotone, acceleration helps on an ill-conditioned problem."""

import numpy as np
import pytest
import scipy.optimize

import psdopt
from psdopt import PSDCone, QuadraticSDP, Spectraplex
from psdopt.methods.projected_gradient import RELAXATION, ProjectedGradient


def problem_of(condition, n=12, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    A = (Q * np.geomspace(1.0, condition**-0.5, n)) @ Q.T
    C = rng.standard_normal((n, n))
    return QuadraticSDP(A, None, C + C.T - 2 * np.eye(n))


def test_acceleration_needs_fewer_steps():
    problem = problem_of(100.0)
    steps = [psdopt.solve(problem, PSDCone(12), ProjectedGradient(a), tol=1e-5).iterations for a in (True, False)]
    assert steps[0] < 0.7 * steps[1]


def test_where_the_gradient_is_constant_a_step_is_as_long_as_m():
    linear = QuadraticSDP(None, None, 2.0**-70 * np.eye(12))
    result = psdopt.solve(linear, PSDCone(12), ProjectedGradient(), rng=0, tol=1e-6)
    assert result.optimal
    assert result.iterations <= 10
    assert result.value == 0.0


def on_cone(X):
    values, vectors = np.linalg.eigh(0.5 * (X + X.T))
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def on_spectraplex(X, trace):
    values, vectors = np.linalg.eigh(0.5 * (X + X.T))
    shift = scipy.optimize.brentq(lambda c: np.maximum(values - c, 0.0).sum() - trace, values[0] - trace, values[-1])
    return (vectors * np.maximum(values - shift, 0.0)) @ vectors.T


@pytest.mark.parametrize("accelerated", [True, False])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("trace", [None, 3.0])
def test_steps_are_those_of_the_monotone_accelerated_scheme(accelerated, unit, trace):
    """y = P(x + (t − 1)/t⁺ (x − x₋)), x⁺ = P(y − S(y)/L), L doubled until F obeys the descent inequality."""
    rng = np.random.default_rng(4)
    n, A, C = 5, np.diag([3.0, 2.0, 1.0, 0.5, 0.1]), rng.standard_normal((5, 5))
    A, C = A / np.sqrt(unit), C + C.T - np.eye(5)
    problem = QuadraticSDP(A, None, C)
    trace = None if trace is None else trace * unit
    geometry = PSDCone(n) if trace is None else Spectraplex(n, trace)

    def project(X):
        return on_cone(X) if trace is None else on_spectraplex(X, trace)

    def value(X):
        return np.sum((A @ X @ A) * X) + 2.0 * np.sum(C * X)

    def slope(X):
        return 2.0 * (A @ X @ A + C)

    Y = rng.standard_normal((n, 3))
    Y *= np.sqrt(3.0 * unit if trace is None else trace) / np.linalg.norm(Y)
    method = ProjectedGradient(accelerated)
    state = method.init(problem, geometry, geometry.from_factor(Y))
    x, before, t = Y @ Y.T, Y @ Y.T, 1.0
    v = np.linalg.eigh(slope(x))[1][:, 0]
    L = np.linalg.norm(slope(x + np.trace(x) * np.outer(v, v)) - slope(x)) / np.trace(x)
    assert pytest.approx(L, rel=1e-9) == state.momentum.L
    first = L * np.linalg.norm(x - project(x - slope(x) / L))
    assert state.momentum.residual == pytest.approx(first, rel=1e-8)
    restarts = 0
    for _ in range(12):
        while True:
            after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t**2)) if accelerated else 1.0
            beta = (t - 1.0) / after
            y = project(x + beta * (x - before)) if beta > 0.0 else x
            g, trial = slope(y), RELAXATION * L
            new = project(y - g / trial)
            while value(new) > value(y) + np.sum(g * (new - y)) + 0.5 * trial * np.sum((new - y) ** 2) + 1e-14:
                trial *= 2.0
                new = project(y - g / trial)
            if value(new) <= value(x) or beta == 0.0:
                break
            before, t, restarts = x, 1.0, restarts + 1
        x, before, t, L = new, x, after, trial
        state = method.step(state)
        np.testing.assert_allclose(state.evaluation.matrix.to_dense(), x, atol=1e-7 * unit)
        m = state.momentum
        assert (m.t, m.L, state.step) == pytest.approx((t, L, 1.0 / L), rel=1e-9)
        assert state.extras["momentum"] == m.t
        moved = L * np.linalg.norm(x - y)
        assert m.residual == pytest.approx(moved, rel=1e-4)
        SY = state.evaluation.factor_gradient()
        size = np.linalg.norm(state.evaluation.factor)
        if trace is not None:
            SY = SY - np.sum(SY * state.evaluation.factor) / size**2 * state.evaluation.factor
        assert state.gradient_norm == pytest.approx(max(2.0 * moved * size, np.linalg.norm(SY)), rel=1e-4)
    assert restarts > 0 or not accelerated or trace is None


def test_zero_is_a_point_of_one_column_and_the_first_scale_there_is_one():
    problem = QuadraticSDP(None, 1.0, np.diag([1.0, 2.0]))
    method = ProjectedGradient()
    state = method.init(problem, PSDCone(2), np.eye(2))
    for _ in range(5):
        state = method.step(state)
    assert state.evaluation.factor.shape == (2, 1)
    assert not np.any(state.evaluation.factor)
    # at M = 0 the gradient is compared with that at v vᵀ, |v| = 1; where it is zero throughout, L = 1
    assert pytest.approx(2.0, rel=1e-12) == method.init(problem, PSDCone(2), np.zeros((2, 1))).momentum.L
    still = QuadraticSDP(None, None, np.zeros((2, 2)))
    assert method.init(still, PSDCone(2), np.eye(2)).momentum.L == 1.0
    linear = QuadraticSDP(None, None, np.diag([3.0, 4.0]))
    L = method.init(linear, PSDCone(2), np.diag([1.0, 2.0])).momentum.L
    assert pytest.approx(np.finfo(float).eps * 10.0 / 5.0, rel=1e-9) == L
