"""Rays of the feasible set along which a linear F falls: the proof that F is unbounded where M is feasible."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from psdopt.constraints.faces.face import Face
from psdopt.constraints.feasible import least_move
from psdopt.constraints.limits import CANCELLED
from psdopt.constraints.model import ConstrainedModel
from psdopt.linalg.arrays import Array, inner, norm, row_dots
from psdopt.linalg.limits import MOST_STEPS
from psdopt.linalg.tolerances import EPS, MINOR, SLIGHT


def proven_ray(problem: ConstrainedModel, candidate: Array | None) -> Array | None:
    """Y (n, k), D = Y Yᵀ of length one near `candidate` with ⟨C, D⟩ < 0, and M + t D feasible for feasible M, t >= 0.

    The conditions are ⟨A_t, D⟩ <= 0 for finite upper bounds and >= 0 for finite lower ones, and A(D) in the cones, if
    there are any. The candidate is projected
    to the face on which conditions with a semidefinite A_t hold, and moved onto the others by Newton's method on Y, so
    that D stays semidefinite. The remaining violation must be rounding of ⟨A_t, D⟩, whose terms are as large as
    |A_t,ij| √(D_ii D_jj), and the fall of F must be clearly larger. With −ν log det of blocks in F, a D that has
    entries in such a block and none where C has is enough. None if no such D is found, if F has another form, or if
    tr M is known to be bounded.
    """
    conic = problem.central
    if candidate is None or conic is None or problem.trace_limit is not None:
        return None
    size = norm(candidate)
    face = problem.recession_face
    if not (math.isfinite(size) and size > 0.0) or (face is not None and face.order == 0):
        return None
    for start in _candidates(candidate / size):
        Y = _onto_cone(problem, face, start)
        if Y is not None and _falls(problem, Y):
            return Y / math.sqrt(norm(Y.T @ Y))
    return None


def shown_feasible(problem: ConstrainedModel, Y: Array) -> bool:
    """Whether some M is feasible beyond doubt: M = 0, Y Yᵀ, or a matrix that is sought without regard to F.

    Along a ray, M may meet constraints in the limit that no M meets: if M_ii = 0 is violated by v, M_ij may be √(v tr
    M). With the largest violation v, for |A_t| = 1, this size must be minor beside what the constraints demand.
    """
    demanded = norm(problem.scale * problem.allowed.nearest(np.zeros(problem.m)))

    def meets(Y: Array) -> bool:
        v = norm(problem.scale * problem.violation(problem.measured(Y)))
        return math.sqrt(v) * norm(Y) <= MINOR * demanded

    if demanded == 0.0 or meets(Y):
        return True
    N = problem.feasible_factor
    return N is not None and meets(N)


def _candidates(Y: Array) -> list[Array]:
    """Y, Y without its small rows, and both without their small columns in an orthogonal basis."""
    sizes = np.sqrt(row_dots(Y, Y))
    kept = np.where((sizes >= MINOR * sizes.max())[:, None], Y, 0.0)
    found = [kept, Y]
    for each in (kept, Y):
        U, s, _ = np.linalg.svd(each, full_matrices=False)
        few = int(np.count_nonzero(s >= MINOR * s[0]))
        if few < len(s):
            found.insert(0, U[:, :few] * s[:few])
    return found


def _onto_cone(problem: ConstrainedModel, face: Face | None, Y: Array) -> Array | None:
    """A factor near Y whose D meets the conditions to rounding; None where Newton's method does not lead to one."""
    along = problem.allowed.recession()
    conic = problem.central
    assert conic is not None
    forms = conic.forms
    allowed = _lost(problem)
    before = math.inf
    for _ in range(MOST_STEPS):
        Y = Y if face is None else face.onto(Y)
        sizes = forms.sizes(np.sqrt(row_dots(Y, Y)))
        a = problem.measured(Y)
        off = along.violation(a)
        if np.all(np.abs(off) <= allowed * sizes):
            return Y
        now = norm(problem.scale * off)
        if not now < 0.5 * before:
            return None
        before = now
        tied = (along.lower == along.upper) | (off != 0.0)
        Y = Y + least_move(problem.measurement, Y, off, np.where(tied, problem.scale, 0.0))
    return None


def _lost(problem: ConstrainedModel) -> float:
    """The rounding of ⟨A_t, D⟩ relative to its terms."""
    return CANCELLED * EPS * math.sqrt(problem.n)


def _falls(problem: ConstrainedModel, Y: Array) -> bool:
    """Whether F falls without end along D: ⟨C, D⟩ < 0, or ⟨C, D⟩ has no terms and a log det grows with D.

    √(rounding of ⟨A_t, D⟩) of |C| |D|, or of the sizes of the terms of ⟨C, D⟩, must be slight beside the fall ⟨C, D⟩.
    If a combination of constraints demands D_ii = 0, D_ii is rounding, and D_ij is of the size of its root.
    """
    conic = problem.central
    assert conic is not None
    C, d = conic.C, np.sqrt(row_dots(Y, Y))
    terms = conic.size(d)
    if terms == 0.0 and conic.weights is not None:
        return norm(d[conic.weights > 0.0]) >= SLIGHT * norm(d)
    size = max(terms, norm(sp.csr_array(C).data) * norm(Y.T @ Y))
    return math.sqrt(_lost(problem)) * size < -SLIGHT * inner(C @ Y, Y)
