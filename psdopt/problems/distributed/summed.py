"""F(M) = Σ_k F_k(M) for problems F_k that stay where their data are, with its lines and planes."""

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
from psdopt.contracts.problem import Evaluation, LineModel, PlaneModel, Problem
from psdopt.contracts.roles import PlainPreconditioner, Preconditioner
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array, inner
from psdopt.linalg.limits import MOST_STEPS
from psdopt.linalg.planes import quadratic, quadratic_derivatives
from psdopt.linalg.polynomials import quartic, quartic_derivatives
from psdopt.linalg.tolerances import MINOR
from psdopt.problems.composite import SHARED
from psdopt.problems.distributed.engine import Engine, Here
from psdopt.problems.distributed.resident import Part, Reply
from psdopt.problems.distributed.rounds import bracket, root_between
from psdopt.problems.term_models import sum_of

#: A part: the engine that keeps it, and its number there.
Place = tuple[Engine, int]
#: Abilities that a sum has if all of its parts have them.
INHERITED = SHARED | {Ability.QUADRATIC}


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
        self.engine.place(parts)
        places: list[Place] = [(self.engine, k) for k in range(len(parts))]
        if local is not None:
            here = Here()
            here.place([local])
            places.append((here, 0))
        self._counts: dict[Place, Mapping[str, int]] = {place: {} for place in places}
        self.keys = itertools.count()
        # what the parts keep, with how to rebuild it, while somebody here holds it; keys to forget at the next request
        self.held: WeakValueDictionary[int, _Held] = WeakValueDictionary()
        self.dead: list[int] = []
        found = self.ask("about")
        about = [known for known in found if known is not None]
        orders = sorted({n for n, *_ in about})
        if len(orders) != 1:
            raise InvalidInputError(f"parts must share one order n; found {orders or 'no part with data'}")
        self._counts = {place: self._counts[place] for place, known in zip(places, found, strict=True) if known}
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
        factor, key = self.check_factor(Y), next(self.keys)
        return SummedEvaluation(self, factor, key, self.ask("at", key, factor))

    def counts(self) -> Mapping[str, int]:
        """`rounds` of requests to the parts, and the sums of the parts' own counts."""
        total: dict[str, int] = {"rounds": self.rounds}
        for counts in self._counts.values():
            for name, number in counts.items():
                total[name] = total.get(name, 0) + number
        return total

    def ask(self, name: str, *arguments: Any) -> list[Any]:
        """The results of the method `name` of every part: one round. A part that has lost data rebuilds them from Y."""
        dropped, self.dead = self.dead, []
        self.rounds += 1
        return self._ask(list(self._counts), name, arguments, dropped)

    def _ask(self, places: list[Place], name: str, arguments: Sequence[Any], dropped: Sequence[int] = ()) -> list[Any]:
        found: dict[Place, Any] = {}
        waiting = places
        while waiting:
            for place, reply in self._round(waiting, name, arguments, dropped).items():
                self._counts[place] = reply.counts
                if reply.forgotten is None:
                    found[place] = reply.result
                else:
                    self._ask([place], *self.held[reply.forgotten].request)
            waiting, dropped = [place for place in waiting if place not in found], ()
        return [found[place] for place in places]

    def _round(
        self, places: list[Place], name: str, arguments: Sequence[Any], dropped: Sequence[int]
    ) -> dict[Place, Reply]:
        replies: dict[Place, Reply] = {}
        for engine in dict.fromkeys(engine for engine, _ in places):
            mine = [place for place in places if place[0] is engine]
            questions = [(k, name, arguments, dropped) for _, k in mine]
            replies.update(zip(mine, engine.ask(questions), strict=True))
        return replies

    def __getstate__(self) -> dict[str, Any]:
        raise InvalidTypeError("Summed cannot be pickled: its parts live elsewhere; make it again from its recipes")


class _Held:
    """An object that the parts keep under `key`, and the `request` (method, arguments) that rebuilds it from Y."""

    def kept(self, parts: Summed, key: int, name: str, *arguments: Any) -> None:
        """Set the members; `arguments` follow `key`."""
        self.parts, self.key, self.request = parts, key, (name, (key, *arguments))
        parts.held[key] = self

    def made(self, parts: Summed, name: str, *arguments: Any) -> list[Any]:
        """What the parts answer when they make and keep the object. One round."""
        self.kept(parts, next(parts.keys), name, *arguments)
        return parts.ask(name, self.key, *arguments)

    def __del__(self) -> None:
        self.parts.dead.append(self.key)


