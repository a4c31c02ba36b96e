"""Newton's method on Lagrange's conditions, for quadratic losses of measurements: the parts that methods share.

F(M) = constant + tr(C M) + Σ_t phi_t(⟨A_t, M⟩), each phi_t quadratic, is stationary at M = Y Yᵀ where S(w) Y = 0 with
multipliers w_t = phi_t'(⟨A_t, M⟩) and S(w) = C + Σ_t w_t A_t. A Newton method takes Y and w as independent unknowns.
"""

from psdopt.multipliers.arc import arc_of_inner, arc_polynomial, first_minimizer
from psdopt.multipliers.constrained_fit import ConstrainedFit, OffersConstrainedFit, constrained_fit_of
from psdopt.multipliers.quadratic_fit import Coupled, OffersQuadraticFit, QuadraticFit, quadratic_fit_of
from psdopt.multipliers.system import LagrangeSystem, solver_of

__all__ = [
    "ConstrainedFit",
    "Coupled",
    "LagrangeSystem",
    "OffersConstrainedFit",
    "OffersQuadraticFit",
    "QuadraticFit",
    "arc_of_inner",
    "arc_polynomial",
    "constrained_fit_of",
    "first_minimizer",
    "quadratic_fit_of",
    "solver_of",
]
