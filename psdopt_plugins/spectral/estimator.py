"""TopKEigen: leading eigenpairs and the closest rank-k PSD approximation of a symmetric matrix."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, Self, cast

import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from psdopt import ConjugateGradient, FlatQuotient, LowRankPSD, QuadraticSDP, Result, certify, solve
from psdopt.checks import finite, integer, number, one_of, positive
from psdopt.devices import device_of, held, on_host, placed, released, transposed
from psdopt.errors import InvalidInputError
from psdopt.linalg import EPS, Array, LinearMap, symmetric_map, top_eigenpairs
from psdopt.terms import MatrixForm
from psdopt_plugins.estimators import Estimator, column_signs, finished, options_for_solve, parameters
from psdopt_plugins.limits import ROOT_EPS, SLIGHT
from psdopt_plugins.rows import projected, validated


class TopKProblem(QuadraticSDP):
    """F(M) = |M − K|_F² − |K|_F² = tr(M²) − 2 tr(K M), with the requested rank `k`.

    `K` is the symmetric (n, n) :class:`LinearMap`; one step along D (n, r) costs one product K D.
    """

    def __init__(self, K: LinearMap, k: int) -> None:
        self.K, self.k = K, k
        super().__init__(A=None, B=1.0, C=MatrixForm(K, -1.0))
        if isinstance(K.data, LinearOperator) or K.is_sparse:
            self.without_dense_arrays()


def topk_problem(K: Any, k: int) -> TopKProblem:
    """min |M − K|_F² − |K|_F² over M ⪰ 0: A = 0, B = I, C = −K (Yuan et al., eq. 3).

    At rank k the optimum is −Σ_{i≤k} max(λ_i, 0)², attained at the k largest positive eigenvalues of K and
    their eigenvectors. `k` does not enter F. It is stored as ``problem.k`` and is the rank to use,
    ``solve(problem, FlatQuotient(problem.n, problem.k))``; without a rank limit the answer is K₊.

    Parameters
    ----------
    K : (n, n) symmetric, of any sign: ndarray, SciPy sparse array, ``LinearOperator`` or an array on a device.
    k : number of eigenpairs, 1 <= k <= n.

    Raises
    ------
    InvalidInputError for NaN, a K that is not square and symmetric, and k out of range.
    """
    data = symmetric_map(K, "K")
    return TopKProblem(data, integer(k, "k", 1, data.shape[0], "n"))


ALGORITHMS = ("auto", "lanczos", "factor")


@parameters
class TopKEigen(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """The k largest positive eigenvalues of a symmetric K (n, n), and K ≈ Σ λ_i u_i u_iᵀ.

    L (n, k) minimises |L Lᵀ − K|_F² (Yuan et al., eq. 3). "lanczos" minimises it exactly over factor gradients since
    the last restart (Lanczos, :func:`psdopt.linalg.leading.top_eigenpairs`), or leaves K to LAPACK where K is an array
    and that takes less time; "factor" runs a factor method of psdopt on it, takes the eigenvectors from LᵀL = V D Vᵀ as
    U = L V D^-½ (eq. 4) on the numerical rank of L, and adds a Rayleigh-Ritz step with K. Repeated eigenvalues need no
    special care, whatever their multiplicity: an orthonormal basis of their space is returned.

    Parameters
    ----------
    k : number of eigenpairs, 1 <= k <= n.
    algorithm : "lanczos", "factor", or "auto": factor if `solver_options` are given, else lanczos.
    tol : for lanczos: relative accuracy of Σ λ_i (each eigenvalue is then far better than its vector).
    guard : for factor: further columns of L; the rate of convergence depends on the gap after the last column.
    solver_options : for factor: keyword arguments for :func:`psdopt.solve` (tol, method, max_time, start, ...).

    Attributes
    ----------
    eigenvalues_ : (k',) descending, positive; k' < k if K has fewer positive eigenvalues.
    eigenvectors_ : (n, k') orthonormal; the largest entry of each is positive.
    approximation_ : :class:`psdopt.LowRankPSD` of rank k', the closest PSD matrix of rank k.
    residuals_ : (k',) |K u_i − λ_i u_i|: an eigenvalue of K lies that close to λ_i.
    result_ : the :class:`psdopt.Result` of the run for L (n, k + guard), None after lanczos.
    products_ : columns that K was applied to.

    Cost: products of K with blocks, O(n k²) for each k columns; memory O(n k). The 10 leading pairs of a
    random dense K of order 3,000 took 0.7 s of processor time, of a sparse one of order 100,000 with 20 entries a row
    8 s.

    Examples
    --------
    >>> import numpy as np
    >>> TopKEigen(k=2).fit(np.diag([3.0, -7.0, 5.0, 1.0])).eigenvalues_.round(6)
    array([5., 3.])
    """

    k: int = 1
    algorithm: str = "auto"
    tol: float = 1e-6
    guard: int = 4
    solver_options: Mapping[str, Any] | None = None

    takes_sparse, pairwise = True, True

    def fit(self, K: Any, y: Any = None) -> Self:
        """Compute the eigenpairs of a symmetric K (n, n): ndarray, SciPy sparse array or ``LinearOperator``.

        With scikit-learn's ``array_api_dispatch`` a K of another library and the fitted attributes stay on its device.

        Raises InvalidInputError if K is not square, symmetric and finite, or k is not in 1..n; UnknownNameError for
        the algorithm.
        """
        use_factor = self._uses_factor()
        if known := not isinstance(K, LinearOperator):
            K = validated(self, K, devices=True, accept_sparse=["csr", "csc"], dtype=np.float64)
        data = symmetric_map(K, "K", checked=known)
        n = self.n_features_in_ = data.shape[0]
        k, guard = integer(self.k, "k", 1, n, "n"), integer(self.guard, "guard", 0)
        if use_factor:
            result = leading_factor(TopKProblem(data, k), min(n, k + guard), self.solver_options)
            self.result_: Result | None = finished(result)
            self.eigenvalues_, self.eigenvectors_, self.residuals_ = rayleigh_ritz(data, result.matrix, k)
        else:
            self.result_ = None
            top = top_eigenpairs(data, k, tol=float(self.tol))
            if not top.converged:
                warnings.warn(
                    f"the sum of the eigenvalues is not proven to {self.tol:g}", ConvergenceWarning, stacklevel=2
                )
            self.eigenvalues_, self.residuals_ = top.values, top.residuals
            self.eigenvectors_ = top.vectors * column_signs(top.vectors)
        self.products_ = data.columns
        # M = 0 is kept as one zero column
        columns = self.eigenvectors_ * np.sqrt(self.eigenvalues_)
        self.approximation_ = LowRankPSD(columns if columns.shape[1] else np.zeros_like(columns, shape=(n, 1)))
        if data.device is not None:
            for name in ("eigenvalues_", "residuals_", "eigenvectors_"):
                setattr(self, name, released(placed(getattr(self, name), data.device)))
        return self

    def transform(self, K: Any) -> Array:
        """Coordinates k(x)ᵀ u_i / √λ_i (q, k') of new objects x, from rows k(x) (q, n) of K.

        Nyström's extension: inner products of coordinates approximate K between new objects, and the rows of K itself
        give U Λ^½, the factor of `approximation_`. One column of zeros if K has no positive eigenvalue.
        """
        check_is_fitted(self)
        if not isinstance(K, LinearOperator):
            K = validated(self, K, devices=True, accept_sparse=["csr", "csc"], dtype=np.float64, reset=False)
        if self.eigenvalues_.shape[0] == 0:
            return np.zeros((K.shape[0], 1))
        return projected(K, transposed(self._vectors / np.sqrt(on_host(self.eigenvalues_))))

    @property
    def _vectors(self) -> Array:
        """The eigenvectors, wrapped if they are on a device."""
        return cast(Array, held(self.eigenvectors_))

    @property
    def _n_features_out(self) -> int:
        return max(1, int(self.eigenvalues_.shape[0]))

    def _uses_factor(self) -> bool:
        one_of(self.algorithm, "algorithm", ALGORITHMS)
        number(self.tol, "tol", above=0.0, below=1.0)
        if self.algorithm == "lanczos" and self.solver_options is not None:
            raise InvalidInputError("solver_options have no meaning for algorithm='lanczos'; use algorithm='factor'")
        return self.algorithm == "factor" or (self.algorithm == "auto" and self.solver_options is not None)

    def solve_shifted(self, b: Any, lam: float) -> Array:
        """x with (M + lam I) x = b for M = `approximation_`, b (n,) or (n, q), lam > 0. O(n k q), no (n, n) array.

        The Woodbury formula in the eigenbasis: x = (b − U diag(λ / (λ + lam)) Uᵀb) / lam.
        Raises InvalidInputError for a lam that is not positive, or a b of wrong shape or not finite.
        """
        check_is_fitted(self)
        lam = positive(lam, "lam")
        device = device_of(self.eigenvectors_)
        right = finite(b, "b") if device is None else cast(Array, placed(b, device, "b"))
        n = self.eigenvectors_.shape[0]
        if right.ndim not in (1, 2) or right.shape[0] != n:
            raise InvalidInputError(f"b must have shape ({n},) or ({n}, q); found {right.shape}")
        U, values = self._vectors, on_host(self.eigenvalues_)
        inside = (U.T @ right).T * (values / (values + lam))
        solution: Array = released((right - U @ inside.T) / lam)
        return solution


def leading_factor(problem: TopKProblem, rank: int, options: Mapping[str, Any] | None = None) -> Result:
    """L (n, rank) close to the leading invariant subspace of K. The error of its eigenvalues is about tol²."""
    defaults = {"tol": ROOT_EPS, "geometry": FlatQuotient(problem.n, rank), "method": ConjugateGradient()}
    settings = options_for_solve(options, **defaults)
    if settings.get("start") is None and settings.get("resume") is None:
        settings["start"] = _start(problem, rank, settings["tol"])
    return solve(problem, **settings)


def _start(problem: TopKProblem, rank: int, tol: float) -> Array | None:
    """None (solve's random start) if random columns find a direction v with vᵀKv > 0, as they mostly do.

    Otherwise the extreme eigenvector of K decides: for K ⪯ 0 the optimum is M = 0, towards which the iteration would
    converge slowly; else this eigenvector starts the run.
    """
    X = problem.check_factor(FlatQuotient(problem.n, rank).random_point(np.random.default_rng(0)))
    if np.linalg.eigvalsh(X.T @ problem.K.apply(X))[-1] > 0.0:
        return None
    at_zero = certify(problem, np.zeros((problem.n, 1)), tol=tol)
    if at_zero.smallest_eigenvalue >= 0.0 or at_zero.proves(tol):
        return np.zeros_like(X)
    Y = X * SLIGHT
    Y[:, 0] = held(at_zero.eigenvector)
    return Y * math.sqrt(-0.5 * at_zero.smallest_eigenvalue)


def rayleigh_ritz(K: LinearMap, M: LowRankPSD, k: int) -> tuple[Array, Array, Array]:
    """Up to k positive Ritz pairs of K on the range of M: values (k',), vectors (n, k'), residual norms (k',).

    The basis is U = L V D^-½ of M = L Lᵀ, taken from the singular value decomposition of L, which gives the
    same U orthonormal to rounding; columns beyond the numerical rank are left out. One product with K.
    """
    U = held(M.eigh()[1])
    if U.shape[1] == 0:
        return np.empty(0), U, np.empty(0)
    KU = K.apply(U)
    small = U.T @ KU
    values, W = np.linalg.eigh(0.5 * (small + small.T))
    keep = np.flatnonzero(values > M.n * EPS * np.max(np.abs(values)))[::-1][:k]
    values, W = values[keep], W[:, keep]
    vectors = U @ W
    if len(keep):
        W = W * column_signs(vectors)
        vectors = np.linalg.qr(U @ W)[0]  # orthonormalised again after the product
        vectors *= np.sign(np.sum(vectors * (U @ W), axis=0))
    return values, vectors, np.linalg.norm(KU @ W - vectors * values, axis=0)