class SummedEvaluation(Evaluation, _Held):
    """F and S Y at M = Y Yᵀ; the parts keep everything else."""

    problem: Summed

    def __init__(self, problem: Summed, Y: Array, key: int, found: Sequence[tuple[float, Array]]) -> None:
        self.problem, self.factor = problem, Y
        self.kept(problem, key, "at", Y)
        self._value = sum_of(value for value, _ in found)
        self._product: Array = np.sum([product for _, product in found], axis=0)
        self._factor_gradient: Array = 2.0 * self._product

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
        return self.moved(self.factor @ T, self, "mix", T)

    def append(self, v: Array) -> SummedEvaluation:
        block = np.asarray(v, dtype=np.float64).reshape(self.problem.n, -1)
        return self.moved(np.hstack([self.factor, block]), self, "append", block)

    def moved(self, Y: Array, source: _Held, name: str, *arguments: Any) -> SummedEvaluation:
        """The evaluation at Y that the parts make by the method `name` of what they keep for `source`. One round."""
        key = next(self.problem.keys)
        return SummedEvaluation(self.problem, Y, key, self.problem.ask("moved", key, source.key, name, *arguments))

    def refresh(self) -> SummedEvaluation:
        return self.problem.at(self.factor)

    def hessian_vector(self, D: Array) -> Array:
        return np.asarray(np.sum(self.problem.ask("call", self.key, "hessian_vector", D), axis=0))

    def preconditioner(self) -> Callable[[Array], Array]:
        chosen = self.problem._preconditioner
        return super().preconditioner() if chosen is None else chosen.at(self)

    def __getstate__(self) -> tuple[Summed, Array]:
        return self.problem, self.factor  # a checkpoint holds Y and names the problem

    def __setstate__(self, state: tuple[Summed, Array]) -> None:
        problem, Y = state
        key = next(problem.keys)
        SummedEvaluation.__init__(self, problem, Y, key, problem.ask("at", key, Y))


class SummedLine(LineModel, _Held):
    """mu ↦ Σ_k F_k((Y + mu D)(Y + mu D)ᵀ): a quartic if all parts have one, else trial steps in rounds."""

    def __init__(self, evaluation: SummedEvaluation, D: Array) -> None:
        self.evaluation, self.D = evaluation, D
        found = self.made(evaluation.problem, "along", evaluation.key, D)
        self.slope = inner(evaluation.factor_gradient(), D)
        self._bend = sum_of(bend for _, bend in found)
        known = [coefficients for coefficients, _ in found]
        if all(c is not None for c in known):
            second, third, fourth = (sum_of(c[k] for c in known) for k in (2, 3, 4))
            self.coefficients = [evaluation.value, self.slope, second, third, fourth]
        self._next: tuple[float, Evaluation] | None = None

    def value(self, mu: float) -> float:
        c = self.coefficients
        if c is not None:
            return quartic(c, mu)
        if mu == 0.0:
            return self.evaluation.value
        if self._next is not None and self._next[0] == mu:
            return self._next[1].value
        return sum_of(self.parts.ask("call", self.key, "value", mu))

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
        return self.evaluation.moved(Y, self, "step", mu)


class SummedPlane(PlaneModel, _Held):
    """(alpha, beta) ↦ Σ_k F_k(alpha M + beta v vᵀ)."""

    def __init__(self, evaluation: SummedEvaluation, v: Array) -> None:
        self.evaluation, self.v = evaluation, v
        found = self.made(evaluation.problem, "along_atom", evaluation.key, v[:, 0])
        if all(part is not None for part in found):
            self.quadratic = (
                sum_of(c for c, _, _ in found),
                np.sum([g for _, g, _ in found], axis=0),
                np.sum([H for _, _, H in found], axis=0),
            )

    def value(self, alpha: float, beta: float) -> float:
        if self.quadratic is not None:
            return quadratic(self.quadratic, alpha, beta)
        return sum_of(self.parts.ask("call", self.key, "value", alpha, beta))

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        if self.quadratic is not None:
            return quadratic_derivatives(self.quadratic, alpha, beta)
        found = self.parts.ask("call", self.key, "derivatives", alpha, beta)
        return np.sum([g for g, _ in found], axis=0), np.sum([H for _, H in found], axis=0)

    def step(self, alpha: float, beta: float) -> Evaluation:
        Y = np.hstack([math.sqrt(alpha) * self.evaluation.factor, math.sqrt(beta) * self.v])
        return self.evaluation.moved(Y, self, "step", alpha, beta)
