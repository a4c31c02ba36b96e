"""One part of a sum, which stays with its data and answers requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from psdopt.contracts.problem import Evaluation, LineModel, PlaneModel, Problem
from psdopt.linalg.arrays import Array

T = TypeVar("T")


class Forgotten(Exception):
    """A part lacks the evaluation, line or plane of a request, because the part has been rebuilt in the meantime."""

    def __init__(self, key: int) -> None:
        super().__init__(key)
        self.key = key


class Reply(NamedTuple):
    """A part's answer: the result, or the `forgotten` key, and its problem's counts."""

    result: Any
    counts: Mapping[str, int]
    forgotten: int | None = None


class Resident:
    """F_k with its evaluations, lines and planes, stored under the keys that :class:`Summed` gave them.

    Only blocks (n, k), small matrices and numbers are received and sent. A part without data is None and adds zero.
    """

    def __init__(self, problem: Problem | None) -> None:
        self.problem = problem
        self._evaluations: dict[int, Evaluation] = {}
        self._lines: dict[int, LineModel] = {}
        self._planes: dict[int, PlaneModel] = {}

    def answer(self, name: str, arguments: Sequence[Any], dropped: Sequence[int]) -> Reply:
        """Forget the `dropped` keys, then call the method `name`."""
        for key in dropped:
            for held in (self._evaluations, self._lines, self._planes):
                held.pop(key, None)
        try:
            result, forgotten = getattr(self, name)(*arguments), None
        except Forgotten as error:
            result, forgotten = None, error.key
        return Reply(result, {} if self.problem is None else dict(self.problem.counts()), forgotten)

    def about(self) -> tuple[int, frozenset[str], float, int | None] | None:
        """(n, abilities, lower_curvature, rows) of the problem; None for a part without data."""
        p = self.problem
        return None if p is None else (p.n, frozenset(map(str, p.abilities)), p.lower_curvature, p.rows)

    def at(self, key: int, Y: Array) -> tuple[float, Array]:
        if self.problem is None:
            return 0.0, np.zeros_like(Y)
        return self._kept(key, self.problem.at(Y))

    def product(self, key: int, V: Array) -> Array:
        """S_k V."""
        return np.zeros_like(V) if self.problem is None else np.asarray(self._evaluation(key).gradient @ V)

    def mix(self, key: int, T: Array, new: int) -> tuple[float, Array] | None:
        return None if self.problem is None else self._kept(new, self._evaluation(key).mix(T))

    def append(self, key: int, V: Array, new: int) -> tuple[float, Array] | None:
        return None if self.problem is None else self._kept(new, self._evaluation(key).append(V))

    def hessian(self, key: int, D: Array) -> Array:
        return np.zeros_like(D) if self.problem is None else self._evaluation(key).hessian_vector(D)

    def along(self, key: int, line: int, D: Array) -> tuple[list[float] | None, float]:
        """(coefficients of the quartic or None, F_k''(0)) of the line Y + mu D, which is kept as `line`."""
        if self.problem is None:
            return [0.0] * 5, 0.0
        model = self._lines[line] = self._evaluation(key).along(D)
        known = model.coefficients
        return known, model.derivatives(0.0)[1] if known is None else 0.0

    def line_values(self, line: int, mus: Array) -> Array:
        return np.zeros(len(mus)) if self.problem is None else np.array([self._line(line).value(mu) for mu in mus])

    def line_derivatives(self, line: int, mus: Array) -> Array:
        """[F_k', F_k''] at each of `mus`, shape (len(mus), 2)."""
        if self.problem is None:
            return np.zeros((len(mus), 2))
        return np.array([self._line(line).derivatives(mu) for mu in mus])

    def line_step(self, line: int, mu: float, new: int) -> tuple[float, Array] | None:
        return None if self.problem is None else self._kept(new, self._line(line).step(mu))

    def along_atom(self, key: int, plane: int, v: Array) -> tuple[float, Array, Array] | None:
        """(c, g, H) of the plane alpha M + beta v vᵀ if F_k is quadratic; the plane is kept as `plane`."""
        if self.problem is None:
            return 0.0, np.zeros(2), np.zeros((2, 2))
        model = self._planes[plane] = self._evaluation(key).along_atom(v)
        return model.quadratic

    def plane_value(self, plane: int, alpha: float, beta: float) -> float:
        return 0.0 if self.problem is None else self._plane(plane).value(alpha, beta)

    def plane_derivatives(self, plane: int, alpha: float, beta: float) -> tuple[Array, Array]:
        if self.problem is None:
            return np.zeros(2), np.zeros((2, 2))
        return self._plane(plane).derivatives(alpha, beta)

    def plane_step(self, plane: int, alpha: float, beta: float, new: int) -> tuple[float, Array] | None:
        return None if self.problem is None else self._kept(new, self._plane(plane).step(alpha, beta))

    def _kept(self, key: int, evaluation: Evaluation) -> tuple[float, Array]:
        """(F_k, S_k Y), and the evaluation under `key`."""
        self._evaluations[key] = evaluation
        return evaluation.value, 0.5 * evaluation.factor_gradient()

    def _evaluation(self, key: int) -> Evaluation:
        return _held(self._evaluations, key)

    def _line(self, key: int) -> LineModel:
        return _held(self._lines, key)

    def _plane(self, key: int) -> PlaneModel:
        return _held(self._planes, key)


def _held(held: Mapping[int, T], key: int) -> T:
    if key not in held:
        raise Forgotten(key)
    return held[key]
