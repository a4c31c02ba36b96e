"""Column generation over the spectraplex: matrix generation (PSDBoost), with masters that converge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from psdopt.capability import Ability, Requires
from psdopt.errors import InvalidInputError, unknown_name
from psdopt.geometry import Atom, Geometry
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.simplex import project_simplex
from psdopt.linalg.tolerances import EPS
from psdopt.method import Method, Outcome, State
from psdopt.methods.masters import Answer, BlockMaster, LPMaster
from psdopt.methods.masters.selection import trimmed, working_rows
from psdopt.problem import Evaluation, Problem
from psdopt.problems.margin_problem import MarginProblem
from psdopt.problems.term_sum import TermEvaluation
from psdopt.terms.margin import CappedMargin

#: Per master: the stabilisations it has, its default first.
STABILIZATIONS = {"block": ("centre", "none"), "lp": ("smoothing", "none")}
#: A centred block master is solved to this fraction of the gap that is open.
CENTRED = 0.3
#: Weight of the best dual in the one that the oracle is asked about ("smoothing").
SMOOTHING = 0.8
#: Directions of T below this fraction of its largest eigenvalue are dropped.
NEGLIGIBLE = 1e-7
#: Columns per round of the block master: n / 6, within these limits.
FEWEST, MOST = 8, 64
#: Accuracy asked of the oracle, relative to the gap; what it leaves unproved is part of the bound.
ORACLE_ACCURACY = 0.01
#: The gap must fall to this fraction before margins may leave again.
PROGRESS = 0.5
#: Rounds without new column, lower value or better bound that count as the end.
IDLE_ROUNDS = 5
#: Rounds of the block master in which the gap has to fall by a tenth. It does so in one round as long as the master
#: can be solved more accurately than the gap; on degenerate margins (duplicated samples) that ends before 1e-6.
SLOW_ROUNDS = 6


@dataclass
class ColumnGenerationState(State):
    """The best matrix so far (`point`, `evaluation`), the best dual so far (`dual`, `bound`), and the master.

    `basis` holds the columns V (n, k) with their images; `weights` T (k, k) and `answer_dual` w (m,) are the last
    master's solution. For the linear program `margins` holds (v_iᵀA_rv_i)_r per column. `gap` = F − bound;
    `rows` (m,) marks the margins in the block master, `settled` is the gap when some could last leave it.
    `gradient_norm` is 2 gap / |Y|: the gap in the units of the factor gradient.
    """

    basis: TermEvaluation | None = None
    weights: Array | None = None
    answer_dual: Array | None = None
    dual: Array | None = None
    bound: float = -math.inf
    gap: float = math.inf
    margins: tuple[Array, ...] = ()
    lp: LPMaster | None = None
    guess: Array | None = None
    idle: int = 0
    rows: NDArray[np.bool_] | None = None
    settled: float = math.inf
    marked: float = math.inf
    slow: int = 0

    @property
    def columns(self) -> Array:
        """The generated columns V (n, k), unit vectors."""
        assert self.basis is not None
        return self.basis.factor

    @property
    def theta(self) -> Array:
        """Weights of the columns of the last master: θ (k,) of the linear program, T (k, k) of the block master."""
        assert self.weights is not None
        return np.diag(self.weights) if self.lp is not None else self.weights


@dataclass(frozen=True)
class ColumnGeneration(Method):
    """M = V T Vᵀ over columns V that the dual of a restricted master problem asks for (Shen et al., algorithm 1).

    A round: solve the master on V for T and the dual weights w; the lowest eigenvectors of S = −Σ w_r A_r become
    new columns. Every w proves F >= trace · λ_min(S) over the whole set, every T gives a value, so each round
    has a gap; best value and best bound are kept, since neither sequence is monotone in practice. The run starts
    from no value at all (the paper's π = 0 ends it at once where the optimum is negative) and never stops because
    the master's value stalls, which degenerate duals make it do.

    Parameters
    ----------
    master : "block", T any PSD matrix (k, k): fully corrective, tens of rounds less; "lp", the paper's: T
        diagonal, a linear program.
    stabilization : "auto" is "centre" for the block master (it stops while its duals are centred, at a fraction of
        the gap that is open) and "smoothing" for the linear program (the oracle is asked about a mixture of w and
        the best w so far; Wentges 1997). "none": the master is solved to the end and asked as it is, as printed.
    columns : new columns per round; None is 1 for "lp", n/6 within 8 .. 64 for "block".
    max_columns : V is kept at most this wide: the block master drops the least eigenvectors of T, the linear
        program columns of weight zero. None: only negligible directions are dropped.

    Cost per round: the products with the maps for the new columns, eigenvectors of one S, one master. Raises
    UnknownNameError and InvalidInputError for bad parameters.
    """

    master: str = "block"
    stabilization: str = "auto"
    columns: int | None = None
    max_columns: int | None = None

    requires: ClassVar[Requires] = {"problem": (Ability.MARGINS,), "geometry": (Ability.LINEAR_ORACLE,)}
    descends: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.master not in STABILIZATIONS:
            raise unknown_name("master", self.master, STABILIZATIONS)
        if self.stabilization not in ("auto", *STABILIZATIONS[self.master]):
            raise unknown_name("stabilization", self.stabilization, ("auto", *STABILIZATIONS[self.master]))
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
        V, T = U[:, used], np.diag(s[used] ** 2 / geometry.trace)
        state = ColumnGenerationState(
            problem, geometry, start, evaluation,
            basis=problem.at(V), weights=T, lp=LPMaster() if self.master == "lp" else None,
        )  # fmt: skip
        if state.lp is not None:
            state.margins = _squares(problem, state.basis)
        uniform = np.full(problem.loss.size, 1.0 / problem.loss.size)
        return self._asked(state, T, uniform, uniform, evaluation, 0)

    def step(self, state: Any) -> ColumnGenerationState:
        assert isinstance(state, ColumnGenerationState)
        problem, geometry = state.problem, state.geometry
        assert isinstance(problem, MarginProblem)
        assert geometry.trace is not None
        assert state.basis is not None
        answer = self._answer(state, problem)
        T = answer.weights
        evaluation = trimmed(state.basis, T, geometry.trace, state.bound)
        query = answer.dual
        if self._stabilization == "smoothing" and state.dual is not None:
            query = SMOOTHING * state.dual + (1.0 - SMOOTHING) * answer.dual
        return self._asked(state, T, answer.dual, query, evaluation, answer.steps)

    @property
    def _stabilization(self) -> str:
        return STABILIZATIONS[self.master][0] if self.stabilization == "auto" else self.stabilization

    def _per_round(self, n: int) -> int:
        if self.columns is not None:
            return min(self.columns, n)
        return 1 if self.master == "lp" else min(n, MOST, max(FEWEST, n // 6))

    def _answer(self, state: ColumnGenerationState, problem: MarginProblem) -> Answer:
        if state.lp is not None:
            return state.lp.solve(list(state.margins), problem.loss)
        assert state.basis is not None
        assert state.weights is not None
        assert state.answer_dual is not None
        assert state.geometry.trace is not None
        squares = problem.structure().at(state.basis.images)
        goal = CENTRED * state.gap / state.geometry.trace if self._stabilization == "centre" else 0.0
        assert state.rows is not None
        chosen = np.flatnonzero(state.rows)
        if len(chosen) == problem.loss.size:
            return BlockMaster().solve(squares, problem.loss, goal, (state.weights, state.answer_dual))
        loss = CappedMargin(len(chosen), problem.loss.cap)
        start = project_simplex(state.answer_dual[chosen], 1.0, loss.cap)
        answer = BlockMaster().solve(squares.rows(chosen), loss, goal, (state.weights, start))
        dual = np.zeros(problem.loss.size)
        dual[chosen] = answer.dual
        return Answer(answer.weights, dual, answer.steps)

    def _asked(
        self, state: ColumnGenerationState, T: Array, dual: Array, query: Array, evaluation: TermEvaluation, steps: int
    ) -> ColumnGenerationState:
        """The state after asking the oracle about `query`: values, bounds, and the columns of the next master."""
        problem, geometry = state.problem, state.geometry
        assert isinstance(problem, MarginProblem)
        better = evaluation.value < state.evaluation.value
        best = evaluation if better else state.evaluation
        query = project_simplex(query, 1.0, problem.loss.cap)
        atoms, bound = self._oracle(state, problem, query, best.value)
        improved = bound > state.bound
        new_dual = query if improved else state.dual
        bound = max(bound, state.bound)
        if self._mispriced(state, problem, dual, query, atoms):
            query = project_simplex(dual, 1.0, problem.loss.cap)
            more, other = self._oracle(state, problem, query, best.value)
            atoms = atoms + more
            improved, new_dual, bound = (True, query, other) if other > bound else (improved, new_dual, bound)
        gap = max(best.value - bound, 0.0)
        # margins leave the master only while it makes progress: without, it must not forget
        fresh = not gap > PROGRESS * state.settled
        before = None if fresh else state.rows
        openness = gap / abs(best.value) if best.value != 0.0 else 1.0
        rows = (
            working_rows(problem.margins(evaluation), dual, problem.loss, openness, before)
            if state.lp is None
            else None
        )
        basis, T, margins, grown = self._extended(state, problem, T, atoms)
        idle = 0 if better or improved or grown else state.idle + 1
        fell = gap < 0.9 * state.marked
        slow = 0 if fell or state.lp is not None else state.slow + 1
        ended = idle >= IDLE_ROUNDS or slow >= SLOW_ROUNDS
        return ColumnGenerationState(
            problem, geometry,
            geometry.from_factor(best.factor) if better else state.point, best,
            2.0 * gap / norm(best.factor), float("nan"), Outcome.STALLED if ended else Outcome.RUNNING,
            {
                "gap": gap, "bound": bound, "master_value": evaluation.value,
                "generated": float(basis.factor.shape[1]), "master_steps": float(steps),
            },
            basis=basis, weights=T, answer_dual=dual, dual=new_dual, bound=bound, gap=gap, margins=margins,
            lp=state.lp, guess=np.array([atom.vector for atom in atoms]).T, idle=idle,
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
        if state.lp is None or self._stabilization != "smoothing" or dual is query or not state.margins:
            return False
        pi = max(float(a @ dual) for a in state.margins)
        v = atoms[0].vector[:, None]
        margins = problem.margins(problem.at(v / norm(v)))
        return float(margins @ dual) <= pi + EPS * norm(margins)

    def _extended(
        self, state: ColumnGenerationState, problem: MarginProblem, T: Array, atoms: list[Atom]
    ) -> tuple[TermEvaluation, Array, tuple[Array, ...], bool]:
        """Columns of the next master with T padded to them, and whether any is new."""
        assert state.basis is not None
        new = np.array([atom.vector / norm(atom.vector) for atom in atoms]).T
        if state.lp is not None:
            return self._with_rows(state, problem, T, new)
        values, W = np.linalg.eigh(T)
        room = len(values) if self.max_columns is None else max(self.max_columns - new.shape[1], 1)
        kept = (values > NEGLIGIBLE * values[-1]) & (np.arange(len(values)) >= len(values) - room)
        basis = state.basis.mix(W[:, kept])
        fresh = _outside(basis.factor, new)
        if fresh.shape[1] == 0 and np.count_nonzero(kept) < len(kept) and self.max_columns is None:
            basis, kept = state.basis.mix(W), np.ones(len(kept), dtype=bool)  # dropping would undo the last round
        values = values[kept] / values[kept].sum()
        extended = basis.append(fresh) if fresh.shape[1] else basis
        return extended, np.diag(np.append(values, np.zeros(fresh.shape[1]))), (), fresh.shape[1] > 0

    def _with_rows(
        self, state: ColumnGenerationState, problem: MarginProblem, T: Array, new: Array
    ) -> tuple[TermEvaluation, Array, tuple[Array, ...], bool]:
        assert state.basis is not None
        theta, basis, margins = np.diag(T), state.basis, state.margins
        if self.max_columns is not None and len(theta) + new.shape[1] > self.max_columns:
            order = np.argsort(-theta, kind="stable")[: max(self.max_columns - new.shape[1], 1)]
            kept = np.sort(order)
            basis, theta = basis.mix(np.eye(len(theta))[:, kept]), theta[kept]
            margins = tuple(margins[i] for i in kept)
        added = problem.at(new)
        assert isinstance(added, TermEvaluation)
        margins = (*margins, *_squares(problem, added))
        return basis.append(new), np.diag(np.append(theta, np.zeros(new.shape[1]))), margins, True


def _squares(problem: MarginProblem, basis: TermEvaluation | None) -> tuple[Array, ...]:
    """(v_iᵀA_rv_i)_r for every column v_i."""
    assert basis is not None
    return tuple(np.ascontiguousarray(a) for a in problem.structure().at(basis.images).squares().T)


def _outside(V: Array, new: Array) -> Array:
    """Orthonormal columns spanning what `new` adds to the span of the orthonormal V."""
    for _ in range(2):
        new = new - V @ (V.T @ new)
    U, s, _ = np.linalg.svd(new, full_matrices=False)
    return np.asarray(U[:, s > math.sqrt(EPS)][:, : max(V.shape[0] - V.shape[1], 0)])


def _fits(problem: Problem, geometry: Geometry) -> None:
    if not isinstance(problem, MarginProblem):
        raise InvalidInputError(f"ColumnGeneration needs a MarginProblem; found {type(problem).__name__}")
    if geometry.trace is None or not hasattr(geometry, "minimize_linear_many"):
        raise InvalidInputError(f"ColumnGeneration needs a set of fixed trace such as Spectraplex; found {geometry!r}")
