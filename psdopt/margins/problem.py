"""Maximise the soft margin of linear measurements: the problem behind PSDBoost."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any, overload

import numpy as np

from psdopt.checks import number_or_none, vector
from psdopt.contracts.abilities import Ability
from psdopt.contracts.gradient import GradientOperator
from psdopt.contracts.problem import Evaluation
from psdopt.contracts.roles import Duality
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, inner
from psdopt.linalg.limits import PROBES
from psdopt.linalg.simplex import project_simplex
from psdopt.linalg.tolerances import EPS, MINOR
from psdopt.margins.loss import CappedMargin
from psdopt.margins.structure import MeasuredMargins
from psdopt.problems.term_sum import TermSum
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Measurement


class MarginProblem(TermSum):
    """min F(M) = −max_ρ {ρ − C Σ_r max(0, ρ − ⟨A_r, M⟩)}: the negative of what Shen et al. (eq. 3) maximise.

    F(M) = max {−Σ w_r ⟨A_r, M⟩ : 0 <= w <= C, Σ w = 1} is convex, piecewise linear and positively homogeneous.
    It is therefore minimised at a fixed trace: any feasible w proves F(N) >= −trace · λ_max(Σ w_r A_r) for all N of
    that trace. With `smoothing` > 0 it is C¹, see :class:`~psdopt.margins.CappedMargin`.

    Parameters
    ----------
    measurement : the margins ⟨A_r, M⟩, m of them. C : weight of a violation, C m >= 1; None or C >= 1 is the
        hard margin, F(M) = −min_r ⟨A_r, M⟩. smoothing : mu >= 0, in the units of the margins.

    Raises
    ------
    InvalidInputError for C that is not a positive number, or for C m < 1 (then ρ → ∞ costs nothing: F = −∞).
    """

    def __init__(self, measurement: Measurement, C: float | None = None, smoothing: float = 0.0) -> None:
        self.measurement, self.C = measurement, _checked_cost(C, measurement.size)
        self.loss = CappedMargin(measurement.size, self.C, smoothing)
        super().__init__([MeasuredTerm(measurement, self.loss)])
        self._margins = MeasuredMargins(measurement, self.loss.cap)
        if smoothing == 0.0:
            # no ability "gradient": the gradient jumps, and a method that assumes continuity must not start
            offered = {Ability.CONVEX} if self._margins.signs is None else {Ability.CONVEX, Ability.MARGINS}
            self.abilities = frozenset(offered)

    @property
    def smoothing(self) -> float:
        """mu; 0 for the problem itself."""
        return self.loss.smoothing

    def smoothed(self, mu: float) -> MarginProblem:
        """The same problem, sharing data and counts, with F replaced by F_mu: F − excess <= F_mu <= F."""
        return MarginProblem(self.measurement, self.C, mu)

    @overload
    def margins(self) -> MeasuredMargins: ...
    @overload
    def margins(self, evaluation: Evaluation) -> Array: ...

    def margins(self, evaluation: Evaluation | None = None) -> MeasuredMargins | Array:
        """The :class:`~psdopt.margins.MarginStructure` of the problem, made once.

        Deprecated: the values ⟨A_r, M⟩ (m,) at an `evaluation`; use ``margins().values(evaluation)``.
        """
        if evaluation is None:
            return self._margins
        warnings.warn(
            "MarginProblem.margins(evaluation) is deprecated: use margins().values(evaluation)",
            DeprecationWarning,
            stacklevel=2,
        )
        return self._margins.values(evaluation)

    def dual_weights(self, evaluation: Evaluation) -> Array:
        """The feasible w (m,) that attains F (or F_mu) at M."""
        return self.loss.weights(self._margins.values(evaluation))

    def combination(self, w: Array) -> GradientOperator:
        """−Σ_r w_r A_r (n, n) as an operator; no A_r is formed."""
        return self._margins.combination(w)

    @cached_property
    def typical_margin(self) -> float:
        """The root mean square margin over PROBES random rank-one matrices of trace one. A product for each, once."""
        V = np.random.default_rng(0).standard_normal((self.n, PROBES))
        V /= np.linalg.norm(V, axis=0)
        probes = [self._margins.values(self.at(V[:, j : j + 1])) for j in range(PROBES)]
        return float(np.sqrt(np.mean(np.square(probes))))

    @property
    def duality(self) -> MarginDuality:
        return MarginDuality(self)


class MarginDuality(Duality):
    """Subgradients from dual weights, and a unit of values that is meaningful at a fixed trace."""

    def __init__(self, problem: MarginProblem) -> None:
        self.problem = problem

    def subgradient(self, evaluation: Evaluation, dual: Any = None) -> tuple[GradientOperator, float]:
        """(S, epsilon), F(N) >= F(M) − epsilon + ⟨S, N − M⟩ for all N, from the weights `dual` (m,) or M's own.

        S = −Σ w_r A_r and epsilon = F(M) + ⟨w, a⟩ + (mu m / 2) |w − 1/m|². Any `dual` is first made feasible, so it
        need not be trusted.
        """
        problem = self.problem
        if dual is None:
            w = problem.dual_weights(evaluation)
        else:
            w = vector(dual, "dual", problem.measurement.size)
            w = project_simplex(w, 1.0, problem.loss.cap)
        loss = inner(w, problem.margins().values(evaluation)) + problem.loss.penalty(w)
        return problem.combination(w), max(evaluation.value + loss, 0.0)

    def value_unit(self, value: float, trace: float) -> float:
        """The unit of relative gaps: |F(M)|, or a minor share of a typical margin if that is larger.

        The optimal value may be 0. Without it the unit would be F(0) − F(M), where M = 0 has no meaning at a fixed
        trace.
        """
        return max(abs(value), MINOR * self.problem.typical_margin * trace)


def _checked_cost(C: Any, size: int) -> float:
    C = number_or_none(C, "C", above=0.0)
    if C is None:  # a hard margin
        return 1.0
    if float(C) * size < 1.0 - 4.0 * EPS * size:
        raise InvalidInputError(
            f"C must be at least 1/m = {1.0 / size:.6g} for m = {size} margins, else ρ pays more than it costs "
            f"and the objective is unbounded; found {float(C):g}"
        )
    return float(C)
