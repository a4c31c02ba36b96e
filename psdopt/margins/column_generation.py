"""Column generation over the spectraplex: matrix generation (PSDBoost), with masters that converge."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from psdopt.checks import integer, integer_or_none, is_name, number, one_of
from psdopt.contracts.abilities import Ability, Requires, offered
from psdopt.contracts.geometry import Atom, Geometry
from psdopt.contracts.method import Method, Outcome, Residual, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.deprecated import former_argument
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.limits import SMALL_ORDER
from psdopt.linalg.simplex import project_simplex
from psdopt.linalg.tolerances import EPS, MINOR, SLIGHT
from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters import BlockMaster, Bundle, Master, MasterSolution, Unsolved
from psdopt.margins.masters.base import solve_selected, widest_block, working_rows
from psdopt.margins.structure import MarginStructure

#: Stabilisations of the master.
STABILIZATIONS = ("auto", "centre", "none")
#: Least number of columns per round, as a master of so few costs no more than the oracle.
FEWEST = 24
#: Columns per round are n / WIDTH, and WIDTH times as many are kept.
WIDTH = 6


@dataclass(kw_only=True)
class ColumnGenerationState(State):
    """The best matrix so far (`point`, `evaluation`), the best dual so far (`dual`, `bound`), and the master.

    `bundle` holds the columns V (n, k) and the aggregate with their images; `weights`, Diag(θ, T) if there is an
    aggregate and T if not, and `answer_dual` w (m,) are the last master's solution. `gap` = F − bound; `rows` (m,)
    marks the margins in the master, `settled` is the gap when margins could last leave the master. `gradient_norm` is 2
    gap / |Y|: the gap in the units of the factor gradient.
    """

    bundle: Bundle
    weights: Array
    answer_dual: Array
    dual: Array | None = None
    bound: float = -math.inf
    gap: float = math.inf
    guess: Array | None = None
    rows: NDArray[np.bool_] | None = None
    settled: float = math.inf
    marked: float = math.inf
    slow: int = 0

    @property
    def columns(self) -> Array:
        """The generated columns V (n, k), unit vectors."""
        return self.bundle.columns

    @property
    def theta(self) -> Array:
        """Weights T (k, k) of the columns of the last master."""
        return self.bundle.block(self.weights)

    @property
    def aggregate(self) -> tuple[float, Array]:
        """θ and Ȳ (n, q), |Ȳ| = 1: M = V T Vᵀ + θ Ȳ Ȳᵀ, both times the trace. (0, (n, 0)) if nothing was aggregated."""
        q = self.bundle.aggregated
        return float(self.weights[0, 0]) if q else 0.0, self.bundle.evaluation.factor[:, :q]


@former_argument("solver", None, "the interior point of this library solves the block master")
@dataclass(frozen=True)
class ColumnGeneration(Method[ColumnGenerationState]):
    """M = V T Vᵀ + θ M̄ over columns V, from the dual of a restricted master problem (Shen et al., algorithm 1).

    One round: the master on V is solved for T and the dual weights w; the lowest eigenvectors of S = −Σ w_r A_r become
    new columns. Every w proves F >= trace · λ_min(S) over the whole set and every T gives a value, so each round has a
    gap. The best value and the best bound are kept, since neither sequence is monotone in practice.

    Two differences from the paper's algorithm: the run does not begin with π = 0, which would end it at once if the
    optimum is negative; and it does not stop when the value of the master stalls, as happens with degenerate duals.

    Parameters
    ----------
    master : "block", T any PSD matrix (k, k), as in the spectral bundle method (Helmberg and Rendl 2000): fully
        corrective, tens of rounds less than the paper's linear program, which is
        :class:`psdopt_plugins.metric_learning.MatrixGeneration` ("lp" still stands for it, and is deprecated); or an
        object that solves the master in its own way, see :class:`~psdopt.margins.masters.Master`.
    stabilization : "auto" and "centre": the master stops at a fraction of the remaining gap, while its duals are
        centred. "none": the master is solved to the end.
    columns : new columns per round; None is n/6 within 24 .. 64.
    max_columns : the largest width of V; further columns are aggregated into one fixed matrix M̄ with one weight θ, so
        that the best matrix is never lost. None: six times `columns`, and at least 64.
    progress : share to which the gap must fall before margins may leave the master again, in (0, 1).
    slow_rounds : a run ends if the gap has not fallen by a tenth in so many rounds. As long as the master can be solved
        more accurately than the gap, one round suffices to reduce it; on degenerate margins (duplicated samples)
        rounding prevents this below relative gaps of about 1e-6.

    The master's interior point never forms the m matrices VᵀA_rV, warm-starts, and stops where its duals are
    still centred: at n = 24 with 550 triplets a run to gap 1e-4 took 0.6 processor seconds with it and 2.2 with
    Clarabel, to the same optimum (``benchmarks/psdboost.py masters``).

    Cost per round: the products with the maps for the new columns, eigenvectors of one S, one master. Raises
    UnknownNameError, InvalidTypeError and InvalidInputError for bad parameters.
    """

    master: str | Master = "block"
    stabilization: str = "auto"
    columns: int | None = None
    max_columns: int | None = None
    progress: float = 0.5
    slow_rounds: int = 6

    requires: ClassVar[Requires] = {"problem": (Ability.MARGINS,), "geometry": (Ability.LINEAR_ORACLE,)}
    descends: ClassVar[bool] = False
    residual: ClassVar[Residual] = Residual.GAP

    def __post_init__(self) -> None:
        if is_name(self.master, "lp"):
            text = "ColumnGeneration(master='lp') is deprecated: use psdopt_plugins.metric_learning.MatrixGeneration()"
            warnings.warn(text, DeprecationWarning, stacklevel=4)
            _ = self._printed  # the parameters are checked there
            return
        if isinstance(self.master, str):
            one_of(self.master, "master", ("block",))
        elif not isinstance(self.master, Master):
            raise InvalidTypeError(f"master must be 'block' or offer solve; found {type(self.master).__name__}")
        one_of(self.stabilization, "stabilization", STABILIZATIONS)
        integer_or_none(self.columns, "columns")
        integer_or_none(self.max_columns, "max_columns")
        number(self.progress, "progress", above=0.0, below=1.0)
        integer(self.slow_rounds, "slow_rounds")
        if self.columns is not None and self.max_columns is not None and self.max_columns <= self.columns:
            raise InvalidInputError(
                f"max_columns must exceed columns, {self.columns}, or nothing is kept; found {self.max_columns}"
            )

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> ColumnGenerationState:
        """Columns: those of the start, and the oracle's answer to uniform weights."""
        if is_name(self.master, "lp"):
            return self._printed.init(problem, geometry, start, evaluation)
        margins, trace = margins_of(problem), _trace_of(geometry)
        evaluation = evaluation or problem.at(geometry.factor(start))
        Y = evaluation.factor
        U, s, _ = np.linalg.svd(Y, full_matrices=False)
        used = s > max(Y.shape) * EPS * s[0]
        bundle, T = Bundle(problem.at(U[:, used])), np.diag(s[used] ** 2 / norm(s[used]) ** 2)
        uniform = np.full(margins.size, 1.0 / margins.size)
        state = ColumnGenerationState(
            problem, geometry, start, evaluation, bundle=bundle, weights=T, answer_dual=uniform
        )
        return self._priced(state, T, MasterSolution(T, uniform, 0), evaluation, trace)

    def step(self, state: ColumnGenerationState) -> ColumnGenerationState:
        if is_name(self.master, "lp"):
            return self._printed.step(state)
        try:
            return self._round(state)
        except Unsolved:  # keep the best matrix and the best bound so far
            return replace(state, outcome=Outcome.STALLED)

    def _round(self, state: ColumnGenerationState) -> ColumnGenerationState:
        margins, trace, bundle = margins_of(state.problem), _trace_of(state.geometry), state.bundle
        loss = CappedMargin(margins.size, margins.cap)
        # once V spans the whole space, no better columns exist
        share = MINOR if bundle.width == state.problem.n else SLIGHT
        goal = 0.0 if self.stabilization == "none" else share * state.gap / trace
        master = BlockMaster() if isinstance(self.master, str) else self.master
        start = state.weights, state.answer_dual
        answer = solve_selected(master, bundle.squares(margins), loss, goal, start, state.rows)
        T = answer.weights
        if bundle.aggregated:  # the aggregate's weight is separate: entries of T that couple it to others are rounding
            T = scipy.linalg.block_diag(T[:1, :1], T[1:, 1:])
        return self._priced(state, T, answer, bundle.matrix(T, trace, state.bound), trace)

    @property
    def _printed(self) -> Method[ColumnGenerationState]:
        """The algorithm that ``master="lp"`` stood for."""
        stabilization = "smoothing" if self.stabilization == "auto" else self.stabilization
        make = import_module("psdopt_plugins.metric_learning").MatrixGeneration
        printed: Method[ColumnGenerationState] = make(stabilization, self.columns or 1, self.max_columns)
        return printed

    def _per_round(self, n: int) -> int:
        # of more columns than SMALL_ORDER the spectrum of the master's matrices costs more than their products
        return min(n, SMALL_ORDER, max(FEWEST, n // WIDTH)) if self.columns is None else min(self.columns, n)

    def _limit(self, n: int, loss: CappedMargin) -> int:
        """Largest width of V; at least one more than the columns of a round, whatever the parameters."""
        default = min(max(WIDTH * self._per_round(n), SMALL_ORDER), widest_block(loss))
        return max(self.max_columns or default, self._per_round(n) + 1)

    def _priced(
        self, state: ColumnGenerationState, T: Array, answer: MasterSolution, evaluation: Evaluation, trace: float
    ) -> ColumnGenerationState:
        """The state after pricing at the master's dual, with values, bounds, and the columns of the next master."""
        problem, geometry, margins = state.problem, state.geometry, margins_of(state.problem)
        loss, dual = CappedMargin(margins.size, margins.cap), answer.dual
        if math.isnan(evaluation.value):
            raise FloatingPointError("the value is nan")
        better = evaluation.value < state.evaluation.value
        best = evaluation if better else state.evaluation
        query = project_simplex(dual, 1.0, loss.cap)
        atoms, bound = self._query_oracle(state, margins, query, best.value)
        improved = bound > state.bound
        bound = max(bound, state.bound)
        gap = max(best.value - bound, 0.0)
        new = np.array([atom.vector / norm(atom.vector) for atom in atoms]).T
        # margins may leave the master only while the gap falls, or they might leave and return for ever
        fresh = not gap > self.progress * state.settled
        openness = gap / abs(best.value) if best.value != 0.0 else 1.0
        rows = working_rows(margins.values(evaluation), dual, loss, openness, None if fresh else state.rows)
        bundle, T, wider = state.bundle.grown(T, new, self._limit(problem.n, loss))
        fell = gap < 0.9 * state.marked
        # a bundle too narrow for the optimum still converges, slowly, through its aggregate: not a stall
        gains = fell or (bundle.aggregated and (better or improved or wider))
        slow = 0 if gains else state.slow + 1
        return replace(
            state,
            point=geometry.from_factor(best.factor) if better else state.point,
            evaluation=best,
            gradient_norm=2.0 * gap / norm(best.factor),
            outcome=Outcome.STALLED if slow >= self.slow_rounds else Outcome.RUNNING,
            extras={
                "gap": gap,
                "bound": bound,
                "master_value": evaluation.value,
                "generated": float(bundle.width),
                "aggregated": float(bundle.aggregated),
                "master_steps": float(answer.steps),
            },
            bundle=bundle,
            weights=T,
            answer_dual=dual,
            dual=query if improved else state.dual,
            bound=bound,
            gap=gap,
            guess=np.array([atom.vector for atom in atoms]).T,
            rows=rows,
            settled=gap if fresh else state.settled,
            marked=gap if fell else state.marked,
            slow=slow,
        )

    def _query_oracle(
        self, state: ColumnGenerationState, margins: MarginStructure, w: Array, value: float
    ) -> tuple[list[Atom], float]:
        """Lowest eigenvectors of −Σ w_r A_r, and the lower bound of F that they prove."""
        open_gap = state.gap if math.isfinite(state.gap) else abs(value)
        # its error is subtracted from the bound on F; only a V of n columns has a master that is more accurate
        tol = SLIGHT**2 * open_gap
        count = self._per_round(state.problem.n)
        atoms = state.geometry.minimize_linear_many(margins.combination(w), tol, count, state.guess)
        useful = [atom for atom in atoms if atom.value < value] or atoms[:1]
        return useful, atoms[0].value - atoms[0].gap_bound


def margins_of(problem: Problem) -> MarginStructure:
    """The member for the ability "margins" of `problem`; IncompatibleError if it is missing."""
    margins: MarginStructure = offered(problem, Ability.MARGINS, "psdopt.margins.MarginStructure")
    return margins


def _trace_of(geometry: Geometry) -> float:
    if geometry.trace is None:
        raise InvalidInputError(f"ColumnGeneration needs a set of fixed trace, such as Spectraplex; found {geometry!r}")
    return geometry.trace
