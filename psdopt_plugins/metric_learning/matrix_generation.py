"""Matrix generation as Shen, Welsh and Wang print it: a linear program over rank-one columns, one more per round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from psdopt import Ability, Atom, Evaluation, Geometry, Method, Outcome, Problem, Requires, Residual, State
from psdopt.checks import integer, integer_or_none, one_of
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import EPS, Array, norm
from psdopt.margins import HasMargins, MarginStructure
from psdopt_plugins.limits import SLIGHT
from psdopt_plugins.metric_learning.linear_program import (
    LinearProgram,
    ProgramSolution,
    Unsolved,
    feasible,
)


@runtime_checkable
class Stabilizer(Protocol):
    """One dual w per round to ask the oracle about, and what is learned from φ(w) = λ_max(Σ w_r A_r). Immutable.

    `reprices` says that the oracle is asked again, at the dual of the linear program, if its answer does not cut that
    dual off.
    """

    reprices: ClassVar[bool]

    def ask(
        self, program: LinearProgram, columns: Sequence[Array], weights: MarginStructure
    ) -> tuple[ProgramSolution, Array, Stabilizer]:
        """The program's answer for the margins (m,) of its columns, w (m,), and the stabilizer that observes φ(w)."""

    def observe(self, w: Array, value: float) -> Stabilizer:
        """The next stabilizer, after the oracle's φ(w) = `value`."""


@dataclass(frozen=True)
class Smoothing:
    """w = share · (the best w so far) + (1 − share) · (the program's dual) (Wentges 1997); as printed if share = 0."""

    share: float = 0.8
    centre: Array | None = None
    value: float = float("inf")

    reprices: ClassVar[bool] = True

    def ask(
        self, program: LinearProgram, columns: Sequence[Array], weights: MarginStructure
    ) -> tuple[ProgramSolution, Array, Smoothing]:
        answer = program.solve(columns, weights)
        if self.centre is None or self.share == 0.0:
            return answer, answer.dual, self
        return answer, self.share * self.centre + (1.0 - self.share) * answer.dual, self

    def observe(self, w: Array, value: float) -> Smoothing:
        return replace(self, centre=w, value=value) if value < self.value else self


#: Named stabilisations.
STABILIZATIONS = ("smoothing", "none")
#: Columns kept by default, times n.
WIDTH = 20
#: Where columns have to go, this share of the limit stays. Each cut costs the warm start, so cuts must be rare.
SHARE = 0.75


@dataclass(kw_only=True)
class MatrixGenerationState(State):
    """The best matrix so far (`point`, `evaluation`), the best dual so far (`dual`, `bound`), and the linear program.

    `columns` has the blocks B_i, |B_i| = 1, side by side as its factor, each of them `widths[i]` wide: vectors, and
    first the aggregate of the columns that were dropped, once there is one. `squares` holds (⟨A_r, B_iB_iᵀ⟩)_r for
    each block and `theta` the weights of the last program, 0 for the newest columns. `gap` = F − bound.
    `gradient_norm` is 2 gap / |Y|: the gap in the units of the factor gradient.
    """

    columns: Evaluation
    widths: tuple[int, ...]
    squares: tuple[Array, ...]
    theta: Array
    program: LinearProgram
    stabilizer: Stabilizer
    dual: Array | None = None
    bound: float = -math.inf
    gap: float = math.inf
    guess: Array | None = None
    idle: int = 0


