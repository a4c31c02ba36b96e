"""Entries of measurements and objectives: against what the measurement or F itself gives."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import QuadraticSDP, constraints
from psdopt.constraints import explicit
from psdopt.constraints.explicit import (
    explicit_forms,
    form_norms,
    linear_objective,
    measured_objective,
    nearest_objective,
)
from psdopt.constraints.measurements import Stacked, Trace
from psdopt.contracts.images import Images
from psdopt.problems.term_sum import TermSum
from psdopt.terms.forms import GramForm, IdentityForm, MatrixForm, SumForm
from psdopt.terms.losses import LeastSquares
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries, Measurement, PairDistances, QuadraticForms
from psdopt.terms.quadratic import LinearTerm, ProductTerm

N = 5
RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, N))
MEASUREMENTS: list[Measurement] = [
    Trace(N),
    Entries([0, 1, 4], [0, 3, 2], N),
    PairDistances([0, 1], [2, 4], None, N),
    QuadraticForms(X),
    QuadraticForms(sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0))),
    constraints.SparseForms.of([np.eye(N), np.ones((N, N))]),
    constraints.SparseForms([0, 1, 1], [1, 0, 1], [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], N),
    Stacked([Trace(N), Entries([1], [3], N), PairDistances([0], [3], None, N), QuadraticForms(sp.csr_array(X))]),
]


@pytest.mark.parametrize("measurement", MEASUREMENTS, ids=lambda each: type(each).__name__)
def test_entries_measure_what_the_measurement_does_and_have_its_adjoint_and_norms(measurement) -> None:
    forms = explicit_forms(measurement)
    assert forms is not None
    Y = np.random.default_rng(1).standard_normal((N, 3))
    images = Images(measurement.maps, Y)
    expected = measurement.pair(images, images)
    A = [forms.matrix(e).toarray() for e in np.eye(forms.size)]
    assert np.allclose([np.sum(a * (Y @ Y.T)) for a in A], expected, rtol=1e-12, atol=1e-13)
    w = np.random.default_rng(2).standard_normal(forms.size)
    assert np.allclose(forms.matrix(w).toarray(), np.einsum("t,tij->ij", w, A), rtol=0, atol=1e-13)
    assert np.allclose(form_norms(measurement), [np.linalg.norm(a) for a in A], rtol=1e-12)


def test_what_is_at_hand_through_data_alone_has_no_entries_but_has_norms() -> None:
    distances = PairDistances([0, 1], [2, 3], X, None)
    assert explicit_forms(distances) is None
    assert explicit_forms(Stacked([Trace(N), distances])) is None
    found = form_norms(distances)
    exact = [np.sum((X[a] - X[b]) ** 2) for a, b in ((0, 2), (1, 3))]
    assert np.allclose(found, exact, rtol=0.5)


def test_too_many_entries_are_not_written_out(monkeypatch) -> None:
    monkeypatch.setattr(explicit, "NUMBERS", 30)
    forms = QuadraticForms(X)  # 60 entries
    assert explicit_forms(forms) is None
    assert np.allclose(form_norms(forms), np.sum(X**2, axis=1), rtol=1e-12)
    assert explicit_forms(Stacked([Trace(N), Entries([0] * 40, [1] * 40, N)])) is None


def symmetric(seed: int) -> np.ndarray:
    A = np.random.default_rng(seed).standard_normal((N, N))
    return A + A.T


@pytest.mark.parametrize(
    "form",
    [
        MatrixForm(symmetric(3), 0.7),
        IdentityForm(N, -2.0),
        GramForm(X, 0.3),
        SumForm([MatrixForm(symmetric(4)), IdentityForm(N, 0.5)]),
    ],
    ids=lambda form: type(form).__name__,
)
def test_a_linear_objective_is_its_matrix_and_its_constant(form) -> None:
    F = TermSum([LinearTerm(form, 1.5), LinearTerm(MatrixForm(symmetric(5)))], 2.5)
    found = linear_objective(F)
    assert found is not None
    C, constant = found
    assert constant == 2.5
    Y = np.random.default_rng(6).standard_normal((N, 2))
    assert np.sum(C.toarray() * (Y @ Y.T)) + constant == pytest.approx(F.at(Y).value, rel=1e-12)
    assert abs(C - C.T).max() == 0.0


def test_curved_objectives_are_not_linear() -> None:
    assert linear_objective(QuadraticSDP(B=1.0, C=symmetric(0))) is None
    assert linear_objective(TermSum([MeasuredTerm(Trace(N), LeastSquares(np.ones(1)))])) is None


def test_a_distance_is_found_with_its_scale_and_centre() -> None:
    G = symmetric(7)
    F = QuadraticSDP(B=0.8, C=-G)
    found = nearest_objective(F)
    assert found is not None
    Y = np.random.default_rng(8).standard_normal((N, 3))
    M = Y @ Y.T
    expected = 0.5 * found.rho * np.sum(M * M) + np.sum(found.C.toarray() * M) + found.constant
    assert F.at(Y).value == pytest.approx(expected, rel=1e-12)
    assert nearest_objective(QuadraticSDP(C=G)) is None  # linear
    weighted = TermSum([ProductTerm(MatrixForm(np.diag(np.arange(1.0, N + 1.0))), IdentityForm(N))])
    assert nearest_objective(weighted) is None


def test_losses_of_measurements_are_found_with_their_places_among_the_terms() -> None:
    terms = [
        LinearTerm(IdentityForm(N, 2.0), 0.5),
        MeasuredTerm(Entries([0, 1], [1, 1], N), LeastSquares(np.ones(2))),
        MeasuredTerm(Trace(N), LeastSquares(np.ones(1))),
    ]
    found = measured_objective(TermSum(terms))
    assert found is not None
    assert found.terms == (1, 2)
    assert np.array_equal(found.diagonal, np.ones(N))
    assert found.forms is not None
    assert found.forms.size == 3
    linear = measured_objective(TermSum(terms[:1]))
    assert linear is not None
    assert linear.forms is None
    assert measured_objective(QuadraticSDP(B=1.0, C=symmetric(1))) is None
