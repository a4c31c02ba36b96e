"""What an automatic differentiation library offers a problem: value, gradient and Hessian of a function of an array."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.problems.functions.named import by_name, in_structure


class Local(NamedTuple):
    """f at x to second order: its value, its gradient, and the map D ↦ ∇²f(x)[D], which enters f no more."""

    value: float
    gradient: Array
    product: Callable[[Array], Array]


class NoDerivativeError(FloatingPointError, np.linalg.LinAlgError):
    """f has no derivatives at a point, as the gradient of an inverse at a singular matrix."""


class Backend(ABC):
    """f(x) or f(x, parameters), real, and its derivatives in double precision.

    Arrays are NumPy arrays, or arrays of the library where the backend was made for a device of it. `compiled` :
    whether every shape of x costs a compilation. Where f raises one of `failures`, as a Cholesky factor of a singular
    matrix does, its value is +inf; where they do, its derivatives raise :class:`NoDerivativeError`.
    """

    name: ClassVar[str]
    compiled: ClassVar[bool] = False
    failures: tuple[type[Exception], ...] = (np.linalg.LinAlgError,)
    #: The device of all arrays, an object of psdopt.devices; None for NumPy arrays.
    device: Any = None

    def __init__(self, function: Callable[..., Any], parameters: Any = None) -> None:
        self.function, self.parameters = function, parameters

    def __call__(self, x: Any, parameters: Any = None) -> Any:
        """f with its result checked: one real number in double precision."""
        given = self.parameters if parameters is None else parameters
        return self.checked(self.function(x) if given is None else self.function(x, given))

    def with_parameters(self, parameters: Any) -> Self:
        """The same function, with all that was compiled, of other parameters of the same shapes."""
        other = copy.copy(self)
        other.parameters = parameters
        return other

    def checked(self, found: Any) -> Any:
        """`found`, or InvalidInputError if it is no number in double precision."""
        shape = tuple(getattr(found, "shape", ()))
        dtype = str(getattr(found, "dtype", "float64" if isinstance(found, (int, float)) else type(found).__name__))
        if shape or not dtype.endswith("float64"):
            hint = f"; {self.single}" if dtype.endswith("float32") else ""
            raise InvalidInputError(
                f"function must return one real number in double precision, shape () and float64; "
                f"found shape {shape}, {dtype.removeprefix('torch.')}{hint}"
            )
        return float(found) if isinstance(found, int) else found

    #: What to do about single precision.
    single: ClassVar[str] = "its data are in single precision"

    def value(self, x: Array) -> float:
        """f(x), or +inf."""
        try:
            return self.plain_value(x)
        except self.failures:
            return math.inf

    def first_order(self, x: Array) -> tuple[float, Array]:
        """f(x) and ∇f(x), of the shape of x."""
        found: tuple[float, Array] = self._guarded(self.plain_first_order, x)
        return found

    def second_order(self, x: Array) -> Local:
        """f(x), ∇f(x) and the Hessian as a map, all from one trace of f."""
        found: Local = self._guarded(self.plain_second_order, x)
        return found

    def parameter_gradient(self, x: Array, D: Array | None) -> Any:
        """∂ f(x, p)/∂p, or ∂⟨∇f(x, p), D⟩/∂p, in the structure of the parameters and in the library's arrays.

        Raises InvalidInputError if there are no parameters.
        """
        self._require_parameters()
        return self._guarded(self.plain_parameter_gradient, x, D)

    def parameter_force(self, x: Array, tangents: Mapping[str, Any]) -> Array:
        """∂⟨∂f(x, p)/∂p, t⟩/∂x, the change of ∇f(x, p) as p moves along t: `tangents` by name, 0 for other names.

        Raises InvalidInputError if there are no parameters.
        """
        self._require_parameters()
        zero = in_structure(self.parameters, lambda name, each: np.zeros(np.shape(each)))
        along = in_structure(zero, lambda name, each: np.asarray(tangents.get(name, each), dtype=np.float64))
        found: Array = self._guarded(self.plain_parameter_force, x, along)
        return found

    def _require_parameters(self) -> None:
        if self.parameters is None:
            raise InvalidInputError("parameters must be given to FunctionProblem for derivatives in them; found None")
        for name, each in by_name(self.parameters):
            if not str(each.dtype).endswith("float64"):
                raise InvalidInputError(
                    f"parameters must be float64 for derivatives in them; found {name} of {each.dtype}: make it a "
                    "constant of function, or convert it"
                )

    def outward(self, Z: Array, C: Array) -> tuple[float, float]:
        """First and second derivative at s = 0 of s ↦ F(Z Zᵀ + s C Cᵀ), where F(Y Yᵀ) = f(Y).

        q(t) = f([Z, t C]) is even in t: they are its second derivative at 0 by 2, and its fourth by 12. Roots of s
        would have infinite derivatives.
        """
        second, fourth = self._guarded(self.plain_outward, Z, C)
        return float(second) / 2.0, float(fourth) / 12.0

    def _guarded(self, compute: Callable[..., Any], *at: Any) -> Any:
        try:
            return compute(*at)
        except self.failures as error:
            raise NoDerivativeError(str(error)) from error

    @abstractmethod
    def plain_value(self, x: Array) -> float: ...

    @abstractmethod
    def plain_first_order(self, x: Array) -> tuple[float, Array]: ...

    @abstractmethod
    def plain_second_order(self, x: Array) -> Local: ...

    @abstractmethod
    def plain_outward(self, Z: Array, C: Array) -> tuple[Any, Any]:
        """The second and the fourth derivative of q in :meth:`outward`."""

    @abstractmethod
    def plain_parameter_gradient(self, x: Array, D: Array | None) -> Any: ...

    @abstractmethod
    def plain_parameter_force(self, x: Array, along: Any) -> Array: ...
