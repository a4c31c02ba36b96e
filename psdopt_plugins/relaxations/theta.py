"""LovaszTheta: the theta number of a graph within a proven interval, and an independent set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt import Constrained, InteriorPoint, LowRankPSD, Result, TermSum, solve
from psdopt.constraints import Constraint, SparseForms, entries, trace
from psdopt.linalg import EPS, Array, row_dots
from psdopt.terms import GramForm, IdentityForm, LinearTerm
from psdopt_plugins.estimators import Estimator, options_for_solve, parameters, proven_bound, relaxed
from psdopt_plugins.relaxations.graphs import Graph
from psdopt_plugins.rows import validated

#: The program of the slack is solved where it has this many times fewer constraints, and Newton steps of m³/3 flops
#: are no dearer than some hundred decompositions, which splitting takes.
FEWER, CUBES = 4, 300.0


def theta_problem(graph: Any) -> Constrained:
    """min −⟨e eᵀ, M⟩ over M ⪰ 0 with tr M = 1 and M_ij = 0 for the edges of the graph: −min F is theta (Lovász 1979).

    Parameters
    ----------
    graph : (n, n) symmetric, dense or sparse; each nonzero entry off the diagonal is an edge.

    Raises
    ------
    InvalidInputError for an array that is not square, symmetric and finite, or n < 2.

    m = 1 + edges constraints: :func:`psdopt.solve` needs m³/3 flops a step up to some thousands of edges.
    """
    graph = Graph.of(graph, "graph")
    n = graph.n
    constraints: list[Constraint] = [trace(n, 1.0)]
    if len(graph.edges):
        constraints.append(entries(graph.edges[:, 0], graph.edges[:, 1], n, 0.0))
    return Constrained(TermSum([LinearTerm(GramForm(np.ones((1, n))), -1.0)]), constraints)


def theta_lower_bound(graph: Any, M: LowRankPSD) -> float:
    """A proven lower bound of theta from any M: its entries on edges are set to 0, and M is shifted until M ⪰ 0.

    The bound is eᵀN e / tr N for the resulting N, and at least 1. One O(n³) eigensolve.
    """
    i, j = Graph.of(graph, "graph").edges.array.T
    N = M.to_dense()
    N[i, j] = N[j, i] = 0.0
    low = float(np.linalg.eigvalsh(N)[0])
    rounding = len(N) * EPS * float(np.linalg.norm(N))
    shift = max(0.0, rounding - low)
    size = float(np.trace(N)) + len(N) * shift
    if not size > 0.0:
        return 1.0
    return max(1.0, (float(N.sum()) + len(N) * shift) / size * (1.0 - len(N) * EPS))


class ThetaInterval(NamedTuple):
    """lower <= theta <= upper, both proven, and the run that found them."""

    lower: float
    upper: float
    result: Result


def lovasz_theta(graph: Any, **options: Any) -> ThetaInterval:
    """Lovász's theta of a graph (n, n), within a proven interval.

    α <= theta <= χ̄ for the largest independent set α and the least number χ̄ of cliques that cover the graph.
    options : keyword arguments for :func:`psdopt.solve`. Raises what :func:`theta_problem` raises; a ConvergenceWarning
    where the run did not converge: the interval holds even then. Vertices joined to all others are left out of the run.
    Where few vertices are not joined, :func:`slack_problem` is solved, and the result proves its answer in no steps.

    Examples
    --------
    >>> import numpy as np
    >>> shift = np.roll(np.eye(5), 1, axis=1)
    >>> interval = lovasz_theta(shift + shift.T)  # the pentagon: theta is the root of 5
    >>> bool(interval.lower <= 5**0.5 <= interval.upper)
    True
    >>> round(interval.lower, 4), round(interval.upper, 4)
    (2.2361, 2.2361)
    """
    graph = Graph.of(graph, "graph")
    graph = graph.among(not_universal(graph.weights))
    result = relaxed(theta_problem(graph), {**_solved_by_slack(graph, options), **options}, rng=0)
    upper = min(-proven_bound(result), float(graph.n))
    return ThetaInterval(min(theta_lower_bound(graph, result.matrix), upper), upper, result)


def slack_problem(graph: Graph) -> Constrained:
    """min 1 + tr M / n over M ⪰ 0 with equal diagonal entries and M_ij = −1 where i, j are not joined: theta.

    M = t I − e eᵀ + Σ y_ij (e_i e_jᵀ + e_j e_iᵀ) over the edges is the slack of the dual of :func:`theta_problem`, and
    the slack of this problem is the matrix of that one: few constraints where nearly all vertices are joined.
    """
    n = graph.n
    i, j = np.nonzero(np.triu(graph.weights.toarray() == 0.0, 1))
    differences = sp.diags_array([1.0, -1.0], offsets=[0, 1], shape=(n - 1, n), format="csr")
    groups = [Constraint(SparseForms(np.arange(n), np.arange(n), differences, n), 0.0, 0.0)]
    groups += [entries(i, j, n, -1.0)] if len(i) else []
    return Constrained(TermSum([LinearTerm(IdentityForm(n), 1.0 / n)], constant=1.0), groups)


def _solved_by_slack(graph: Graph, options: Mapping[str, Any]) -> dict[str, Any]:
    """`start` and `dual` for :func:`theta_problem` from :func:`slack_problem`, where that is far smaller; else {}."""
    n = graph.n
    few = n * (n + 1) // 2 - 1 - len(graph.edges)
    if FEWER * few > len(graph.edges) or few**3 > CUBES * n**3 or set(options) - {"tol", "rng"}:
        return {}
    result = solve(slack_problem(graph), method=InteriorPoint(), **{"rng": 0, **options})
    if result.certificate is None:
        return {}
    i, j = graph.edges.array.T
    S = result.matrix.to_dense()
    y = np.append(float(np.trace(S)) / n + 1.0, 2.0 * (S[i, j] + 1.0))
    return {"start": LowRankPSD.from_dense(sp.csr_array(result.certificate.slack()).toarray()), "dual": y}


def not_universal(A: sp.csr_array) -> NDArray[np.intp]:
    """The vertices that are not joined to all others; the first two of a complete graph.

    The only independent set of a vertex joined to all others is itself, and theta is the same without the vertex.
    """
    kept = np.flatnonzero(np.diff(A.indptr) < A.shape[0] - 1)
    return kept if len(kept) else np.arange(2)


@parameters
class LovaszTheta(Estimator):
    """The theta number of a graph, between the largest independent set and the least cover by cliques.

    max eᵀM e over M ⪰ 0, tr M = 1, M_ij = 0 on edges. The upper end of the interval is the certificate's dual value,
    the lower one the value at a matrix that satisfies all constraints.

    Parameters
    ----------
    solver_options : keyword arguments for :func:`psdopt.solve` (tol, method, max_time, ...).

    Attributes
    ----------
    lower_, upper_ : theta lies between them, proven. theta_ : their mean.
    independent_set_ : vertices no two of which are joined, found greedily by M_ii; theta bounds their number.
    result_ : the :class:`psdopt.Result`, F = −eᵀM e, M without vertices that are joined to all others.

    Cost: that of the method that :func:`psdopt.solve` chooses, O(n³) a step or more; memory: some arrays (n, n) at
    least. 150 vertices with 4,000 edges took 1.4 s of processor time.
    """

    solver_options: Mapping[str, Any] | None = None

    takes_sparse, pairwise = True, True

    def fit(self, graph: Any, y: Any = None) -> Self:
        """Bound theta of the graph (n, n), symmetric, dense or sparse: entries that are not 0 are edges.

        Raises InvalidInputError for an array that is not square, symmetric and finite, or n < 2.
        """
        graph = validated(self, graph, accept_sparse=["csr", "csc", "coo"], dtype=np.float64, ensure_min_samples=2)
        graph = Graph.of(graph, "graph", checked=True)
        self.lower_, self.upper_, self.result_ = lovasz_theta(graph, **options_for_solve(self.solver_options))
        self.theta_ = 0.5 * (self.lower_ + self.upper_)
        Y, order = self.result_.matrix.factor, np.zeros(graph.n)
        order[not_universal(graph.weights)] = row_dots(Y, Y)
        self.independent_set_ = independent_set(graph.weights, order)
        return self

    @staticmethod
    def conformance_data() -> tuple[Array, None]:
        """A graph of 12 vertices, for the conformance kit."""
        upper = np.triu(np.random.default_rng(0).random((12, 12)) < 0.4, 1).astype(float)
        return upper + upper.T, None


def independent_set(A: sp.csr_array, order: Array) -> NDArray[np.intp]:
    """Vertices, sorted, no two of which are joined and to which none can be added: greedily by falling `order` (n,)."""
    free = np.ones(A.shape[0], dtype=bool)
    chosen = []
    for i in np.argsort(-order, kind="stable"):
        if free[i]:
            chosen.append(int(i))
            free[i] = False
            free[A.indices[A.indptr[i] : A.indptr[i + 1]]] = False
    return np.array(sorted(chosen), dtype=np.intp)
