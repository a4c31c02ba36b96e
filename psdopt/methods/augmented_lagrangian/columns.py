"""Columns of a factor Y that a method adds where S has negative eigenvalues, and drops where they have become short."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import Array, append_columns, as_array, norm
from psdopt.linalg.extreme import DENSE_LIMIT, smallest_eigenpair
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.linalg.tolerances import MINOR, SLIGHT, VANISHED


def widened(
    evaluation: Evaluation, S: Any, vectors: Array, most: int, first_length: float, seed: int = 0
) -> Array | None:
    """Y with up to twice the columns, at most `most`, along eigenvectors of S.

    Their eigenvalues are negative, down to a tenth of the least: without the spectrum of S, where that is not
    affordable, one column. All new columns have the length that is best for the first. If Y already has `most` columns,
    new columns replace those that are zero in principal axes; None if no column is zero.

    Parameters
    ----------
    evaluation : F at Y (n, r).
    S : symmetric (n, n), sparse or an operator. vectors : (n, k), eigenvectors of S, the least eigenvalue first.
    first_length : |Y| of the first Y, against which columns count as zero.

    O(n r), and for n <= 1500, with data on a device n <= 500, a decomposition of S, n³.
    """
    Y = evaluation.factor
    n, columns = Y.shape
    room = most - columns
    if room <= 0:  # new columns replace columns that have vanished
        room = most - independent(Y, first_length).shape[1]
    if room <= 0:
        return None
    count = min(room, columns, n)
    if count > 1 and n <= (SPECTRUM_ORDER if evaluation.problem.device is None else DENSE_LIMIT):
        dense = S.toarray() if isinstance(S, sp.csr_array) else S
        found = smallest_eigenpair(dense, count=count, seed=seed, backend="dense")
        chosen = found.values <= min(SLIGHT * float(found.values[0]), 0.0)
        vectors = found.vectors[:, chosen] if chosen.any() else vectors  # where S is lost to rounding none is negative
    _, beta = evaluation.along_atom(vectors[:, 0]).minimize(alpha=(1.0, 1.0))
    # the squared length of all new columns is at least a minor share of the mean squared length of a column
    least = MINOR * max(float(norm(Y)), VANISHED * first_length) ** 2 / columns
    length = math.sqrt((beta if least < beta < math.inf else least) / vectors.shape[1])
    kept = Y if columns + vectors.shape[1] <= most else independent(Y, first_length)
    wider = append_columns(kept, length * vectors)
    short = columns - wider.shape[1]
    return append_columns(wider, np.zeros((n, short))) if short > 0 else wider


def narrowed(problem: ConstrainedModel, Y: Array, share: float, fewest: int = 1) -> Array | None:
    """Y in principal axes without the shortest columns, which M hardly needs; None if every column is needed.

    Together, the dropped columns change tr M and A(M) by at most `share`, each constraint in units of |A_t| and all
    relative to the size of the bounds. At least `fewest` columns stay. As a column goes to zero, F becomes flat to
    second order in it: Newton's systems become singular, and each step shrinks the column by a constant factor only.

    O(n r² + r entries of the A_t).
    """
    U, sizes, _ = np.linalg.svd(Y, full_matrices=False)
    axes = as_array(U * sizes)
    scale = problem.scale
    unit = norm(scale * problem.allowed.nearest(problem.measured(Y))) or norm(sizes**2)
    kept, trace, a = len(sizes), 0.0, np.zeros(problem.m)
    while kept > max(1, fewest):
        trace, a = trace + sizes[kept - 1] ** 2, a + problem.measured(axes[:, kept - 1 : kept])
        if trace > share * float(sizes @ sizes) or norm(scale * a) > share * unit:
            break
        kept -= 1
    return None if kept == Y.shape[1] else axes[:, :kept].copy()


def independent(Y: Array, first_length: float) -> Array:
    """Y Q without the columns that are zero, for the rotation Q to principal columns."""
    U, sizes, _ = np.linalg.svd(Y, full_matrices=False)
    kept = sizes > VANISHED * max(float(sizes[0]), first_length)
    return as_array(U[:, kept] * sizes[kept])
