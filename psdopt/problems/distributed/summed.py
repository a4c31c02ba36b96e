"""F(M) = Σ_k F_k(M) for problems F_k that stay where their data are, with its lines and planes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, cast
from weakref import WeakValueDictionary

import numpy as np

from psdopt.checks import brief
from psdopt.contracts.abilities import Ability
from psdopt.contracts.gradient import GradientOperator
from psdopt.contracts.problem import Evaluation, LineModel, PlaneModel, Problem
from psdopt.contracts.roles import PlainPreconditioner, Preconditioner
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array, finite_value, inner
from psdopt.linalg.limits import MOST_STEPS
from psdopt.linalg.planes import quadratic, quadratic_derivatives
from psdopt.linalg.polynomials import quartic, quartic_derivatives
from psdopt.linalg.tolerances import MINOR
from psdopt.problems.composite import SHARED
from psdopt.problems.distributed.engine import Engine, Here, Question
from psdopt.problems.distributed.held import Held
from psdopt.problems.distributed.resident import About, Part, aligned
from psdopt.problems.distributed.rounds import bracket, root_between
from psdopt.problems.distributed.sampled import Divided, RowsElsewhere
from psdopt.problems.distributed.totals import Total, added

#: Numbers under which parts keep objects, for a sum and the samples of it, which have the same parts.
KEYS: Iterator[int] = itertools.count()
#: Up to this order ∇F is summed as an array for a certificate, 200 MB: one round instead of those of Lanczos's method.
WHOLE_ORDER = 5000
#: Abilities that a sum has if all of its parts have them.
INHERITED = SHARED | {Ability.QUADRATIC}


class Summed(Divided):
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
        self._counts: Mapping[str, int] = {}
        self.keys, self.count, self.local = KEYS, len(parts), local
        # what the parts keep, with how to rebuild it, while somebody here holds it; keys to forget at the next request
        self.held: WeakValueDictionary[int, Held] = WeakValueDictionary()
        self.dead: list[int] = []
        #: of each engine, the numbers of the parts that have data
        self.places: dict[Engine, list[int]] = {}
        self.about = self._placed(self.engine, parts)
        of_local = [] if local is None else self._placed(Here(), [local])
        far, here = ([known for known in some if known is not None] for some in (self.about, of_local))
        about = far + here
        orders = sorted({n for n, *_ in about})
        if len(orders) != 1:
            raise InvalidInputError(f"parts must share one order n; found {orders or 'no part with data'}")
        self.n = orders[0]
        self.abilities = frozenset.intersection(*(abilities for _, abilities, *_ in about)) & INHERITED
        if far and all(Ability.SAMPLE in abilities for _, abilities, *_ in far):
            self.abilities |= {Ability.SAMPLE}
        if preconditioner is not None:
            self.abilities |= {Ability.PRECONDITIONER}
            if not isinstance(preconditioner, Preconditioner):
                preconditioner = PlainPreconditioner(preconditioner)
        self._preconditioner = preconditioner
        self.lower_curvature = math.fsum(curvature for _, _, curvature, _ in about)
        rows = [count for *_, count in about if count is not None]
        self.rows = max(rows) if len(rows) == len(about) else None

    def _placed(self, engine: Engine, parts: Sequence[Part]) -> Sequence[About]:
        """What the parts say of themselves, once they are made."""
        engine.place(parts)
        found = engine.about(len(parts))
        self.places[engine] = [k for k, known in enumerate(found) if known is not None]
        return found

    @property
    def rounds(self) -> int:
        """Rounds of requests to the parts so far, those of samples included."""
        return self.engine.rounds

    def at(self, Y: Array) -> SummedEvaluation:
        factor = self.check_factor(Y)
        if factor.shape[1] == 1 and not factor.any():  # is asked for F(0), ∇F(0) and curvature, by several callers
            return self.once("zero", lambda: SummedEvaluation(self, factor))
        return SummedEvaluation(self, factor)

    def counts(self) -> Mapping[str, int]:
        """`rounds` of requests to the parts, bytes `sent` and `received`, and the sums of the parts' own counts."""
        return {"rounds": self.rounds, "sent": self.engine.sent, "received": self.engine.received, **self._counts}

    def total(self, name: str, *arguments: Any) -> Any:
        """The sum of the results of the method `name` of every part: one round."""
        dropped = self.dead[:]
        del self.dead[: len(dropped)]
        self.engine.rounds += 1
        found = added(
            self._asked(engine, (parts, name, arguments, dropped)) for engine, parts in self.places.items() if parts
        )
        self._counts = found.counts
        return aligned(found.result)

    def _asked(self, engine: Engine, question: Question) -> Total:
        """The sum over the parts of one engine. A part that has lost data rebuilds them from Y, and is asked again."""
        parts, name, arguments, _ = question
        total = engine.total(question)
        while total.forgotten:
            for k, key in total.forgotten.items():
                if key is not None:
                    self._asked(engine, ([k], *self.held[key].request, ()))
            again = [(k, name, arguments, ()) for k in total.forgotten]
            total = added([total._replace(forgotten={}), *map(Total.of, total.forgotten, engine.ask(again))])
        if total.parts != len(parts):
            raise RuntimeError(f"{engine!r} added {total.parts} answers of {len(parts)} parts")
        return total

    def __getstate__(self) -> dict[str, Any]:
        raise InvalidTypeError("Summed cannot be pickled: its parts live elsewhere; make it again from its recipes")


