"""A method inside that sees a growing share of the rows, corrected and proven by passes over all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.certificates.scales import natural_trace
from psdopt.checks import instance, integer, number
from psdopt.contracts.abilities import Ability, Requires, require_inner
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.method import Method, Outcome, State, factor_residual
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import IncompatibleError
from psdopt.linalg.limits import FACTOR_ORDER
from psdopt.linalg.tolerances import SLIGHT
from psdopt.methods.conjugate_gradient import ConjugateGradient
from psdopt.problems.surveyed import Surveyed, is_zero, scaled_start, tilted

#: A sample has at least so many rows for each unknown of M: F then differs from F on the sample by about a third.
ROWS = 8
#: The least share of the promised decrease at which a sample is kept, and the largest share of the last promise.
KEPT, SLOWER = 0.5, 0.25


@dataclass(kw_only=True)
class SamplesState(State):
    """`share` of the rows in the sample; `promised`, the decrease of F on the last sample; `whole`, the state of the
    method inside once it sees all rows. `passes` : gradients of all rows that the run has cost so far, those of samples
    by their shares. `sample`, and `mark`, the measurements counted when `passes` was, are in no checkpoint: a sample is
    drawn again, and `passes` of a resumed run may differ by the reading that ended or begins it."""

    share: float
    promised: float = math.inf
    whole: State | None = None
    passes: float = 0.0
    sample: Any = None
    mark: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "sample": None, "mark": None}


@dataclass(frozen=True)
class GrowingSamples(Method[SamplesState]):
    """min F(M) by minima on a sample of the rows, F_s(N) + ⟨∇F(M) − ∇F_s(M), N⟩, one pass over all rows for each.

    The first sample is minimised as it is. At its minimiser M all rows are read once, for F(M) and ∇F(M), an array
    (n, n): this pass gives the certificate of M, and the correction under which the sample has the slope of F at M. A
    minimiser of the corrected sample is a Newton step for F with the Hessian of the sample, which differs from that of
    F by about √(unknowns / rows drawn): each pass divides the gap by that ratio's inverse square, so that a sample need
    not grow for the sake of accuracy (Jordan, Lee & Yang 2019, section 2; Shamir, Srebro & Zhang 2014).

    A sample is drawn anew with `growth` times the rows if F fell by less than half of what the sample promised, or if
    it promises more than a quarter of what it promised before; a step that would raise F is not taken. Once it would
    hold all rows, the method inside goes on with F itself. Samples with fewer than 8 rows for each unknown of M are
    skipped.

    The proof is that of all rows. The curvature that it needs is that of the rows drawn, not scaled up: rows that were
    left out have convex losses and can only add to it. So the proven gap is up to 1 / `first` times the true one, which
    one or two passes make up for. That bound is for measurements x_tᵀMx_t (forms and distances of pairs) and orders
    up to 64; else the certificate uses what it finds for any F.

    Parameters
    ----------
    inside : a method on a factor. first, growth : share of the rows in the first sample, in (0, 1], and its growth,
        > 1. steps, accuracy : the method inside ends on a sample after so many steps, or once its gradient is at most
        this share of the first one. seed : of the samples.

    Needs a problem with the ability ``sample`` (sums of terms under separable losses,
    :class:`~psdopt.problems.distributed.Summed` of them) of order at most 3000: IncompatibleError else. A step costs
    one pass over all rows (F and ∇F at n columns), and the steps of the method inside on the sample. A checkpoint holds
    M and ∇F(M), no sample: samples are drawn again from `seed`. The history has the columns `share`, of the rows in the
    sample, and `passes`, the gradients of all rows that the run has cost, those of samples counted by their shares.
    """

    inside: Method = ConjugateGradient()
    first: float = 1 / 64
    growth: float = 4.0
    steps: int = 200
    accuracy: float = SLIGHT
    seed: int = 0

    descends: ClassVar[bool] = True
    starts_at_zero: ClassVar[bool] = True
    certified_steps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        instance(self.inside, "inside", Method)
        number(self.first, "first", above=0.0, most=1.0)
        number(self.growth, "growth", above=1.0)
        number(self.accuracy, "accuracy", above=0.0, below=1.0)
        integer(self.steps, "steps")
        integer(self.seed, "seed", 0)

    @property
    def requires(self) -> Requires:  # type: ignore[override]
        """A sum over rows, a factor that moves along straight lines, and the needs of the method inside."""
        inside = self.inside.requires
        problem = (Ability.SAMPLE, *inside.get("problem", ()))
        return {"problem": problem, "geometry": (Ability.STRAIGHT, *inside.get("geometry", ()))}

    def with_escape(self, escape: bool, max_rank: int) -> GrowingSamples:
        return replace(self, inside=self.inside.with_escape(escape, max_rank))

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> SamplesState:
        require_inner("inside", self.inside, problem, geometry)
        if problem.n > FACTOR_ORDER:
            raise IncompatibleError(f"GrowingSamples forms ∇F(M), for orders up to {FACTOR_ORDER}; found {problem.n}")
        mark = problem.readings
        here = Surveyed(problem.at(geometry.factor(start)) if evaluation is None else evaluation)
        if is_zero(here):
            problem.once(("value", 0.0), lambda: here.value)
        columns = here.factor.shape[1]
        unknowns, share = min(problem.n * columns, problem.n * (problem.n + 1) // 2), self.first
        while share < 1.0 and share * problem.items < ROWS * unknowns:
            share *= self.growth
        residual = _residual(geometry, start, here)
        return SamplesState(problem, geometry, start, here, share=share, gradient_norm=residual, mark=mark)

    def step(self, state: SamplesState) -> SamplesState:
        problem, mark = state.problem, state.mark
        mark = problem.readings if mark is None else mark
        after = self._moved(state)
        now = problem.readings
        read = max(now - mark, 0)  # parts that were made again count from then on
        passes = state.passes + read / (2.0 * max(problem.items, 1))
        return replace(after, passes=passes, mark=now, extras={**after.extras, "passes": passes})

    def _moved(self, state: SamplesState) -> SamplesState:
        """The state at another point, on a sample that is as large as that takes."""
        while state.whole is None and state.share < 1.0:
            moved = self._on_sample(state)
            if moved.evaluation is not state.evaluation:
                return moved
            state = moved
        return self._on_all(state)

    def widened(self, state: SamplesState, geometry: Geometry, point: Any, evaluation: Evaluation) -> SamplesState:
        if state.whole is None:
            return replace(
                self.init(state.problem, geometry, point, evaluation), share=state.share, sample=state.sample
            )
        return _around(self.inside.widened(state.whole, geometry, point, evaluation))

    def _on_sample(self, state: SamplesState) -> SamplesState:
        """The state at the minimiser of the sample, corrected by ∇F, or at the same point with a larger sample."""
        problem, geometry, here = state.problem, state.geometry, state.evaluation
        sample, begun = state.sample, is_zero(here)
        if sample is None:
            sample = problem.sample(state.share, self._generator(state.share))
            state = replace(state, sample=sample)
        model = sample
        if begun:
            problem.once("natural trace", lambda: natural_trace(sample))  # a scale, for which a sample will do
            point = _random(sample, geometry, self._generator(state.share))
        else:
            assert isinstance(here, Surveyed)
            model, point = tilted(sample, here.S - dense_gradient(sample.at(here.factor))), state.point
        inner = self.inside.init(model, geometry, point)
        first, before = inner.gradient_norm, inner.evaluation.value
        for _ in range(self.steps):
            if inner.outcome is not Outcome.RUNNING or not inner.gradient_norm > self.accuracy * first:
                break
            inner = self.inside.step(inner)
        Y = inner.evaluation.factor
        if inner.outcome in (Outcome.UNBOUNDED, Outcome.DIVERGED) or not np.all(np.isfinite(Y)):
            return self._grown(state)
        there = Surveyed(problem.at(Y), sample.at(Y))
        fell, promised = here.value - there.value, before - inner.evaluation.value
        if not fell > 0.0:
            return self._grown(state)
        after = replace(
            state,
            point=inner.point,
            evaluation=there,
            gradient_norm=_residual(geometry, inner.point, there),
            promised=math.inf if begun else promised,
            extras={"share": state.share},
        )
        slow = not begun and (fell < KEPT * promised or promised > SLOWER * state.promised)
        return self._grown(after) if slow else after

    def _on_all(self, state: SamplesState) -> SamplesState:
        """A step of the method inside on F itself."""
        here, whole = state.evaluation, state.whole
        if whole is None:
            problem, geometry = state.problem, state.geometry
            if is_zero(here):
                whole = self.inside.init(problem, geometry, _random(problem, geometry, self._generator(1.0)))
            else:
                full = here.full if isinstance(here, Surveyed) else here
                whole = self.inside.init(problem, geometry, state.point, full)
        return _around(self.inside.step(whole))

    def _generator(self, share: float) -> np.random.Generator:
        return np.random.default_rng((self.seed, round(1.0 / share)))

    def _grown(self, state: SamplesState) -> SamplesState:
        return replace(state, share=state.share * self.growth, promised=math.inf, sample=None)


def _random(problem: Problem, geometry: Geometry, rng: np.random.Generator) -> Any:
    """A random point, scaled so that F is least among its multiples."""
    evaluation = problem.at(geometry.factor(geometry.random_point(rng)))
    return geometry.from_factor(math.sqrt(scaled_start(evaluation)) * evaluation.factor)


def _residual(geometry: Geometry, point: Any, evaluation: Evaluation) -> float:
    """|2 S Y|; nan at M = 0, where it is 0 and says nothing."""
    return math.nan if is_zero(evaluation) else factor_residual(geometry, evaluation, point)


def _around(inner: State) -> SamplesState:
    kept = {name: getattr(inner, name) for name in ("problem", "geometry", "point", "evaluation", "gradient_norm")}
    kept |= {"step": inner.step, "outcome": inner.outcome, "ray": inner.ray, "extras": {**inner.extras, "share": 1.0}}
    return SamplesState(**kept, share=1.0, whole=inner)
