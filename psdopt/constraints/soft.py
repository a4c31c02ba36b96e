"""Linear terms and squared losses of measurements, as a conic problem whose bounds are all soft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from psdopt.constraints.allowed import Allowed
from psdopt.constraints.conic import Conic
from psdopt.constraints.directed import DirectedForms
from psdopt.constraints.explicit import explicit_forms
from psdopt.constraints.limits import NUMBERS
from psdopt.constraints.measurements import SparseForms, Stacked
from psdopt.contracts.abilities import Ability, offered
from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.problems.term_sum import TermSum
from psdopt.terms.losses import HalfSquaredOneSided
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurement import Measurement
from psdopt.terms.measurements import QuadraticForms


class SoftSize(NamedTuple):
    """What decides how dear an interior point method on :func:`soft_conic` is, and how far it is from being needed.

    `flops` : an estimate for a step. `measurements` : their number m. `sparse` : whether the A_t are known by entries.
    `indexed` : whether measurements gather rows of samples or of Y by indices. `spread` : the ratio of the largest
    weight of the squares to the least positive one.
    """

    flops: float
    measurements: int
    sparse: bool
    indexed: bool
    spread: float


def soft_size(problem: Problem) -> SoftSize:
    """The size of :func:`soft_conic`, which is not formed; IncompatibleError without the ability ``soft-bounds``."""
    n, (_, fits, _) = problem.n, offered(problem, Ability.SOFT_BOUNDS, "psdopt.TermSum")
    count = sum(term.measurement.size for term in fits)
    m, p, sparse = float(count), 0.5 * n * (n + 1), not any(term.maps for term in fits)
    p = min(p, n + m) if sparse else p
    flops = 40.0 * float(n) ** 3 + min(m**3 / 3.0, m * p**2 + p**3)
    indexed = any(not isinstance(term.measurement, QuadraticForms) for term in fits)
    w = np.concatenate([_bounds(term)[2] for term in fits])
    w = w[w > 0.0]
    return SoftSize(flops, count, sparse, indexed, float(w.max() / w.min()) if len(w) else 1.0)


def soft_conic(problem: Problem) -> Conic | None:
    """F(M) = ⟨C, M⟩ + c + Σ_t w_t/2 (what ⟨A_t, M⟩ misses its bound by)², with 1 / w_t as the softness of row t.

    None where C or the A_t have too many entries; IncompatibleError without the ability ``soft-bounds``.
    """
    n, (linear, fits, constant) = problem.n, offered(problem, Ability.SOFT_BOUNDS, "psdopt.TermSum")
    forms = _forms([term.measurement for term in fits])
    if forms is None or n > SPECTRUM_ORDER:
        return None
    C = dense_gradient(TermSum(linear).at(np.zeros((n, 1)))) if linear else np.zeros((n, n))
    lower, upper, w = (np.concatenate(each) for each in zip(*map(_bounds, fits), strict=True))
    unused = w == 0.0
    lower, upper = np.where(unused, -np.inf, lower), np.where(unused, np.inf, upper)
    return Conic(sp.csr_array(C), constant, forms, Allowed(lower, upper), softness=1.0 / np.where(unused, 1.0, w))


def _forms(measurements: Sequence[Measurement]) -> SparseForms | None:
    """The A_t of all measurements: by vectors where all of them are of dense data, else by entries."""
    parts: list[SparseForms | None] = []
    for each in measurements:
        parts.append(DirectedForms.from_measurement(each) if each.maps else explicit_forms(each))
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or sum(part.B.nnz for part in known) > NUMBERS:
        return None
    directed = [part for part in known if isinstance(part, DirectedForms)]
    return DirectedForms.stacked(directed) if len(directed) == len(known) else explicit_forms(Stacked(known))


def _bounds(term: MeasuredTerm) -> tuple[Array, Array, Array]:
    """Lower and upper bounds (m,) that the loss asks for, and its curvature beyond them."""
    loss, ones = term.loss, np.ones(term.measurement.size)
    assert isinstance(loss, HalfSquaredOneSided)
    target, direction = loss.target * ones, loss.direction * ones
    lower, upper = np.where(direction > 0.0, -np.inf, target), np.where(direction < 0.0, np.inf, target)
    return lower, upper, term.weight * loss.beyond * ones
