"""A problem from one function of M, or of the factor of M, with derivatives by automatic differentiation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from psdopt.checks import boolean, integer, one_of
from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Problem
from psdopt.devices import on_host, placed, released
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS, ROUNDINGS
from psdopt.problems.functions.backend import Backend, Local
from psdopt.problems.functions.evaluation import FunctionEvaluation
from psdopt.problems.functions.installed import BACKENDS, backend_of
from psdopt.problems.functions.named import by_name
from psdopt.problems.functions.of_factor import FactorEvaluation, widened, width
from psdopt.problems.functions.of_matrix import MatrixEvaluation
from psdopt.problems.functions.precision import sees_single

#: What a function is a function of -> its evaluations.
KINDS: Mapping[str, type[FunctionEvaluation]] = {"matrix": MatrixEvaluation, "factor": FactorEvaluation}
#: Members of a function of the matrix that a subclass may write by hand.
BY_HAND = ("evaluate", "dense_gradient", "dense_hessian")


class FunctionProblem(Problem):
    """min F(M), M ⪰ 0, for one Python function written with autograd.numpy, PyTorch or jax.numpy: F(M) = f(M), or f(Y).

    S = ∇F(M), slopes and curvatures along lines and planes, and products with the Hessian come from the backend's
    automatic differentiation, in double precision. Every evaluation enters f anew.

    Parameters
    ----------
    function : callable M (n, n) -> number for ``of="matrix"``, or Y (n, k) -> number for ``of="factor"``, with any
        number k of columns; a function of the factor must depend on Y Yᵀ alone, which is tested at the first factor.
        It takes and returns arrays of the backend, returns one float64 number, and takes the parameters as a second
        argument if there are any. Where it raises a library's ``LinAlgError``, as a Cholesky factor of a singular M
        does, or is NaN in JAX, F is +inf.
    n : order of M.
    backend : "autograd", "torch" or "jax"; the library is imported at the first use. Functions for JAX are compiled
        for each shape, with JAX's double precision switched on for them alone: arrays that they hold are constants of
        the compiled function.
    of : "matrix" or "factor".
    convex : whether F is convex. This is the caller's word, which a certificate tries to refute
        (:mod:`psdopt.certificates.convexity`); without it no certificate proves global optimality.
    parameters : None, or what function takes as second argument: an array of the backend, or dicts, lists and tuples of
        them. Evaluations then offer `parameter_gradient`, and results derivatives (`vjp` and `jvp` of
        :class:`psdopt.Result`) by the names of the dict, "w" or "layers[0].w", or "parameters" for a single array.
    device : for "torch", the device on which factors and all other arrays stay, such as "cuda"; None for NumPy arrays
        and the processor. Other backends compute on the processor.

    Raises
    ------
    InvalidTypeError if function is not callable. UnknownNameError for another backend. InvalidInputError for another
    `of`, for a device with another backend, and at the first use if function returns no number, or one in single
    precision, or casts its argument to that, or is no function of Y Yᵀ. MissingDependencyError at the first use if the
    backend is not installed.

    Notes
    -----
    Cost: of="matrix" O(n²) memory, a step O(n² r) beside a few calls of f; S is an array (n, n). of="factor" calls of f
    only; S times k columns is one product with the Hessian of f at n (r + k) numbers, and a plane's derivatives, of
    fourth order in Y, some ten calls of f.
    """

    convex_by_word = True

    def __init__(
        self,
        function: Callable[..., Any],
        n: int,
        backend: str = "autograd",
        of: str = "matrix",
        convex: bool = False,
        parameters: Any = None,
        device: Any = None,
    ) -> None:
        if not callable(function):
            raise InvalidTypeError(f"function must be callable; found {type(function).__name__}")
        self.function, self.n = function, integer(n, "n")
        self.library, self.of = one_of(backend, "backend", BACKENDS), one_of(of, "of", KINDS)
        self.parameters, self._device = parameters, device
        if device is not None:
            if backend != "torch":
                raise InvalidInputError(
                    f"device must be None for backend={backend!r}, which computes on the processor; only 'torch' keeps "
                    f"its arrays on a device; found {device!r}"
                )
            self.device = self.backend.device
        abilities = {Ability.GRADIENT, Ability.EXACT_LINE, Ability.EXACT_PLANE, Ability.HESSIAN}
        self.abilities = frozenset(abilities | {Ability.CONVEX} if boolean(convex, "convex") else abilities)
        self._values, self._tested = 0, self.by_hand

    @cached_property
    def backend(self) -> Backend:
        """The backend's derivatives of the function, made at the first use."""
        return backend_of(self.library, self.function, self.parameters, self._device)

    @property
    def data(self) -> Mapping[str, Any]:
        """The arrays of `parameters` by name; none on a device."""
        return dict(by_name(self.parameters)) if self.device is None else {}

    def __getstate__(self) -> dict[str, Any]:
        """The state without compiled functions."""
        return {name: value for name, value in vars(self).items() if name != "backend"}

    def with_parameters(self, parameters: Any) -> Self:
        """The same problem, and all that was compiled for it, with other parameters of the same shapes."""
        other = object.__new__(type(self))
        vars(other).update({name: value for name, value in vars(self).items() if name != "_made"})
        other.parameters = parameters
        vars(other)["backend"] = self.backend.with_parameters(parameters)
        return other

    @property
    def by_hand(self) -> bool:
        """Whether a subclass has a value or derivatives of its own."""
        return any(getattr(type(self), name) is not getattr(FunctionProblem, name) for name in BY_HAND)

    def evaluate(self, x: Any) -> float:
        """f at M (n, n), or at Y (n, k), counted."""
        self._values += 1
        return self.backend.value(x)

    def dense_gradient(self, M: Array) -> Array:
        """Symmetric ∇F(M) (n, n), of a function of the matrix."""
        found: Array = symmetric(self.backend.first_order(M)[1])
        return found

    def dense_hessian(self, M: Array, direction: Array) -> Array:
        """∇²F(M)[direction], symmetric (n, n), of a function of the matrix."""
        found: Array = symmetric(self.backend.second_order(M).product(direction))
        return found

    def local(self, M: Array) -> Local:
        """F(M), ∇F(M), and D ↦ ∇²F(M)[D] of a function of the matrix: one trace, and one pass back for each product.

        A subclass's own `evaluate`, `dense_gradient` or `dense_hessian` is used instead.
        """
        if self.by_hand:
            return Local(self.evaluate(M), self.dense_gradient(M), lambda D: self.dense_hessian(M, D))
        value, S, product = self.backend.second_order(M)
        return Local(value, symmetric(S), lambda D: symmetric(product(D)))

    def at(self, Y: Array) -> FunctionEvaluation:
        factor = self.check_factor(Y)
        if not self._tested:
            self._test_function(factor)
        return self.evaluation(factor)

    def evaluation(self, factor: Array) -> FunctionEvaluation:
        """The evaluation at a factor that is known to be one."""
        return KINDS[self.of](self, factor)

    def value_and_gradient_at(self, Y: Array) -> tuple[float, Array] | None:
        """From one gradient of a function of the factor, where the last n columns of Y are a diagonal matrix E.

        The last columns of ∇f(Y) are 2 S E. If f mixes columns, so that short ones lose digits, S is not symmetric to
        rounding: None then.
        """
        n, E = self.n, Y[:, -self.n :]
        diagonal = np.diagonal(E)
        if self.of == "matrix" or E.shape[1] < n or not diagonal.all() or np.count_nonzero(E) > n:
            return None
        value, G = cast(FactorEvaluation, self.at(Y)).first_order()
        S = on_host(G)[:, -n:] / (2.0 * diagonal)
        sizes = np.sqrt(np.linalg.norm(S, axis=1))
        if np.any(np.abs(S - S.T) > ROUNDINGS * n * EPS * sizes * sizes[:, None]):
            return None
        return value, 0.5 * (S + S.T)

    def counts(self) -> Mapping[str, int]:
        return {"values": self._values}

    def _test_function(self, Y: Array) -> None:
        """InvalidInputError if f computes in single precision, or is a function of a factor, but not of Y Yᵀ.

        At random factors of the size of Y, or of size one. Where f is infinite, or has no derivatives, at as many
        columns as Y has, as a barrier is, n columns are tried.
        """
        rng, size, matrix = np.random.default_rng(0), float(norm(Y)) if Y.shape[1] else 0.0, self.of == "matrix"

        def value(x: Array) -> float:
            return self.backend.value(self._sent(x))

        for r in dict.fromkeys((max(int(Y.shape[1]), 1), self.n)):
            Z = rng.standard_normal((self.n, r))
            Z *= (size or 1.0) / norm(Z)
            x = Z @ Z.T if matrix else widened(Z, self._widths(r)[0])
            if not np.isfinite(value(x)):
                continue
            if sees_single(value, x):
                raise InvalidInputError(
                    "function must compute in double precision; found values that change with its argument in single "
                    f"precision alone: {self.backend.single}"
                )
            with suppress(FloatingPointError):  # no derivatives at few columns
                if not matrix:
                    self._test_invariance(Z, rng, value)
                self._tested = True
                return

    def _widths(self, r: int) -> tuple[int, int]:
        """As many columns as f is asked for at r, as compiled functions are, and at more."""
        return (width(r), 2 * width(r)) if self.backend.compiled else (r, r + 1)

    def _test_invariance(self, Z: Array, rng: np.random.Generator, at: Callable[[Array], float]) -> None:
        few, many = self._widths(Z.shape[1])
        Z = widened(Z, few)
        value = at(Z)
        scale = abs(value) + float(np.linalg.norm(on_host(self.backend.first_order(self._sent(Z))[1])) * norm(Z))
        for columns, what in ((few, "f(Y Q) = f(Y)"), (many, f"f([Y, 0] Q) = f(Y) with {many} columns")):
            turned = widened(Z, columns) @ np.linalg.qr(rng.standard_normal((columns, columns)))[0]
            try:
                other = at(turned)
            except InvalidInputError:
                raise
            except Exception as error:
                text = f"function must take factors with any number of columns; with {columns} it raised {error!r}"
                raise InvalidInputError(text) from error
            if not abs(other - value) <= EPS**0.5 * scale:
                raise InvalidInputError(
                    f"function must depend on Y Yᵀ alone, {what} for every orthogonal Q; found {other:.15g} instead of "
                    f"{value:.15g} at a random factor"
                )

    def _sent(self, Z: Array) -> Any:
        return Z if self.device is None else released(placed(Z, self.device))


def symmetric(S: Any) -> Any:
    """(S + Sᵀ)/2 of one of the backend's arrays."""
    return 0.5 * S + 0.5 * S.T
