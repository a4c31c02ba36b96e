"""KTA: metric learning by kernel target alignment, as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from psdopt import QuadraticSDP
from psdopt.checks import integer_or_none
from psdopt.linalg import RowBlocks, linear_map
from psdopt_plugins.certificate_on import on_rows
from psdopt_plugins.estimators import parameters
from psdopt_plugins.limits import FACTOR_ORDER
from psdopt_plugins.long_fits import entries, quadratic_fit, say_if_long
from psdopt_plugins.metric_learning.kta_problem import kta_problem
from psdopt_plugins.metric_learning.mahalanobis import LARGE_RANK, MahalanobisTransformer
from psdopt_plugins.rows import validated, warn_of_offset, warn_of_units, weighted

#: Steps at limited rank, typically: 29 to 1813 in experiments.
STEPS = 300


@parameters
class KTA(MahalanobisTransformer):
    """Learn M ⪰ 0 (d, d) from labels: min lam |X M Xᵀ − Y Yᵀ|_F² + Reg(M) (Yuan et al., eq. 7).

    Parameters
    ----------
    rank : largest rank of M, or None for no limit (then a global optimum is certified). Beyond d = 3000, where the
        optimum would need a (d, d) factor, None stands for the paper's 60, and a warning says so.
    lam : weight of the alignment, >= 0. Not divided by m²: the objective is the paper's.
    regularizer : "identity" |M − I|², "frobenius" |M|² or "trace" tr(M).
    gram : whether to form XᵀX once, see :func:`kta_problem`.
    solver_options : keyword arguments for :func:`psdopt.solve` (tol, method, max_time, ...).
    preprocessor : array (N, d), or a function from indices (k,) to samples (k, d): X may then be indices (m,).

    Attributes
    ----------
    components_ : (r, d), M = components_ᵀ components_.
    result_ : the :class:`psdopt.Result` with value, status, certificate and history.
    n_features_in_ : d.

    Cost: O(m d²) once and an eigendecomposition, O(d³), up to d = 3000; with a rank up to some hundred steps, O(m d r)
    or O(d² r) each. Memory: the data and (d, d), for a sparse X beyond d = 500 (d, r). 100,000 × 50 took less than
    0.1 s of processor time, 500 × 1,500 4 s.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), KTA(), KNeighborsClassifier(3))
    >>> model = model.fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.95)
    True
    """

    rank: int | None = None
    lam: float = 1e-2
    regularizer: str = "identity"
    gram: bool | str = "auto"
    solver_options: Mapping[str, Any] | None = None
    preprocessor: Any = None

    #: Features outnumber the samples of these checks: M is the identity on the complement of the samples, and the rows
    #: of `components_` may rotate within that eigenspace. M itself does not change.
    expected_failed_checks: ClassVar[Mapping[str, str]] = {
        f"check_sample_weight_equivalence_on_{kind}_data": "components of equal norm are known up to a rotation"
        for kind in ("dense", "sparse")
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from X (m, d), dense or sparse, and labels y (m,) of at least two classes.

        With scikit-learn's ``array_api_dispatch`` an X of PyTorch, CuPy or another library of the array API standard
        stays on its device, and `components_` and all transformed samples are arrays of that library.

        sample_weight : w (m,), at least 0; the loss is lam Σ_ij w_i w_j (x_iᵀMx_j − y_iᵀy_j)², so that weight 2 means
        the sample occurs twice. X must then be in memory.

        Warns where the mean of a feature of X in memory is more than 10⁶ times its standard deviation, or standard
        deviations differ by a factor above 10⁶: the loss is of fourth power in X.

        Raises InvalidInputError, UnknownNameError (both name the argument) and scikit-learn's ValueErrors.
        """
        X, y = validated(
            self, X, y, blocks=True, devices=True, accept_sparse=["csr", "csc"], dtype=np.float64, ensure_min_samples=2
        )
        check_classification_targets(y)
        X, w, y = weighted(X, sample_weight, y)
        warn_of_offset(X, "KTA", "the kernel x_iᵀMx_j")
        warn_of_units(X, "KTA")
        rank = self.rank
        if rank is None and X.shape[1] > FACTOR_ORDER:
            rank = LARGE_RANK
            warnings.warn(
                f"rank=None means rank {rank} beyond {FACTOR_ORDER} features; pass rank to choose", stacklevel=2
            )
        (m, d), rank = X.shape, integer_or_none(rank, "rank")
        once, run = quadratic_fit(X, rank, STEPS)
        numbers = 3 * entries(X) + 4 * d * (rank or d)
        say_if_long(self, (m, d), once, run, numbers=numbers, shorter="fewer features")
        problem = kta_problem(linear_map(X, "X", checked=True), y, self.lam, self.regularizer, self.gram, w)
        return self._learn(problem, rank, self.solver_options)

    @on_rows
    def certificate_on(self, X: Any, y: Any) -> QuadraticSDP:
        """How far M is proven to be from the best M for samples X (m, d) with labels y (m,): those of a fit, or others.

        F(M) = lam |X M Xᵀ − Y Yᵀ|_F² + Reg(M), Y (m, c) the one-hot labels, which need not be those of the fit.
        """
        options: dict[str, Any] = {"accept_sparse": ["csr", "csc"], "dtype": np.float64, "ensure_min_samples": 2}
        X, y = validated(self, X, y, blocks=True, reset=False, **options)
        check_classification_targets(y)
        data = linear_map(X, "X", checked=True)
        # rounding of XᵀX would move F itself; rows that are read in blocks are read once
        return kta_problem(data, y, self.lam, self.regularizer, self.gram if isinstance(data, RowBlocks) else False)