class SummedEvaluation(RowsElsewhere, Held):
    """F and S Y at M = Y Yᵀ, and S up to order WHOLE_ORDER if it is asked for; the parts keep everything else.

    The parts make the evaluation in the round of the first request, `made_by` the method and its arguments, at Y where
    none is given, and what follows from the object `source`, which is kept until then.
    """

    problem: Summed

    def __init__(self, problem: Summed, Y: Array, source: Held | None = None, *made_by: Any) -> None:
        self.problem, self.factor, self._source = problem, Y, source
        self.kept(problem, next(problem.keys), "at", Y)
        self._made_by, self._found = made_by, cast("tuple[float, Array] | None", None)
        self._whole = cast("tuple[Array, float] | None", None)  # S and F(M/4)

    def _ask(self, whole: bool = False) -> tuple[float, Array]:
        """F and S Y, with S if the `whole` of it is wanted: at most one round."""
        if self._found is None:
            made_by: tuple[Any, ...] = ("at", self.key, self.factor)
            if self._source is not None:
                made_by = ("moved", self.key, self._source.there, *self._made_by)
            if whole:
                self._found, self._whole = self.problem.total("with_entries", *made_by)
            else:
                self._found = self.problem.total(*made_by)
            self._source = None
        elif whole and self._whole is None:
            self._whole = self.problem.total("entries", self.key)
        return self._found

    @property
    def there(self) -> int:
        self._ask()
        return self.key

    @property
    def value(self) -> float:
        # of more than n columns S Y is larger than S, for which a proof will ask
        return self._ask(self.problem.n < min(self.factor.shape[1], WHOLE_ORDER))[0]

    @property
    def gradient(self) -> GradientOperator:
        few = self.problem.n <= WHOLE_ORDER
        return GradientOperator(self.problem.n, self._times, self._known, self._entries, remote=few)

    def _times(self, V: Array) -> Array:
        S = self.problem.total("product", self.there, V) if self._whole is None else self._whole[0] @ V
        return np.asarray(S)

    def _known(self, V: Array) -> Array | None:
        return self._ask()[1] if V is self.factor else None

    def _entries(self) -> Array | None:
        if self.problem.n > WHOLE_ORDER:
            return None
        self._ask(whole=True)
        return np.array(cast("tuple[Array, float]", self._whole)[0])

    def value_of_share(self, share: float) -> float:
        known = share == 0.25 and self._whole is not None
        return finite_value(lambda: cast(Any, self._whole)[1]) if known else super().value_of_share(share)

    def factor_gradient(self) -> Array:
        return self._doubled

    @cached_property
    def _doubled(self) -> Array:
        return 2.0 * self._ask()[1]

    def along(self, D: Array) -> SummedLine:
        return SummedLine(self, D)

    def along_atom(self, v: Array) -> SummedPlane:
        return SummedPlane(self, np.asarray(v, dtype=np.float64).reshape(-1, 1))

    def mix(self, T: Array) -> SummedEvaluation:
        return self.moved(self.factor @ T, self, "mix", T)

    def append(self, v: Array) -> SummedEvaluation:
        block = np.asarray(v, dtype=np.float64).reshape(self.problem.n, -1)
        return self.moved(np.hstack([self.factor, block]), self, "append", block)

    def moved(self, Y: Array, source: Held, name: str, *arguments: Any) -> SummedEvaluation:
        """The evaluation at Y that the parts make by the method `name` of what they keep for `source`."""
        return SummedEvaluation(self.problem, Y, source, name, *arguments)

    def refresh(self) -> SummedEvaluation:
        return self.problem.at(self.factor)

    def hessian_vector(self, D: Array) -> Array:
        return np.asarray(self.problem.total("call", self.there, "hessian_vector", D))

    def preconditioner(self) -> Callable[[Array], Array]:
        chosen = self.problem._preconditioner
        return super().preconditioner() if chosen is None else chosen.at(self)

    def __getstate__(self) -> tuple[Summed, Array]:
        return self.problem, self.factor  # a checkpoint holds Y and names the problem

    def __setstate__(self, state: tuple[Summed, Array]) -> None:
        SummedEvaluation.__init__(self, *state)


