"""Single precision within a function is found, and no function in double precision is taken for it."""

import importlib

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import FunctionProblem
from psdopt.errors import InvalidInputError
from psdopt.problems.functions.precision import sees_single

from .backends import BACKENDS, installed

N, R = 6, 3
Y = np.random.default_rng(0).standard_normal((N, R))
EVERY = pytest.mark.parametrize("backend", BACKENDS)
NAMES = {"autograd": "autograd.numpy", "jax": "jax.numpy", "torch": "torch"}


def cast(x, backend):
    """x in single precision and back, as a model in it would take x."""
    if backend == "torch":
        return x.float().double()
    return x.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("backend", [installed("jax"), installed("torch")])
@pytest.mark.parametrize("of", ["matrix", "factor"])
@pytest.mark.parametrize("beside", [0.0, 1e-2])
def test_a_cast_of_the_argument_is_refused_in_one_sentence(backend, of, beside):
    """Also beside a smaller term in double precision."""

    def function(x):
        M = cast(x, backend) if of == "matrix" else cast(x, backend) @ cast(x, backend).T
        return (M**2).sum() + beside * (x**2).sum()

    with pytest.raises(InvalidInputError, match=r"must compute in double precision; found .* single precision alone: "):
        FunctionProblem(function, N, backend, of).at(Y)


def models_in_single(A):
    single = np.float32
    return (
        lambda Y: float(np.sum((A @ Y.astype(single)) ** 2)),
        lambda Y: float(np.log1p(np.sum((A @ Y.astype(single)) ** 2).astype(float))),
        lambda Y: float(np.sum(np.abs(Y.astype(single).astype(float) @ Y.T.astype(single)))),
    )


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_models_in_single_precision_are_found(size):
    rng = np.random.default_rng(1)
    for _ in range(10):
        A, x = rng.standard_normal((30, N)).astype(np.float32), size * rng.standard_normal((N, R))
        assert [sees_single(model, x) for model in models_in_single(A)] == [True] * 3


OFFSETS = (0.0, 1.0, 1e3, 1e6, 1e8, 1e10, 1e14)


def cancelling(A, x, offset, digits):
    b = np.sum((A @ x) ** 2, axis=1) * (1.0 + digits * 1e-10)
    return (
        lambda Y: (offset + np.sum((A @ Y) ** 2)) - offset,
        lambda Y: float(np.sum((offset + (A @ Y) ** 2) - offset)),
        lambda Y: float(np.sum((1.0 + offset) * Y - offset * Y)),  # as many digits as in single precision at 1e8
        lambda Y: float(np.sum((np.sum((A @ Y) ** 2, axis=1) - b) ** 2)) + offset,
        lambda Y: float(np.sum(offset * np.sin(offset * Y))),
        lambda Y: float(np.round(np.sum((A @ Y) ** 2), digits)),
        lambda Y: float(np.linalg.slogdet(Y.T @ Y + 1e-3 * np.eye(R))[1]) + offset,
        lambda Y: offset,
    )


@pytest.mark.parametrize("offset", OFFSETS)
def test_values_that_cancel_are_not_taken_for_it(offset):
    """Whatever the size of what cancels: values then have few digits, or are multiples of one number."""
    rng = np.random.default_rng(2)
    for k in range(100):
        A, x = rng.standard_normal((30, N)), rng.standard_normal((N, R))
        assert not any(sees_single(function, x) for function in cancelling(A, x, offset, k % 12))


class Cancelling:
    """Terms of sizes 1 to 1e14 that cancel, of data that were in single precision."""

    def __init__(self, backend, of, offset, kind):
        A = np.random.default_rng(3).standard_normal((20, N)).astype(np.float32).astype(np.float64)
        self.xp = importlib.import_module(NAMES[backend])
        self.A = self.xp.asarray(A) if backend == "torch" else A
        self.of, self.offset, self.kind = of, offset, kind

    def __call__(self, x):
        q = ((self.A @ x) * self.A).sum(1) if self.of == "matrix" else ((self.A @ x) ** 2).sum(1)
        if self.kind == 0:
            return ((q - self.offset) ** 2).sum()
        if self.kind == 1:
            return self.xp.log(1.0 + q * q).sum() + self.offset
        return ((self.offset + q) - self.offset).sum() + (q**3).sum()


@EVERY
@pytest.mark.parametrize("of", ["matrix", "factor"])
@pytest.mark.parametrize("kind", range(3))
def test_functions_in_double_precision_are_accepted(backend, of, kind):
    x = Y @ Y.T if of == "matrix" else Y
    for offset in OFFSETS[::2]:
        case = FunctionProblem(Cancelling(backend, of, offset, kind), N, backend, of)
        assert not sees_single(case.backend.value, x)
    FunctionProblem(Cancelling(backend, of, 1.0, kind), N, backend, of).at(Y)


def test_a_function_of_autograd_is_tested_too():
    def function(M):
        return anp.sum(M**2) if not isinstance(M, np.ndarray) else float(np.sum(M.astype(np.float32) ** 2))

    with pytest.raises(InvalidInputError, match="single precision alone: let its NumPy arrays be float64"):
        FunctionProblem(function, N).at(Y)
