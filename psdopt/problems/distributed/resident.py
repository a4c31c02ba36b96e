"""One part of a sum, which stays with its data and answers requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from psdopt.checks import brief
from psdopt.contracts.curvature import CurvedRows
from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import InvalidTypeError
from psdopt.linalg.arrays import Array

#: A part: a problem, None for a part without data, or (make, *arguments), with make(*arguments) called on the worker of
#: the part.
Part = Any
#: What a part says of itself: (n, abilities, lower_curvature, rows); None without data.
About = tuple[int, frozenset[str], float, int | None] | None


def made(part: Part) -> Problem | None:
    """The problem of a part, made if it is a recipe (make, *arguments)."""
    if isinstance(part, tuple):
        make, *arguments = part
        part = make(*map(aligned, arguments))
    if part is not None and not isinstance(part, Problem):
        wanted = "a Problem, None, or (make, *arguments) of one"
        raise InvalidTypeError(f"each of parts, and local, must be {wanted}; found {brief(part)}")
    return part


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


def aligned(message: Any) -> Any:
    """The message with its arrays at addresses that BLAS takes: a process may receive them at any byte of a buffer."""
    if isinstance(message, np.ndarray):
        return np.require(message, requirements="A")
    return type(message)(map(aligned, message)) if type(message) in (tuple, list) else message


class Resident:
    """F_k with its evaluations, lines and planes, stored under the keys that :class:`Summed` gave them.

    Only blocks (n, k), small matrices and numbers are received and sent. A part without data is None: it is asked
    :meth:`about` itself, and nothing else.
    """

    def __init__(self, part: Part) -> None:
        self.problem: Any = made(part)
        self._held: dict[int, Any] = {}
        self._drawn: tuple[Any, Any] = (None, None)  # share and seed of a sample, and the sample

    def answer(self, name: str, arguments: Sequence[Any], dropped: Sequence[int]) -> Reply:
        """Forget the `dropped` keys, then call the method `name`."""
        for key in dropped:
            self._held.pop(key, None)
        try:
            result, forgotten = getattr(self, name)(*map(aligned, arguments)), None
        except Forgotten as error:
            result, forgotten = None, error.key
        return Reply(result, {} if self.problem is None else dict(self.problem.counts()), forgotten)

    def about(self) -> About:
        """(n, abilities, lower_curvature, rows) of the problem; None for a part without data."""
        p = self.problem
        return None if p is None else (p.n, frozenset(map(str, p.abilities)), p.lower_curvature, p.rows)

    def at(self, key: int, Y: Array) -> tuple[float, Array]:
        """(F_k, S_k Y) at Y, kept as `key`."""
        return self._kept(key, self.problem.at(Y))

    def items(self) -> int:
        """How many rows a sample is drawn from."""
        found: int = self.problem.items
        return found

    def readings(self) -> int:
        """Measurements taken or put together so far, those of samples included."""
        found: int = self.problem.readings
        return found

    def at_sample(self, key: int, Y: Array, share: float, seed: int) -> tuple[float, Array]:
        """:meth:`at` of a sample of F_k; the last sample drawn is kept."""
        if self._drawn[0] != (share, seed):
            self._drawn = (share, seed), self.problem.sample(share, np.random.default_rng(seed))
        return self._kept(key, self._drawn[1].at(Y))

    def rows(self, key: int) -> CurvedRows:
        """What the rows of a sample prove of the curvature of F_k."""
        found: CurvedRows = self._found(key).curved_rows()
        return found

    def entries(self, key: int) -> tuple[Array, float]:
        """S_k (n, n), and F_k(M/4), of which a certificate asks as well."""
        evaluation = self._found(key)
        return dense_gradient(evaluation), evaluation.value_of_share(0.25)

    def with_entries(self, name: str, key: int, *arguments: Any) -> tuple[tuple[float, Array], tuple[Array, float]]:
        """What the method `name` answers that makes an evaluation, kept as `key`, and its :meth:`entries`."""
        return getattr(self, name)(key, *arguments), self.entries(key)

    def call(self, key: int, name: str, *arguments: Any) -> Any:
        """The result of the method `name` of what is kept as `key`."""
        return getattr(self._found(key), name)(*arguments)

    def moved(self, new: int, key: int, name: str, *arguments: Any) -> tuple[float, Array]:
        """(F_k, S_k Y) at the evaluation that the method `name` of what is kept as `key` gives; it is kept as `new`."""
        return self._kept(new, self.call(key, name, *arguments))

    def product(self, key: int, V: Array) -> Array:
        """S_k V."""
        return np.asarray(self._found(key).gradient @ V)

    def along(self, line: int, key: int, D: Array) -> tuple[list[float] | None, float]:
        """(coefficients of the quartic or None, F_k''(0)) of the line Y + mu D, which is kept as `line`."""
        model = self._held[line] = self.call(key, "along", D)
        known = model.coefficients
        return known, model.derivatives(0.0)[1] if known is None else 0.0

    def line_derivatives(self, line: int, mus: Array) -> Array:
        """[F_k', F_k''] at each of `mus`, shape (len(mus), 2)."""
        return np.array([self.call(line, "derivatives", mu) for mu in mus])

    def along_atom(self, plane: int, key: int, v: Array) -> tuple[float, Array, Array] | None:
        """(c, g, H) of the plane alpha M + beta v vᵀ if F_k is quadratic; the plane is kept as `plane`."""
        model = self._held[plane] = self.call(key, "along_atom", v)
        known: tuple[float, Array, Array] | None = model.quadratic
        return known

    def _kept(self, key: int, evaluation: Evaluation) -> tuple[float, Array]:
        """(F_k, S_k Y), and the evaluation under `key`."""
        self._held[key] = evaluation
        return evaluation.value, 0.5 * evaluation.factor_gradient()

    def _found(self, key: int) -> Any:
        if key not in self._held:
            raise Forgotten(key)
        return self._held[key]
