"""Lines and planes of a sum of parts: sums of the parts' models, requested in as few rounds as possible."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from psdopt.contracts.problem import Evaluation, LineModel, PlaneModel
from psdopt.linalg.arrays import Array, inner
from psdopt.linalg.limits import MOST_STEPS
from psdopt.linalg.planes import quadratic, quadratic_derivatives
from psdopt.linalg.polynomials import quartic, quartic_derivatives
from psdopt.linalg.tolerances import MINOR
from psdopt.problems.distributed.rounds import bracket, root_between


class Held:
    """An object that the parts keep under `key`, and the request (method, arguments) that rebuilds it from Y."""

    key: int
    rebuild: tuple[str, Sequence[Any]]


class Parts(Protocol):
    """The parts as a whole: every request goes to all of them at once, in one round."""

    def new_key(self) -> int: ...

    def hold(self, held: Held) -> None: ...

    def drop(self, key: int) -> None: ...

    def ask(self, name: str, *arguments: Any) -> list[Any]: ...


class PartsEvaluation(Evaluation, Held):
    """An evaluation that the parts keep under `key`."""

    @property
    @abstractmethod
    def parts(self) -> Parts:
        """The parts that keep the evaluation."""

    @abstractmethod
    def moved(self, Y: Array, question: Callable[[int], tuple[str, Sequence[Any]]]) -> Evaluation:
        """The evaluation at Y that the parts make from what they keep; `question` makes the request for a new key.

        One round.
        """


class SummedLine(LineModel, Held):
    """mu ↦ Σ_k F_k((Y + mu D)(Y + mu D)ᵀ): a quartic if all parts have one, else trial steps in rounds."""

    def __init__(self, evaluation: PartsEvaluation, D: Array) -> None:
        self.evaluation, self.D, self.parts = evaluation, D, evaluation.parts
        self.key = self.parts.new_key()
        self.rebuild = ("along", (evaluation.key, self.key, D))
        self.parts.hold(self)
        found = self.parts.ask(*_flat(self.rebuild))
        self.slope = inner(evaluation.factor_gradient(), D)
        self._bend = math.fsum(bend for _, bend in found)
        known = [coefficients for coefficients, _ in found]
        if all(c is not None for c in known):
            second, third, fourth = (math.fsum(c[k] for c in known) for k in (2, 3, 4))
            self.coefficients = [evaluation.value, self.slope, second, third, fourth]
        self._next: tuple[float, Evaluation] | None = None

    def __del__(self) -> None:
        self.parts.drop(self.key)

    def value(self, mu: float) -> float:
        c = self.coefficients
        if c is not None:
            return quartic(c, mu)
        if mu == 0.0:
            return self.evaluation.value
        if self._next is not None and self._next[0] == mu:
            return self._next[1].value
        return math.fsum(float(values[0]) for values in self.parts.ask("line_values", self.key, np.array([mu])))

    def derivatives(self, mu: float) -> tuple[float, float]:
        if self.coefficients is not None:
            return quartic_derivatives(self.coefficients, mu)
        first, second = self.derivatives_at(np.array([mu]))
        return (self.slope if mu == 0.0 else float(first[0])), float(second[0])

    def derivatives_at(self, mus: Array) -> tuple[Array, Array]:
        """(F', F'') at all of `mus`: one round."""
        total = np.sum(self.parts.ask("line_derivatives", self.key, mus), axis=0)
        return total[:, 0], total[:, 1]

    def minimize(self, upper: float = np.inf) -> float:
        if self.coefficients is not None:
            return super().minimize(upper)
        found = bracket(self.derivatives_at, self.slope, self._bend, upper)
        if isinstance(found, float):
            return found
        left, right = found
        for _ in range(MOST_STEPS):
            mu = root_between(left, right)
            new = self._stepped(mu)  # its gradient gives F'(mu), and saves a round if mu is accepted, which is likely
            at = inner(new.factor_gradient(), self.D)
            self._next = mu, new
            # conjugate directions need no smaller slope than a minor one
            if abs(at) <= MINOR * abs(self.slope) or not left[0] < mu < right[0]:
                break
            bend = (right[1] - left[1]) / (right[0] - left[0])
            left, right = (np.array([mu, at, bend]), right) if at < 0.0 else (left, np.array([mu, at, bend]))
        return mu

    def step(self, mu: float) -> Evaluation:
        if self._next is not None and self._next[0] == mu:
            return self._next[1]
        return self._stepped(mu)

    def _stepped(self, mu: float) -> Evaluation:
        Y = self.evaluation.factor + mu * self.D
        return self.evaluation.moved(Y, lambda key: ("line_step", (self.key, mu, key)))


class SummedPlane(PlaneModel, Held):
    """(alpha, beta) ↦ Σ_k F_k(alpha M + beta v vᵀ)."""

    def __init__(self, evaluation: PartsEvaluation, v: Array) -> None:
        self.evaluation, self.v, self.parts = evaluation, v, evaluation.parts
        self.key = self.parts.new_key()
        self.rebuild = ("along_atom", (evaluation.key, self.key, v[:, 0]))
        self.parts.hold(self)
        found = self.parts.ask(*_flat(self.rebuild))
        if all(part is not None for part in found):
            self.quadratic = (
                math.fsum(c for c, _, _ in found),
                np.sum([g for _, g, _ in found], axis=0),
                np.sum([H for _, _, H in found], axis=0),
            )

    def __del__(self) -> None:
        self.parts.drop(self.key)

    def value(self, alpha: float, beta: float) -> float:
        if self.quadratic is not None:
            return quadratic(self.quadratic, alpha, beta)
        return math.fsum(self.parts.ask("plane_value", self.key, alpha, beta))

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        if self.quadratic is not None:
            return quadratic_derivatives(self.quadratic, alpha, beta)
        found = self.parts.ask("plane_derivatives", self.key, alpha, beta)
        return np.sum([g for g, _ in found], axis=0), np.sum([H for _, H in found], axis=0)

    def step(self, alpha: float, beta: float) -> Evaluation:
        Y = np.hstack([math.sqrt(alpha) * self.evaluation.factor, math.sqrt(beta) * self.v])
        return self.evaluation.moved(Y, lambda key: ("plane_step", (self.key, alpha, beta, key)))


def _flat(question: tuple[str, Sequence[Any]]) -> list[Any]:
    return [question[0], *question[1]]
