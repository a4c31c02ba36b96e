"""Twins of ColumnGeneration's masters, for comparison: Clarabel on the block master, level and proximal bundles.

    ColumnGeneration(master=ConicMaster())
    MatrixGeneration(stabilization=Level())
    MatrixGeneration(stabilization=Proximal())

None of them was ever faster than the library's own block master (docs/experiments/psdboost.md): they are kept to show
that, and as examples of a master and of a stabilizer of one's own. Clarabel: Goulart and Chen 2024. Bundle methods:
Lemaréchal, Nemirovskii, Nesterov 1995 (level); Kiwiel 1990 (proximal).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.errors import MissingDependencyError
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS
from psdopt.margins import CappedMargin, MarginStructure, SignedSquares
from psdopt.margins.masters import MasterSolution, Unsolved
from psdopt_plugins.metric_learning import linear_program as printed

Indices = NDArray[np.intp]

#: The level, between the model's least value (0) and the best value known (1).
LEVEL = 0.5
#: First proximal step length; a step that delivers this share of what the model promised is serious; one that
#: delivers GOOD is followed by longer ones; one that goes wrong by as much as it promised to gain, by shorter.
FIRST, SERIOUS, GOOD = 10.0, 0.1, 0.5
LONGER, SHORTER = 2.0, 0.7
#: Smallest gap and infeasibility asked of the solver, in units of a typical margin: what its linear algebra reaches.
FINEST_GAP = 1e-9
#: Statuses of Clarabel whose answer is used: the multipliers are made feasible, and the gap outside is recomputed.
USABLE = ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations", "NumericalError")


@dataclass(frozen=True)
class ConicMaster:
    """min π over 0 <= w <= cap, Σ w = 1, π I − Σ w_r VᵀA_rV ⪰ 0; the multiplier of the last cone is T (k, k).

    The dual of the restricted problem: m + 1 variables and one matrix of order k, whatever n is. Same arguments and
    same answer as :class:`~psdopt.margins.masters.BlockMaster`, which is several times as fast since it never
    forms the m matrices VᵀA_rV of which this solver is given all m k(k + 1)/2 entries.

    Solver: Clarabel (Goulart, Chen 2024), interior point with homogeneous embedding. It starts cold: `start` is unused.
    Raises MissingDependencyError without it , Unsolved if it finds no answer.
    """

    def solve(
        self, squares: SignedSquares, loss: CappedMargin, gap: float, start: tuple[Array, Array] | None = None
    ) -> MasterSolution:
        """T and w with a duality gap of about `gap` (absolute), never less than FINEST_GAP of a typical margin."""
        try:
            import clarabel
        except ImportError:
            raise MissingDependencyError('solver "clarabel" needs the package clarabel: pip install clarabel') from None
        m, k = squares.size, squares.order
        scale = float(np.mean(squares.sizes()))
        if scale == 0.0:
            return MasterSolution(np.eye(k) / k, np.full(m, 1.0 / m), 0)
        i, j = _triangle(k)
        weight = np.where(i == j, 1.0, np.sqrt(2.0))
        # units in which w is near one and margins are: the solver's tolerances are absolute
        matrices = squares.vectors()[:, _positions(k)] / (scale * m)
        blocks: Any = [
            [sp.csr_array(np.full((1, m), 1.0 / m)), None],
            [-sp.eye_array(m), sp.csr_array((m, 1))],
            [sp.eye_array(m), sp.csr_array((m, 1))],
            [sp.csr_array(matrices.T), sp.csr_array(-np.where(i == j, weight, 0.0)[:, None])],
        ]
        constraints = sp.csc_matrix(sp.block_array(blocks))
        b = np.concatenate([[1.0], np.zeros(m), np.full(m, loss.cap * m), np.zeros(len(i))])
        cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * m), clarabel.PSDTriangleConeT(k)]
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs, settings.tol_gap_rel = max(gap / scale, FINEST_GAP), EPS
        settings.tol_feas = FINEST_GAP
        cost = np.append(np.zeros(m), 1.0)
        solver = clarabel.DefaultSolver(sp.csc_matrix((m + 1, m + 1)), cost, constraints, b, cones, settings)
        solution = solver.solve()
        w = np.clip(np.array(solution.x)[:m] / m, 0.0, loss.cap)
        T = np.zeros((k, k))
        T[i, j] = T[j, i] = np.array(solution.z)[1 + 2 * m :] / weight
        if str(solution.status) not in USABLE or not (np.isfinite(T).all() and np.trace(T) > 0.0 and w.sum() > 0.0):
            raise Unsolved(f"Clarabel did not solve the block master: {solution.status}")
        return MasterSolution(_on_spectraplex(T), w / w.sum(), int(solution.iterations))


def _triangle(k: int) -> tuple[Indices, Indices]:
    """Rows and columns of the upper triangle of order k, column after column, as Clarabel orders them."""
    j, i = np.tril_indices(k)
    return i, j


def _positions(k: int) -> Indices:
    """Where the entries of :func:`_triangle` stand in the rows of ``SignedSquares.vectors``."""
    place = np.zeros((k, k), dtype=np.intp)
    place[np.triu_indices(k)] = np.arange(k * (k + 1) // 2)
    found: Indices = place[_triangle(k)]
    return found


def _on_spectraplex(T: Array) -> Array:
    """PSD part of T scaled to trace one: a solver's multiplier is feasible only to its tolerance."""
    values, W = np.linalg.eigh(T)
    values = np.maximum(values, 0.0)
    return np.asarray((W * (values / values.sum())) @ W.T)


