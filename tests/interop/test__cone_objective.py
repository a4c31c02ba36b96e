"""Quadratic objectives of entries of M as sums of terms: the value is that of the formula, whatever the terms."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.errors import InvalidInputError
from psdopt.interop import _cone_objective
from psdopt.interop._cone_objective import coefficients, objective, square_root
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.quadratic import LinearTerm, ProductTerm

N = 4
COLUMN, ROW = np.triu_indices(N)


def entries(Y):
    return (Y @ Y.T)[ROW, COLUMN]


def kinds(problem):
    return [type(term) for term in problem.terms]


def check(linear, squares, target, constant=1.5):
    problem = objective(linear, sp.csr_array(squares), target, constant, ROW, COLUMN, N)
    rng = np.random.default_rng(9)
    for _ in range(5):
        Y = rng.standard_normal((N, 2))
        sigma = entries(Y)
        expected = constant + linear @ sigma + 0.5 * np.sum((squares @ sigma - target) ** 2)
        assert np.isclose(problem.at(Y).value, expected, rtol=1e-10)
    return problem


def test_the_squared_norm_of_a_matrix_is_one_product_term():
    rng = np.random.default_rng(0)
    weight = np.where(ROW == COLUMN, 1.0, np.sqrt(2.0))
    problem = check(np.zeros(10), np.diag(weight), rng.standard_normal(10))
    assert kinds(problem) == [ProductTerm, LinearTerm]


def test_the_squared_norm_of_a_block_is_one_product_term():
    weight = np.where(ROW == COLUMN, 1.0, np.sqrt(2.0)) * ((ROW < 2) & (COLUMN < 2))
    assert kinds(check(np.zeros(10), np.diag(weight), np.zeros(10))) == [ProductTerm]


def test_other_weights_of_single_entries_are_measured():
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2.0, 10) * (rng.random(10) < 0.7)
    problem = check(rng.standard_normal(10), np.diag(weight), rng.standard_normal(10))
    assert kinds(problem) == [MeasuredTerm, LinearTerm]


def test_sums_of_entries_and_entries_that_occur_twice():
    rng = np.random.default_rng(2)
    squares = np.vstack([rng.standard_normal((3, 10)), np.eye(10)[[2, 2, 5]], np.zeros((1, 10))])
    check(rng.standard_normal(10), squares, rng.standard_normal(7))


def test_no_square_leaves_a_linear_term():
    assert kinds(check(np.arange(10.0), np.zeros((0, 10)), np.zeros(0))) == [LinearTerm]
    assert kinds(check(np.zeros(10), np.zeros((0, 10)), np.zeros(0))) == [LinearTerm]


def test_coefficients_pair_with_entries():
    rng = np.random.default_rng(3)
    linear = rng.standard_normal(10) * (rng.random(10) < 0.4)
    C = coefficients(linear, ROW, COLUMN, N)
    C = C.toarray() if sp.issparse(C) else C
    M = rng.standard_normal((N, N))
    M = M + M.T
    assert np.array_equal(C, C.T)
    assert np.isclose(np.vdot(C, M), linear @ M[ROW, COLUMN])


def test_square_roots_part_by_part(monkeypatch):
    rng = np.random.default_rng(4)
    G = rng.standard_normal((3, 2))
    P = np.zeros((6, 6))
    P[np.ix_([0, 2, 5], [0, 2, 5])] = G @ G.T  # of rank two
    P[1, 1] = 4.0
    V = square_root(sp.csr_array(P))
    assert np.allclose((V.T @ V).toarray(), P)
    assert V.shape == (3, 6)
    assert np.array_equal(square_root(sp.csr_array(np.diag([4.0, 0.0, 9.0]))).toarray(), [[2.0, 0, 0], [0, 0, 3.0]])
    monkeypatch.setattr(_cone_objective, "FACTOR_ORDER", 2)
    with pytest.raises(InvalidInputError, match="must not connect more than 2 unknowns; found 3"):
        square_root(sp.csr_array(P))
