"""What the relaxations' estimators share: a run with the user's options, and unit vectors from its matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from psdopt import Constrained, LowRankPSD, Result, solve
from psdopt.linalg import EPS, Array
from psdopt_plugins.estimators import finished, options_for_solve


def relaxed(problem: Constrained, options: Mapping[str, Any] | None, **defaults: Any) -> Result:
    """:func:`psdopt.solve` with `options` over `defaults`; a ConvergenceWarning where it did not converge."""
    return finished(solve(problem, **options_for_solve(options, **defaults)), stacklevel=4)


def proven_bound(result: Result) -> float:
    """The lower bound on min F that the certificate proves; −inf without one."""
    certificate = result.certificate
    bound = None if certificate is None else certificate.dual_value
    return -np.inf if bound is None else float(bound)


def unit_rows(M: LowRankPSD) -> Array:
    """Rows of length one (n, r), r the numerical rank of M, in its principal axes; a row of zeros is e_1."""
    values, vectors = M.eigh()
    if len(values) == 0:
        return np.ones((M.n, 1))
    V = vectors * np.sqrt(values)
    lengths = np.linalg.norm(V, axis=1)
    flat = lengths <= EPS * float(lengths.max())
    V[flat] = np.eye(1, V.shape[1])
    lengths[flat] = 1.0
    return np.asarray(V / lengths[:, None])
