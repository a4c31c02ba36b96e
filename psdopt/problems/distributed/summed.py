"""F(M) = Σ_k F_k(M) for problems F_k that stay where their data are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from psdopt.checks import brief
from psdopt.contracts.abilities import Ability
from psdopt.contracts.gradient import GradientOperator
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.contracts.roles import PlainPreconditioner, Preconditioner
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array
from psdopt.problems.distributed.engine import Engine, Here, Part
from psdopt.problems.distributed.models import Held, PartsEvaluation, SummedLine, SummedPlane

#: Abilities that a sum has if all of its parts have them.
INHERITED = frozenset(
    {Ability.GRADIENT, Ability.EXACT_LINE, Ability.EXACT_PLANE, Ability.CONVEX, Ability.HESSIAN, Ability.QUADRATIC}
)


class Summed(Problem):
    """F = Σ_k F_k, each F_k a problem of the common order n, stored with its rows.

    If every F_k is quadratic, a step of conjugate gradient takes two rounds of requests to all parts (the line, then
    the new point); otherwise three (one more with all trial steps at once). Each round sends one block
    (n, r) to each part and one block and a few numbers back, whatever the number of rows.

    A value that is not a sum over rows cannot be split: tr((XᵀX M)²) is not Σ_k tr((X_kᵀX_k M)²) over parts X_k of X.
    For such objectives (kernel target alignment) form XᵀX in one pass,
    :meth:`psdopt.linalg.RowBlocks.moments`, and solve in memory.

    Parameters
    ----------
    parts : sequence of parts; each a :class:`psdopt.Problem`, or a recipe (make, *arguments) with make(*arguments) a
        problem, called on the worker of the part, or None for a part without data.
    engine : keeps the parts, an object of this package; None is this process.
    local : a problem that is added in this process, such as a regulariser that must count once; or None.
    preconditioner : a :class:`~psdopt.contracts.roles.Preconditioner`, a callable evaluation ↦ (R ↦ P⁻¹R) that uses Y,
        F and S Y, or None. Preconditioners of the parts are not used.

    Raises InvalidInputError for no parts, or parts of different orders; InvalidTypeError for an object that is no part.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        engine: Engine | None = None,
        local: Problem | None = None,
        preconditioner: Preconditioner | Callable[[Evaluation], Callable[[Array], Array]] | None = None,
    ) -> None:
        if not isinstance(parts, Sequence) or not parts:
            raise InvalidInputError(f"parts must be a sequence of at least one part; found {brief(parts)}")
        if engine is not None and not isinstance(engine, Engine):
            raise InvalidTypeError(f"engine must be an Engine or None; found {engine!r}")
        self.engine = Here() if engine is None else engine
        self.rounds = 0
        self._engines: list[tuple[Engine, int]] = [(self.engine, k) for k in range(len(parts))]
        self.engine.place(parts)
        if local is not None:
            here = Here()
            here.place([local])
            self._engines.append((here, 0))
        self._keys = itertools.count()
        self._held: WeakValueDictionary[int, Held] = WeakValueDictionary()
        self._dead: list[int] = []
        self._counts: list[Mapping[str, int]] = [{} for _ in self._engines]
        about = [known for known in self.ask("about") if known is not None]
        orders = sorted({n for n, *_ in about})
        if len(orders) != 1:
            raise InvalidInputError(f"parts must share one order n; found {orders or 'no part with data'}")
        self.n = orders[0]
        self.abilities = frozenset.intersection(*(abilities for _, abilities, *_ in about)) & INHERITED
        if preconditioner is not None:
            self.abilities |= {Ability.PRECONDITIONER}
            if not isinstance(preconditioner, Preconditioner):
                preconditioner = PlainPreconditioner(preconditioner)
        self._preconditioner = preconditioner
        self.lower_curvature = math.fsum(curvature for _, _, curvature, _ in about)
        rows = [count for *_, count in about]
        self.rows = None if None in rows else max(rows)

    def at(self, Y: Array) -> SummedEvaluation:
        factor = self.check_factor(Y)
        key = self.new_key()
        return SummedEvaluation(self, factor, key, self.ask("at", key, factor))

    def counts(self) -> Mapping[str, int]:
        """`rounds` of requests to the parts, and the sums of the parts' own counts."""
        total: dict[str, int] = {"rounds": self.rounds}
        for counts in self._counts:
            for name, number in counts.items():
                total[name] = total.get(name, 0) + number
        return total

    def new_key(self) -> int:
        """A key under which the parts keep an evaluation, a line or a plane."""
        return next(self._keys)

    def hold(self, held: Held) -> None:
        """Remember how to rebuild what the parts keep under `held.key`, as long as `held` exists."""
        self._held[held.key] = held

    def drop(self, key: int) -> None:
        """Let the parts forget `key`, with the next request."""
        self._dead.append(key)

    def ask(self, name: str, *arguments: Any) -> list[Any]:
        """The results of the method `name` of every part: one round. A part that has lost data rebuilds them from Y."""
        dropped, self._dead = self._dead, []
        self.rounds += 1
        return self._ask(list(range(len(self._engines))), name, arguments, dropped)

    def _ask(self, parts: list[int], name: str, arguments: Sequence[Any], dropped: Sequence[int] = ()) -> list[Any]:
        found: dict[int, Any] = {}
        waiting = list(parts)
        while waiting:
            answers = self._round(waiting, name, arguments, dropped)
            lost = []
            for k, answer in zip(waiting, answers, strict=True):
                self._counts[k] = answer.counts
                if answer.forgotten is None:
                    found[k] = answer.result
                else:
                    lost.append(k)
                    self._rebuild(k, answer.forgotten)
            waiting, dropped = lost, ()
        return [found[k] for k in parts]

    def _round(self, parts: list[int], name: str, arguments: Sequence[Any], dropped: Sequence[int]) -> list[Any]:
        answers: dict[int, Any] = {}
        for engine in dict.fromkeys(self._engines[k][0] for k in parts):
            mine = [k for k in parts if self._engines[k][0] is engine]
            questions = [(self._engines[k][1], name, arguments, dropped) for k in mine]
            answers.update(zip(mine, engine.ask(questions), strict=True))
        return [answers[k] for k in parts]

    def _rebuild(self, part: int, key: int) -> None:
        held = self._held[key]
        self._ask([part], held.rebuild[0], held.rebuild[1])

    def __getstate__(self) -> dict[str, Any]:
        raise InvalidTypeError("Summed cannot be pickled: its parts live elsewhere; make it again from its recipes")


