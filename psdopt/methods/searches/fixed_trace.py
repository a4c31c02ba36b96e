"""F along the tangent line of a curve of fixed trace, corrected by the Lagrangian of the trace constraint."""

from __future__ import annotations

import math

from psdopt.contracts.problem import Evaluation, LineModel
from psdopt.linalg.arrays import Array, inner, norm


class LagrangianLine(LineModel):
    """mu ↦ F(M) − λ (tr M − t) at M = (Y + mu D)(Y + mu D)ᵀ, with t = |Y|² and λ = ⟨S, Y Yᵀ⟩ / t.

    This is the second-order model of F on the curve √t (Y + mu D) / |Y + mu D|. F on the line itself is not, because
    the line leaves the matrices of trace t. Adding c (tr M − t) to F, which is 0 on the set, does not change the steps.

    Parameters: `line`, F along Y + mu D; `evaluation`, F at Y; `direction` D (n, r). O(n r).
    """

    def __init__(self, line: LineModel, evaluation: Evaluation, direction: Array) -> None:
        Y, length = evaluation.factor, norm(direction)
        self.line, size = line, norm(Y)
        self.multiplier = 0.5 * inner(evaluation.factor_gradient(), Y) / size**2
        self._radial, self._square = 2.0 * inner(Y, direction), length**2
        #: The mu at which Y and mu D are equally long: beyond it the line is no longer close to the curve.
        self.reach = size / length if length > 0.0 else math.inf
        if line.coefficients is not None:
            c0, c1, c2, c3, c4 = line.coefficients
            c1, c2 = c1 - self.multiplier * self._radial, c2 - self.multiplier * self._square
            self.coefficients = [c0, c1, c2, c3, c4]

    def value(self, mu: float) -> float:
        return self.line.value(mu) - self.multiplier * mu * (self._radial + mu * self._square)

    def derivatives(self, mu: float) -> tuple[float, float]:
        first, second = self.line.derivatives(mu)
        return (
            first - self.multiplier * (self._radial + 2.0 * mu * self._square),
            second - 2.0 * self.multiplier * self._square,
        )

    def minimize(self, upper: float = math.inf) -> float:
        """The minimiser as for any line, but no farther than `reach`."""
        return super().minimize(min(upper, self.reach))

    def step(self, mu: float) -> Evaluation:
        return self.line.step(mu)