@dataclass(frozen=True)
class MatrixGeneration(Method[MatrixGenerationState]):
    """M = Σ θ_i v_i v_iᵀ over columns v_i generated from the dual of a linear program (Shen et al., algorithm 1).

    One round: the linear program on the columns is solved for θ and the dual weights w; the lowest eigenvector of
    S = −Σ w_r A_r becomes a new column. Every w proves F >= trace · λ_min(S) over the whole set and every θ gives a
    value, so each round has a gap. :class:`psdopt.ColumnGeneration` solves the same problem in tens of rounds less,
    since its weights are a matrix; this method is never faster, and serves to reproduce the paper.

    Departures from the printed algorithm: the run does not begin with π = 0, which would end it at once if the optimum
    is negative, and does not stop when the value of the program stalls, as happens with degenerate duals. The best
    value and the best bound are kept, since neither sequence is monotone.

    Parameters
    ----------
    stabilization : "smoothing", see :class:`Smoothing`; "none", the oracle is asked at the program's own dual, as
        printed; or a :class:`Stabilizer`.
    columns : new columns per round.
    max_columns : at most this many are kept. Those of least weight are then aggregated into one fixed matrix of trace
        one, so that the best matrix is never lost. None: 20 n.
    patience : the run ends after this many rounds without a lower value or a better bound.

    Cost per round: the products with the maps for the new columns, one eigenvector of S (two where the stabilizer
    reprices), one linear program of m variables. Raises UnknownNameError, InvalidTypeError and InvalidInputError for
    bad parameters, InvalidInputError for a set without a fixed trace.
    """

    stabilization: str | Stabilizer = "smoothing"
    columns: int = 1
    max_columns: int | None = None
    patience: int = 5

    requires: ClassVar[Requires] = {"problem": (Ability.MARGINS,), "geometry": (Ability.LINEAR_ORACLE,)}
    descends: ClassVar[bool] = False
    residual: ClassVar[Residual] = Residual.GAP

    def __post_init__(self) -> None:
        if isinstance(self.stabilization, str):
            one_of(self.stabilization, "stabilization", STABILIZATIONS)
        elif not isinstance(self.stabilization, Stabilizer):
            raise InvalidTypeError(
                f"stabilization must be a name or offer ask and observe; found {type(self.stabilization).__name__}"
            )
        integer(self.columns, "columns")
        integer(self.patience, "patience")
        integer_or_none(self.max_columns, "max_columns")
        if self.max_columns is not None and self.max_columns <= self.columns:
            raise InvalidInputError(
                f"max_columns must exceed columns, {self.columns}, or nothing is kept; found {self.max_columns}"
            )

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> MatrixGenerationState:
        """Columns: the start as one block, and the oracle's answer to uniform weights."""
        if geometry.trace is None:
            raise InvalidInputError(f"geometry must have a fixed trace, such as Spectraplex; found {geometry!r}")
        margins = cast(HasMargins, problem).margins()
        evaluation = evaluation or problem.at(geometry.factor(start))
        Y = evaluation.factor
        whole = evaluation.mix(np.eye(Y.shape[1]) / norm(Y))
        stabilizer = self.stabilization
        if isinstance(stabilizer, str):
            stabilizer = Smoothing(0.0) if stabilizer == "none" else Smoothing()
        uniform, one = np.full(margins.size, 1.0 / margins.size), np.ones(1)
        state = MatrixGenerationState(
            problem,
            geometry,
            start,
            evaluation,
            columns=whole,
            widths=(Y.shape[1],),
            squares=(margins.values(whole),),
            theta=one,
            program=LinearProgram(),
            stabilizer=stabilizer,
        )
        return self._priced(state, ProgramSolution(one, uniform, 0), uniform, evaluation)

    def step(self, state: MatrixGenerationState) -> MatrixGenerationState:
        margins = cast(HasMargins, state.problem).margins()
        try:
            answer, query, stabilizer = state.stabilizer.ask(state.program, state.squares, margins)
        except Unsolved:  # keep the best matrix and the best bound so far
            return replace(state, outcome=Outcome.STALLED)
        weights = np.repeat(answer.theta, state.widths) * (state.geometry.trace or 1.0)
        used = weights > 0.0
        evaluation = state.columns.mix((np.eye(len(weights)) * np.sqrt(weights))[:, used])
        state = replace(state, stabilizer=stabilizer, theta=answer.theta)
        return self._priced(state, answer, feasible(query, margins), evaluation)

    def _priced(
        self, state: MatrixGenerationState, answer: ProgramSolution, query: Array, evaluation: Evaluation
    ) -> MatrixGenerationState:
        """The state after pricing at the weights `query`: values, bounds, and the columns of the next program."""
        if math.isnan(evaluation.value):
            raise FloatingPointError("the value is nan")
        margins, geometry = cast(HasMargins, state.problem).margins(), state.geometry
        trace = geometry.trace or 1.0
        better = evaluation.value < state.evaluation.value
        best = evaluation if better else state.evaluation
        atoms, bound = self._query_oracle(state, margins, query, best.value)
        stabilizer = state.stabilizer.observe(query, -bound / trace)
        if stabilizer.reprices and query is not answer.dual and self._mispriced(state, margins, answer.dual, atoms[0]):
            more, other = self._query_oracle(state, margins, answer.dual, best.value)
            stabilizer, atoms = stabilizer.observe(answer.dual, -other / trace), atoms + more
            query, bound = (answer.dual, other) if other > bound else (query, bound)
        improved = bound > state.bound
        bound = max(bound, state.bound)
        gap = max(best.value - bound, 0.0)
        idle = 0 if better or improved else state.idle + 1
        state = self._grown(state, margins, np.array([atom.vector / norm(atom.vector) for atom in atoms]).T)
        aggregated = sum(width for width in state.widths if width > 1)
        return replace(
            state,
            point=geometry.from_factor(best.factor) if better else state.point,
            evaluation=best,
            gradient_norm=2.0 * gap / norm(best.factor),
            outcome=Outcome.STALLED if idle >= self.patience else Outcome.RUNNING,
            extras={
                "gap": gap,
                "bound": bound,
                "master_value": evaluation.value,
                "generated": float(len(state.widths)),
                "aggregated": float(aggregated),
                "master_steps": float(answer.steps),
            },
            stabilizer=stabilizer,
            dual=query if improved else state.dual,
            bound=bound,
            gap=gap,
            guess=np.array([atom.vector for atom in atoms]).T,
            idle=idle,
        )

    def _query_oracle(
        self, state: MatrixGenerationState, margins: MarginStructure, w: Array, value: float
    ) -> tuple[list[Atom], float]:
        """Lowest eigenvectors of −Σ w_r A_r, and the lower bound of F that they prove."""
        open_gap = state.gap if math.isfinite(state.gap) else abs(value)
        count = min(self.columns, state.problem.n)
        atoms = state.geometry.minimize_linear_many(margins.combination(w), SLIGHT * open_gap, count, state.guess)
        useful = [atom for atom in atoms if atom.value < value] or atoms[:1]
        return useful, atoms[0].value - atoms[0].gap_bound

    def _mispriced(self, state: MatrixGenerationState, margins: MarginStructure, dual: Array, atom: Atom) -> bool:
        """Whether the column found for another query fails to cut off the program's own dual."""
        pi = max(float(a @ dual) for a in state.squares)
        a = margins.values(state.problem.at((atom.vector / norm(atom.vector))[:, None]))
        return float(a @ dual) <= pi + EPS * norm(a)

    def _grown(self, state: MatrixGenerationState, margins: MarginStructure, new: Array) -> MatrixGenerationState:
        """The state with the columns `new` (n, k); beyond the limit the columns of least weight are aggregated."""
        limit = max(self.max_columns or WIDTH * state.problem.n, new.shape[1] + 1)
        if len(state.widths) + new.shape[1] > limit:
            count = max(math.floor(SHARE * limit) - new.shape[1], 1)
            order = np.lexsort((np.arange(len(state.theta)), state.theta))
            kept = np.zeros(len(state.theta), dtype=bool)
            kept[order[-count:]] = True
            state = _aggregated(state, kept)
        squares = (margins.values(state.problem.at(new[:, k : k + 1])) for k in range(new.shape[1]))
        return replace(
            state,
            columns=state.columns.append(new),
            widths=(*state.widths, *(1,) * new.shape[1]),
            squares=(*state.squares, *squares),
            theta=np.pad(state.theta, (0, new.shape[1])),
        )


