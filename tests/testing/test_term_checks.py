"""Checks of terms and of quotients, against what they must reject."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from psdopt.constraints.measurements import SparseForms, Stacked, Trace
from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Defect
from psdopt.geometries.factor_quotient import FactorQuotient
from psdopt.linalg.operators import LinearMap
from psdopt.problems import TermSum
from psdopt.terms.combined import Combined
from psdopt.terms.forms import GramForm, IdentityForm, MatrixForm
from psdopt.terms.hermitian import hermitian_squares
from psdopt.terms.losses import HalfSquaredOneSided, LeastSquares, Linear, SquaredHinge
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries, PairDistances, QuadraticForms, TripletDifferences
from psdopt.terms.quadratic import LinearTerm, ProductTerm
from psdopt.testing import CheckStatus, parametrize_with_checks, run_checks
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
    Combined(QuadraticForms(X), np.eye(3, 8) - np.eye(3, 8, 4)),
    hermitian_squares(X + 1j * X[::-1]),
    Stacked([Trace(8), Entries(LEFT, RIGHT, 8), PairDistances(LEFT, RIGHT, n=8)]),
]
TERMS = [
    ProductTerm(MatrixForm(LinearMap(A, "A")), IdentityForm(5)),
    ProductTerm(GramForm(LinearMap(X, "X")), GramForm(LinearMap(X, "X")), 0.3),
    LinearTerm(MatrixForm(LinearMap(C, "C")), 2.0),
    MeasuredTerm(PairDistances(LEFT, RIGHT, X), SquaredHinge(2.0), 0.5),
    MeasuredTerm(Entries(LEFT, RIGHT, 8), LeastSquares(np.linspace(0.0, 1.0, 4)), -0.5),
]


@parametrize_with_checks([*TERMS, *MEASUREMENTS, *LOSSES])
def test_terms_measurements_and_losses(check):
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


def beyond(words, array, allowed):
    size = float(np.linalg.norm(array))
    return Defect(words, size, allowed) if size > allowed else None


class Projectors(FactorQuotient):
    """M = U Uᵀ for U (n, k) with orthonormal columns; one point where k = n."""

    abilities = frozenset({Ability.FACTOR, Ability.RIEMANNIAN})
    restricted, retraction_order = True, 2

    def __init__(self, n, k):
        super().__init__(n, k)
        self.dimension = k * (n - k)

    def check_point(self, point):
        defect = super().check_point(point)
        return defect or beyond("columns are not orthonormal", point.T @ point - np.eye(self.r), 1e-10)

    def check_vector(self, point, vector):
        defect = super().check_vector(point, vector)
        return defect or beyond("no tangent vector", point.T @ vector, 1e-10 * max(1.0, np.linalg.norm(vector)))

    def random_point(self, rng):
        return self.from_factor(rng.standard_normal((self.n, self.r)))

    def from_factor(self, Y):
        U, _, Vt = np.linalg.svd(super().from_factor(Y), full_matrices=False)
        return U @ Vt

    def horizontal(self, point, ambient):
        return ambient - point @ (point.T @ ambient)

    def random_vector(self, point, rng):
        D = self.horizontal(point, rng.standard_normal((self.n, self.r)))
        size = np.linalg.norm(D)
        return D / size if size > 1e-10 else np.zeros_like(D)

    def gradient(self, point, S):
        return self.horizontal(point, 2.0 * (S @ point))

    def retract(self, point, vector):
        return self.from_factor(point + vector)


def test_projectors_pass():
    failures = [str(record) for record in run_checks(Projectors(5, 2)) if not record.ok]
    assert failures == []


def test_a_single_point_has_no_failures_of_rounding():
    records = run_checks(Projectors(4, 4))
    assert [str(record) for record in records if not record.ok] == []
    skipped = [record.diagnosis for record in records if record.verdict is CheckStatus.SKIPPED]
    assert "the tangent space is {0}" in skipped


def test_a_horizontal_part_that_is_always_zero_hides_nothing():
    class Nothing(Projectors):
        def horizontal(self, point, ambient):
            return 0.0 * ambient

        def gradient(self, point, S):
            return super().horizontal(point, 2.0 * (S @ point))

        def random_vector(self, point, rng):
            D = super().horizontal(point, rng.standard_normal((self.n, self.r)))
            return D / np.linalg.norm(D)

    assert "geometry.horizontal_orthogonal" not in {r.name for r in run_checks(Projectors(5, 2)) if not r.ok}
    assert {record.name for record in run_checks(Nothing(5, 2)) if not record.ok}
