"""Building blocks of objectives: F(M) = Σ_k f_k(M), each term computed from images of a factor."""

from psdopt.terms.base import Term
from psdopt.terms.forms import Form, GramForm, IdentityForm, MatrixForm, SumForm
from psdopt.terms.losses import HalfSquaredOneSided, LeastSquares, Linear, SquaredHinge
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries, PairDistances, QuadraticForms, TripletDifferences
from psdopt.terms.quadratic import LinearTerm, ProductTerm

__all__ = [
    "Entries",
    "Form",
    "GramForm",
    "HalfSquaredOneSided",
    "IdentityForm",
    "LeastSquares",
    "Linear",
    "LinearTerm",
    "MatrixForm",
    "MeasuredTerm",
    "PairDistances",
    "ProductTerm",
    "QuadraticForms",
    "SquaredHinge",
    "SumForm",
    "Term",
    "TripletDifferences",
]
