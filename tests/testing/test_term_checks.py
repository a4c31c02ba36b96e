"""Terms, losses and measurements by themselves: all shipped ones pass, and what a problem would hide is found."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from psdopt.constraints.measurements import SparseForms, Stacked, Trace
from psdopt.linalg.operators import LinearMap
from psdopt.problems import TermSum
from psdopt.terms.forms import GramForm, IdentityForm, MatrixForm
from psdopt.terms.losses import HalfSquaredOneSided, LeastSquares, Linear, SquaredHinge
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries, PairDistances, QuadraticForms, TripletDifferences
from psdopt.terms.quadratic import LinearTerm, ProductTerm
from psdopt.testing import parametrize_with_checks, run_checks
from psdopt.testing.gallery import with_spectrum
from tests.testing.zoo.measured import SizeUnsaid
from tests.testing.zoo.terms import LineConstant, LineSlope

RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 5))
A, C = with_spectrum(np.linspace(0.5, 2.0, 5), 1), with_spectrum(np.linspace(-2.0, 1.0, 5), 2)
LEFT, RIGHT, FAR = np.array([0, 1, 2, 5]), np.array([1, 4, 3, 6]), np.array([2, 0, 7, 4])
LOSSES = [
    LeastSquares(0.7),
    LeastSquares(np.linspace(0.0, 1.0, 5), np.linspace(0.5, 1.0, 5)),
    SquaredHinge(1.0),
    SquaredHinge(np.linspace(0.5, 1.0, 4), -1.0),
    HalfSquaredOneSided(np.linspace(0.0, 1.0, 6), np.resize([-1, 0, 1], 6)),
    Linear(np.linspace(-1.0, 1.0, 3)),
    LeastSquares(np.linspace(0.0, 1.0, 12_000)),
    SquaredHinge(np.linspace(0.5, 1.0, 12_000)),
]
MEASUREMENTS = [
    QuadraticForms(X),
    QuadraticForms(csr_array(X)),
    PairDistances(LEFT, RIGHT, X),
    PairDistances(LEFT, RIGHT, n=8),
    TripletDifferences(LEFT, RIGHT, FAR, X),
    Entries(LEFT, RIGHT, 8),
    Trace(5),
    SparseForms.of([A, C, np.diag(np.arange(5.0))]),
    SparseForms([0, 1, 1], [1, 0, 1], [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], 6),
    Stacked([Trace(8), Entries(LEFT, RIGHT, 8), PairDistances(LEFT, RIGHT, n=8)]),
]
TERMS = [
    ProductTerm(MatrixForm(LinearMap(A, "A")), IdentityForm(5)),
    ProductTerm(GramForm(LinearMap(X, "X")), GramForm(LinearMap(X, "X")), 0.3),
    LinearTerm(MatrixForm(LinearMap(C, "C")), 2.0),
    MeasuredTerm(PairDistances(LEFT, RIGHT, X), SquaredHinge(2.0), 0.5),
    MeasuredTerm(Entries(LEFT, RIGHT, 8), LeastSquares(np.linspace(0.0, 1.0, 4)), -0.5),
]


@parametrize_with_checks(TERMS)
def test_terms(check):
    check()


@parametrize_with_checks(MEASUREMENTS)
def test_measurements(check):
    check()


@parametrize_with_checks(LOSSES)
def test_losses(check):
    check()


@pytest.mark.parametrize("cls", [LineSlope, LineConstant])
def test_a_problem_of_polynomials_hides_a_wrong_line_and_its_terms_show_it(cls):
    records = run_checks(TermSum([cls()]))
    failed = {record.name for record in records if not record.ok}
    assert "problem.line_model" not in failed
    assert "problem.terms" in failed
    (record,) = (record for record in records if record.name == "problem.terms")
    assert "term.line_model fails on term 0" in record.diagnosis


def test_the_slope_is_named():
    (record,) = run_checks(LineSlope(), only=["term.line_model"])
    assert record.diagnosis.startswith("the slope of the line at mu = 0 is")


def test_a_loss_without_its_size_is_found_out_through_a_problem():
    term = MeasuredTerm(QuadraticForms(RNG.standard_normal((7, 4))), SizeUnsaid())
    records = {record.name: record for record in run_checks(TermSum([term]), only=["problem.terms"])}
    assert "loss.any_number" in records["problem.terms"].diagnosis
