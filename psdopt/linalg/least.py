"""The least eigenvectors of S, by a suitable backend, with warm start."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.checks import one_of
from psdopt.linalg.arrays import Array, is_finite
from psdopt.linalg.extreme import ExtremePair, smallest_eigenpair
from psdopt.linalg.limits import ITERATED_ORDER, SPECTRUM_ORDER
from psdopt.linalg.tolerances import SLIGHT

BACKENDS = ("auto", "dense", "lanczos", "eigsh")


def least_eigenpairs(
    S: Any,
    *,
    tol: float,
    start: Array | None = None,
    count: int = 1,
    backend: str = "auto",
    proven: bool = False,
    seed: int = 0,
) -> ExtremePair:
    """The `count` smallest eigenpairs of S (n, n), to residual `tol`, with a lower bound on λ_min(S).

    A direction of descent needs no proof, so that by default a `start` (n, j) is trusted: an accurate one costs
    two or three products; ``eigsh`` takes 21 even from the exact eigenvector. The lower bound is then value
    minus residual, which is valid unless a smaller eigenvalue belongs to the complement of `start`. With `proven` the
    bound holds with probability 1 − 1e-8 over random columns of the start block that were drawn without
    knowledge of S (with certainty for backend "dense"); see :func:`psdopt.linalg.extreme.smallest_eigenpair`.

    Parameters
    ----------
    S : anything with `.shape` and ``S @ block``. tol : required absolute residual.
    backend : "auto" (dense up to n = 300, eigsh if there is no start and no proof is wanted, else lanczos),
        "dense", "lanczos" or "eigsh".

    Raises UnknownNameError for a backend that is not in the list.
    """
    one_of(backend, "backend", BACKENDS)
    if start is not None and (not is_finite(start) or not np.any(start)):
        start = None
    if backend == "auto":
        n = S.shape[0]
        cold = start is None and not proven and count < n
        # a decomposition gives all vectors, and costs less than an iteration for more than a slight share of them
        formed = n <= ITERATED_ORDER or (n <= SPECTRUM_ORDER and count > SLIGHT * n)
        backend = "dense" if formed else "eigsh" if cold else "lanczos"
    if backend == "eigsh":  # ARPACK cannot compute all eigenvectors
        backend, count = ("eigsh", min(count, S.shape[0] - 1)) if S.shape[0] > 1 else ("dense", 1)
    return smallest_eigenpair(
        S,
        tol=tol,
        start=start,
        trust_start=backend == "lanczos" and start is not None and not proven,
        count=count,
        backend=backend,
        failure_probability=1e-8 if proven else 1.0,
        seed=seed,
    )