class SummedLine(LineModel, Held):
    """mu ↦ Σ_k F_k((Y + mu D)(Y + mu D)ᵀ): a quartic if all parts have one, else trial steps in rounds."""

    def __init__(self, evaluation: SummedEvaluation, D: Array) -> None:
        self.evaluation, self.D = evaluation, D
        known, self._bend = self.made(evaluation.problem, "along", evaluation.there, D)
        self.slope = inner(evaluation.factor_gradient(), D)
        if known is not None:
            self.coefficients = [evaluation.value, self.slope, *known[2:]]
        self._next: tuple[float, Evaluation] | None = None

    def value(self, mu: float) -> float:
        c = self.coefficients
        if c is not None:
            return quartic(c, mu)
        if mu == 0.0:
            return self.evaluation.value
        if self._next is not None and self._next[0] == mu:
            return self._next[1].value
        return float(self.parts.total("call", self.key, "value", mu))

    def derivatives(self, mu: float) -> tuple[float, float]:
        if self.coefficients is not None:
            return quartic_derivatives(self.coefficients, mu)
        first, second = self.derivatives_at(np.array([mu]))
        return (self.slope if mu == 0.0 else float(first[0])), float(second[0])

    def derivatives_at(self, mus: Array) -> tuple[Array, Array]:
        """(F', F'') at all of `mus`: one round."""
        total = self.parts.total("line_derivatives", self.key, mus)
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


class SummedPlane(PlaneModel, Held):
    """(alpha, beta) ↦ Σ_k F_k(alpha M + beta v vᵀ)."""

    def __init__(self, evaluation: SummedEvaluation, v: Array) -> None:
        self.evaluation, self.v = evaluation, v
        self.quadratic = self.made(evaluation.problem, "along_atom", evaluation.there, v[:, 0])

    def value(self, alpha: float, beta: float) -> float:
        if self.quadratic is not None:
            return quadratic(self.quadratic, alpha, beta)
        return float(self.parts.total("call", self.key, "value", alpha, beta))

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        if self.quadratic is not None:
            return quadratic_derivatives(self.quadratic, alpha, beta)
        g, H = self.parts.total("call", self.key, "derivatives", alpha, beta)
        return g, H

    def step(self, alpha: float, beta: float) -> Evaluation:
        Y = np.hstack([math.sqrt(alpha) * self.evaluation.factor, math.sqrt(beta) * self.v])
        return self.evaluation.moved(Y, self, "step", alpha, beta)
