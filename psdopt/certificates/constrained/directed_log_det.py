"""A lower bound of log det of a sum of d_p d_pᵀ from the vectors d_p, which rounding of the sum would spoil."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from psdopt.constraints.limits import NUMBERS
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.images import Images
from psdopt.linalg.arrays import Array, only_diagonal
from psdopt.linalg.cone_steps import triangular_inverse
from psdopt.linalg.tolerances import ROUNDINGS, rounding


def directed_log_det(problem: ConstrainedModel, y: Array) -> float:
    """A lower bound of log det A*(y), A*(y) = Σ_t y_t d_t d_tᵀ with y >= 0; −inf where A_t are no such products.

    With B = diag(√y) D it is 2 log |det R|, B = Q R. Entries of A*(y) have errors of eps |A*(y)|, which cost eps κ(B)²
    in log det; the rounding E of Q R is relative to each column of B, and costs eps κ(B D₁), D₁ the scaling of columns
    to length one: log det BᵀB >= 2 log |det R| + 2 Σ log(1 − σ_i(E R⁻¹)), whose sum is at least −√n f/(1 − f) with
    f = |E R⁻¹|_F. So vectors that differ little from their mean, as points far from the origin, leave all digits of a
    proof that they need. Demmel, Veselić (1992) on graded matrices. O(m n²).
    """
    D = problem.once("directions of the constraints", lambda: _directions(problem))
    if D is None or not np.all(y >= 0.0):
        return -math.inf
    used = y > 0.0
    m, n = int(np.count_nonzero(used)), D.shape[1]
    if m < n:
        return -math.inf
    B = np.sqrt(y[used])[:, None] * D[used]
    lengths = np.sqrt(np.einsum("ij,ij->j", B, B))
    if not np.all((lengths > 0.0) & np.isfinite(lengths)):
        return -math.inf
    scale = np.exp2(np.rint(np.log2(lengths)))
    R: Array = np.asarray(np.linalg.qr(B / scale, mode="r"))
    diagonal = np.abs(np.diagonal(R))
    if not diagonal.min() > rounding(1.0, m * n):
        return -math.inf
    inverse = triangular_inverse(R.T[None].copy())[0]
    # columns of B / scale are at most √2 long; E has the rounding of products, of roots and of the triangular inverse
    f = rounding(2.0, m * n) * float(np.sum(np.linalg.norm(inverse, axis=0)))
    if not f < 1.0 / ROUNDINGS:
        return -math.inf
    logs = np.concatenate([2.0 * np.log(diagonal), 2.0 * np.log(scale)])
    return math.fsum(logs) - 2.0 * math.sqrt(n) * f / (1.0 - f) - rounding(float(np.abs(logs).sum()), 1)


def _directions(problem: ConstrainedModel) -> Array | None:
    """The vectors d_t (m, n) of all constraints; None where not each A_t is d_t d_tᵀ of data in memory."""
    measurement = problem.measurement
    signs = measurement.signs
    if signs is None or problem.device is not None or measurement.size * problem.n > NUMBERS:
        return None
    scales = only_diagonal(sp.csr_array(signs))
    if scales is None or not (np.all(scales == 1.0) and all(each.is_matrix for each in measurement.maps)):
        return None
    return np.asarray(measurement.directions(Images(measurement.maps, np.eye(problem.n))))