@dataclass(frozen=True)
class Level:
    """The oracle is asked at the point nearest to the best w at which the model is half-way down to its least value."""

    solver: str = "auto"
    centre: Array | None = None
    value: float = float("inf")

    reprices: ClassVar[bool] = False

    def ask(
        self, program: printed.LinearProgram, columns: Sequence[Array], weights: MarginStructure
    ) -> tuple[printed.ProgramSolution, Array, Level]:
        """The linear program's answer, the w to ask about, and the stabilizer that observes the outcome."""
        answer = program.solve(columns, weights)
        if self.centre is None:
            return answer, answer.dual, self
        least = float(max(a @ answer.dual for a in columns))
        if not self.value > least:  # the gap is closed as far as this solver can tell
            return answer, answer.dual, self
        level = least + LEVEL * (self.value - least)
        try:
            near, _ = QuadraticMaster(self.solver).level(columns, weights, self.centre, level)
        except printed.Unsolved:
            return answer, answer.dual, self
        return printed.ProgramSolution(answer.theta, answer.dual, answer.steps + near.steps), near.dual, self

    def observe(self, w: Array, value: float) -> Level:
        """After the oracle's φ(w) = `value`."""
        return replace(self, centre=w, value=value) if value < self.value else self


@dataclass(frozen=True)
class Proximal:
    """The oracle is asked at the minimiser of model plus distance from a centre, which moves when φ falls enough.

    `step` is the proximal step length, `promised` the model's value at the last w.
    """

    solver: str = "auto"
    centre: Array | None = None
    value: float = float("inf")
    step: float = FIRST
    promised: float = float("-inf")

    reprices: ClassVar[bool] = False

    def ask(
        self, program: printed.LinearProgram, columns: Sequence[Array], weights: MarginStructure
    ) -> tuple[printed.ProgramSolution, Array, Proximal]:
        """The answer of the quadratic program, or of the linear one where that was not solved."""
        if self.centre is not None:
            try:
                answer, model = QuadraticMaster(self.solver).proximal(columns, weights, self.centre, self.step)
                return answer, answer.dual, replace(self, promised=model)
            except printed.Unsolved:  # shorter steps are easier to find
                answer = program.solve(columns, weights)
                return answer, answer.dual, replace(self, promised=float("-inf"), step=self.step * SHORTER)
        answer = program.solve(columns, weights)
        return answer, answer.dual, self

    def observe(self, w: Array, value: float) -> Proximal:
        """After the oracle's φ(w) = `value`."""
        if self.promised == float("-inf"):
            return replace(self, centre=w, value=value) if value < self.value else self
        expected, got = self.value - self.promised, self.value - value
        if got >= SERIOUS * expected and got > 0.0:
            return replace(self, centre=w, value=value, step=self.step * (LONGER if got >= GOOD * expected else 1.0))
        return replace(self, step=self.step * (SHORTER if got < -GOOD * expected else 1.0))


#: Iterations of the active-set solver, in units of variables and rows.
ITERATIONS = 20
#: Accuracy asked of Clarabel, in units of a typical column entry.
FINEST = 1e-10


