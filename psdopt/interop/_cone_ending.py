"""Cone programs without an optimum: what a run's proofs say, whether any point is feasible, and where F may fall."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

import numpy as np
import scipy.sparse as sp

from psdopt.certificates.certificate import Certificate
from psdopt.constraints import Constrained
from psdopt.contracts.problem import Problem
from psdopt.interop._cone_forms import DualForm, PrimalForm
from psdopt.interop._cone_objective import coefficients, square_root
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_proofs import cleared, falls, refutes
from psdopt.linalg.arrays import Array
from psdopt.linalg.extreme import smallest_eigenpair
from psdopt.linalg.tolerances import rounding


class Ending(Enum):
    """What is proven of a program without an optimum, in CVXPY's words; EITHER: a ray is known, but no point."""

    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    EITHER = "infeasible_or_unbounded"


def proofs(
    form: PrimalForm | DualForm, problem: Problem, certificate: Certificate | None
) -> tuple[Array | None, Array | None, bool]:
    """(y, x, empty) for the program of `form` from a run on its `problem`, confirmed by the program's own numbers.

    y (R,) : Aᵀy = 0, bᵀy < 0, y in the dual cones: no x is feasible. x (N,) : P x = 0, cᵀx < 0, −A x in the cones: from
    every feasible point the objective falls without end. None if the run found no such proof. empty : whether it is
    proven that no x is feasible, by y, or on a face of the cone, where no y may exist.
    """
    w = D = None
    if certificate is not None and certificate.constraints is not None:
        w, D = certificate.constraints.infeasibility_proof, certificate.constraints.ray
    elif certificate is not None and form.program.P is None and not form.swapped:
        D = certificate.eigenvector[:, None]  # of ∇F, which is C
    refutation = None if w is None else form.refutation(_semidefinite(problem, w))
    direction = None if D is None else form.direction(np.asarray(D))
    y, x = (direction, refutation) if form.swapped else (refutation, direction)
    tried = () if y is None else (y, cleared(form.program, y))
    y = next((each for each in tried if refutes(form.program, each)), None)
    x = x if x is not None and falls(form.program, x) else None
    return y, x, y is not None or (w is not None and not form.swapped)


def _semidefinite(problem: Problem, w: Array) -> Array:
    """w with A*(w) ⪰ 0. If the proof is σ(w) < λ_min(A*(w)) τ, the multipliers v that bound the trace are added to it:

    with A*(v) ⪰ I, σ(v) = τ and λ = λ_min(A*(w)) < 0, A*(w − λ v) ⪰ 0 and σ(w − λ v) <= σ(w) − λ τ < 0.
    """
    if not isinstance(problem, Constrained) or problem.forms is None:
        return w
    limit = problem.trace_limit
    if limit is None or limit.weights is None:
        return w
    low = smallest_eigenpair(problem.forms.matrix(w), scale="norm").lower_bound
    return w - min(low, 0.0) * limit.weights


def feasibility(program: ConeProgram) -> PrimalForm:
    """The search for any feasible point of `program`."""
    return PrimalForm(replace(program, c=np.zeros(len(program.c)), P=None, log_dets=()))


def refutation(program: ConeProgram) -> DualForm:
    """The search for y with Aᵀy = 0, bᵀy < 0, y in the dual cones: min bᵀy has an interior point for this objective."""
    i, j = program.places()
    inside = np.concatenate([np.zeros(program.zero), np.ones(program.nonneg), np.where(i == j, 1.0, 0.0)])
    return DualForm(replace(program, c=-np.asarray(program.A.T @ inside), P=None, log_dets=()))


def may_fall(form: PrimalForm | DualForm, problem: Problem) -> bool:
    """False where a linear part that is zero or PSD, or a bound on tr M, keeps the objective from falling without end.

    False for linear objectives, whose methods find such directions themselves. Cost: eigenvalues of C (n, n).
    """
    if form.program.P is None or (isinstance(problem, Constrained) and problem.trace_limit is not None):
        return False
    linear = form.costs if isinstance(form, PrimalForm) else np.zeros(0)
    if not np.any(linear):
        return False
    C = coefficients(linear, form.i, form.j, form.n)
    values = np.linalg.eigvalsh(C.toarray() if isinstance(C, sp.csr_array) else C)
    return bool(values[0] < -rounding(np.max(np.abs(values)), form.n**2))


def recession(program: ConeProgram) -> ConeProgram:
    """min cᵀx with V x = 0, P = VᵀV, −A x in the cones: unbounded where the objective falls along a ray, else zero.

    V has as many rows as P has rank; P itself, with rounding in its rows, may seem to be of full rank.
    """
    V = sp.csr_array((0, len(program.c))) if program.P is None else square_root(program.P)
    flat = sp.csr_array(sp.diags_array(1.0 / abs(V).sum(axis=1)) @ V) if V.shape[0] else V  # for any size of P
    A = sp.csr_array(sp.vstack([program.A[: program.zero], flat, program.A[program.zero :]], format="csr"))
    zero = program.zero + flat.shape[0]
    return ConeProgram(program.c, None, A, np.zeros(A.shape[0]), zero, program.nonneg, program.psd)
