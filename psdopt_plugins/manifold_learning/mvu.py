"""Maximum variance unfolding as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from psdopt import LowRankPSD, Result
from psdopt.checks import boolean, integer, number_or_none, one_of, positive, real_array
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array, norm
from psdopt_plugins.estimators import Embedding, column_signs, finished, parameters, was_cut
from psdopt_plugins.long_fits import entries, say_if_long
from psdopt_plugins.manifold_learning.continuation import Unfolding
from psdopt_plugins.manifold_learning.graph import (
    Edges,
    connecting_edges,
    smallest_connecting,
    stretched,
    surface_edges,
)
from psdopt_plugins.manifold_learning.graph_matrices import GraphMatrices
from psdopt_plugins.manifold_learning.new_points import local_placement
from psdopt_plugins.manifold_learning.unfolding import unfold
from psdopt_plugins.pair_sampling import drawn_samples
from psdopt_plugins.rows import keeping_fitted, validated

#: A new sample is placed by LOCAL times n_neighbors neighbours, enough to surround it.
LOCAL = 3
#: Neighbours by default: a surface of 300 to 2,000 samples keeps its width.
NEIGHBORS = 12
#: Operations of all stages per entry of a factor of the graph's Laplacian: 0.5 to 2 million in experiments.
#: Those of a sample that is placed between others.
WORK, PLACED = 1e6, 2e5
DISCONNECTED = ("connect", "refuse", "separate")


@parameters
class MaximumVarianceUnfolding(Embedding):
    """Unfold samples: the kernel of greatest variance that keeps the distances between neighbours.

    Minimises |U ∘ (m eᵀ + e mᵀ − 2M − D)|² − nu tr(W M) over M ⪰ 0 (Hao et al., eq. 11), with a certificate of global
    optimality. The smaller nu, the tighter the edges.

    Parameters
    ----------
    n_components : columns of the embedding.
    n_neighbors : edges join samples of which one is among the n_neighbors nearest of the other; None is 12, or all of
        fewer others. Short cuts between sheets of a surface are left out: edges whose ends are far apart along the
        edges of the four nearest neighbours. With few neighbours the surface is loose, and loses its width: of a swiss
        roll of 1,000 samples (the ratio of the variances of width and length is 0.057) 4 neighbours leave 0.010, 8
        leave 0.042 and 12 leave 0.051.
    nu : tension, > 0, in the units of squared distances; None chooses it so that the median relative error of edge
        lengths is at most `edge_error`. A tension that stretches the roll pulls it narrower: with an edge_error of 0.05
        the ratio above is 0.03.
    edge_error : see nu.
    coloured : use y (class labels, or side information (n, q)) in W; else y is ignored.
    disconnected : what to do with a neighbour graph in several components, between which the variance is unbounded.
        "connect" adds the n_neighbors shortest edges from each to the others until there is one, and warns; "refuse"
        raises an error with the number of neighbours that would connect it; "separate" unfolds each on its own and
        places them side by side, the largest first.
    max_samples : samples that are unfolded; of more, as many are drawn (with a fixed seed), the proof is that of the
        problem of the samples drawn, and the others are placed as by :meth:`transform`. Samples of a surface may be
        more, since their systems are sparse: 20,000 of a swiss roll take two minutes; 1,000 with 50 features of noise
        take one.
    solver_options : keyword arguments for :func:`psdopt.solve`; default tol 1e-4.

    Attributes
    ----------
    embedding_ : (n, n_components), centred; principal axes of the kernel, the widest first.
    eigenvalues_ : all positive eigenvalues of the kernel, descending: a gap after the first few shows the dimension.
    samples_ : rows of X that were unfolded, ascending. kernel_ : M of these as a :class:`psdopt.LowRankPSD`.
    nu_ : tension used. edge_error_median_, edge_error_max_ : relative errors of edge lengths, by which the penalty
        violates the constraints that it replaces.
    result_ : the :class:`psdopt.Result` of the last stage (of the largest component, if there are several); where
        conjugate gradient was used, in coordinates in which tr is the sum of squared edge lengths.
    edges_added_ : edges that "connect" has added. n_iter_ : iterations of all stages.

    Cost per iteration: O(edges · rank) and solving with sparse factors of the neighbour graph, which fill in unless the
    samples lie near a surface. Memory: O((n + edges) · rank) and the factors, no (n, n) array. A swiss roll of 1,000
    samples took 2.5 s of processor time, of 2,000 5 s.

    Examples
    --------
    >>> from sklearn.datasets import make_s_curve
    >>> X, _ = make_s_curve(80, random_state=0)
    >>> model = MaximumVarianceUnfolding().fit(X)
    >>> model.embedding_.shape, bool(model.edge_error_median_ <= 0.003)
    ((80, 2), True)
    """

    n_components: int = 2
    n_neighbors: int | None = None
    nu: float | None = None
    edge_error: float = 0.003
    coloured: bool = False
    disconnected: str = "connect"
    max_samples: int = 1000
    solver_options: Mapping[str, Any] | None = None

    takes_sparse = True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Unfold the samples X (n, d), dense or sparse.

        Warns where edges were added to connect the neighbour graph, and where the lengths of edges changed by more than
        half the median length, so that the embedding is no isometry there. Raises InvalidInputError for bad parameters
        and, under "refuse", a disconnected graph; and scikit-learn's ValueErrors.
        """
        X = validated(self, X, accept_sparse=["csr"], dtype=np.float64, ensure_min_samples=3)
        self._check_parameters(y)
        drawn, whole = drawn_samples(X.shape[0], self.max_samples), X
        self.samples_ = np.arange(X.shape[0]) if drawn is None else drawn
        X = X[self.samples_]
        near = min(NEIGHBORS, X.shape[0] - 1) if self.n_neighbors is None else self.n_neighbors
        edges = surface_edges(X, near)
        count, labels = edges.components()
        self.edges_added_ = 0
        if count > 1 and self.disconnected == "refuse":
            raise InvalidInputError(
                f"the graph of n_neighbors={near} has {count} components, between which the variance is "
                f"unbounded; n_neighbors={smallest_connecting(X, near)} is the smallest that connects it "
                "(or pass disconnected='connect' or disconnected='separate')"
            )
        if count > 1 and self.disconnected == "connect":
            edges, before = connecting_edges(X, edges, near), edges
            self.edges_added_ = len(edges.i) - len(before.i)
            warnings.warn(
                f"the graph of n_neighbors={near} has {count} components; the {self.edges_added_} shortest "
                "edges between them were added to connect it; pass disconnected='separate' to unfold each by itself",
                stacklevel=2,
            )
            count, labels = edges.components()
        if count == 1:
            self._say_if_long(whole, edges, near)
        side = real_array(y, "y")[self.samples_] if boolean(self.coloured, "coloured") else None
        parts: list[tuple[Any, Unfolding]] = []
        torn = 0
        for c in range(count):
            own = np.flatnonzero(labels == c)
            part = edges if count == 1 else edges.restricted(own)
            if count > 1 and not np.any(part.squared):  # copies of one sample: a point
                continue
            cut = parts[-1][1] if parts and was_cut(parts[-1][1].result) else None
            parts.append((own, self._unfolded(part, None if side is None else side[own], cut)))
            torn += stretched(part, parts[-1][1].errors)
        if not parts:
            raise InvalidInputError("X must hold samples that differ; found only copies within each component")
        self._assemble(parts, int(X.shape[0]))
        if torn and not was_cut(self.result_):
            warnings.warn(
                f"{torn} of {len(edges.i)} edges changed their lengths by more than half the median length, which "
                "the embedding should keep: pass a smaller edge_error, or more n_neighbors",
                stacklevel=2,
            )
        self._samples, self._n_neighbors = X, int(near)
        if drawn is not None:
            self.embedding_ = self._placed(whole)
        return self

    def _say_if_long(self, whole: Any, edges: Edges, near: int) -> None:
        """By the entries of a factor of the graph's Laplacian, which the iterations read."""
        fill, others = GraphMatrices(edges).fill, whole.shape[0] - len(self.samples_)
        numbers = 3 * entries(whole) + 100 * fill + 10 * LOCAL * near * others
        say_if_long(
            self,
            whole.shape,
            PLACED * others,
            WORK * fill,
            numbers=numbers,
            shorter="a smaller max_samples or n_neighbors",
            stacklevel=4,
        )

    def transform(self, X: Any) -> Array:
        """Positions (q, n_components) of new samples X (q, d); a sample that equals a fitted one gets its position.

        Others are placed relative to their 3 · n_neighbors nearest fitted samples as in X, by
        :func:`~psdopt_plugins.manifold_learning.new_points.local_placement`. Distances need not be preserved.
        The fitted samples are stored for this.
        """
        check_is_fitted(self)
        X = validated(self, X, accept_sparse=["csr"], dtype=np.float64, reset=False)
        return self._placed(X)

    def _placed(self, X: Any) -> Array:
        """Positions (q, n_components) of the rows X (q, d)."""
        placed = local_placement(self._samples, self._positions, X, LOCAL * self._n_neighbors)
        return keeping_fitted(self._samples, self._positions, X, placed)

    def _unfolded(self, edges: Edges, side: Any, cut: Unfolding | None) -> Unfolding:
        """Once the run of a component was cut, the other components stay at their starts and get its result."""
        if cut is None:
            found = unfold(edges, self.nu, self.edge_error, side, self.solver_options)
            finished(found.result, stacklevel=5)
            return found
        start = unfold(edges, cut.nu, self.edge_error, side, {**(self.solver_options or {}), "max_iterations": 0})
        return replace(start, result=cut.result)

    def _assemble(self, parts: list[tuple[Any, Unfolding]], n: int) -> None:
        # by size and variance, so that the position of a component does not depend on the order of the samples
        parts = sorted(parts, key=lambda part: (-len(part[0]), -norm(part[1].factor)))
        largest = parts[0][1]
        width = sum(part.factor.shape[1] for _, part in parts)
        factor, embedding = np.zeros((n, width)), np.zeros((n, self.n_components))
        column, edge = 0, 0.0
        for own, part in parts:
            Y = LowRankPSD(part.factor).compress().factor
            Y = Y * column_signs(Y)
            factor[own, column : column + Y.shape[1]] = Y
            column += Y.shape[1]
            shown = min(Y.shape[1], self.n_components)
            embedding[own, :shown] = Y[:, :shown]
            if len(parts) > 1:
                embedding[own, 0] += edge - embedding[own, 0].min()
                edge = 1.1 * float(embedding[own, 0].max())
        self.embedding_: Array = embedding - embedding.mean(axis=0)
        self._positions = self.embedding_
        self.kernel_: LowRankPSD = LowRankPSD(factor).compress()
        self.eigenvalues_: Array = self.kernel_.eigenvalues()
        errors = np.concatenate([part.errors for _, part in parts])
        self.edge_error_median_, self.edge_error_max_ = float(np.median(errors)), float(np.max(errors))
        self.result_: Result = largest.result
        self.nu_ = largest.nu
        self.n_iter_ = sum(part.iterations for _, part in parts)

    def _check_parameters(self, y: Any) -> None:
        integer(self.n_components, "n_components")
        number_or_none(self.nu, "nu", above=0.0)
        positive(self.edge_error, "edge_error")
        one_of(self.disconnected, "disconnected", DISCONNECTED)
        if boolean(self.coloured, "coloured") and y is None:
            raise InvalidInputError("y must be given when coloured=True: labels or side information")
