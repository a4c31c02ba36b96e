"""Primal-dual interior point for linear objectives under linear constraints: Newton's method on X, v and Z at once."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.checks import integer, number
from psdopt.constraints.central_path.interior_steps import Iterate, first_iterate, newton_step
from psdopt.constraints.central_path.smoothing import Pair
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.conic import Conic
from psdopt.constraints.constraint import HUGE
from psdopt.constraints.limits import FEASIBLE, FLOPS, NEGLIGIBLE
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.problem import Constrained
from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, Residual
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import Array, length_of, norm
from psdopt.linalg.tolerances import SLIGHT, VANISHED
from psdopt.methods.primal_dual import soft
from psdopt.methods.primal_dual.progress import Progress
from psdopt.methods.primal_dual.soft import SoftState
from psdopt.methods.primal_dual.state import PrimalDualState, begun, constrained, moved, settled


@dataclass(frozen=True)
class InteriorPoint(Method[PrimalDualState | SoftState]):
    """min ⟨C, M⟩ − Σ ν log det M_k under linear constraints: infeasible primal-dual path following, HKM direction.

    Without constraints, min ⟨C, M⟩ + Σ w_t/2 (what ⟨A_t, M⟩ misses its bounds by)²: squared losses, one-sided ones and
    squared hinges of measurements. Their multipliers v_t = w_t s_t are variables of the path, so that steps do not
    depend on which hinges are active, nor on units.

    With the dual variables v, Z = C − A*(v) and X Z = mu I are linearised together. Elimination of dX and dZ leaves the
    Schur complement [tr(A_s X A_t Z⁻¹)] (m, m). Mehrotra's predictor and corrector share its factor and the inverses.
    On blocks with a log det in F the path is X Z = (mu + ν) I.
    The start is a multiple of I. Blocks that no entry joins are treated apart, small ones of one order as one array. If
    few constraints meet in each block, the complement is sparse. Where its rounding spoils a direction, a QR
    factorisation of its root replaces it, if that is affordable. A run that stalls
    begins again: on the face of the cone that constraints define, if there is one, else from a larger X.

    Helmberg, Rendl, Vanderbei, Wolkowicz (1996); Kojima, Shindoh, Hara (1997); Monteiro (1997).

    Parameters
    ----------
    share : the least share of the way to the boundary that a step goes, in (0, 1); it goes further if the steps of the
        predictor are long.
    patience : the run stalls after this many steps in which the largest relative residual did not fall by a tenth.

    Cost per step: O(n_k³) for each block of order n_k, the Schur complement, m³/3 flops for its factor, fewer where
    it is sparse. Memory O(m² + Σ n_k²), with the nonzeros of the sparse factor instead of m². For m up to some
    thousands and n up to about a thousand.
    """

    share: float = 0.9
    patience: int = 12

    requires: ClassVar[Requires] = {
        "problem": ((Ability.CONIC, Ability.LOG_DETS, Ability.SOFT_BOUNDS),),
        "geometry": (Ability.FULL_CONE,),
    }
    ranks_by_value: ClassVar[bool] = False
    starts_at_zero: ClassVar[bool] = True
    residual: ClassVar[Residual] = Residual.CERTIFICATE

    def __post_init__(self) -> None:
        number(self.share, "share", above=0.0, below=1.0)
        integer(self.patience, "patience")

    def on(self, problem: Problem) -> InteriorPoint:
        return self if Ability.CONSTRAINTS in problem.abilities else SoftInteriorPoint(self.share, self.patience)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> PrimalDualState | SoftState:
        if Ability.CONSTRAINTS not in problem.abilities:
            return soft.begun(problem, geometry, start, evaluation)
        known, conic = constrained(problem)
        form = known.once("standard form", lambda: _at_sight(known) or StandardForm(conic, split=True))
        return begun(problem, geometry, start, evaluation, form, *first_iterate(form))

    def warmed(self, state: PrimalDualState | SoftState, multipliers: Array) -> PrimalDualState | SoftState:
        """The state at M and `multipliers`, from which steps are tried on X − Z (:mod:`.smoothing`).

        Once the error does not halve within two of them, steps go on as interior ones. Where the boundary stops them,
        they begin again at a larger mu, and then cold.
        """
        form = state.form
        if isinstance(state, SoftState) or not form.order:
            return state
        try:
            with np.errstate(over="raise", invalid="raise"):
                v = form.dual(multipliers)
                X, S = form.primal(state.evaluation.factor), form.slacks(v)
                sizes = [max(length_of(parts), VANISHED) for parts in (X, S)]
                pair = Pair(form, X, S, v, math.sqrt(sizes[0] / sizes[1]))
                at = Iterate.near(form, pair)
        except (np.linalg.LinAlgError, FloatingPointError):
            return state
        if not pair.off <= pair.allowed:  # X or Z is of no use
            return state
        return replace(state, X=at.X, Z=at.Z, v=at.v, at=at, warm=True)

    def widened(
        self, state: PrimalDualState | SoftState, geometry: Geometry, point: Any, evaluation: Evaluation
    ) -> PrimalDualState | SoftState:
        """`state` itself where no bound has to hold: X has all columns already."""
        if isinstance(state, SoftState):
            return state
        return super().widened(state, geometry, point, evaluation)

    def step(self, state: PrimalDualState | SoftState) -> PrimalDualState | SoftState:
        if isinstance(state, SoftState):
            return soft.stepped(state, self.share, self.patience)
        try:
            with np.errstate(over="raise"):
                after = self._advanced(state)
        except (np.linalg.LinAlgError, FloatingPointError):  # no next iterate, or it overflows
            kept = Iterate.at(state.form, state.X, state.Z, state.v, [], [])
            after = moved(state, kept, step=0.0, outcome=Outcome.STALLED, patience=self.patience)
        if state.warm and (after.outcome is Outcome.STALLED or after.step < SLIGHT):
            return self._again(after, None if state.at is None else state.at.pair)
        if after.outcome is not Outcome.STALLED or after.anew:
            return after
        ended = settled(after)
        if ended is not None:
            return ended
        # with a face, strictly feasible points exist only within it; without one, a path from an X smaller than a
        # solution creeps along the boundary, whereas a path from a far larger X does not
        form = _within(constrained(state.problem)[0])
        if form is not None and after.form.W is not None and form.conic.n == after.form.conic.n:
            form = None  # the face that the run began on
        if form is None and after.progress.least[0] <= FEASIBLE:
            return after
        if form is None and state.form.flat and state.form.W is None:
            # multipliers along the path of C = 0 lie inside those that refute
            form = StandardForm(constrained(state.problem)[1], split=True, smallest=False)
        far = 1.0 / VANISHED if form is None else 1.0  # beside such an X the first one has vanished
        form = form or state.form
        X, Z = first_iterate(form)
        if form.W is not None:
            # on a face M is held to more, its part there to the rows as well; and y with multiples of the combinations
            # that define the face are large, so that a bound of theirs is lost to rounding on the face
            after = replace(after, nearest=None, bound=-math.inf)
        return replace(
            after,
            form=form,
            X=[far * P for P in X],
            Z=Z,
            v=np.zeros(form.m),
            at=None,
            careful=False,
            refuted=math.inf,
            fallen=math.inf,
            progress=Progress(),
            anew=True,
            outcome=Outcome.RUNNING,
        )

    def _again(self, state: PrimalDualState, pair: Pair | None) -> PrimalDualState | SoftState:
        """`state` farther from the boundary: at a larger mu of `pair`, at which it was stopped, else the first one."""
        if pair is not None:
            with suppress(np.linalg.LinAlgError):
                at = Iterate.of(state.form, *pair.at(pair.most), pair.v)
                return replace(state, X=at.X, Z=at.Z, v=at.v, at=at, outcome=Outcome.RUNNING)
        return self.init(state.problem, state.geometry, state.point, state.evaluation)

    def _advanced(self, state: PrimalDualState) -> PrimalDualState:
        """The next iterate; LinAlgError or FloatingPointError where there is none."""
        last = state.anew or state.progress.since > 0  # then the costlier factorisation of the system's root is allowed
        at = state.at or Iterate.of(state.form, state.X, state.Z, state.v)
        new, length, careful = newton_step(state.form, at, self.share, state.careful, last)
        if not norm(new.v) <= HUGE:
            raise FloatingPointError("products of the multipliers overflow")
        outcome = Outcome.STALLED if length < NEGLIGIBLE else Outcome.RUNNING
        factor = state.form.assembled(new.Lx)
        after = moved(state, new, step=length, outcome=outcome, patience=self.patience, factor=factor)
        if not math.isfinite(after.evaluation.value):
            raise np.linalg.LinAlgError("a block with a log det is singular up to rounding")
        after.at, after.careful = new, careful
        return after


@dataclass(frozen=True)
class SoftInteriorPoint(InteriorPoint):
    """The method where no bound has to hold; its states report proven gaps."""

    residual: ClassVar[Residual] = Residual.GAP

    @property
    def name(self) -> str:
        """That of the method."""
        return InteriorPoint.__name__


def _at_sight(known: Constrained) -> StandardForm | None:
    """The problem on the face that needs no search, if the forms have no more entries there."""
    carried, forms = known.shown.carried, known.forms
    return None if carried is None or forms is None or carried.B.nnz > forms.B.nnz else _within(known.shown)


def _within(known: Constrained) -> StandardForm | None:
    """The problem on its face; None without a face, or if the forms on the face are dense and cost too much."""
    conic = known.conic  # with a log det of rows that a face makes singular, nothing is feasible
    W = None if known.face is None or known.only_zero else known.face.within
    if known.face is None or W is None or conic is None:
        return None
    there = known.carried
    if there is None:
        if 4.0 * float(W.shape[1]) ** 3 * conic.m > FLOPS:
            return None
        there = _dense_forms(conic.forms, W, known.face.rows)
    C = sp.csr_array(W.T @ conic.C @ W)
    return StandardForm(Conic(C, conic.constant, there, conic.allowed), W, split=True)


def _dense_forms(forms: SparseForms, W: sp.csr_array, zero: NDArray[np.intp]) -> SparseForms:
    """The WᵀA_tW; those of the constraints `zero` are zero. O(n q² + n² q) each."""
    i, j = np.triu_indices(W.shape[1])
    twice = np.where(i == j, 1.0, 2.0)
    B = np.zeros((forms.size, len(i)))
    for t in np.setdiff1d(np.arange(forms.size), zero):
        e = np.zeros(forms.size)
        e[t] = 1.0
        B[t] = twice * (W.T @ (forms.matrix(e) @ W)).toarray()[i, j]
    return SparseForms(i, j, sp.csr_array(B), W.shape[1])
