"""NearestCorrelation: the correlation matrix nearest to a symmetric matrix, at full or low rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from psdopt import Constrained, FlatQuotient, LowRankPSD, Result
from psdopt.checks import integer_or_none
from psdopt.linalg import symmetric_map
from psdopt_plugins.estimators import Estimator, parameters, proven_bound, relaxed, unit_rows
from psdopt_plugins.relaxations.correlation_problem import correlation_problem
from psdopt_plugins.rows import validated


@parameters
class NearestCorrelation(Estimator):
    """min ½ |W ∘ (M − G)|² over M ⪰ 0 with M_ii = 1, optionally with rank M <= r and with some entries kept.

    For W = w wᵀ at full rank by Newton's method on the multipliers of the equations (Qi & Sun 2006), an
    eigendecomposition or a few per step and rarely more than ten steps; for any other W by gradient steps, each to the
    nearest correlation matrix, and where these do not suffice by Newton's method on a factor and the multipliers; at
    rank r from the leading eigenvectors of the full solution, by an augmented Lagrangian on a factor.

    Parameters
    ----------
    rank : largest rank of M; None for no limit. At low rank the minimum is local: `distance_bound_` bounds its loss.
    weights : None, w (n,) above 0 for W = w wᵀ, or W (n, n) >= 0, where zeros leave entries free.
    fixed : pairs (p, 2) of indices whose entries of G are kept.
    solver_options : keyword arguments for :func:`psdopt.solve` (tol, method, max_time, ...).

    Attributes
    ----------
    correlation_ : :class:`psdopt.LowRankPSD`, its diagonal 1 to rounding; ``correlation_.to_dense()`` is the array.
    distance_ : |W ∘ (M − G)|. distance_bound_ : proven; no correlation matrix of any rank is nearer.
    result_ : the :class:`psdopt.Result`; for weights w (n,) its matrix is Diag(w) M Diag(w).

    Cost: 9 n³ flops or so a step, and memory for some arrays (n, n). A full-rank fit of order 1,000 took
    0.7 s of processor time.

    Examples
    --------
    >>> import numpy as np
    >>> G = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    >>> NearestCorrelation().fit(G).correlation_.to_dense().round(4)
    array([[1.    , 0.7607, 0.1573],
           [0.7607, 1.    , 0.7607],
           [0.1573, 0.7607, 1.    ]])
    """

    rank: int | None = None
    weights: Any = None
    fixed: Any = None
    solver_options: Mapping[str, Any] | None = None

    pairwise = True

    def fit(self, G: Any, y: Any = None) -> Self:
        """Find the matrix for a symmetric G (n, n).

        Raises what :func:`correlation_problem` raises, and InvalidInputError for a rank outside 1..n.
        """
        G = validated(self, G, dtype=np.float64, ensure_min_samples=2)
        problem = correlation_problem(symmetric_map(G, "G", checked=True), self.weights, self.fixed)
        rank = integer_or_none(self.rank, "rank", 1, problem.n, "n")
        W = None if self.weights is None else np.asarray(self.weights, dtype=np.float64)
        result = self._solved(problem, rank)
        self.result_ = result
        self.correlation_ = LowRankPSD(unit_rows(result.matrix.factor))
        D = self.correlation_.to_dense() - G
        if W is not None:
            D = W * D if W.ndim == 2 else W[:, None] * D * W
        self.distance_ = float(np.linalg.norm(D))
        self.distance_bound_ = min(float(np.sqrt(2.0 * max(self._bound, 0.0))), self.distance_)  # up to rounding
        return self

    def _solved(self, problem: Constrained, rank: int | None) -> Result:
        """The final run; if the rank binds, it begins at the leading eigenvectors of the full solution."""
        n = problem.n
        full = relaxed(problem, self.solver_options if rank is None else _accuracy(self.solver_options), rng=0)
        self._bound = proven_bound(full)
        if rank is None or full.rank <= rank:
            return full
        values, vectors = full.matrix.eigh()
        Y = vectors[:, :rank] * np.sqrt(values[:rank])
        scale = np.sqrt(problem.lower[:n])  # the diagonal's own bounds come first
        Y = unit_rows(Y) * scale[:, None]
        return relaxed(problem, self.solver_options, geometry=FlatQuotient(n, rank), start=Y, rng=0)


def _accuracy(options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Those of the user's options that also apply to the run at full rank."""
    return {name: value for name, value in (options or {}).items() if name in ("tol", "max_time")}
