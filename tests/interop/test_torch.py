"""Layers in PyTorch; skipped where it is not installed."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.errors import InvalidInputError, NotDifferentiableError
from psdopt.interop.torch import layer
from tests.running.derivatives.problems import symmetric

torch = pytest.importorskip("torch")
N = 6


def solved():
    return layer(lambda C: Constrained(QuadraticSDP(C=C), constraints.diagonal(N, 1.0)), N, tol=1e-9)


def test_gradients_pass_through_a_layer():
    cut = solved()
    rng = np.random.default_rng(0)
    G, E = (torch.as_tensor(symmetric(rng, N)) for _ in range(2))
    theta = torch.as_tensor(symmetric(rng, N)).requires_grad_()

    def loss(t):
        return (cut(t * t + t) * G).sum() + (t**2).sum()

    loss(theta).backward()
    h = 1e-4
    with torch.no_grad():
        difference = (loss(theta + h * E) - loss(theta - h * E)) / (2 * h)
    assert float((theta.grad * E).sum()) == pytest.approx(float(difference), rel=1e-6)


def test_a_batch_is_a_loop():
    cut = solved()
    batch = torch.as_tensor(np.array([symmetric(np.random.default_rng(k), N) for k in range(3)])).requires_grad_()
    torch.stack([cut(C) for C in batch]).sum().backward()
    assert batch.grad.shape == batch.shape


def test_single_precision_and_missing_derivatives_are_refused():
    with pytest.raises(InvalidInputError, match=r"found torch\.float32"):
        solved()(torch.eye(N))
    nearest = layer(lambda C: QuadraticSDP(B=0.5, C=C), 3)
    with pytest.raises(NotDifferentiableError, match="strict complementarity fails"):
        nearest(torch.diag(torch.tensor([1.0, -1.0, 0.0], dtype=torch.float64)).requires_grad_()).sum().backward()
