"""A lower bound on min F without a bound on tr M: the least value of Lagrange's function on the cone.

For feasible N, F(N) >= L(N) − σ(y) with L(N) = F(N) + ⟨A*(y), N⟩, and a curved L may be bounded on all N ⪰ 0.
"""

from __future__ import annotations

import numpy as np

from psdopt.certificates.constrained.cancellation import exact_adjoint, most_support
from psdopt.certificates.constrained.slack import adjoint_operator
from psdopt.certificates.curved_bound import curved_gap
from psdopt.certificates.dense_proof import DenseProof
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.abilities import Ability
from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.problem import Problem
from psdopt.devices import matrix_on, on_host
from psdopt.linalg.arrays import Array
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.limits import SPECTRUM_ORDER
from psdopt.problems.composite import Composite
from psdopt.problems.term_sum import TermSum
from psdopt.terms.quadratic import LinearTerm


def cone_bound(problem: ConstrainedModel, Y: Array, y: Array, most: float) -> float | None:
    """A lower bound on F(N) for all feasible N, less than `most` below L(M) − σ(y); None if none is found.

    The curvature of L at M = Y Yᵀ (:mod:`psdopt.certificates.curved_bound`) or a matrix near M
    (:class:`~psdopt.certificates.dense_proof.DenseProof`) gives it for convex curved F of an order up to 500, or 1500
    if F is quadratic and its data are on the host; on a face with basis W they are of L(W N Wᵀ). A spectrum or a few
    factorisations; y (m,) must be admissible.
    """
    face = problem.face
    if Ability.CONVEX not in problem.abilities or problem.central is not None or problem.n > SPECTRUM_ORDER:
        return None  # the bounds of linear F and of log dets need no matrix
    if problem.device is not None and problem.n > DENSE_LIMIT:
        return None
    if problem.forms is None:
        A = on_host(adjoint_operator(problem, y) @ np.eye(problem.n))
    else:
        A = exact_adjoint(problem.forms, y).toarray()
    F: Problem = problem.problem
    if face is not None:
        W = face.within
        if problem.only_zero or W is None:
            return None
        F, Y, A = problem.on_face, np.asarray(W.T @ Y), W.T @ (A @ W)
    A = 0.5 * (A + A.T)
    L = _plus_linear(F, A if problem.device is None else matrix_on(problem.device, A))
    evaluation = L.at(Y)
    S = dense_gradient(evaluation)
    Y = on_host(Y)
    gaps = [gap for each in evaluation.curvatures() if (gap := curved_gap(S, Y, each, most=most)) < most]
    if not gaps and (gap_near := DenseProof(evaluation, S).gap(most)) is not None:
        gaps = [gap_near]
    return float(evaluation.value) - min(gaps) - most_support(problem, y) if gaps else None


def _plus_linear(F: Problem, A: Array) -> Problem:
    """F + ⟨A, ·⟩."""
    term = LinearTerm(A)
    if isinstance(F, TermSum) and type(F).at is TermSum.at:
        return TermSum([*F.terms, term], F.constant)
    return Composite([F, TermSum([term])])
