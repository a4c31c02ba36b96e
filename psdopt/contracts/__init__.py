"""The contracts between the pieces: problem, geometry, method, their abilities, and M as a factor.

The public names here are the forms in which a problem offers F to Newton's method on Lagrange's conditions; all other
public names are in ``psdopt`` itself.
"""

from psdopt.contracts.constrained_fit import ConstrainedFit, OffersConstrainedFit, constrained_fit_of
from psdopt.contracts.quadratic_fit import Coupled, OffersQuadraticFit, QuadraticFit, quadratic_fit_of

__all__ = [
    "ConstrainedFit",
    "Coupled",
    "OffersConstrainedFit",
    "OffersQuadraticFit",
    "QuadraticFit",
    "constrained_fit_of",
    "quadratic_fit_of",
]
