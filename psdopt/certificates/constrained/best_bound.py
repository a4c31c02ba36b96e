"""The best lower bound on min F under constraints that is found from given multipliers at a matrix M."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.certificates.constrained.cone_bound import cone_bound
from psdopt.certificates.constrained.dual_bound import Bounded, dual_bound
from psdopt.certificates.constrained.multipliers import Multipliers
from psdopt.certificates.constrained.refutation import LEAST, distinct
from psdopt.certificates.constrained.slack import slack_operator
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import Array, inner, scaled
from psdopt.linalg.least_squares import least_squares
from psdopt.linalg.tolerances import MINOR, SLIGHT

#: If rounding of S spoils the bound, multipliers of homogeneous equations are also tried at these shares of their size.
SHRUNK = SLIGHT, SLIGHT**2


@dataclass(frozen=True)
class BoundSearch:
    """Bounds at one M, sharp enough for a gap of `allowed`.

    `seed`, `start` (n,) : of Lanczos' method. `proof` : "full"; with "needed" no bound is sharper than `allowed` needs,
    with "cheap" none is sought from a matrix near M either.
    """

    problem: ConstrainedModel
    evaluation: Evaluation
    allowed: float
    start: Array | None
    seed: int
    proof: str

    @cached_property
    def offset(self) -> float:
        """F(M) − ⟨∇F(M), M⟩, the constant of a linear F."""
        here, conic = self.evaluation, self.problem.conic
        return here.value - float(inner(here.gradient @ here.factor, here.factor)) if conic is None else conic.constant

    @cached_property
    def reach(self) -> float | None:
        """A trace that no better matrix exceeds, if one is known: F of a larger one is higher, where C is definite."""
        problem, limit = self.problem, self.problem.trace_limit
        if limit is not None:
            return limit.value
        definite = problem.definite_part if problem.face is None else 0.0
        return (self.evaluation.value - self.offset) / definite if definite > 0.0 else None

    def of(self, y: Array, P: Array | None = None) -> Bounded:
        """What y (m,) proves, with S near P Pᵀ if P is given."""
        problem, value, sparing = self.problem, self.evaluation.value, self.proof == "needed"
        y, accuracy, sharp = problem.admissible(y), 0.0, True
        if self.reach is not None:  # without it a negative bound on λ_min(S) proves nothing, however small it is
            # an error of λ_min(S) that is slight beside the tolerance costs the bound little; in a run one factor is
            # enough that proves what the rest of the gap leaves of the tolerance
            taken = value - self.offset + problem.support(y)
            room = self.allowed - (taken if P is None else max(taken, 0.0)) if sparing else 0.0
            accuracy = max(SLIGHT * self.allowed, (1.0 - SLIGHT) * room) / max(self.reach, LEAST)
            # if ⟨S, M⟩ = 0, all of the gap is due to λ_min(S), of which a sharper bound tells little about M
            sharp = not sparing or abs(taken) > SLIGHT * self.allowed or bool(problem.homogeneous.any())
        full = self.proof == "full"
        return dual_bound(problem, self.evaluation, self.offset, y, accuracy, self.start, self.seed, full, P, sharp)

    def best(self, given: Multipliers, others: Iterable[Array], dual: Any, most: float) -> Bounded:
        """The best of the bounds of all multipliers, of those derived from them, and of the problem's own for `dual`.

        `most` : how far below F(M) a bound from a matrix near M may be of use.
        """
        problem, limit = self.problem, self.problem.trace_limit
        tried = distinct([given.best, given.y, *others])
        best = max((self.of(y, given.slack if y is given.y else None) for y in tried), key=Bounded.rank)
        lost = 0.0 if limit is None else (best.pair.value - best.pair.lower_bound) * limit.value
        if lost > SLIGHT * self.allowed and problem.homogeneous.any():
            # large multipliers give S large rounding; those of ⟨A_t, M⟩ = 0 do not enter σ(y): smaller ones may suffice
            shrunk = [self.of(np.where(problem.homogeneous, share * best.y, best.y)) for share in SHRUNK]
            best = max([best, *shrunk], key=Bounded.rank)
        if best.bound is None and self.proof != "cheap":
            best = replace(best, bound=cone_bound(problem, self.evaluation.factor, best.y, most))
        own = problem.duality.dual_bound(self.evaluation, dual)
        if own is not None and own > (-math.inf if best.bound is None else best.bound):
            best = replace(best, bound=own)
        overflows = best.bound is not None and not math.isfinite(best.bound)
        return replace(best, bound=None) if overflows else best


def near_at_zero(problem: ConstrainedModel, evaluation: Evaluation, y: Array) -> list[Array]:
    """Multipliers near y, for M = 0: y without its small entries, these in single precision, and those of least |S|.

    At M = 0 only a bound equal to F(0) proves optimality, and rounding of y leaves a gap to F(0). With few digits there
    may be no gap: a coefficient cancels exactly, or a multiplier is zero. Where S = 0 is possible, its eigenvalues are
    those of the errors of y, which least squares take away.
    """
    size = np.abs(problem.norms * y)
    kept = np.where(size > MINOR * size.max(initial=0.0), y, 0.0)
    with np.errstate(over="ignore"):
        short = kept.astype(np.float32).astype(np.float64)
    tried, forms = [kept, short], problem.forms
    S = None if forms is None else slack_operator(problem, evaluation, kept)
    if forms is not None and isinstance(S, (np.ndarray, sp.csr_array)):
        used, weights = np.flatnonzero(kept), np.sqrt(1.0 / forms.halves)
        nearest = kept.copy()
        rows = scaled(forms.B, columns=1.0 / weights)[used]
        nearest[used] -= least_squares(sp.csr_array(rows.T), weights * np.asarray(S[forms.i, forms.j]).ravel())
        tried.append(nearest)
    return [each for each in tried if np.all(np.isfinite(each))]
