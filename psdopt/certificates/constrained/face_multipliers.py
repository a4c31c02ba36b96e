"""Multipliers for the user if feasible M lie on a face of the cone: finite ones for which S ⪰ 0 to tolerance.

Proofs need S only on the face. Off it the multipliers z of rows ⟨A_t, M⟩ = 0 with A_t zero on the face are free: the
bound −σ(y) stays. The greatest λ_min(S + Σ z_t A_t) over z is the dual of min ⟨S, N⟩ over N ⪰ 0, tr N = 1, ⟨A_t, N⟩ = 0
for these rows, which is λ_min(S) on the face, but may be reached for infinite z only. A price has to be finite: the
interior point of this program passes through finite z that come as near.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.certificates.constrained.slack import slack_operator
from psdopt.constraints.allowed import Allowed
from psdopt.constraints.central_path.interior_steps import path
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.conic import Conic
from psdopt.constraints.faces.face import Face
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import Array, as_dense
from psdopt.linalg.definite import factor_above
from psdopt.linalg.limits import FACTOR_ORDER
from psdopt.linalg.tolerances import SLIGHT


def handed_out(
    problem: ConstrainedModel, evaluation: Evaluation, y: Array, own: Array, low: float, allowed: float
) -> Array:
    """y with multipliers of the rows that vanish on the face for which λ_min(S) >= −`allowed`.

    `low` : a lower bound on λ_min(S) on the face. If it is negative, the dual bound needs tr M <= τ; then −`low` times
    the multipliers that bound the trace is added to y, which does not change the dual bound. The method's multipliers
    `own` of the constraints that define the face are tried first, then those along the path. `y` itself is returned
    without a face, if nothing suffices, and beyond order 3,000. Cost: a Cholesky factor of S for each; a step of the
    interior point with k + 1 rows of order n for those of the path, for k free rows.
    """
    face, forms = problem.face, problem.forms
    if face is None or forms is None or problem.n > FACTOR_ORDER:
        return y
    limit = problem.trace_limit
    if limit is not None and limit.weights is not None:
        y = y - min(low, 0.0) * limit.weights
    theirs = y.copy()
    theirs[face.rows] = problem.admissible(own)[face.rows]
    for candidate in chain([y, theirs], _lifted(problem, forms, face, evaluation, y)):
        S = _dense(slack_operator(problem, evaluation, candidate), problem.n)
        if factor_above(S, -allowed) is not None:
            return candidate
    return y


def _lifted(
    problem: ConstrainedModel, forms: SparseForms, face: Face, evaluation: Evaluation, y: Array
) -> Iterator[Array]:
    """y + z along the path of the interior point to the greatest λ_min(S + Σ z_t A_t)."""
    n, (free, lower, upper) = problem.n, _free(problem, forms, face)
    S = _dense(slack_operator(problem, evaluation, y), n)
    diagonal = sp.csr_array(np.ones((1, n)))
    B = sp.block_array([[free @ forms.B, None], [None, diagonal]], format="csr")
    places = np.append(forms.i, np.arange(n)), np.append(forms.j, np.arange(n))
    allowed = Allowed(np.append(lower, 1.0), np.append(upper, 1.0))
    form = StandardForm(Conic(sp.csr_array(S), 0.0, SparseForms(*places, B, n), allowed))
    for at in path(form, 1.0 - SLIGHT):
        yield y + free.T @ form.multipliers(at.v)[:-1]


def _free(problem: ConstrainedModel, forms: SparseForms, face: Face) -> tuple[sp.csr_array, Array, Array]:
    """Combinations w (k, m) with wᵀb = 0 and A*(w) = 0 on the face, those that define it and single rows; and the
    bounds (k,) of ⟨A*(w), N⟩, zero or infinite."""
    rows = face.rows
    if problem.carried is not None:
        zero = (problem.lower == 0.0) & (problem.upper == 0.0)
        rows = np.union1d(rows, np.flatnonzero(zero & (problem.carried.norms == 0.0)))
    single = sp.csr_array((np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=(len(rows), forms.size))
    several = sp.csr_array(sp.vstack([weights[np.diff(weights.indptr) > 1] for weights in face.stages]))
    lower = np.where(problem.lower[rows] == 0.0, 0.0, -np.inf)
    upper = np.where(problem.upper[rows] == 0.0, 0.0, np.inf)
    zeros = np.zeros(several.shape[0])
    return sp.csr_array(sp.vstack([single, several])), np.append(lower, zeros), np.append(upper, zeros)


def _dense(S: Any, n: int) -> Array:
    return as_dense(S) if isinstance(S, (np.ndarray, sp.csr_array)) else np.asarray(S @ np.eye(n))