class SummedEvaluation(PartsEvaluation):
    """F and S Y at M = Y Yᵀ; the parts keep everything else under `key`."""

    problem: Summed

    def __init__(self, problem: Summed, Y: Array, key: int, found: Sequence[tuple[float, Array] | None]) -> None:
        self.problem, self.factor, self.key = problem, Y, key
        self.rebuild = ("at", (key, Y))
        problem.hold(self)
        present = [part for part in found if part is not None]
        self._value = math.fsum(value for value, _ in present) if _finite(present) else math.nan
        self._product: Array = np.sum([product for _, product in present], axis=0)
        self._factor_gradient: Array = 2.0 * self._product

    def __del__(self) -> None:
        self.problem.drop(self.key)

    @property
    def parts(self) -> Summed:
        return self.problem

    @property
    def value(self) -> float:
        return self._value

    @property
    def gradient(self) -> GradientOperator:
        return GradientOperator(self.problem.n, self._times, self._known)

    def _times(self, V: Array) -> Array:
        return np.asarray(np.sum(self.problem.ask("product", self.key, V), axis=0))

    def _known(self, V: Array) -> Array | None:
        return self._product if V is self.factor else None

    def factor_gradient(self) -> Array:
        return self._factor_gradient

    def along(self, D: Array) -> SummedLine:
        return SummedLine(self, D)

    def along_atom(self, v: Array) -> SummedPlane:
        return SummedPlane(self, np.asarray(v, dtype=np.float64).reshape(-1, 1))

    def mix(self, T: Array) -> SummedEvaluation:
        return self.moved(self.factor @ T, lambda key: ("mix", (self.key, T, key)))

    def append(self, v: Array) -> SummedEvaluation:
        block = np.asarray(v, dtype=np.float64).reshape(self.problem.n, -1)
        return self.moved(np.hstack([self.factor, block]), lambda key: ("append", (self.key, block, key)))

    def moved(self, Y: Array, question: Callable[[int], tuple[str, Sequence[Any]]]) -> SummedEvaluation:
        key = self.problem.new_key()
        name, arguments = question(key)
        return SummedEvaluation(self.problem, Y, key, self.problem.ask(name, *arguments))

    def refresh(self) -> SummedEvaluation:
        return self.problem.at(self.factor)

    def hessian_vector(self, D: Array) -> Array:
        return np.asarray(np.sum(self.problem.ask("hessian", self.key, D), axis=0))

    def preconditioner(self) -> Callable[[Array], Array]:
        chosen = self.problem._preconditioner
        return super().preconditioner() if chosen is None else chosen.at(self)

    def __getstate__(self) -> tuple[Summed, Array]:
        return self.problem, self.factor  # a checkpoint holds Y and names the problem

    def __setstate__(self, state: tuple[Summed, Array]) -> None:
        problem, Y = state
        key = problem.new_key()
        SummedEvaluation.__init__(self, problem, Y, key, problem.ask("at", key, Y))


def _finite(found: Sequence[tuple[float, Array]]) -> bool:
    return all(math.isfinite(value) for value, _ in found)
