"""Points from a conic interior-point solver: other mathematics and other code than the runs that they judge.

F quadratic, or a quadratic and squared hinges of linear measurements. The quadratic is read off from gradients at
matrices of rank one and two, so that every family is written down in one way.
"""

import cvxpy as cp
import numpy as np

from psdopt import Problem, TermSum
from psdopt.terms import Linear, MeasuredTerm, SquaredHinge

#: Largest relative difference of F and its model at a random matrix: beyond, F is not of this form.
MODELLED = 1e-6


def conic_point(problem: Problem, trace: float | None) -> np.ndarray | None:
    """Y (n, n) whose Y Yᵀ nearly minimises F over the cone, or over trace `trace`; None where F is not conic.

    What Clarabel returns is put on the set: negative eigenvalues are cut off, the trace is scaled. So Y Yᵀ is a point
    like any other, and F there refutes claims however inaccurate the solver was.
    """
    hinges = [
        t for t in getattr(problem, "terms", ()) if isinstance(t, MeasuredTerm) and isinstance(t.loss, SquaredHinge)
    ]
    smooth: Problem | None = problem
    if hinges:
        assert isinstance(problem, TermSum)
        rest = [term for term in problem.terms if term not in hinges]
        smooth = TermSum(rest) if rest else None
    n, basis = problem.n, _Basis(problem.n)
    P, q = basis.quadratic(smooth) if smooth is not None else (np.zeros((basis.size,) * 2), np.zeros(basis.size))
    rows, margins, costs = basis.hinges(hinges)
    M = np.cov(np.random.default_rng(0).standard_normal((n, n + 2))).reshape(n, n)
    x = basis.vector(M)
    short, at_zero = np.maximum(margins - rows @ x, 0.0), np.maximum(margins, 0.0)
    model = q @ x + 0.5 * x @ P @ x + costs @ short**2 - costs @ at_zero**2
    value = _value(problem, M) - _value(problem, np.zeros((n, n)))
    if not abs(model - value) <= MODELLED * (abs(value) + np.abs(q) @ np.abs(x) + abs(0.5 * x @ P @ x)):
        return None
    found = _solved(P, q, rows, margins, costs, basis, trace)
    if found is None:
        return None
    values, vectors = np.linalg.eigh(basis.matrix(found))
    values = np.maximum(values, 0.0)
    if trace is not None:
        if not values.sum() > 0.0:
            return None
        values *= trace / values.sum()
    return vectors * np.sqrt(values)


class _Basis:
    """Symmetric matrices as vectors of n (n + 1) / 2, off-diagonal entries by √2: inner products are kept."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.j, self.i = np.tril_indices(n)  # the upper triangle, column by column
        self.scale = np.where(self.i == self.j, 1.0, np.sqrt(2.0))
        self.size = len(self.i)

    def vector(self, M: np.ndarray) -> np.ndarray:
        return M[self.i, self.j] * self.scale

    def matrix(self, x: np.ndarray) -> np.ndarray:
        M = np.zeros((self.n, self.n))
        M[self.i, self.j] = x / self.scale
        return M + np.triu(M, 1).T

    def quadratic(self, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
        """P, q with F(M) − F(0) = ⟨q, x⟩ + ⟨x, P x⟩ / 2 for a quadratic F."""
        eye = np.eye(self.n)
        at_zero = self.vector(problem.at(np.zeros((self.n, 1))).gradient @ eye)
        units = {(i, j): eye[i] + eye[j] if i != j else eye[i] for i, j in zip(self.i, self.j, strict=True)}
        moved = {key: self.vector(problem.at(y[:, None]).gradient @ eye) - at_zero for key, y in units.items()}
        columns = [
            moved[i, j] if i == j else (moved[i, j] - moved[i, i] - moved[j, j]) / np.sqrt(2.0)
            for i, j in zip(self.i, self.j, strict=True)
        ]
        P = np.column_stack(columns)
        return 0.5 * (P + P.T), at_zero

    def hinges(self, terms: list[MeasuredTerm]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows a_t, margins and costs with Σ costs max(0, margins − rows · x)² the sum of the terms."""
        rows, margins, costs = [np.zeros((0, self.size))], [np.zeros(0)], [np.zeros(0)]
        for term in terms:
            loss, m = term.loss, term.measurement.size
            assert isinstance(loss, SquaredHinge)
            linear = [TermSum([MeasuredTerm(term.measurement, Linear(np.eye(m)[k]))]) for k in range(m)]
            found = [self.vector(one.at(np.zeros((self.n, 1))).gradient @ np.eye(self.n)) for one in linear]
            rows.append(np.asarray(found) * np.broadcast_to(loss.sign, m)[:, None])
            margins.append(np.broadcast_to(loss.margin, m))
            costs.append(term.weight * np.broadcast_to(loss.weights, m))
        return np.concatenate(rows), np.concatenate(margins), np.concatenate(costs)


def _value(problem: Problem, M: np.ndarray) -> float:
    values, vectors = np.linalg.eigh(M)
    return float(problem.at(vectors * np.sqrt(np.maximum(values, 0.0))).value)


def _solved(
    P: np.ndarray, q: np.ndarray, rows: np.ndarray, margins: np.ndarray, costs: np.ndarray, basis: _Basis,
    trace: float | None,
) -> np.ndarray | None:  # fmt: skip
    """x of least ⟨q, x⟩ + ⟨x, P x⟩ / 2 + Σ costs max(0, margins − rows · x)²; None if Clarabel has none."""
    unit = max(float(np.abs(q).max()), float(np.abs(P).max()), float(costs.max(initial=0.0))) or 1.0
    M = cp.Variable((basis.n, basis.n), PSD=True)
    x = cp.multiply(basis.scale, M[basis.i, basis.j])
    objective = (q / unit) @ x + 0.5 * cp.quad_form(x, cp.psd_wrap(P / unit))
    if len(margins):
        objective += (costs / unit) @ cp.square(cp.pos(margins - rows @ x))
    model = cp.Problem(cp.Minimize(objective), [] if trace is None else [cp.trace(M) == trace])
    try:
        model.solve(solver=cp.CLARABEL)
    except BaseException as error:  # an eigensolver that fails is a panic of Rust, which is no Exception
        if not (isinstance(error, cp.SolverError) or type(error).__name__ == "PanicException"):
            raise
    return x.value if x.value is not None and np.all(np.isfinite(x.value)) else None
