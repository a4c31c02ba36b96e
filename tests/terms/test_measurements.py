# ruff: noqa: E501 (tables of exact texts)
"""Measurements: shared maps, entries that are many or few, and bad inputs.

Pairing, adjoint and coupling are theorems of the kit (``tests/testing/test_term_checks.py``); against formulas they are
compared in ``tests/problems/test_term_sum.py``.
"""

import numpy as np
import pytest

from psdopt import TermSum
from psdopt.contracts.images import Images
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import arrays
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import EPS
from psdopt.terms.losses import LeastSquares
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries, PairDistances, QuadraticForms, TripletDifferences


def test_a_line_through_entries_gathers_each_row_once(monkeypatch):
    rng = np.random.default_rng(0)
    measurement = Entries([0, 1, 2, 2], [1, 1, 0, 3], 4)
    monkeypatch.setattr(Entries, "pair", lambda *given: pytest.fail("the rows are gathered once for both"))
    U, D = (Images((), rng.standard_normal((4, 2))) for _ in range(2))
    linear, square = measurement.along(U, D)
    i, j = measurement.i, measurement.j
    np.testing.assert_allclose(linear, (U.factor @ D.factor.T + D.factor @ U.factor.T)[i, j], rtol=0, atol=1e2 * EPS)
    np.testing.assert_allclose(square, (D.factor @ D.factor.T)[i, j], rtol=0, atol=1e2 * EPS)


def test_measurements_share_a_map():
    X = LinearMap(np.random.default_rng(0).standard_normal((6, 4)), "X")
    parts = [QuadraticForms(X), PairDistances([0, 1], [2, 3], X), TripletDifferences([0], [1], [2], X)]
    assert all(part.maps == (X,) for part in parts)
    problem = TermSum([MeasuredTerm(part, LeastSquares(1.0)) for part in parts])
    assert problem.maps == (X,)
    here = problem.at(np.eye(4)[:, :2])
    here.value, here.factor_gradient()
    assert X.applications == 2  # one X Y, one Xᵀ G for three terms


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: PairDistances([], [], n=3), InvalidInputError, "i must hold at least one index; found none"),
        (lambda: PairDistances([0], [0, 1], n=3), InvalidInputError, "index arrays must share one length; found i: 1, j: 2"),
        (lambda: PairDistances([0.5], [1], n=3), InvalidTypeError, "i must hold integers; found dtype float64"),
        (lambda: PairDistances([0], [3], n=3), InvalidInputError, "j must hold indices between 0 and 2; found 3"),
        (lambda: PairDistances([-1], [1], n=3), InvalidInputError, "i must hold indices between 0 and 2; found -1"),
        (lambda: PairDistances([0, 2], [1, 2], n=3), InvalidInputError,
         "i and j must differ; found both equal to 2 at position 1"),
        (lambda: PairDistances([[0]], [[1]], n=3), InvalidInputError, r"i must have shape \(m,\); found \(1, 1\)"),
        (lambda: PairDistances([0], [1]), InvalidInputError, r"n \(when X is None\) must be an integer of at least 1; found None"),
        (lambda: PairDistances([0], [1], np.eye(3), 4), InvalidInputError, "n must be 3, the number of columns of X; found 4"),
        (lambda: TripletDifferences([0], [1], [1], n=3), InvalidInputError, "j and k must differ; found both equal to 1"),
        (lambda: TripletDifferences([0], [1], [0], n=3), InvalidInputError, "i and k must differ; found both equal to 0"),
        (lambda: Entries([0], [5], 3), InvalidInputError, "j must hold indices between 0 and 2; found 5"),
        (lambda: QuadraticForms([[np.nan]]), InvalidInputError, "X must be finite"),
    ],
)  # fmt: skip
def test_bad_input(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


def test_many_entries_are_read_from_one_product_and_few_are_gathered(monkeypatch):
    rng, n, r = np.random.default_rng(5), 12, 3
    i, j = np.triu_indices(n)
    many, few = Entries(i, j, n), Entries(i[:3], j[:3], n)
    U, V = Images((), rng.standard_normal((n, r))), Images((), rng.standard_normal((n, r)))
    P = U.factor @ V.factor.T
    gathered = []
    gather = arrays.gathered_row_dots
    monkeypatch.setattr(
        "psdopt.terms.measurements.gathered_row_dots", lambda i, *rest: gathered.append(len(i)) or gather(i, *rest)
    )
    assert np.allclose(many.pair(U, V), 0.5 * (P + P.T)[i, j], rtol=1e-13)
    assert np.allclose(many.pair(U, U), (U.factor @ U.factor.T)[i, j], rtol=1e-13)
    assert gathered == []
    assert np.allclose(few.pair(U, V), 0.5 * (P + P.T)[i[:3], j[:3]], rtol=1e-13)
    assert gathered == [3, 3]


def test_weights_of_many_entries_are_one_dense_matrix_and_few_are_not(monkeypatch):
    rng, n, r = np.random.default_rng(6), 12, 3
    i, j = np.triu_indices(n)
    entries, V, w = Entries(i, j, n), Images((), rng.standard_normal((n, r))), rng.standard_normal(len(i))
    W = np.zeros((n, n))
    np.add.at(W, (i, j), 0.5 * w)
    np.add.at(W, (j, i), 0.5 * w)
    sparse = []
    monkeypatch.setattr("psdopt.terms.measurements.sparse_product", lambda A, X: sparse.append(A.nnz) or A @ X)
    ((_, force),) = entries.adjoint(w, V)
    assert np.allclose(force, W @ V.factor, rtol=1e-13)
    assert sparse == []
    few = np.where(np.arange(len(i)) % 13 == 1, w, 0.0)
    entries.adjoint(few, V)
    assert len(sparse) == 1
