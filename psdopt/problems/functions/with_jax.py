"""Functions written with jax.numpy, compiled once for each shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from psdopt.linalg.arrays import Array
from psdopt.problems.functions.backend import Backend, Local

#: The switch to double precision for one thread and one block of code, by its name of today and its former one.
DOUBLE: Any = jax.enable_x64 if hasattr(jax, "enable_x64") else import_module("jax.experimental").enable_x64


@contextmanager
def _host_double() -> Iterator[None]:
    """Double precision on the processor, whatever JAX's settings are; they are as before afterwards."""
    with DOUBLE(True), jax.default_device(jax.devices("cpu")[0]):
        yield


class Jax(Backend):
    """JAX on the processor: f is traced and compiled at the first use with each shape.

    JAX raises nothing where a factorisation fails, and returns NaN, which counts as +inf here. The Hessian as a map is
    the pull-back of the compiled gradient: its intermediate results are computed once for all products.
    """

    name: ClassVar[str] = "jax"
    compiled: ClassVar[bool] = True
    single: ClassVar[str] = "make its arrays by NumPy, or inside function, where JAX computes in double precision"

    def __init__(self, function: Callable[..., Any], parameters: Any = None) -> None:
        super().__init__(function, parameters)
        both = jax.value_and_grad(self)

        def second_order(x: Any, parameters: Any) -> Any:
            (value, G), pull = jax.vjp(lambda x: both(x, parameters), x)
            return value, G, pull

        def outward(Z: Any, C: Any, parameters: Any) -> Any:
            def bend(t: Any) -> Any:
                return _expanded(lambda t: self(jnp.concatenate([Z, t * C], axis=1), parameters), t)[2]

            second, _, fourth = _expanded(bend, 0.0)
            return second, fourth

        def mixed(x: Any, D: Any, parameters: Any) -> Any:
            return jax.grad(lambda p: jax.jvp(lambda x: self(x, p), (x,), (D,))[1])(parameters)

        def forced(x: Any, along: Any, parameters: Any) -> Any:
            return jax.jvp(lambda p: jax.grad(self)(x, p), (parameters,), (along,))[1]

        self._value = jax.jit(self)
        self._second_order = jax.jit(second_order)
        self._product = jax.jit(lambda pull, D: pull((jnp.zeros(()), D))[0])
        self._outward = jax.jit(outward)
        self._mixed = jax.jit(mixed)
        self._forced = jax.jit(forced)
        self._in_parameters = jax.jit(jax.grad(self, argnums=1))

    def plain_value(self, x: Array) -> float:
        with _host_double():
            found = float(self._value(x, self.parameters))
        return math.inf if math.isnan(found) else found

    def plain_first_order(self, x: Array) -> tuple[float, Array]:
        """From the second order, which is asked for at most shapes: another compilation would cost more."""
        value, G, _ = self.plain_second_order(x)
        return value, G

    def plain_second_order(self, x: Array) -> Local:
        with _host_double():
            value, G, pull = self._second_order(x, self.parameters)
            if math.isnan(value):
                raise np.linalg.LinAlgError("function is not a number")

            def product(D: Array) -> Array:
                with _host_double():
                    return np.asarray(self._product(pull, D))

            return Local(float(value), np.asarray(G), product)

    def plain_outward(self, Z: Array, C: Array) -> tuple[Any, Any]:
        with _host_double():
            second, fourth = self._outward(Z, C, self.parameters)
            return second, fourth

    def plain_parameter_gradient(self, x: Array, D: Array | None) -> Any:
        with _host_double():
            if D is None:
                return self._in_parameters(x, self.parameters)
            return self._mixed(x, D, self.parameters)

    def plain_parameter_force(self, x: Array, along: Any) -> Array:
        with _host_double():
            return np.asarray(self._forced(x, along, self.parameters))


def _expanded(of: Callable[[Any], Any], t: Any) -> tuple[Any, Any, Any]:
    """A function of one number and its first two derivatives at t, forward, from one trace."""
    (value, slope), (_, bend) = jax.jvp(lambda t: jax.jvp(of, (t,), (1.0,)), (t,), (1.0,))
    return value, slope, bend
