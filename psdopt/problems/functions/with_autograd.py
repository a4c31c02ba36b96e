"""Functions written with autograd.numpy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import autograd.numpy as anp
import numpy as np
from autograd import grad, value_and_grad
from autograd.core import make_vjp
from autograd.extend import vspace
from autograd.tracer import isbox

from psdopt.linalg.arrays import Array
from psdopt.problems.functions import autograd_indexing, autograd_powers
from psdopt.problems.functions.backend import Backend, Local

autograd_indexing.register()
autograd_powers.register()


@contextmanager
def _silent() -> Iterator[None]:
    """Without autograd's warning that a derivative does not depend on x, as that of a linear function."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Output seems independent of input")
        yield


class Autograd(Backend):
    """autograd's NumPy on the host; every derivative is a pass through the tape of f."""

    name: ClassVar[str] = "autograd"
    single: ClassVar[str] = "let its NumPy arrays be float64"

    def plain_value(self, x: Array) -> float:
        return float(self(x))

    def plain_first_order(self, x: Array) -> tuple[float, Array]:
        with _silent():
            value, G = value_and_grad(self)(x)
        return float(value), np.asarray(G)

    def plain_second_order(self, x: Array) -> Local:
        values: list[Any] = []

        def gradient(x: Any) -> Any:
            pull, value = make_vjp(self, x)
            values.append(value)
            return pull(vspace(value).ones())

        with _silent():
            product, G = make_vjp(gradient, x)
        return Local(_number(values[0]), np.asarray(G), lambda D: np.asarray(product(D)))

    def plain_outward(self, Z: Array, C: Array) -> tuple[Any, Any]:
        bends: list[Any] = []

        def bend(t: Any) -> Any:
            bends.append(grad(grad(lambda t: self(anp.concatenate([Z, t * C], axis=1))))(t))
            return bends[-1]

        with _silent():
            fourth = grad(grad(bend))(0.0)
        return _number(bends[0]), fourth

    def plain_parameter_gradient(self, x: Array, D: Array | None) -> Any:
        def slope(parameters: Any) -> Any:
            if D is None:
                return self(x, parameters)
            return anp.sum(grad(self)(x, parameters) * D)

        with _silent():
            return grad(slope)(self.parameters)

    def plain_parameter_force(self, x: Array, along: Any) -> Array:
        def slope(x: Any) -> Any:
            return _paired(grad(lambda parameters: self(x, parameters))(self.parameters), along)

        with _silent():
            return np.asarray(grad(slope)(x))


def _paired(found: Any, along: Any) -> Any:
    """Σ ⟨found, along⟩ over the arrays of both."""
    if isinstance(along, Mapping):
        return sum(_paired(found[key], each) for key, each in along.items())
    if isinstance(along, (list, tuple)):
        return sum(_paired(found[k], each) for k, each in enumerate(along))
    return 0.0 if along is None else anp.sum(found * along)


def _number(value: Any) -> float:
    """The number in autograd's boxes."""
    while isbox(value):
        value = value._value
    return float(value)
