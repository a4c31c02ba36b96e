"""A problem as a differentiable function of arrays, without any library of automatic differentiation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from psdopt.checks import integer
from psdopt.contracts.problem import Problem
from psdopt.errors import InvalidInputError, InvalidTypeError, NotDifferentiableError, unknown_name
from psdopt.linalg.arrays import Array, as_dense
from psdopt.running.result import Result
from psdopt.running.solve import solve

#: Results that a layer keeps for the way back, a batch and the layers of one model: so many, but at least two, and no
#: more than MEMORY bytes, at some twelve arrays (n, n) each.
KEPT, MEMORY, ARRAYS = 256, 2**28, 12


class Layer:
    """arrays ↦ the minimiser M (n, n) of build(*arrays), and the derivatives of a loss l(M) by the arrays.

    Parameters
    ----------
    build : makes a :class:`psdopt.Problem` of order `n` from float64 arrays, the same one from the same arrays.
    names : the names of the arrays among the data of the problem (:attr:`psdopt.Adjoint.data`); None: those of the
        arguments of `build`. options : keyword arguments for :func:`psdopt.solve`.

    Results are kept by the numbers in their arrays, so that the way back does not solve again; of a batch beyond KEPT,
    or MEMORY, it solves some.
    """

    def __init__(
        self, build: Callable[..., Problem], n: int, names: Sequence[str] | None = None, **options: Any
    ) -> None:
        if not callable(build):
            raise InvalidTypeError(f"build must be a function that makes a problem; found {type(build).__name__}")
        self.build, self.n, self.options = build, integer(n, "n", 1), options
        self.names = tuple(inspect.signature(build).parameters if names is None else names)
        self._kept: dict[tuple[Any, ...], Result] = {}
        self._drawn = np.random.default_rng(0)

    def result(self, *arrays: Any) -> Result:
        """The run for these arrays. Raises InvalidInputError for another number of arrays, or another order."""
        if len(arrays) != len(self.names):
            raise InvalidInputError(f"the layer takes {len(self.names)} arrays, {self.names}; found {len(arrays)}")
        numbers = [np.array(each, dtype=np.float64) for each in arrays]
        key = tuple((each.shape, each.tobytes()) for each in numbers)
        if key not in self._kept:
            problem = self.build(*numbers)
            if not isinstance(problem, Problem) or problem.n != self.n:
                found = f"order {problem.n}" if isinstance(problem, Problem) else type(problem).__name__
                raise InvalidInputError(f"build must make a problem of order {self.n}; found {found}")
            self._kept[key] = solve(problem, **self.options)
            if len(self._kept) > max(2, min(KEPT, MEMORY // (8 * ARRAYS * self.n**2))):
                # at random: in a larger batch the way back, in the same order, would miss the oldest one each time
                del self._kept[list(self._kept)[int(self._drawn.integers(len(self._kept) - 1))]]
        return self._kept[key]

    def matrix(self, *arrays: Any) -> Array:
        """M (n, n): the stationary point from which derivatives are taken; if there are none, that of the run."""
        result = self.result(*arrays)
        try:
            return result.adjoint.matrix.to_dense()
        except NotDifferentiableError:
            return result.matrix.to_dense()

    def gradients(self, *arrays: Any) -> tuple[Array, ...]:
        """The derivatives of l by the arrays, of their shapes; the last argument is dl/dM (n, n).

        Raises what :class:`psdopt.Adjoint` does, and UnknownNameError for an array that is none of the data.
        """
        *data, dM = arrays
        found = self.result(*data).vjp(np.asarray(dM, dtype=np.float64))
        for name in self.names:
            if name not in found:
                raise unknown_name("datum", name, found)
        return tuple(as_dense(found[name]).reshape(np.shape(each)) for name, each in zip(self.names, data, strict=True))
