"""Combined numbers of a measurement: the kit, and the same sums of matrices by other ways."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import constraints
from psdopt.constraints import SparseForms, explicit, explicit_forms
from psdopt.contracts.images import Images
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.terms import Combined, Entries, PairDistances, QuadraticForms, TripletDifferences
from psdopt.testing import parametrize_with_checks

RNG = np.random.default_rng(0)
X = RNG.standard_normal((7, 5))
B = RNG.standard_normal((4, 7)) * (RNG.random((4, 7)) < 0.6)
ROWS, COLUMNS = np.array([0, 1, 2, 4, 0, 1, 3]), np.array([0, 3, 1, 4, 2, 2, 4])


@parametrize_with_checks(
    [
        Combined(QuadraticForms(X), B),
        Combined(QuadraticForms(X), sp.csr_array(np.hstack([np.eye(3), np.eye(3), np.ones((3, 1))]))),
        Combined(Entries(ROWS, COLUMNS, 5), sp.csr_array(B)),
        Combined(Combined(QuadraticForms(X), B), np.ones((1, 4))),
        Combined(SparseForms(ROWS, COLUMNS, np.eye(7), 5), B),
        Combined(PairDistances(np.arange(7) % 5, (np.arange(7) + 1) % 5, n=5), B),
    ]
)
def test_conformance(check):
    check()


def test_differences_of_distances_are_a_combination():
    i, j, k = np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([4, 4, 0])
    triplets = TripletDifferences(i, j, k, n=5)
    combined = Combined(triplets.pairs, triplets.signs)
    U = Images((), RNG.standard_normal((5, 2)))
    assert np.allclose(combined.pair(U, U), triplets.pair(U, U), rtol=1e-13)
    assert np.allclose(explicit_forms(combined).norms, explicit_forms(triplets).norms)


def test_constraints_on_combined_numbers_know_their_entries():
    rows = Combined(QuadraticForms(X), B)
    forms = explicit_forms(rows)
    expected = np.einsum("st,ti,tj->sij", B, X, X)
    found = np.array([forms.matrix(e).toarray() for e in np.eye(4)])
    assert np.allclose(found, expected, rtol=1e-13, atol=1e-14)
    assert constraints.Constraint(rows, 0.0, 1.0).size == 4


def test_norms_need_no_entries(monkeypatch):
    rows = Combined(QuadraticForms(X), B)
    exact = explicit.form_norms(rows)
    monkeypatch.setattr(explicit, "NUMBERS", 0)
    assert explicit_forms(rows) is None
    assert np.allclose(explicit.form_norms(rows), exact, rtol=1e-13)


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: Combined(X, B), InvalidTypeError, "measurement must be a Measurement; found"),
        (
            lambda: Combined(QuadraticForms(X), B.T),
            InvalidInputError,
            r"B must have 7 columns, .* found shape \(7, 4\)",
        ),
        (lambda: Combined(QuadraticForms(X), np.full((2, 7), np.nan)), InvalidInputError, "B must be finite"),
        (lambda: Combined(QuadraticForms(X), "B"), InvalidInputError, "B must be a 2-D array"),
        (lambda: Combined(QuadraticForms(X), 1j * B), InvalidTypeError, "B must hold real numbers"),
    ],
)
def test_bad_input(make, kind, text):
    with pytest.raises(kind, match=text):
        make()
