"""One formula in all backends that are installed."""

from importlib.util import find_spec

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import AutogradProblem, FunctionProblem

N, R = 5, 2
RNG = np.random.default_rng(4)
W = RNG.uniform(0.5, 1.5, (N, N))
T = RNG.standard_normal((N, 3)) @ RNG.standard_normal((3, N))


def softened(M):
    """Σ W_ij √(1 + (M_ij − T_ij)²), not symmetric in i and j, with derivatives of every order."""
    return anp.sum(W * anp.sqrt(1.0 + (M - T) ** 2))


def in_jax(M):
    import jax.numpy as jnp

    return jnp.sum(W * jnp.sqrt(1.0 + (M - T) ** 2))


def in_torch(M):
    import torch

    there = [torch.from_numpy(each).to(M.device) for each in (W, T)]
    return (there[0] * torch.sqrt(1.0 + (M - there[1]) ** 2)).sum()


FUNCTIONS = {"autograd": softened, "jax": in_jax, "torch": in_torch}


class OfFactor:
    """Y ↦ f(Y Yᵀ), with a name for pickles."""

    def __init__(self, function):
        self.function = function

    def __call__(self, Y, *parameters):
        return self.function(Y @ Y.T, *parameters)


def installed(name):
    """The backend's name as a parameter of a test, skipped where it is missing."""
    return pytest.param(name, marks=pytest.mark.skipif(find_spec(name) is None, reason=f"{name} is not installed"))


BACKENDS = [installed(name) for name in FUNCTIONS]


def problem(backend, of, convex=True, **options):
    function = FUNCTIONS[backend]
    return FunctionProblem(function if of == "matrix" else OfFactor(function), N, backend, of, convex=convex, **options)


def reference():
    return AutogradProblem(softened, N, convex=True)
