"""Multipliers for the user if feasible M lie on a face of the cone: finite ones for which S ⪰ 0 to tolerance.

Proofs need S only on the face. Off it S + t A*(w) grows with t for the combinations w, A*(w) ⪰ 0 and wᵀb = 0, that
define the face: the bound −σ(y) stays, and λ_min rises to zero as t goes to infinity. A price has to be finite, so t
has to be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.certificates.constrained.slack import slack_operator
from psdopt.constraints.faces.face import Face
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import Array, as_dense, norm
from psdopt.linalg.definite import factor_above
from psdopt.linalg.limits import FACTOR_ORDER

#: Multiples t of the combinations, in units of |S| / |A*(w)|; the smallest sufficient t is used.
MULTIPLES = 10.0 ** np.arange(9)


def handed_out(
    problem: ConstrainedModel, evaluation: Evaluation, y: Array, own: Array, low: float, allowed: float
) -> Array:
    """y + Σ_k t^(K−k) w_k for the K stages of the face, with the least t at which λ_min(S) >= −`allowed`.

    `low` : a lower bound on λ_min(S) on the face. If it is negative, the dual bound needs tr M <= τ; then −`low` times
    the multipliers that bound the trace is added to y, which does not change the dual bound. If no t suffices, the
    constraints that define the face get the method's multipliers `own`, provided that S is then semidefinite. `y`
    itself is returned without a face, if nothing suffices, and beyond order 3,000. Earlier stages get higher powers of
    t, because each has to compensate for what the later ones do off their face. Cost: a Cholesky factor of S for each
    candidate, at most eleven.
    """
    face, forms = problem.face, problem.forms
    if face is None or forms is None or problem.n > FACTOR_ORDER:
        return y
    limit = problem.trace_limit
    if limit is not None and limit.weights is not None:
        y = y - min(low, 0.0) * limit.weights
    S = _dense(slack_operator(problem, evaluation, y), problem.n)
    if factor_above(S, -allowed) is not None:
        return y
    theirs = y.copy()
    theirs[face.rows] = problem.admissible(own)[face.rows]
    for candidate in (*_raised(face, forms, y, norm(S)), theirs):
        S = _dense(slack_operator(problem, evaluation, candidate), problem.n)
        if factor_above(S, -allowed) is not None:
            return candidate
    return y


def _raised(face: Face, forms: SparseForms, y: Array, unit: float) -> list[Array]:
    """y + Σ_k t^(K−k) w_k for each t, in units of |A*(w_k)|; `unit` is |S|."""
    steps = [np.asarray(weights.sum(axis=0), dtype=np.float64) for weights in face.stages]
    sizes = [norm(forms.matrix(w).data) for w in steps]
    if min(sizes) == 0.0:
        return []
    powers = [[unit * t ** (len(steps) - k) / size for k, size in enumerate(sizes)] for t in MULTIPLES]
    return [y + np.array(row) @ np.array(steps) for row in powers]


def _dense(S: Any, n: int) -> Array:
    return as_dense(S) if isinstance(S, (np.ndarray, sp.csr_array)) else np.asarray(S @ np.eye(n))
