"""M without the part that costs: a candidate for a solution where C ⪰ 0 and ⟨C, M⟩ = 0 at the minimum."""

from __future__ import annotations

import numpy as np

from psdopt.constraints.conic import diagonal_blocks
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.linalg.tolerances import rounding


def costless(problem: ConstrainedModel, evaluation: Evaluation, bound: float, tol: float) -> Array | None:
    """(I − P) Y for the projection P onto the range of C, so that ⟨C, M⟩ = 0 is left; None without C ⪰ 0.

    With C ⪰ 0 no M costs less than 0, and y = 0 proves it. If a feasible M costs nothing, the values of iterates fall
    to zero, and no gap between them and a bound is small beside the values. Their limit is C M = 0: rows of blocks of
    C that are definite are zero there. Whether what is left is feasible is for a certificate to judge.

    `bound` : of F, proven at M. None where F without ⟨C, M⟩ is farther from it than F(M): multipliers that prove a
    higher value refute that M costs nothing, although a large cost may hang on a violation that is negligible.
    `tol` : the largest share of tr M that is left out. None where F is not linear, and for blocks of C of order above
    1500. Cost: s³ for each block of C of order s.
    """
    conic, Y = problem.conic, evaluation.factor
    if conic is None or problem.device is not None or not conic.C.nnz:
        return None
    C, limit = conic.C, tol * evaluation.size**2
    if not abs(conic.constant - bound) <= abs(evaluation.value - bound):
        return None
    left = Y.copy()
    for rows in diagonal_blocks(C):
        if len(rows) > SPECTRUM_ORDER:
            return None
        w, U = np.linalg.eigh(C[rows][:, rows].toarray())
        lost = rounding(float(np.abs(w).max()), len(rows))
        if w[0] < -lost:
            return None
        U = U[:, w > lost]
        left[rows] = 0.0 if U.shape[1] == len(rows) else left[rows] - U @ (U.T @ left[rows])
    return left if np.sum((Y - left) ** 2) <= limit else None
