"""The two quadratic programs that keep the duals of a linear-programming master near the best ones known."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.errors import MissingDependencyError
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS
from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters.base import Answer, Unsolved

#: Iterations of the active-set solver, in units of variables and rows.
ITERATIONS = 20
#: Statuses of Clarabel whose answer is used: any w serves, if it is made feasible.
USABLE = ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations", "NumericalError")
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
    solver : "clarabel" (interior point, extra ``conic``), "highs" (active set, extra ``lp``; several times slower
        from a hundred columns on, and it can give up) or "auto", the first of these that is installed.

    Raises MissingDependencyError without the package, Unsolved if the solver gives up.
    """

    def __init__(self, solver: str = "auto") -> None:
        if solver == "auto":
            solver = "clarabel" if find_spec("clarabel") is not None else "highs"
        self.solver = solver

    def proximal(self, columns: list[Array], loss: CappedMargin, centre: Array, t: float) -> tuple[Answer, float]:
        """θ (diagonal) and w, and the model's value max_i ⟨a_i, w⟩ there."""
        return self._solve(columns, loss, centre, t, None)

    def level(self, columns: list[Array], loss: CappedMargin, centre: Array, level: float) -> tuple[Answer, float]:
        """As :meth:`proximal`. `level` must lie above the least value of the model, which the linear program knows."""
        return self._solve(columns, loss, centre, 1.0, level)

    def _solve(
        self, columns: list[Array], loss: CappedMargin, centre: Array, t: float, level: float | None
    ) -> tuple[Answer, float]:
        A, m = np.array(columns), loss.size
        scale = max(norm(a) for a in A) / np.sqrt(m) or 1.0
        rows = np.hstack([A / scale, np.full((len(A), 1), 0.0 if level is not None else -1.0)])
        upper = np.full(len(A), 0.0 if level is None else level / scale)
        curvature = m / t
        cost = np.append(-curvature * centre, 1.0 if level is None else 0.0)
        solver = _highs if self.solver == "highs" else _clarabel
        w, theta, steps = solver(curvature, cost, rows, upper, m, loss.cap)
        w, theta = np.clip(w, 0.0, loss.cap), np.maximum(theta, 0.0)
        w = w / w.sum()
        total = theta.sum()
        # no column holds the projection back if the centre itself is below the level: none has a multiplier
        theta = theta / total if total > 0.0 else np.full(len(A), 1.0 / len(A))
        return Answer(np.diag(theta), w, steps), float(np.max(A @ w))


def _highs(curvature: float, cost: Array, rows: Array, upper: Array, m: int, cap: float) -> tuple[Array, Array, int]:
    """(w, multipliers of the rows, iterations) by the convex QP solver of HiGHS."""
    try:
        import highspy
    except ImportError:
        raise MissingDependencyError(
            'stabilization "level" and "proximal" need a quadratic solver: pip install "psdopt[lp]" for HiGHS, or '
            '"psdopt[conic]" and solver="clarabel"'
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
        raise Unsolved(f"HiGHS did not solve the quadratic program: {model.getModelStatus()}")
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
        raise MissingDependencyError(
            'solver "clarabel" needs the package clarabel: pip install "psdopt[conic]"'
        ) from None
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
        raise Unsolved(f"Clarabel did not solve the quadratic program: {solution.status}")
    return np.array(solution.x)[:m], np.array(solution.z)[1 : 1 + len(rows)], int(solution.iterations)
