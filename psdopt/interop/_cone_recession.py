"""Whether a quadratic objective can fall without end: directions x with P x = 0, cᵀx < 0 that stay in the cones."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from psdopt.constraints import Constrained
from psdopt.contracts.problem import Problem
from psdopt.interop._cone_forms import DualForm, PrimalForm
from psdopt.interop._cone_objective import coefficients
from psdopt.interop._cone_program import ConeProgram
from psdopt.linalg.tolerances import rounding


def may_fall(form: PrimalForm | DualForm, problem: Problem) -> bool:
    """False where a linear part that is zero or PSD, or a bound on tr M, keeps the objective from falling without end.

    False for linear objectives, whose methods find such directions themselves. Cost: eigenvalues of C (n, n).
    """
    if form.program.P is None or (isinstance(problem, Constrained) and problem.trace_limit is not None):
        return False
    linear = np.asarray(form.K.T @ form.program.c) if isinstance(form, PrimalForm) else np.zeros(0)
    if not np.any(linear):
        return False
    C = coefficients(linear, form.i, form.j, form.n)
    values = np.linalg.eigvalsh(C.toarray() if isinstance(C, sp.csr_array) else C)
    return bool(values[0] < -rounding(np.max(np.abs(values)), form.n**2))


def recession(program: ConeProgram) -> ConeProgram:
    """min cᵀx with P x = 0 and −A x in the cones: unbounded where the objective falls along a ray, else zero."""
    P = program.P if program.P is not None else sp.csr_array((0, len(program.c)))
    sizes = abs(P).sum(axis=1)
    held = np.flatnonzero(sizes)
    flat = sp.csr_array(sp.diags_array(1.0 / sizes[held]) @ P[held]) if len(held) else P[:0]  # for any size of P
    A = sp.csr_array(sp.vstack([program.A[: program.zero], flat, program.A[program.zero :]], format="csr"))
    zero = program.zero + flat.shape[0]
    return ConeProgram(program.c, None, A, np.zeros(A.shape[0]), zero, program.nonneg, program.psd)
