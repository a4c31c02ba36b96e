"""Where the oracle is asked: at the duals of a linear-programming master, or near the best ones so far."""

from __future__ import annotations

from dataclasses import dataclass, replace

from psdopt.linalg.arrays import Array
from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters.base import Answer, Unsolved
from psdopt.margins.masters.lp import LPMaster
from psdopt.margins.masters.quadratic import QuadraticMaster

#: Weight of the best dual in the one that the oracle is asked about ("smoothing").
SMOOTHING = 0.8
#: The level, between the model's least value (0) and the best value known (1).
LEVEL = 0.5
#: First proximal step length; a step that delivers this share of what the model promised is serious; one that
#: delivers GOOD is followed by longer ones; one that goes wrong by as much as it promised to gain, by shorter.
FIRST, SERIOUS, GOOD = 10.0, 0.1, 0.5
LONGER, SHORTER = 2.0, 0.7


@dataclass(frozen=True)
class Stabilizer:
    """One dual w per round to ask the oracle about, and what is learned from φ(w) = λ_max(Σ w_r A_r).

    kind : "none", w minimises the model max_i ⟨a_i, w⟩, as printed; "smoothing", 0.8 of the best w and 0.2 of that
        (Wentges 1997); "level", the point nearest to the best w at which the model is half-way down to its least
        value; "proximal", the minimiser of model plus distance from a centre, which moves when φ decreases enough.

    `centre` (m,) with φ there, `value`; `step` is the proximal step length, `promised` the model's value at the last w.
    """

    kind: str
    centre: Array | None = None
    value: float = float("inf")
    step: float = FIRST
    promised: float = float("-inf")

    def ask(
        self, lp: LPMaster, qp: QuadraticMaster, columns: list[Array], loss: CappedMargin
    ) -> tuple[Answer, Array, Stabilizer]:
        """The master's answer, the w to ask about, and the stabilizer that :meth:`observe` makes the next."""
        if self.kind == "proximal" and self.centre is not None:
            try:
                answer, model = qp.proximal(columns, loss, self.centre, self.step)
            except Unsolved:
                return self._unstabilized(lp, columns, loss)
            return answer, answer.dual, replace(self, promised=model)
        answer = lp.solve(columns, loss)
        if self.centre is None or self.kind in ("none", "proximal"):
            return answer, answer.dual, self
        if self.kind == "smoothing":
            return answer, SMOOTHING * self.centre + (1.0 - SMOOTHING) * answer.dual, self
        least = float(max(a @ answer.dual for a in columns))
        if not self.value > least:  # the gap is closed as far as this solver can tell
            return answer, answer.dual, self
        try:
            near, _ = qp.level(columns, loss, self.centre, least + LEVEL * (self.value - least))
        except Unsolved:
            return answer, answer.dual, self
        return Answer(answer.weights, answer.dual, answer.steps + near.steps), near.dual, self

    def _unstabilized(self, lp: LPMaster, columns: list[Array], loss: CappedMargin) -> tuple[Answer, Array, Stabilizer]:
        """A round of the linear program, when the quadratic one was not solved; shorter steps are easier to find."""
        answer = lp.solve(columns, loss)
        return answer, answer.dual, replace(self, promised=float("-inf"), step=self.step * SHORTER)

    def observe(self, w: Array, value: float) -> Stabilizer:
        """After the oracle's φ(w) = `value`."""
        if self.kind != "proximal" or self.promised == float("-inf"):
            return replace(self, centre=w, value=value) if value < self.value else self
        expected, got = self.value - self.promised, self.value - value
        if got >= SERIOUS * expected and got > 0.0:
            return replace(self, centre=w, value=value, step=self.step * (LONGER if got >= GOOD * expected else 1.0))
        return replace(self, step=self.step * (SHORTER if got < -GOOD * expected else 1.0))
