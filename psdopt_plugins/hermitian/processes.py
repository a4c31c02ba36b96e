"""Process tomography: the Choi matrix of a channel on q qubits, trace-preserving, from its Pauli transfer matrix."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from psdopt import Ability, Constrained, DualNewton, PSDCone, QuadraticSDP, TermSum, solve
from psdopt.checks import real_array
from psdopt.constraints import Constraint
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import Array, complex_array
from psdopt.terms import LeastSquares, MeasuredTerm
from psdopt_plugins.estimators import finished
from psdopt_plugins.hermitian.pauli import PauliStrings
from psdopt_plugins.hermitian.states import HermitianEstimate


def process_problem(transfer: Any) -> Constrained:
    """½ Σ_ij (R_ij(J) − R_ij)² over Choi matrices J ⪰ 0 (d², d²), d = 2^q, with tr_out J = I: trace is preserved.

    R_ij = tr(P_i E(P_j)) / d, the Pauli transfer matrix of the channel E, with strings in the order of
    ``itertools.product("IXYZ", repeat=q)``, is linear in J = Σ_kl |k⟩⟨l| ⊗ E(|k⟩⟨l|): R_ij(J) = ⟨P_jᵀ ⊗ P_i, J⟩ / d.
    Where all R_ij are known, F is ½ |J − G|², G the matrix with this R, in the real form |M − Ĝ/2|² (M of order 2 d²,
    its least value where M keeps J in equal blocks), so that the nearest channel is found by Newton's method on
    the 4^q multipliers.

    Parameters
    ----------
    transfer : (4^q, 4^q) measured R, NaN where it was not measured.

    Raises
    ------
    InvalidInputError for another shape, infinite entries, or all NaN.
    """
    R = real_array(transfer, "transfer")
    if R.dtype.kind not in "biuf":
        raise InvalidTypeError(f"transfer must hold real numbers; found dtype {R.dtype}")
    R = R.astype(np.float64)
    q = (len(R).bit_length() - 1) // 2 if R.ndim == 2 and R.shape[0] == R.shape[1] else 0
    if q == 0 or len(R) != 4**q:
        raise InvalidInputError(f"transfer must be (4^q, 4^q) for q qubits, q >= 1; found shape {R.shape}")
    known = ~np.isnan(R)
    if np.any(np.isinf(R)) or not known.any():
        found = "only NaN" if not known.any() else "infinite entries"
        raise InvalidInputError(f"transfer must hold finite numbers, NaN where unknown; found {found}")
    d = 2**q
    letters, strings, signs = _transfer_strings(q)
    target = np.where(known, R, 0.0).ravel() * signs
    preserved = PauliStrings([b + "I" * q for b in letters])
    traces = d * np.eye(1, len(letters))[0]
    constraint = Constraint(preserved, traces, traces, name="trace-preserving")
    if known.all():
        real, imaginary = PauliStrings(strings).parts(target / d)
        G = np.block([[real, -imaginary], [imaginary, real]])
        return Constrained(QuadraticSDP(B=1.0, C=-0.5 * G, constant=0.5 * float(target @ target)), constraint)
    measured = np.flatnonzero(known.ravel())
    loss = LeastSquares(d * target[measured], np.full(len(measured), 1.0 / d**2))
    term = MeasuredTerm(PauliStrings([strings[k] for k in measured]), loss, 0.5)
    return Constrained(TermSum([term]), constraint)


def process_tomography(transfer: Any, **options: Any) -> HermitianEstimate:
    """The channel nearest to a measured Pauli transfer matrix: :func:`process_problem`, solved.

    The matrix is the Choi matrix J; `options` : of :func:`psdopt.solve`. A ConvergenceWarning where the run does not
    converge.
    """
    problem = process_problem(transfer)
    chosen = any(options.get(name) is not None for name in ("geometry", "method"))
    if Ability.NEAREST not in problem.abilities and not chosen:
        # measured strings are orthogonal, so that F is curved evenly in all that was measured
        options = {**options, "geometry": PSDCone(problem.n), "method": DualNewton()}
    result = finished(solve(problem, **{"rng": 0, **options}))
    return HermitianEstimate(result.matrix.hermitian(), result)


def transfer_matrix(factor: Any) -> Array:
    """R (4^q, 4^q), real, of the channel with the Choi matrix Z Z*, `factor` Z (d², k): columns are Kraus operators.

    Column k holds ⟨b| K |a⟩ at a d + b. R_ij = tr(P_i E(P_j)) / d.
    """
    Z = complex_array(factor, "factor")
    q = (len(Z).bit_length() - 1) // 2 if Z.ndim == 2 else 0
    if q == 0 or len(Z) != 4**q:
        raise InvalidInputError(f"factor must be (4^q, k) for q qubits, q >= 1; found shape {Z.shape}")
    letters, strings, signs = _transfer_strings(q)
    return np.asarray(signs * PauliStrings(strings).of(Z) / 2**q).reshape(len(letters), -1)


def _transfer_strings(q: int) -> tuple[list[str], list[str], Array]:
    """The 4^q strings P_i; those P_j ⊗ P_i of the R_ij, by rows; and the signs of P_jᵀ = ± P_j, since Yᵀ = −Y."""
    letters = ["".join(each) for each in product("IXYZ", repeat=q)]
    signs = np.tile([(-1.0) ** each.count("Y") for each in letters], len(letters))
    return letters, [b + a for a in letters for b in letters], signs
