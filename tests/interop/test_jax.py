"""Layers in JAX; skipped where it is not installed."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.errors import InvalidInputError
from psdopt.interop.jax import layer
from tests.running.derivatives.problems import symmetric

jax = pytest.importorskip("jax")
N = 6


@pytest.fixture(autouse=True)
def double():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def solved():
    return layer(lambda C: Constrained(QuadraticSDP(C=C), constraints.diagonal(N, 1.0)), N, tol=1e-9)


def test_gradients_pass_through_a_layer():
    cut = solved()
    rng = np.random.default_rng(0)
    theta, G = symmetric(rng, N), symmetric(rng, N)

    def loss(t):
        return (cut(t * t + t) * G).sum() + (t**2).sum()

    found = jax.jit(jax.grad(loss))(theta)
    E, h = symmetric(rng, N), 1e-4
    difference = (loss(theta + h * E) - loss(theta - h * E)) / (2 * h)
    assert float((found * E).sum()) == pytest.approx(float(difference), rel=1e-6)


def test_a_batch_is_a_loop():
    cut = solved()
    batch = np.array([symmetric(np.random.default_rng(k), N) for k in range(3)])
    G = symmetric(np.random.default_rng(9), N)
    found = jax.vmap(jax.grad(lambda C: (cut(C) * G).sum()))(batch)
    for C, each in zip(batch, found, strict=True):
        np.testing.assert_allclose(each, jax.grad(lambda A: (cut(A) * G).sum())(C), rtol=1e-9)


def test_single_precision_is_refused():
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(InvalidInputError, match="found single precision"):
        solved()(np.eye(N, dtype=np.float32))


def test_missing_derivatives_are_named():
    nearest = layer(lambda C: QuadraticSDP(B=0.5, C=C), 3)
    with pytest.raises(Exception, match="strict complementarity fails"):
        jax.grad(lambda C: nearest(C).sum())(np.diag([1.0, -1.0, 0.0]))
