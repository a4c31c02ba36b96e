"""Multipliers nearby for which S = ∇F(M) + A*(w) is definite, where that of the multipliers at hand is nearly so."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from psdopt.certificates.certificate import Certificate
from psdopt.constraints import Constrained
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array, norm, with_data
from psdopt.linalg.least_squares import least_squares
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.linalg.tolerances import rounding

#: Sizes of the multiple of I that S is brought near to, in units of |S| / √n.
MULTIPLES = (0.0, 0.1, 1.0, 10.0)
#: Steps inward, as multiples of the one after which S is singular.
STEPS = (1.5, 10.0, 100.0)


def inward(problem: Problem, certificate: Certificate) -> list[Array]:
    """Multipliers (m,) a little inside of those of the certificate, the nearest first; none if none are found.

    S is affine in w. Of the w with S(w) nearest to k I, for a few k, the one with the largest λ_min(S) gives the
    direction; a step along it from the multipliers with λ_min(S) < 0 makes S definite after a share
    −λ_min / (λ' − λ_min) of the way, λ' at its end. Cost: two sparse least-squares problems, a few spectra.
    """
    known = certificate.constraints
    if known is None or known.on_face or not isinstance(problem, Constrained) or problem.n > SPECTRUM_ORDER:
        return []
    forms, w = problem.forms, known.multipliers
    if forms is None or certificate.lower_bound >= 0.0:
        return []
    given = certificate.slack()
    S = given.toarray() if isinstance(given, sp.csr_array) else np.asarray(given)
    weights = np.sqrt(forms.halves)  # so that |A*(w)|_F is a plain norm
    rows = np.repeat(problem.scale, np.diff(forms.B.indptr))
    columns = with_data(forms.B, forms.B.data * weights[forms.B.indices] * rows).T
    toward = problem.scale * least_squares(columns, (forms.i == forms.j) / weights)
    least = problem.scale * least_squares(columns, -S[forms.i, forms.j] / weights)
    size, best, low = norm(S) / np.sqrt(problem.n), None, 0.0
    for multiple in MULTIPLES:
        end = problem.admissible(w + least + multiple * size * toward)
        there = S.copy()
        forms.add_to(there, end - w)
        value = float(np.linalg.eigvalsh(there)[0])
        if value > low + rounding(size, problem.n):  # of equal ones the nearest
            best, low = end, value
    if best is None:
        return []
    share = -certificate.lower_bound / (low - certificate.lower_bound)
    return [w + min(step * share, 1.0) * (best - w) for step in STEPS]
