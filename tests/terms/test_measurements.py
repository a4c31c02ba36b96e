# ruff: noqa: E501 (tables of exact texts)
"""Measurements against dense matrices A_t, and their bad inputs.

Whole terms (value, gradient, Hessian, lines, planes, counts) are compared with autograd twins in
``tests/problems/test_term_sum.py``.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import TermSum
from psdopt.contracts.images import Images
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import arrays
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import EPS
from psdopt.terms.base import combine
from psdopt.terms.losses import LeastSquares
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import Entries, PairDistances, QuadraticForms, TripletDifferences


def outer(x):
    return np.outer(x, x)


def quadratic_forms(rng, n, m):
    X = rng.standard_normal((m, n))
    return QuadraticForms(X), [outer(x) for x in X]


def pair_distances(rng, n, m, with_data=True):
    X = rng.standard_normal((m + 2, n)) if with_data else np.eye(n)
    i = rng.integers(0, len(X), m)
    j = (i + rng.integers(1, len(X), m)) % len(X)
    measurement = PairDistances(i, j, sp.csr_array(X)) if with_data else PairDistances(i, j, n=n)
    return measurement, [outer(X[a] - X[b]) for a, b in zip(i, j, strict=True)]


def pair_distances_of_entries(rng, n, m):
    return pair_distances(rng, n, m, with_data=False)


def triplets(rng, n, m, with_data=True):
    X = rng.standard_normal((max(m, 3), n)) if with_data else np.eye(n)
    index = np.array([rng.choice(len(X), 3, replace=False) for _ in range(m)])
    i, j, k = index.T
    measurement = TripletDifferences(i, j, k, X) if with_data else TripletDifferences(i, j, k, n=n)
    return measurement, [outer(X[a] - X[c]) - outer(X[a] - X[b]) for a, b, c in index]


def triplets_of_entries(rng, n, m):
    return triplets(rng, n, m, with_data=False)


def entries(rng, n, m):
    i, j = rng.integers(0, n, m), rng.integers(0, n, m)
    unit = np.eye(n)
    return Entries(i, j, n), [
        0.5 * (np.outer(unit[a], unit[b]) + np.outer(unit[b], unit[a])) for a, b in zip(i, j, strict=True)
    ]


KINDS = [quadratic_forms, pair_distances, pair_distances_of_entries, triplets, triplets_of_entries, entries]


@pytest.mark.parametrize("kind", KINDS, ids=lambda f: f.__name__)
@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(3, 7),
    m=st.integers(1, 12),
    r=st.integers(1, 4),
    log_scale=st.floats(-4, 4),
    seed=st.integers(0, 2**31),
)
def test_pairing_and_adjoint_equal_the_dense_sums(kind, n, m, r, log_scale, seed):
    rng = np.random.default_rng(seed)
    measurement, matrices = kind(rng, n, m)
    assert (measurement.n, measurement.size) == (n, m)
    U, V = 10.0**log_scale * rng.standard_normal((n, r)), rng.standard_normal((n, r))
    here, there = Images(measurement.maps, U), Images(measurement.maps, V)
    top = max(np.linalg.norm(A) for A in matrices)
    allowed = 64 * (n + m) * EPS * top * np.linalg.norm(U) * np.linalg.norm(V)
    symmetric = 0.5 * (U @ V.T + V @ U.T)
    expected = [np.sum(A * symmetric) for A in matrices]
    assert np.max(np.abs(measurement.pair(here, there) - expected)) <= allowed
    assert np.max(np.abs(measurement.pair(there, here) - expected)) <= allowed
    squared = [np.sum(A * (U @ U.T)) for A in matrices]
    assert np.max(np.abs(measurement.pair(here, here) - squared)) <= 64 * (n + m) * EPS * top * np.linalg.norm(U) ** 2
    linear, square = measurement.along(here, there)
    np.testing.assert_allclose(linear, 2.0 * measurement.pair(here, there), rtol=0, atol=2.0 * allowed)
    own = 64 * (n + m) * EPS * top * np.linalg.norm(V) ** 2
    np.testing.assert_allclose(square, measurement.pair(there, there), rtol=0, atol=own)
    w = rng.standard_normal(m)
    dense = sum(weight * A for weight, A in zip(w, matrices, strict=True)) @ V
    found = combine(measurement.adjoint(w, there), V.shape)
    assert np.max(np.abs(found - dense)) <= 64 * (n + m) * EPS * top * np.abs(w).sum() * np.linalg.norm(V)
    # the adjoint identity <w, pair(U, V)> = <sum w A U, V>
    left, right = w @ measurement.pair(here, there), np.vdot(combine(measurement.adjoint(w, here), U.shape), V)
    assert abs(left - right) <= 8 * allowed * np.abs(w).sum()


@pytest.mark.parametrize("kind", KINDS, ids=lambda f: f.__name__)
@settings(max_examples=25, deadline=None)
@given(n=st.integers(3, 7), m=st.integers(1, 12), given_array=st.booleans(), seed=st.integers(0, 2**31))
def test_coupling_equals_the_traces_of_dense_products(kind, n, m, given_array, seed):
    rng = np.random.default_rng(seed)
    measurement, matrices = kind(rng, n, m)
    assert measurement.couples
    P, Q = (A + A.T for A in rng.standard_normal((2, n, n)))
    expected = np.array([[np.trace(A @ P @ B @ Q) for B in matrices] for A in matrices])
    identity = Images(measurement.maps, np.eye(n))
    found = measurement.coupling(P, Q, identity, np.full((m, m), np.nan) if given_array else None)
    top = max(np.linalg.norm(A) for A in matrices)
    allowed = 64 * (n + m) * EPS * top**2 * np.linalg.norm(P) * np.linalg.norm(Q)
    assert np.max(np.abs(np.triu(found - expected))) <= allowed


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
