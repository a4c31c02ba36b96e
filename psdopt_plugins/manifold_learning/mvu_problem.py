"""Maximum variance unfolding: maximise the variance, with a penalty on changes of edge lengths."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.sparse.linalg import LinearOperator

from psdopt import Duality, Evaluation, TermSum
from psdopt.checks import classes, finite, positive, real_array
from psdopt.errors import IncompatibleError, InvalidInputError
from psdopt.linalg import Array, ExtremePair, LinearMap, inner
from psdopt.terms import GramForm, LeastSquares, LinearTerm, MeasuredTerm, PairDistances
from psdopt_plugins.limits import MINOR
from psdopt_plugins.manifold_learning.coordinates import LaplacianCoordinates
from psdopt_plugins.manifold_learning.graph import Edges, read_edges
from psdopt_plugins.manifold_learning.graph_eigenpairs import least_of_graph
from psdopt_plugins.manifold_learning.graph_matrices import GraphMatrices

#: Ability of a problem whose factor Hessian is a sparse block matrix on a graph.
GRAPH_HESSIAN = "graph-hessian"


def mvu_problem(distances: Any, nu: float, labels: Any = None) -> TermSum:
    """min |U ∘ (m eᵀ + e mᵀ − 2M − D)|_F² − nu tr(W M) over M ⪰ 0 (n, n), m = diag M (Hao et al., eq. 11).

    Every edge counts in both orders. W = H = I − eeᵀ/n, or H Y Yᵀ H with `labels`: with the printed W = I or Y Yᵀ
    the objective falls without bound along M + t eeᵀ. F(M) = F(HMH), so M is determined up to translation.

    Parameters
    ----------
    distances : SciPy sparse array (n, n), symmetric; its stored entries (zeros too) are the edges U, with *squared*
        distances D.
    nu : weight of the variance, > 0. Edges are stretched in proportion to it.
    labels : None for the plain variant; (n,) class labels or (n, q) side information for the coloured one.

    The problem carries the inverse Laplacian of the graph as preconditioner, factorised once. Without labels it is an
    :class:`UnfoldingProblem`, whose certificate is a duality gap; for tight edges (small nu) or large n solve it by
    :class:`~psdopt_plugins.manifold_learning.unfolding_newton.UnfoldingNewton`.

    Raises
    ------
    InvalidInputError for what :func:`~psdopt_plugins.manifold_learning.graph.read_edges` refuses, nu <= 0, labels of
    the wrong length, and a graph that is not connected (F is then unbounded below).

    Cost of a step along D (n, r): O(edges · r), no (n, n) array.
    """
    edges = connected(read_edges(distances))
    n, preconditioner = edges.n, _InverseLaplacian(edges)
    if labels is None:
        return UnfoldingProblem(edges, positive(nu, "nu"), preconditioner)
    fit = MeasuredTerm(PairDistances(edges.i, edges.j, n=n), LeastSquares(edges.squared, 2.0))
    return TermSum([fit, _variance(centring(n), nu, labels)], preconditioner=preconditioner)


class _InverseLaplacian:
    """evaluation ↦ (R ↦ L⁺ R), factorised on first use."""

    def __init__(self, edges: Edges) -> None:
        self.edges = edges

    def __call__(self, evaluation: Evaluation) -> Any:
        return self._coordinates.solve

    @cached_property
    def _coordinates(self) -> LaplacianCoordinates:
        return LaplacianCoordinates(self.edges)

    def __reduce__(self) -> tuple[Any, ...]:
        return _InverseLaplacian, (self.edges,)


class GraphDual(Protocol):
    """The members for the ability GRAPH_HESSIAN, for F(M) = 2 Σ_t (d_t − D_t)² − nu tr(H M) over edges t.

    Attributes: `nu`; `graph`, the matrices on its neighbour graph.
    """

    nu: float

    @property
    def graph(self) -> GraphMatrices:
        """Made once."""

    def tensions(self, evaluation: Evaluation) -> Array:
        """w (m,) = 4 (d − D) at M: the weights for which L(w) − nu H is the gradient there."""

    def dual_value(self, weights: Array) -> float:
        """The dual value of feasible weights (m,)."""


def graph_dual_of(problem: Any) -> GraphDual:
    """`problem`, if it has these members; IncompatibleError if one is missing."""
    missing = [name for name in ("nu", "graph", "tensions", "dual_value") if not hasattr(problem, name)]
    if missing:
        raise IncompatibleError(
            f"{type(problem).__name__} declares the ability {GRAPH_HESSIAN!r} and lacks {', '.join(missing)}: "
            "see psdopt_plugins.manifold_learning.mvu_problem.GraphDual"
        )
    found: GraphDual = problem
    return found


class UnfoldingProblem(TermSum):
    """F(M) = 2 Σ_t (d_t − D_t)² − nu tr(H M) over the edges t, d_t the squared lengths in M, with its dual.

    max −Σ (w_t²/8 + w_t D_t) over edge weights w with L(w) ⪰ nu H, L(w) the weighted Laplacian (its second eigenvalue
    is at least nu; Sun, Boyd, Xiao, Diaconis 2006). At the optimum w = 4 (d − D), and S = L(w) − nu H. S is sparse up
    to a constant, so that the inertia of one factorisation proves that some w is feasible: the certificate is a duality
    gap, proved up to rounding, and needs no Lanczos iteration.

    Attributes: `edges`, `nu`, `graph` (made on first use).
    """

    def __init__(self, edges: Edges, nu: float, preconditioner: Any = None) -> None:
        fit = MeasuredTerm(PairDistances(edges.i, edges.j, n=edges.n), LeastSquares(edges.squared, 2.0))
        super().__init__([fit, _variance(centring(edges.n), nu, None)], preconditioner=preconditioner)
        self.edges, self.nu = edges, float(nu)
        self.abilities = self.abilities | {GRAPH_HESSIAN}

    @property
    def dual_size(self) -> int:
        """Length of the weights that :meth:`UnfoldingDuality.dual_bound` takes: the number of edges."""
        return len(self.edges.i)

    @cached_property
    def graph(self) -> GraphMatrices:
        return GraphMatrices(self.edges)

    def tensions(self, evaluation: Evaluation) -> Array:
        """w (m,) = 4 (d − D) at M: the weights for which L(w) − nu H is the gradient there."""
        _, lengths = self.quadratic_fit().at(evaluation)
        return 4.0 * (lengths - self.edges.squared)

    def dual_value(self, weights: Array) -> float:
        """−Σ (w_t²/8 + w_t D_t)."""
        return -inner(weights, 0.125 * weights + self.edges.squared)

    @property
    def duality(self) -> UnfoldingDuality:
        return UnfoldingDuality(self)


class UnfoldingDuality(Duality):
    """The dual bound of an unfolding problem, and eigenpairs of its sparse S."""

    def __init__(self, problem: UnfoldingProblem) -> None:
        self.problem = problem

    def dual_bound(self, evaluation: Evaluation, dual: Any = None) -> float | None:
        """The dual value of `dual` (default 4 (d − D)), with the least multiple of |dual| added that makes it feasible.

        Cost: one sparse factorisation of order n if `dual` is feasible, about ten if not.
        """
        problem = self.problem
        weights = problem.tensions(evaluation) if dual is None else np.asarray(dual, dtype=np.float64)
        return problem.dual_value(problem.graph.feasible(weights, problem.nu, MINOR)[0])

    def smallest_eigenpair(self, evaluation: Evaluation, S: Any, **options: Any) -> ExtremePair:
        """Smallest eigenpairs of S by inverse iteration, the lower bound from the inertia of S + tau I."""
        return least_of_graph(self.problem.graph, self.problem.tensions(evaluation), self.problem.nu, S, **options)


def scaled_mvu_problem(edges: Edges, nu: float, coordinates: LaplacianCoordinates, labels: Any = None) -> TermSum:
    """The same F as a function of N (n − 1, n − 1), M = B N Bᵀ, in coordinates made from the graph Laplacian.

    S in these coordinates is BᵀSB, positive semidefinite exactly when S is on the complement of e, and
    tr N is the sum of the squared lengths of all edges, which is known in advance: λ_min times tr N bounds the gap. No
    preconditioner is needed. B is applied once per step.
    """
    X = LinearMap(coordinates.operator, "B")
    fit = MeasuredTerm(PairDistances(edges.i, edges.j, X), LeastSquares(edges.squared, 2.0))
    return TermSum([fit, _variance(X, nu, labels)])


def connected(edges: Edges) -> Edges:
    """`edges` if their graph is connected, else InvalidInputError with the number of components."""
    count, _ = edges.components()
    if count > 1:
        raise InvalidInputError(
            f"the neighbour graph must be connected; found {count} components: the variance between them is unbounded. "
            "Use more neighbours"
        )
    return edges


def _variance(X: LinearMap, nu: float, labels: Any) -> LinearTerm:
    """−nu tr(W X N Xᵀ) with the rows of X centred already."""
    side = None if labels is None else side_information(labels, X.shape[0])
    return LinearTerm(GramForm(X, -1.0, side), positive(nu, "nu"))


def side_information(labels: Any, n: int) -> Array:
    """Y (n, q) of the coloured variant: one-hot rows of class labels (n,), or the given columns (n, q)."""
    values = real_array(labels, "labels")
    if values.ndim not in (1, 2) or len(values) != n:
        raise InvalidInputError(f"labels must have shape ({n},) or ({n}, q), a row per sample; found {values.shape}")
    if values.ndim == 2:
        return finite(values, "labels")
    found, codes = classes(values, "labels")
    return np.eye(len(found))[codes]


def centring(n: int) -> LinearMap:
    """H = I − eeᵀ/n as a shared map."""
    return LinearMap(_Centring(n), "H")


class _Centring(LinearOperator):
    """V ↦ V − column means. A class, so that problems can be pickled."""

    def __init__(self, n: int) -> None:
        super().__init__(dtype=np.float64, shape=(n, n))  # type: ignore[call-arg]

    def _matmat(self, V: Array) -> Array:
        return np.asarray(V - V.mean(axis=0))

    _matvec = _rmatvec = _rmatmat = _matmat
