"""Column generation over the spectraplex: matrix generation (PSDBoost), with masters that converge."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from psdopt.capability import Ability, Requires
from psdopt.errors import InvalidInputError, unknown_name
from psdopt.geometry import Atom, Geometry
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.simplex import project_simplex
from psdopt.linalg.tolerances import EPS
from psdopt.method import Method, Outcome, Residual
from psdopt.methods.column_state import ColumnGenerationState
from psdopt.methods.masters import BlockMaster, Bundle, ConicMaster, LPMaster, QuadraticMaster, Stabilizer
from psdopt.methods.masters.base import Unsolved
from psdopt.methods.masters.growth import grown_block, grown_linear, squares_of
from psdopt.methods.masters.selection import solve_selected, widest_block, working_rows
from psdopt.problem import Evaluation, Problem
from psdopt.problems.margin_problem import MarginProblem
from psdopt.problems.term_sum import TermEvaluation

#: Per master: its stabilisations and its solvers, the default first.
STABILIZATIONS = {"block": ("centre", "none"), "lp": ("smoothing", "level", "proximal", "none")}
SOLVERS = {"block": ("interior-point", "clarabel"), "lp": ("clarabel", "highs")}
#: A centred block master is solved to this fraction of the gap that is open.
CENTRED = 0.3
#: ... and to this one once V spans the whole space, when no better columns are to be found.
COMPLETE = 1e-3
#: Columns per round of the block master: n / 6, within these limits (a small space is taken whole).
FEWEST, MOST = 24, 64
#: Columns kept: this many times those of a round for the block master, this many times n for the linear program, whose
#: quadratic programs cost more per column; and never fewer than FEWEST_KEPT.
BLOCK_WIDTH, LP_WIDTH, QP_WIDTH = 6, 20, 5
FEWEST_KEPT = 60
#: Accuracy asked of the oracle, relative to the gap; what it leaves unproved is part of the bound.
ORACLE_ACCURACY = 0.01
#: The gap must fall to this fraction before margins may leave again.
PROGRESS = 0.5
#: Rounds without new column, lower value or better bound that count as the end.
IDLE_ROUNDS = 5
#: Rounds of the block master in which the gap has to fall by a tenth. It does so in one round as long as the master
#: can be solved more accurately than the gap; on degenerate margins (duplicated samples) that ends before 1e-6.
SLOW_ROUNDS = 6


@dataclass(frozen=True)
class ColumnGeneration(Method):
    """M = V T Vᵀ + θ M̄ over columns V that the dual of a restricted master problem asks for (Shen et al., algorithm 1).

    A round: solve the master on V for T and the dual weights w; the lowest eigenvectors of S = −Σ w_r A_r become
    new columns. Every w proves F >= trace · λ_min(S) over the whole set, every T gives a value, so each round
    has a gap; best value and best bound are kept, since neither sequence is monotone in practice. The run starts
    from no value at all (the paper's π = 0 ends it at once where the optimum is negative) and never stops because
    the master's value stalls, which degenerate duals make it do.

    Parameters
    ----------
    master : "block", T any PSD matrix (k, k), as in the spectral bundle method (Helmberg and Rendl 2000): fully
        corrective, tens of rounds less; "lp", the paper's: T diagonal, a linear program (HiGHS), warm-started.
    stabilization : "auto" is "centre" for the block master (it stops while its duals are centred, at a fraction of
        the gap that is open) and "smoothing" for the linear program, which also has "level" and "proximal": see
        :class:`~psdopt.methods.masters.stabilizer.Stabilizer`. "none": the master is solved to the end and asked as
        it is, as printed.
    columns : new columns per round; None is 1 for "lp", n/6 within 24 .. 64 for "block".
    max_columns : V is kept at most this wide; what exceeds it is aggregated into one fixed matrix M̄ with one weight
        θ, so that the best matrix is never lost. None: six times `columns` (block), 20 n (lp), 5 n (lp with
        quadratic programs), and at least 60.
    solver : of the block master, "interior-point" (the default) or "clarabel"; of the quadratic programs of "level"
        and "proximal", "clarabel" (the default where it is installed) or "highs".

    The block master's own interior point is the default because it never forms the m matrices VᵀA_rV, warm-starts, and
    stops where its duals are still centred: at n = 24 with 550 triplets a run to gap 1e-4 took 0.6 processor seconds
    with it and 2.2 with Clarabel, to the same optimum (``benchmarks/psdboost.py masters``).

    Cost per round: the products with the maps for the new columns, eigenvectors of one S, one master. Raises
    UnknownNameError and InvalidInputError for bad parameters, MissingDependencyError where a solver is not installed.
    """

    master: str = "block"
    stabilization: str = "auto"
    columns: int | None = None
    max_columns: int | None = None
    solver: str = "auto"

    requires: ClassVar[Requires] = {"problem": (Ability.MARGINS,), "geometry": (Ability.LINEAR_ORACLE,)}
    descends: ClassVar[bool] = False
    residual: ClassVar[Residual] = Residual.GAP

    def __post_init__(self) -> None:
        if self.master not in STABILIZATIONS:
            raise unknown_name("master", self.master, STABILIZATIONS)
        for name, known in (("stabilization", STABILIZATIONS), ("solver", SOLVERS)):
            allowed = ("auto", *known[self.master])
            if getattr(self, name) not in allowed:
                raise unknown_name(f"{name} of master {self.master!r}:", getattr(self, name), allowed)
        for name in ("columns", "max_columns"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1):
                raise InvalidInputError(f"{name} must be None or an integer of at least 1; found {value!r}")
        if self.columns is not None and self.max_columns is not None and self.max_columns <= self.columns:
            raise InvalidInputError(
                f"max_columns must exceed columns, {self.columns}, or nothing is kept; found {self.max_columns}"
            )

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> ColumnGenerationState:
        """Columns: those of the start, and the oracle's answer to uniform weights."""
        _fits(problem, geometry)
        assert isinstance(problem, MarginProblem)
        assert geometry.trace is not None
        evaluation = evaluation or problem.at(geometry.factor(start))
        assert isinstance(evaluation, TermEvaluation)
        Y = evaluation.factor
        U, s, _ = np.linalg.svd(Y, full_matrices=False)
        used = s > max(Y.shape) * EPS * s[0]
        bundle, T = Bundle(problem.at(U[:, used])), np.diag(s[used] ** 2 / norm(s[used]) ** 2)
        linear = self.master == "lp"
        state = ColumnGenerationState(
            problem, geometry, start, evaluation,
            bundle=bundle, weights=T, lp=LPMaster() if linear else None,
            margins=squares_of(problem, bundle) if linear else (), stabilizer=Stabilizer(self._stabilization),
        )  # fmt: skip
        uniform = np.full(problem.loss.size, 1.0 / problem.loss.size)
        return self._asked(state, T, uniform, uniform, evaluation, 0)

    def step(self, state: Any) -> ColumnGenerationState:
        assert isinstance(state, ColumnGenerationState)
        try:
            return self._round(state)
        except Unsolved:  # the best matrix and the best bound so far stand
            return replace(state, outcome=Outcome.STALLED)

    def _round(self, state: ColumnGenerationState) -> ColumnGenerationState:
        problem, geometry = state.problem, state.geometry
        assert isinstance(problem, MarginProblem)
        assert geometry.trace is not None
        bundle = state.bundle
        assert bundle is not None
        if state.lp is not None:
            qp = QuadraticMaster(self.solver)
            answer, query, stabilizer = state.stabilizer.ask(state.lp, qp, list(state.margins), problem.loss)
            state = replace(state, stabilizer=stabilizer)
        else:
            assert state.weights is not None
            assert state.answer_dual is not None
            assert state.rows is not None
            share = COMPLETE if bundle.width == problem.n else CENTRED
            goal = share * state.gap / geometry.trace if self._stabilization == "centre" else 0.0
            master = ConicMaster() if self.solver == "clarabel" else BlockMaster()
            start, squares = (state.weights, state.answer_dual), bundle.squares(problem)
            answer = solve_selected(master, squares, problem.loss, goal, start, state.rows)
            query = answer.dual
        T = answer.weights
        if bundle.aggregated:  # its weight stands alone: what couples it to the others is rounding
            T = scipy.linalg.block_diag(T[:1, :1], T[1:, 1:])
        evaluation = bundle.matrix(T, geometry.trace, state.bound)
        return self._asked(state, T, answer.dual, query, evaluation, answer.steps)

    @property
    def _stabilization(self) -> str:
        return STABILIZATIONS[self.master][0] if self.stabilization == "auto" else self.stabilization

    def _per_round(self, n: int) -> int:
        if self.columns is not None:
            return min(self.columns, n)
        return 1 if self.master == "lp" else min(n, MOST, max(FEWEST, n // 6))

    def _limit(self, problem: MarginProblem) -> int:
        """Width that V may have: room for one more than a round brings, whatever was asked."""
        n = problem.n
        wide = QP_WIDTH if self._stabilization in ("level", "proximal") else LP_WIDTH
        default = max(wide * n if self.master == "lp" else BLOCK_WIDTH * self._per_round(n), FEWEST_KEPT)
        if self.master == "block":
            default = min(default, widest_block(problem.loss))
        return max(self.max_columns or default, self._per_round(n) + 1)

    def _asked(
        self, state: ColumnGenerationState, T: Array, dual: Array, query: Array, evaluation: TermEvaluation, steps: int
    ) -> ColumnGenerationState:
        """The state after asking the oracle about `query`: values, bounds, and the columns of the next master."""
        problem, geometry = state.problem, state.geometry
        assert isinstance(problem, MarginProblem)
        assert state.bundle is not None
        assert geometry.trace is not None
        if math.isnan(evaluation.value):
            raise FloatingPointError("the value is nan")
        better = evaluation.value < state.evaluation.value
        best = evaluation if better else state.evaluation
        query = project_simplex(query, 1.0, problem.loss.cap)
        atoms, bound = self._oracle(state, problem, query, best.value)
        stabilizer = state.stabilizer.told(query, -bound / geometry.trace)
        improved = bound > state.bound
        new_dual = query if improved else state.dual
        bound = max(bound, state.bound)
        if self._mispriced(state, problem, dual, query, atoms):
            query = project_simplex(dual, 1.0, problem.loss.cap)
            more, other = self._oracle(state, problem, query, best.value)
            stabilizer = stabilizer.told(query, -other / geometry.trace)
            atoms = atoms + more
            improved, new_dual, bound = (True, query, other) if other > bound else (improved, new_dual, bound)
        gap = max(best.value - bound, 0.0)
        # margins leave the master only while it makes progress: without, it must not forget
        fresh = not gap > PROGRESS * state.settled
        before = None if fresh else state.rows
        openness = gap / abs(best.value) if best.value != 0.0 else 1.0
        new = np.array([atom.vector / norm(atom.vector) for atom in atoms]).T
        rows, margins, limit = None, state.margins, self._limit(problem)
        if state.lp is None:
            rows = working_rows(problem.margins(evaluation), dual, problem.loss, openness, before)
            bundle, T, grown = grown_block(state.bundle, T, new, limit)
        else:
            bundle, T, margins = grown_linear(state.bundle, margins, T, new, limit, problem)
            grown = True
        idle = 0 if better or improved or grown else state.idle + 1
        fell = gap < 0.9 * state.marked
        # a bundle too narrow for the optimum converges slowly, by its aggregate: no sign of an end
        slow = 0 if fell or state.lp is not None or bundle.aggregated else state.slow + 1
        ended = idle >= IDLE_ROUNDS or slow >= SLOW_ROUNDS
        return ColumnGenerationState(
            problem, geometry,
            geometry.from_factor(best.factor) if better else state.point, best,
            2.0 * gap / norm(best.factor), float("nan"), Outcome.STALLED if ended else Outcome.RUNNING,
            {
                "gap": gap, "bound": bound, "master_value": evaluation.value,
                "generated": float(bundle.width), "aggregated": float(bundle.aggregated), "master_steps": float(steps),
            },
            bundle=bundle, weights=T, answer_dual=dual, dual=new_dual, bound=bound, gap=gap, margins=margins,
            lp=state.lp, stabilizer=stabilizer, guess=np.array([atom.vector for atom in atoms]).T, idle=idle,
            rows=rows, settled=gap if fresh else state.settled,
            marked=gap if fell else state.marked, slow=slow,
        )  # fmt: skip

    def _oracle(
        self, state: ColumnGenerationState, problem: MarginProblem, w: Array, value: float
    ) -> tuple[list[Atom], float]:
        """Lowest eigenvectors of −Σ w_r A_r, and the lower bound of F that they prove."""
        geometry: Any = state.geometry
        open_gap = state.gap if math.isfinite(state.gap) else abs(value)
        atoms = geometry.minimize_linear_many(
            problem.combination(w), ORACLE_ACCURACY * open_gap, self._per_round(problem.n), state.guess
        )
        useful = [atom for atom in atoms if atom.value < value] or atoms[:1]
        return useful, atoms[0].value - atoms[0].gap_bound

    def _mispriced(
        self, state: ColumnGenerationState, problem: MarginProblem, dual: Array, query: Array, atoms: list[Atom]
    ) -> bool:
        """Whether the column found for a smoothed query does not cut off the master's own dual."""
        if state.lp is None or self._stabilization != "smoothing" or dual is query:
            return False
        pi = max(float(a @ dual) for a in state.margins)
        v = atoms[0].vector[:, None]
        margins = problem.margins(problem.at(v / norm(v)))
        return float(margins @ dual) <= pi + EPS * norm(margins)


def _fits(problem: Problem, geometry: Geometry) -> None:
    if not isinstance(problem, MarginProblem):
        raise InvalidInputError(f"ColumnGeneration needs a MarginProblem; found {type(problem).__name__}")
    if geometry.trace is None or not hasattr(geometry, "minimize_linear_many"):
        raise InvalidInputError(f"ColumnGeneration needs a set of fixed trace such as Spectraplex; found {geometry!r}")
