"""Maximum variance unfolding: variance up, lengths of edges kept, as a penalty."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from psdopt import TermSum
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, is_finite
from psdopt.linalg.operators import LinearMap
from psdopt.problem import Evaluation
from psdopt.terms.forms import GramForm
from psdopt.terms.losses import LeastSquares
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import PairDistances
from psdopt.terms.quadratic import LinearTerm
from psdopt_plugins.manifold_learning.coordinates import LaplacianCoordinates
from psdopt_plugins.manifold_learning.graph import Edges, read_edges


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

    The problem carries the inverse Laplacian of the graph as preconditioner, factorised once. For tight edges
    (small nu) or large n use :func:`scaled_mvu_problem`, whose certificate is well conditioned too.

    Raises
    ------
    InvalidInputError for what :func:`~psdopt_plugins.manifold_learning.graph.read_edges` refuses, nu <= 0, labels of
    the wrong length, and a graph that is not connected (F is then unbounded below).

    Cost of a step along D (n, r): O(edges · r), no (n, n) array.
    """
    edges = connected(read_edges(distances))
    coordinates = LaplacianCoordinates(edges)
    n = edges.n

    def preconditioner(evaluation: Evaluation) -> Any:
        return coordinates.solve

    centring = LinearOperator((n, n), matvec=_centred, rmatvec=_centred, matmat=_centred, rmatmat=_centred, dtype=float)
    fit = MeasuredTerm(PairDistances(edges.i, edges.j, n=n), LeastSquares(edges.squared, 2.0))
    return TermSum([fit, _variance(LinearMap(centring, "H"), nu, labels)], preconditioner=preconditioner)


def scaled_mvu_problem(edges: Edges, nu: float, coordinates: LaplacianCoordinates, labels: Any = None) -> TermSum:
    """The same F as a function of N (n − 1, n − 1), M = B N Bᵀ, in coordinates made from the graph Laplacian.

    S in these coordinates is BᵀSB, positive semidefinite exactly when S is on the complement of e, and
    tr N = Σ over edges of the squared length: the certificate's λ_min times tr N bounds the gap in F per unit of
    what the edges add up to, which is known in advance. No preconditioner is needed. B is applied once per step.
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
    if not isinstance(nu, Real) or isinstance(nu, bool) or not math.isfinite(nu) or nu <= 0.0:
        raise InvalidInputError(f"nu must be a positive finite number; found {nu!r}")
    side = None if labels is None else side_information(labels, X.shape[0])
    return LinearTerm(GramForm(X, -1.0, side), float(nu))


def side_information(labels: Any, n: int) -> Array:
    """Y (n, q) of the coloured variant: one-hot rows of class labels (n,), or the given columns (n, q)."""
    values = np.asarray(labels)
    if values.ndim not in (1, 2) or len(values) != n:
        raise InvalidInputError(f"labels must have shape ({n},) or ({n}, q), a row per sample; found {values.shape}")
    if values.dtype.kind == "f" and not is_finite(values):
        bad = int(np.sum(~np.isfinite(values)))
        raise InvalidInputError(f"labels must be finite; found {bad} NaN or infinite entries")
    if values.ndim == 2:
        return np.asarray(values, dtype=np.float64)
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(f"labels must hold at least 2 classes; found only {classes[0]!r}")
    return np.eye(len(classes))[codes]


def _centred(V: Array) -> Array:
    return np.asarray(V - V.mean(axis=0))
