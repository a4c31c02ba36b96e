"""Building blocks of objectives: F(M) = Σ_k f_k(M), each term computed from images of a factor."""

from psdopt.terms.base import Forces, Term
from psdopt.terms.combined import Combined
from psdopt.terms.forms import Form, GramForm, IdentityForm, MatrixForm, SumForm
from psdopt.terms.hermitian import embedded, hermitian_form, hermitian_squares
from psdopt.terms.log_det import LogDet
from psdopt.terms.losses import HalfSquaredOneSided, LeastSquares, Linear, Loss, SquaredHinge
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries, Measurement, PairDistances, QuadraticForms, TripletDifferences
from psdopt.terms.models import Curve, PolynomialCurve, QuadraticSurface, Surface
from psdopt.terms.quadratic import LinearTerm, ProductTerm
from psdopt.terms.weighted_gram import WeightedGramForm

__all__ = [
    "Combined",
    "Curve",
    "Entries",
    "Forces",
    "Form",
    "GramForm",
    "HalfSquaredOneSided",
    "IdentityForm",
    "LeastSquares",
    "Linear",
    "LinearTerm",
    "LogDet",
    "Loss",
    "MatrixForm",
    "MeasuredTerm",
    "Measurement",
    "PairDistances",
    "PolynomialCurve",
    "ProductTerm",
    "QuadraticForms",
    "QuadraticSurface",
    "SquaredHinge",
    "SumForm",
    "Surface",
    "Term",
    "TripletDifferences",
    "WeightedGramForm",
    "embedded",
    "hermitian_form",
    "hermitian_squares",
]
