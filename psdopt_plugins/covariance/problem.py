"""The dual of a sparse inverse covariance: the covariance of largest determinant within alpha of S, to compose with."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt import Constrained, TermSum
from psdopt.checks import number
from psdopt.constraints import entries
from psdopt.errors import InvalidInputError
from psdopt.linalg import symmetric_map
from psdopt.terms import LogDet


def covariance_problem(S: Any, alpha: float) -> Constrained:
    """min −log det W with W_ii = S_ii and |W_ij − S_ij| <= alpha: the dual of the sparse inverse covariance.

    Its minimiser is M⁻¹ for the M of :func:`~psdopt_plugins.covariance.sparse_inverse`, and its minimum n − min F. The
    multiplier of an entry is 2 M_ij off the diagonal and M_ii on it. Further terms and constraints on the covariance W
    can be added.

    S : (n, n) symmetric, with a positive diagonal. alpha : at least 0.

    Raises InvalidInputError for an S that is not symmetric or finite, a diagonal entry that is not positive, and a
    negative alpha. Cost: n (n + 1)/2 constraints, so that a step of the interior point takes O(n⁶): for orders up to
    about 40. :class:`~psdopt_plugins.covariance.SparsePrecision` takes far larger ones.
    """
    S, alpha = symmetric_map(S, "S").to_dense(), number(alpha, "alpha", least=0.0)
    n, d = len(S), np.diagonal(S)
    if not np.all(d > 0.0):
        k = int(np.argmin(d))
        raise InvalidInputError(f"S must have a positive diagonal; found {d[k]:g} for variable {k}")
    i, j = np.tril_indices(n)
    room = np.where(i == j, 0.0, alpha)
    return Constrained(TermSum([LogDet(n)]), entries(i, j, n, lower=S[i, j] - room, upper=S[i, j] + room))
