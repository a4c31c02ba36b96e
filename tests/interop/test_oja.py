"""Section 4 of Meyer et al.: subspace tracking on pymanopt's Grassmann manifold, of which Oja's update drops out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymanopt.manifolds import Grassmann

from psdopt import QuadraticSDP, solve
from psdopt.data.streams import ArrayStream
from psdopt.interop.pymanopt import from_pymanopt
from psdopt.methods.online_gradient import OnlineRiemannianGradient, Pace
from psdopt.problems.streamed import Streamed

D, R = 9, 3


def residual_of(second_moment):
    """E ½ |M x − x|² = ½ tr(C M²) − tr(C M) + const for C = E xxᵀ: at M = U Uᵀ the loss (4) of the paper."""
    return QuadraticSDP(None, 0.5 * second_moment, -0.5 * second_moment)


def batch_gradient(batch, U):
    """S U and the loss of a batch of samples x, S = ½ (C M + M C) − C: two products with the rows, O(p d r)."""
    Z = batch.rows @ U
    CU = batch.rows.T @ Z / len(Z)
    S_U = 0.5 * (CU @ (U.T @ U) + U @ (U.T @ CU)) - CU
    missed = batch.rows - Z @ U.T
    return S_U, 0.5 * float(np.vdot(missed, missed)) / len(Z)


def oja(U, X, s):
    """qf(U + s (I − U Uᵀ) C U), C the second moment of the rows of X: the update as the paper prints it."""
    CU = X.T @ (X @ U) / len(X)
    return np.linalg.qr(U + s * (CU - U @ (U.T @ CU)))[0]


def distance(U, V):
    return float(np.linalg.norm(U @ U.T - V @ V.T))


@given(st.integers(0, 2**16), st.floats(1e-3, 10.0))
@settings(max_examples=30)
def test_a_gradient_step_on_the_grassmannian_is_ojas_update(seed, s):
    rng = np.random.default_rng(seed)
    geometry, x = from_pymanopt(Grassmann(D, R), D), rng.standard_normal((1, D))
    U = np.linalg.qr(rng.standard_normal((D, R)))[0]
    g = geometry.gradient(U, residual_of(x.T @ x).at(U).gradient)
    np.testing.assert_allclose(g, -(x.T - U @ (U.T @ x.T)) @ (x @ U), atol=1e-12 * float(np.vdot(x, x)))
    assert distance(geometry.retract(U, -s * g), oja(U, x, s)) <= 1e-12 * (1.0 + s * float(np.vdot(x, x)))


@pytest.mark.parametrize("p", [1, 4])
def test_online_gradient_with_the_grassmannian_is_ojas_method(p):
    """A whole epoch of the online method: the same subspaces as a loop of printed updates; it finds the leading one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, D)) * np.array([3.0, 2.5, 2.0, *[0.4] * (D - R)])
    geometry = from_pymanopt(Grassmann(D, R), D)
    problem = Streamed(ArrayStream(X, np.zeros(len(X)), order="given"), residual_of(X.T @ X / len(X)), batch_gradient)
    start = np.linalg.qr(rng.standard_normal((D, R)))[0]
    pace = Pace(0.05, 200.0)
    batches = list(problem.stream.take(p, 0, len(X) // p))
    method = OnlineRiemannianGradient(p)
    U, V, samples = start, start, 0
    for batch in batches:
        U = method.advance(problem, geometry, U, [batch], pace, samples)[0]
        V = oja(V, batch.rows, pace.step(samples))
        samples += p
    assert distance(U, V) <= 1e-10
    leading = np.eye(D)[:, :R]
    assert distance(U, leading) < 0.2 < distance(start, leading)
    learned = solve(problem, geometry, method, start=start, max_iterations=1)  # s and t0 by pre-training
    assert distance(learned.matrix.factor, leading) < 0.2
