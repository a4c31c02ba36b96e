"""A feasible matrix that the constraints alone determine: Gauss–Newton steps on the factor."""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsqr

from psdopt.constraints.model import ConstrainedModel
from psdopt.images import Images
from psdopt.linalg.arrays import Array, norm
from psdopt.terms.base import combine

#: Violation at which M is feasible, relative to the bounds that exclude 0, else to |M|; most steps towards it.
FEASIBLE, STEPS = 1e-10, 60
#: Steps of LSQR in each, and halvings of a step that does not come nearer.
INNER, HALVINGS = 200, 6
#: Columns of the factor, at least.
FEWEST = 8

_FOUND: WeakKeyDictionary[ConstrainedModel, Array | None] = WeakKeyDictionary()


def feasible_factor(problem: ConstrainedModel) -> Array | None:
    """Y (n, r) with Y Yᵀ feasible, to 1e-10; None where none is found. The same each time, and stored with the problem.

    From a random factor, each step D is the least one with ⟨A_t, Y Yᵀ + 2 Y Dᵀ⟩ within its bounds for every t that is
    an equation or violated. F is not asked, and no scale of a constraint changes Y. Cost: up to 60 solutions by LSQR.
    """
    if problem not in _FOUND:
        _FOUND[problem] = _found(problem)
    return _FOUND[problem]


def _found(problem: ConstrainedModel) -> Array | None:
    if problem.only_zero:
        return None
    n = problem.n
    r = min(n, max(math.isqrt(2 * problem.m) + 1, FEWEST))
    norms = np.where(problem.norms > 0.0, problem.norms, 1.0)
    Y = _on_face(problem, np.random.default_rng(0).standard_normal((n, r)) / math.sqrt(r))
    reached = norm(problem.measured(Y) / norms)
    aimed = norm(np.clip(0.0, problem.lower, problem.upper) / norms)
    if reached > 0.0 and aimed > 0.0:
        Y = Y * math.sqrt(aimed / reached)
    for _ in range(STEPS):
        a = problem.measured(Y)
        off = norm(problem.violation(a) / norms)
        if off <= FEASIBLE * (aimed or norm(Y.T @ Y)):
            return Y
        D = _on_face(problem, _step(problem, Y, a, norms))
        for _ in range(HALVINGS):
            nearer = Y + D
            if norm(problem.violation(problem.measured(nearer)) / norms) < off:
                break
            D = 0.5 * D
        else:
            return None
        Y = nearer
    return None


def _on_face(problem: ConstrainedModel, V: Array) -> Array:
    return V if problem.face is None else problem.face.onto(V)


def _step(problem: ConstrainedModel, Y: Array, a: Array, norms: Array) -> Array:
    """The least D (n, r) with 2 ⟨A_t, Y Dᵀ⟩ = Π(a)_t − a_t, every t in units of |A_t|."""
    v = problem.violation(a)
    scale = np.where((problem.lower == problem.upper) | (v != 0.0), 1.0 / norms, 0.0)
    images = Images(problem.measurement.maps, Y)

    def pull(x: Array) -> Array:
        return combine(problem.measurement.adjoint(scale * x.ravel(), images), Y.shape).ravel()

    def push(D: Array) -> Array:
        return scale * problem.measurement.pair(images, Images(problem.measurement.maps, D.reshape(Y.shape)))

    A = LinearOperator((problem.m, Y.size), matvec=push, rmatvec=pull, dtype=np.float64)
    return np.asarray(lsqr(A, -0.5 * scale * v, atol=1e-14, btol=1e-14, iter_lim=INNER)[0].reshape(Y.shape))
