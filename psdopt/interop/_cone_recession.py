"""Whether a quadratic objective can fall without end: directions x with P x = 0, cᵀx < 0 that stay in the cones."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from psdopt.constraints import Constrained
from psdopt.interop._cone_forms import DualForm, PrimalForm
from psdopt.interop._cone_objective import coefficients, square_root
from psdopt.interop._cone_program import ConeProgram
from psdopt.linalg.tolerances import rounding
from psdopt.problem import Problem


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
    """Any x with P x = 0, cᵀx = −|c| and −A x in the cones: feasible where the objective falls along a ray."""
    V = square_root(program.P) if program.P is not None else sp.csr_array((0, len(program.c)))
    zero = slice(0, program.zero)
    rows = [program.A[zero], V, sp.csr_array(program.c[None, :] / np.linalg.norm(program.c)), program.A[program.zero :]]
    b = np.zeros(len(program.b) + V.shape[0] + 1)
    b[program.zero + V.shape[0]] = -1.0
    A = sp.csr_array(sp.vstack(rows, format="csr"))
    return ConeProgram(np.zeros(len(program.c)), None, A, b, program.zero + V.shape[0] + 1, program.nonneg, program.psd)
