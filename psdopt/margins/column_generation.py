"""Column generation over the spectraplex: matrix generation (PSDBoost), with masters that converge."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from psdopt.capability import Ability, Requires
from psdopt.checks import integer_or_none, one_of
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.geometry import Atom, Geometry
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.simplex import project_simplex
from psdopt.linalg.tolerances import EPS
from psdopt.margins.column_state import ColumnGenerationState
from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters import Answer, BlockMaster, Bundle, LPMaster, Master, Smoothing, Stabilizer, Unsolved
from psdopt.margins.masters.growth import grown_block, grown_linear, squares_of
from psdopt.margins.masters.selection import solve_selected, widest_block, working_rows
from psdopt.margins.structure import HasMargins, MarginStructure
from psdopt.method import Method, Outcome, Residual
from psdopt.problem import Evaluation, Problem

#: Stabilisations of the block master and of the linear program, the default first.
STABILIZATIONS = {"block": ("centre", "none"), "lp": ("smoothing", "none")}
#: A centred block master is solved to this fraction of the gap that is open.
CENTRED = 0.3
#: ... and to this one once V spans the whole space, when no better columns are to be found.
COMPLETE = 1e-3
#: Columns per round of the block master: n / 6, within these limits (and at most n).
FEWEST, MOST = 24, 64
#: Columns kept: this many times those of a round for the block master, this many times n for the linear program; and
#: never fewer than FEWEST_KEPT.
BLOCK_WIDTH, LP_WIDTH = 6, 20
FEWEST_KEPT = 60
#: Accuracy asked of the oracle, relative to the gap. The error bound of the oracle is subtracted from the bound on F.
ORACLE_ACCURACY = 0.01
#: The gap must fall to this fraction before margins may leave again.
PROGRESS = 0.5
#: Rounds without new column, lower value or better bound that count as the end.
IDLE_ROUNDS = 5
#: A run ends if the gap has not fallen by a tenth in this many rounds of the block master. One round suffices as long
#: as the master can be solved more accurately than the gap; on degenerate margins (duplicated samples) rounding
#: prevents that below relative gaps of about 1e-6.
SLOW_ROUNDS = 6


@dataclass(frozen=True)
class ColumnGeneration(Method[ColumnGenerationState]):
    """M = V T Vᵀ + θ M̄ over columns V that the dual of a restricted master problem asks for (Shen et al., algorithm 1).

    One round: the master on V is solved for T and the dual weights w; the lowest eigenvectors of S = −Σ w_r A_r become
    new columns. Every w proves F >= trace · λ_min(S) over the whole set and every T gives a value, so each round has a
    gap. The best value and the best bound are kept, since neither sequence is monotone in practice.

    Unlike the paper's algorithm the run does not begin with π = 0, which ends it at once if the optimum is negative,
    and it does not stop when the value of the master stalls, which happens with degenerate duals.

    Parameters
    ----------
    master : "block", T any PSD matrix (k, k), as in the spectral bundle method (Helmberg and Rendl 2000): fully
        corrective, tens of rounds less; an object that solves the block master in its own way, see
        :class:`~psdopt.margins.masters.Master`; or "lp", the paper's: T diagonal, a linear program (HiGHS),
        warm-started. The last is never faster, and is there to repeat the paper.
    stabilization : "auto" is "centre" for the block master (it stops while its duals are centred, at a fraction of
        the gap that is open) and "smoothing" for the linear program, see
        :class:`~psdopt.margins.masters.Smoothing`. "none": the master is solved to the end and asked as it is, as
        printed. The linear program also takes an object, see :class:`~psdopt.margins.masters.Stabilizer`.
    columns : new columns per round; None is 1 for "lp", n/6 within 24 .. 64 for "block".
    max_columns : V is kept at most this wide; what exceeds it is aggregated into one fixed matrix M̄ with one weight
        θ, so that the best matrix is never lost. None: six times `columns` (block), 20 n (lp), and at least 60.

    The block master's interior point never forms the m matrices VᵀA_rV, warm-starts, and stops where its duals are
    still centred: at n = 24 with 550 triplets a run to gap 1e-4 took 0.6 processor seconds with it and 2.2 with
    Clarabel, to the same optimum (``benchmarks/psdboost.py masters``).

    Cost per round: the products with the maps for the new columns, eigenvectors of one S, one master. Raises
    UnknownNameError, InvalidTypeError and InvalidInputError for bad parameters.
    """

    master: str | Master = "block"
    stabilization: str | Stabilizer = "auto"
    columns: int | None = None
    max_columns: int | None = None

    requires: ClassVar[Requires] = {"problem": (Ability.MARGINS,), "geometry": (Ability.LINEAR_ORACLE,)}
    descends: ClassVar[bool] = False
    residual: ClassVar[Residual] = Residual.GAP

    def __post_init__(self) -> None:
        if isinstance(self.master, str):
            one_of(self.master, "master", STABILIZATIONS)
        if not isinstance(self.master, (str, Master)):
            raise InvalidTypeError(f"master must be 'block', 'lp' or offer solve; found {type(self.master).__name__}")
        kind = "lp" if self._linear else "block"
        if isinstance(self.stabilization, str):
            one_of(self.stabilization, f"stabilization of master {kind!r}:", ("auto", *STABILIZATIONS[kind]))
        elif not (self._linear and isinstance(self.stabilization, Stabilizer)):
            raise InvalidTypeError(
                "stabilization must be a name or, with master 'lp', offer ask and observe; "
                f"found {type(self.stabilization).__name__}"
            )
        integer_or_none(self.columns, "columns")
        integer_or_none(self.max_columns, "max_columns")
        if self.columns is not None and self.max_columns is not None and self.max_columns <= self.columns:
            raise InvalidInputError(
                f"max_columns must exceed columns, {self.columns}, or nothing is kept; found {self.max_columns}"
            )

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> ColumnGenerationState:
        """Columns: those of the start, and the oracle's answer to uniform weights."""
        margins, trace = margins_of(problem), _trace_of(geometry)
        evaluation = evaluation or problem.at(geometry.factor(start))
        Y = evaluation.factor
        U, s, _ = np.linalg.svd(Y, full_matrices=False)
        used = s > max(Y.shape) * EPS * s[0]
        bundle, T = Bundle(problem.at(U[:, used])), np.diag(s[used] ** 2 / norm(s[used]) ** 2)
        uniform = np.full(margins.size, 1.0 / margins.size)
        linear = self._linear
        state = ColumnGenerationState(
            problem, geometry, start, evaluation, bundle=bundle, weights=T, answer_dual=uniform,
            stabilizer=self._stabilizer, lp=LPMaster() if linear else None,
            squares=squares_of(margins, bundle) if linear else (),
        )  # fmt: skip
        return self._priced(state, T, Answer(T, uniform, 0), uniform, evaluation, trace)

    def step(self, state: ColumnGenerationState) -> ColumnGenerationState:
        try:
            return self._round(state)
        except Unsolved:  # the best matrix and the best bound so far stand
            return replace(state, outcome=Outcome.STALLED)

    def _round(self, state: ColumnGenerationState) -> ColumnGenerationState:
        margins, trace, bundle = margins_of(state.problem), _trace_of(state.geometry), state.bundle
        loss = CappedMargin(margins.size, margins.cap)
        if state.lp is not None:
            answer, query, stabilizer = state.stabilizer.ask(state.lp, list(state.squares), loss)
            state = replace(state, stabilizer=stabilizer)
        else:
            share = COMPLETE if bundle.width == state.problem.n else CENTRED
            goal = share * state.gap / trace if self.stabilization in ("auto", "centre") else 0.0
            master = BlockMaster() if isinstance(self.master, str) else self.master
            start = state.weights, state.answer_dual
            answer = solve_selected(master, bundle.squares(margins), loss, goal, start, state.rows)
            query = answer.dual
        T = answer.weights
        if bundle.aggregated:  # its weight stands alone: what couples it to the others is rounding
            T = scipy.linalg.block_diag(T[:1, :1], T[1:, 1:])
        return self._priced(state, T, answer, query, bundle.matrix(T, trace, state.bound), trace)

    @property
    def _linear(self) -> bool:
        return self.master == "lp"

    @property
    def _stabilizer(self) -> Stabilizer:
        if isinstance(self.stabilization, str):
            return Smoothing(0.0) if self.stabilization == "none" else Smoothing()
        return self.stabilization

    def _per_round(self, n: int) -> int:
        if self.columns is not None:
            return min(self.columns, n)
        return 1 if self._linear else min(n, MOST, max(FEWEST, n // 6))

    def _limit(self, n: int, loss: CappedMargin) -> int:
        """Width that V may have: room for one more than a round brings, whatever was asked."""
        default = max(LP_WIDTH * n if self._linear else BLOCK_WIDTH * self._per_round(n), FEWEST_KEPT)
        if not self._linear:
            default = min(default, widest_block(loss))
        return max(self.max_columns or default, self._per_round(n) + 1)

    def _priced(
        self, state: ColumnGenerationState, T: Array, answer: Answer, query: Array, evaluation: Evaluation, trace: float
    ) -> ColumnGenerationState:
        """The state after pricing at the weights `query`: values, bounds, and the columns of the next master."""
        problem, geometry, margins = state.problem, state.geometry, margins_of(state.problem)
        loss, dual = CappedMargin(margins.size, margins.cap), answer.dual
        if math.isnan(evaluation.value):
            raise FloatingPointError("the value is nan")
        better = evaluation.value < state.evaluation.value
        best = evaluation if better else state.evaluation
        query = project_simplex(query, 1.0, loss.cap)
        atoms, bound = self._query_oracle(state, margins, query, best.value)
        stabilizer = state.stabilizer.observe(query, -bound / trace)
        improved = bound > state.bound
        new_dual = query if improved else state.dual
        bound = max(bound, state.bound)
        if self._mispriced(state, margins, dual, query, atoms):
            query = project_simplex(dual, 1.0, loss.cap)
            more, other = self._query_oracle(state, margins, query, best.value)
            stabilizer = stabilizer.observe(query, -other / trace)
            atoms = atoms + more
            improved, new_dual, bound = (True, query, other) if other > bound else (improved, new_dual, bound)
        gap = max(best.value - bound, 0.0)
        # margins may leave the master only while the gap falls: otherwise the master must not forget any
        fresh = not gap > PROGRESS * state.settled
        before = None if fresh else state.rows
        openness = gap / abs(best.value) if best.value != 0.0 else 1.0
        new = np.array([atom.vector / norm(atom.vector) for atom in atoms]).T
        rows, squares, limit = None, state.squares, self._limit(problem.n, loss)
        if state.lp is None:
            rows = working_rows(margins.values(evaluation), dual, loss, openness, before)
            bundle, T, grown = grown_block(state.bundle, T, new, limit)
        else:
            bundle, T, squares = grown_linear(state.bundle, squares, T, new, limit, problem, margins)
            grown = True
        idle = 0 if better or improved or grown else state.idle + 1
        fell = gap < 0.9 * state.marked
        # a bundle too narrow for the optimum converges slowly, through its aggregate: that is no sign of an end
        slow = 0 if fell or state.lp is not None or bundle.aggregated else state.slow + 1
        ended = idle >= IDLE_ROUNDS or slow >= SLOW_ROUNDS
        return ColumnGenerationState(
            problem, geometry,
            geometry.from_factor(best.factor) if better else state.point, best,
            2.0 * gap / norm(best.factor), float("nan"), Outcome.STALLED if ended else Outcome.RUNNING,
            {
                "gap": gap, "bound": bound, "master_value": evaluation.value, "generated": float(bundle.width),
                "aggregated": float(bundle.aggregated), "master_steps": float(answer.steps),
            },
            bundle=bundle, weights=T, answer_dual=dual, dual=new_dual, bound=bound, gap=gap, squares=squares,
            lp=state.lp, stabilizer=stabilizer, guess=np.array([atom.vector for atom in atoms]).T, idle=idle,
            rows=rows, settled=gap if fresh else state.settled,
            marked=gap if fell else state.marked, slow=slow,
        )  # fmt: skip

    def _query_oracle(
        self, state: ColumnGenerationState, margins: MarginStructure, w: Array, value: float
    ) -> tuple[list[Atom], float]:
        """Lowest eigenvectors of −Σ w_r A_r, and the lower bound of F that they prove."""
        open_gap = state.gap if math.isfinite(state.gap) else abs(value)
        atoms = state.geometry.minimize_linear_many(
            margins.combination(w), ORACLE_ACCURACY * open_gap, self._per_round(state.problem.n), state.guess
        )
        useful = [atom for atom in atoms if atom.value < value] or atoms[:1]
        return useful, atoms[0].value - atoms[0].gap_bound

    def _mispriced(
        self, state: ColumnGenerationState, margins: MarginStructure, dual: Array, query: Array, atoms: list[Atom]
    ) -> bool:
        """Whether the column found for a smoothed query does not cut off the master's own dual."""
        if state.lp is None or not state.stabilizer.reprices or dual is query:
            return False
        pi = max(float(a @ dual) for a in state.squares)
        v = atoms[0].vector[:, None]
        a = margins.values(state.problem.at(v / norm(v)))
        return float(a @ dual) <= pi + EPS * norm(a)


def margins_of(problem: Problem) -> MarginStructure:
    """What the problem offers under the ability "margins"; InvalidTypeError if the member is missing."""
    if not isinstance(problem, HasMargins):
        raise InvalidTypeError(
            f'a problem with the ability "margins" must offer margins() -> MarginStructure; '
            f"found none in {type(problem).__name__}"
        )
    return problem.margins()


def _trace_of(geometry: Geometry) -> float:
    if geometry.trace is None:
        raise InvalidInputError(f"ColumnGeneration needs a set of fixed trace, such as Spectraplex; found {geometry!r}")
    return geometry.trace
