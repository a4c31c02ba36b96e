"""LovaszTheta: the theta number of a graph within a proven interval, and an independent set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt import Result
from psdopt.linalg import Array, row_dots
from psdopt_plugins.estimators import Estimator, options_for_solve
from psdopt_plugins.relaxations.fits import proven_bound, relaxed
from psdopt_plugins.relaxations.graphs import Graph
from psdopt_plugins.relaxations.theta_problem import theta_lower_bound, theta_problem
from psdopt_plugins.rows import validated


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

    Examples
    --------
    >>> import numpy as np
    >>> shift = np.roll(np.eye(5), 1, axis=1)
    >>> interval = lovasz_theta(shift + shift.T)  # the pentagon: theta is the root of 5
    >>> bool(interval.lower <= 5**0.5 <= interval.upper), round(interval.lower, 4), round(interval.upper, 4)
    (True, 2.2361, 2.2361)
    """
    graph = Graph.of(graph, "graph")
    graph = graph.among(not_universal(graph.weights))
    result = relaxed(theta_problem(graph), options, rng=0)
    upper = min(-proven_bound(result), float(graph.n))
    return ThetaInterval(min(theta_lower_bound(graph, result.matrix), upper), upper, result)


def not_universal(A: sp.csr_array) -> NDArray[np.intp]:
    """The vertices that are not joined to all others; the first two of a complete graph.

    A vertex joined to all others is in no independent set but its own, and theta is the same without it.
    """
    kept = np.flatnonzero(np.diff(A.indptr) < A.shape[0] - 1)
    return kept if len(kept) else np.arange(2)


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
    """

    takes_sparse, pairwise = True, True
    lower_: float
    upper_: float
    theta_: float
    independent_set_: NDArray[np.intp]
    result_: Result

    def __init__(self, solver_options: Mapping[str, Any] | None = None) -> None:
        self.solver_options = solver_options

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