def _aggregated(state: MatrixGenerationState, kept: NDArray[np.bool_]) -> MatrixGenerationState:
    """Merge the blocks that are not `kept` into the first block, with their weights. No map is applied."""
    theta, share = state.theta, float(state.theta[~kept].sum())
    columns = np.repeat(kept, state.widths)
    total = int(np.sum(state.widths))
    parts, widths, squares, weights = [np.eye(total)[:, columns]], [], [], []
    if share > 0.0:
        scale = np.sqrt(np.repeat(np.where(kept, 0.0, theta) / share, state.widths))
        # multiplying by right singular vectors keeps Y Yᵀ, with only as many columns as order and rank of M need
        _, s, Vt = np.linalg.svd(state.columns.factor * scale, full_matrices=False)
        into = scale[:, None] * Vt[s > EPS * total * s[0]].T
        parts, widths, weights = [into, *parts], [into.shape[1]], [share]
        squares = [sum(t * a for t, a, keep in zip(theta, state.squares, kept, strict=True) if not keep) / share]
    chosen = np.flatnonzero(kept)
    return replace(
        state,
        columns=state.columns.mix(np.hstack(parts)),
        widths=(*widths, *(state.widths[k] for k in chosen)),
        squares=(*cast(list[Array], squares), *(state.squares[k] for k in chosen)),
        theta=np.concatenate([weights, theta[chosen]]),
    )
