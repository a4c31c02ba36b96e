"""Lagrange's conditions of a quadratic fit, linearised and damped: one system of the order of the measurements."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotri

from psdopt.contracts.quadratic_fit import Block, Coupled
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.definite import factor_above
from psdopt.linalg.tolerances import EPS

#: If S(w) + damping I is indefinite, this multiple of |λ_min(S(w))| is added to the damping.
MARGIN = 1.05


class LagrangeSystem:
    """The linear system in (X, v), X (n, r) a move of Y and v (m,) one of the multipliers w,

        (S(w) + delta I) X + Σ_t v_t A_t Y = R,   v_t / h_t − 2 ⟨A_t, Y Xᵀ⟩ = q_t.

    X is eliminated: with G = (S(w) + delta I)⁻¹ and B = Y Yᵀ what remains is positive definite of order m,

        (diag(1/h)/2 + [tr(A_s B A_t G)]) v = q/2 + [⟨A_t, Y (G R)ᵀ⟩],

    however many columns Y has. `pull` is S(w) Y. delta is `damping`, or larger if S(w) + damping I is indefinite. Cost:
    n³ + m³/3 + 4 m² + 4 n² r; memory n² and `work` (m, m), which must not be reused while the system is in use.

    Raises numpy.linalg.LinAlgError where rounding leaves no definite matrix.
    """

    def __init__(self, fit: Coupled, Y: Block, factor: Array, w: Array, damping: float, work: Array) -> None:
        self.fit, self.Y = fit, Y
        S = fit.gradient(w)
        self.pull = S @ factor
        self.delta, self._inverse = damped_inverse(S, damping)
        self._solve = fit.solver(factor @ factor.T, self._inverse, work)

    def newton(self, w: Array, own: Array) -> tuple[Array, Array]:
        """(X, w + v) for R = −S(w) Y and q = (`own` − w)/h, `own` = phi'(a): S(w + v) (Y + X) = 0 to first order.

        The measurements' rates of change are 2 ⟨A_t, Y Xᵀ⟩ = (w + v − own)_t / h_t.
        """
        held = -(self.pull.T @ self._inverse).T  # for few columns in half the time of the product from the left
        X, v = self.bend((own - w) / self.fit.curvatures + 2.0 * self.fit.pair(self.Y, self.fit.block(held)))
        return np.add(X, held, out=X), w + v

    def bend(self, stretch: Array) -> tuple[Array, Array]:
        """(Z, v) for R = 0 and q = `stretch`, ⟨A_t, X Xᵀ⟩ (m,): the second-order part that Newton's move leaves out.

        Along the arc Y + mu X + mu² Z the coefficients of mu² in the measurements are v_t / h_t.
        """
        v = self._solve(0.5 * stretch)
        Z = (self.fit.force(v, self.Y).T @ self._inverse).T
        return np.negative(Z, out=Z), v


def damped_inverse(S: Array, damping: float) -> tuple[float, Array]:
    """(delta, (S + delta I)⁻¹)."""
    try:
        return damping, _shifted_inverse(S, damping)
    except np.linalg.LinAlgError:
        delta = damping + MARGIN * max(-float(np.linalg.eigvalsh(S)[0]), 0.0) + len(S) * EPS * norm(S)
        return delta, _shifted_inverse(S, delta)


def _shifted_inverse(S: Array, delta: float) -> Array:
    found = factor_above(S, -delta)
    if found is None:
        raise np.linalg.LinAlgError("the gradient cannot be shifted to a definite matrix")
    half = np.triu(dpotri(found[0], lower=0, overwrite_c=1)[0])
    half.reshape(-1)[:: len(S) + 1] *= 0.5
    return np.asarray(half + half.T)