class QuadraticMaster:
    """Over 0 <= w <= cap, Σ w = 1, with columns a_i = (v_iᵀA_rv_i)_r and a centre c (m,), a typical entry s of the a_i:

    - proximal: min π + (s m / 2t) |w − c|², ⟨a_i, w⟩ <= π; t > 0 is the length of the step it may take;
    - level: min |w − c|², ⟨a_i, w⟩ <= level.

    The multipliers of the columns, scaled to sum one, are weights θ of the primal: Σ θ_i v_i v_iᵀ is what the bundle
    aggregates (Lemaréchal, Nemirovskii, Nesterov 1995; Kiwiel 1990). m + 1 variables, one dense row per column.

    Parameters
    ----------
    solver : "clarabel" (interior point), "highs" (active set, extra ``lp``; several times slower
        from a hundred columns on, and it can give up) or "auto", the first of these that is installed.

    Raises MissingDependencyError without the package, Unsolved if the solver gives up.
    """

    def __init__(self, solver: str = "auto") -> None:
        if solver == "auto":
            solver = "clarabel" if find_spec("clarabel") is not None else "highs"
        self.solver = solver

    def proximal(
        self, columns: Sequence[Array], weights: MarginStructure, centre: Array, t: float
    ) -> tuple[printed.ProgramSolution, float]:
        """θ and w, and the model's value max_i ⟨a_i, w⟩ there."""
        return self._solve(columns, weights, centre, t, None)

    def level(
        self, columns: Sequence[Array], weights: MarginStructure, centre: Array, level: float
    ) -> tuple[printed.ProgramSolution, float]:
        """As :meth:`proximal`. `level` must lie above the least value of the model, which the linear program knows."""
        return self._solve(columns, weights, centre, 1.0, level)

    def _solve(
        self, columns: Sequence[Array], weights: MarginStructure, centre: Array, t: float, level: float | None
    ) -> tuple[printed.ProgramSolution, float]:
        A, m = np.array(columns), weights.size
        scale = max(norm(a) for a in A) / np.sqrt(m) or 1.0
        rows = np.hstack([A / scale, np.full((len(A), 1), 0.0 if level is not None else -1.0)])
        upper = np.full(len(A), 0.0 if level is None else level / scale)
        curvature = m / t
        cost = np.append(-curvature * centre, 1.0 if level is None else 0.0)
        solver = _highs if self.solver == "highs" else _clarabel
        w, theta, steps = solver(curvature, cost, rows, upper, m, weights.cap)
        w, theta = np.clip(w, 0.0, weights.cap), np.maximum(theta, 0.0)
        w = w / w.sum()
        total = theta.sum()
        # no column holds the projection back if the centre itself is below the level: none has a multiplier
        theta = theta / total if total > 0.0 else np.full(len(A), 1.0 / len(A))
        return printed.ProgramSolution(theta, w, steps), float(np.max(A @ w))


def _highs(curvature: float, cost: Array, rows: Array, upper: Array, m: int, cap: float) -> tuple[Array, Array, int]:
    """(w, multipliers of the rows, iterations) by the convex QP solver of HiGHS."""
    try:
        import highspy
    except ImportError:
        raise MissingDependencyError(
            'Level and Proximal need a quadratic solver: pip install "psdopt[lp]" for HiGHS, or '
            'pip install clarabel and solver="clarabel"'
        ) from None
    free = highspy.kHighsInf
    matrix = sp.csc_array(np.vstack([rows, np.append(np.ones(m), 0.0)]))
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = m + 1, len(rows) + 1
    lp.col_cost_ = cost
    fixed = cost[-1] == 0.0  # π plays no part in the level program
    lp.col_lower_ = np.append(np.zeros(m), 0.0 if fixed else -free)
    lp.col_upper_ = np.append(np.full(m, cap), 0.0 if fixed else free)
    lp.row_lower_ = np.append(np.full(len(rows), -free), 1.0)
    lp.row_upper_ = np.append(upper, 1.0)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    hessian = highspy.HighsHessian()
    hessian.dim_, hessian.format_ = m + 1, highspy.HessianFormat.kTriangular
    hessian.start_ = np.append(np.arange(m + 1), m)
    hessian.index_, hessian.value_ = np.arange(m), np.full(m, curvature)
    solver: Any = highspy.Highs
    model = solver()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("qp_iteration_limit", ITERATIONS * (m + len(rows)))  # it can cycle for ever
    model.passModel(lp)
    model.passHessian(hessian)
    model.run()
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise printed.Unsolved(f"HiGHS did not solve the quadratic program: {model.getModelStatus()}")
    solution = model.getSolution()
    return (
        np.asarray(solution.col_value)[:m],
        -np.asarray(solution.row_dual)[: len(rows)],
        int(model.getInfo().qp_iteration_count),
    )


def _clarabel(curvature: float, cost: Array, rows: Array, upper: Array, m: int, cap: float) -> tuple[Array, Array, int]:
    """The same by Clarabel."""
    try:
        import clarabel
    except ImportError:
        raise MissingDependencyError('solver "clarabel" needs the package clarabel: pip install clarabel') from None
    blocks: Any = [
        [sp.csr_array(np.ones((1, m))), None],
        [sp.csr_array(rows[:, :m]), sp.csr_array(rows[:, m:])],
        [-sp.eye_array(m), sp.csr_array((m, 1))],
        [sp.eye_array(m), sp.csr_array((m, 1))],
    ]
    b = np.concatenate([[1.0], upper, np.zeros(m), np.full(m, cap)])
    quadratic = sp.csc_matrix(sp.diags_array(np.append(np.full(m, curvature), EPS if cost[-1] == 0.0 else 0.0)))
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = FINEST
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(len(rows) + 2 * m)]
    constraints = sp.csc_matrix(sp.block_array(blocks))
    solution = clarabel.DefaultSolver(quadratic, cost, constraints, b, cones, settings).solve()
    if str(solution.status) not in USABLE:
        raise printed.Unsolved(f"Clarabel did not solve the quadratic program: {solution.status}")
    return np.array(solution.x)[:m], np.array(solution.z)[1 : 1 + len(rows)], int(solution.iterations)
