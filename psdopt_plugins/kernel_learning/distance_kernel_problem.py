"""A kernel matrix whose distances respect bounds on pairs of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt import TermSum
from psdopt.checks import finite, number, real_array
from psdopt.errors import InvalidInputError
from psdopt_plugins.regression.problem import psd_regression_problem


def distance_kernel_problem(n: int, pairs: Any, distances: Any, same: Any = None, alpha: float = 0.0) -> TermSum:
    """min 1/(2m) Σ loss(K_ii + K_jj − 2 K_ij) over K ⪰ 0 (n, n) (Meyer et al., 9.1 and 10.2).

    Parameters
    ----------
    n : samples. pairs : (m, 2) integers. distances : (m,) squared distances y in the base kernel, >= 0.
    same : (m,) bool, whether the two samples have the same label: then the distance should be at most y (1 − alpha),
        otherwise at least y (1 + alpha). None: the distance should equal y (1/2 squared error, both sides).
    alpha : slack, in [0, 1).

    K is determined up to K + a eᵀ + e aᵀ. Cost of a step O(m r). Raises InvalidInputError for bad arguments.
    """
    alpha = number(alpha, "alpha", least=0.0, below=1.0)
    targets = finite(distances, "distances")
    if targets.ndim == 1 and targets.size and targets.min() < 0.0:
        raise InvalidInputError(f"distances must be at least 0; found {targets.min():g}")
    if same is None:
        if alpha != 0.0:
            raise InvalidInputError("alpha needs same: without labels distances are equalities")
        return psd_regression_problem(None, targets, pairs, n=n)
    alike = real_array(same, "same")
    if alike.dtype != bool or alike.shape != targets.shape:
        raise InvalidInputError(f"same must be bool, shape {targets.shape}; found {alike.dtype} {alike.shape}")
    bounds = targets * np.where(alike, 1.0 - alpha, 1.0 + alpha)
    return psd_regression_problem(None, bounds, pairs, np.where(alike, 1.0, -1.0), n=n)
