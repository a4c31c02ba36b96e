"""Rows that are read in blocks are a linear map: products, moments in one pass, and never the rows whole."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg import operators, row_sources
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.row_blocks import RowBlocks, linear_map, watching
from psdopt.linalg.row_sources import SlicedRows


@pytest.fixture
def X(monkeypatch):
    monkeypatch.setattr(row_sources, "BLOCK", 6 * 100)
    return np.random.default_rng(0).standard_normal((1050, 6)).astype(np.float32)


def blocks_of(X):
    return RowBlocks(SlicedRows(X, "X"))


def test_products_are_those_of_the_array(X):
    rng, A, dense = np.random.default_rng(1), blocks_of(X), X.astype(np.float64)
    V, W = rng.standard_normal((6, 3)), rng.standard_normal((1050, 2))
    for linear in (A, LinearMap(X)):
        assert np.allclose(linear.apply(V), dense @ V, rtol=1e-13, atol=1e-12)
        assert np.allclose(linear.adjoint(W), dense.T @ W, rtol=1e-12, atol=1e-11)
        assert (linear.applications, linear.columns) == (2, 5)
    assert np.allclose(A.normal_product(V), dense.T @ (dense @ V), rtol=1e-12, atol=1e-10)
    assert np.array_equal(A.to_dense(), dense)
    assert A.largest_row_sum() == pytest.approx(LinearMap(dense).largest_row_sum())
    assert A.passes == 5


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_both_moments_take_one_pass(X, wrap):
    A, dense = blocks_of(X), X.astype(np.float64)
    Y = np.eye(3)[np.arange(1050) % 3]
    gram, cross = A.moments(wrap(Y))
    assert A.passes == 1
    assert np.array_equal(gram, gram.T)
    assert np.allclose(gram, dense.T @ dense, rtol=1e-12, atol=1e-10)
    assert np.allclose(cross, dense.T @ Y, rtol=1e-12, atol=1e-10)
    assert A.moments()[1] is None


@pytest.mark.parametrize("make", [blocks_of, LinearMap, lambda X: LinearMap(sp.csr_array(X))])
def test_a_weighted_gram_takes_one_pass(X, make, monkeypatch):
    monkeypatch.setattr(operators, "CACHED", 6 * 100)
    A, dense, w = make(X), X.astype(np.float64), np.random.default_rng(1).standard_normal(1050)
    assert np.allclose(A.weighted_gram(w), dense.T @ (w[:, None] * dense), rtol=1e-12, atol=1e-10)
    assert getattr(A, "passes", 1) == 1


def test_a_pass_is_observed(X):
    seen = []
    with watching(lambda name, done, rows: seen.append((name, done, rows))):
        blocks_of(X).moments()
    assert seen[0] == ("X", 100, 1050)
    assert seen[-1] == ("X", 1050, 1050)
    assert len(seen) == 11


@pytest.mark.parametrize("place", [0, 555, 1049])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_is_found_during_the_first_pass(X, place, value):
    X[place, 2] = value
    with pytest.raises(InvalidInputError, match="X must be finite; found 1 NaN or infinite"):
        blocks_of(X).moments()
    with pytest.raises(InvalidInputError, match="X must be finite"):
        blocks_of(X).take([place])


def test_a_pass_allocates_blocks_and_not_the_rows(monkeypatch):
    monkeypatch.setattr(row_sources, "BLOCK", 2**15)
    X = np.ones((100_000, 20), dtype=np.float32)  # 8 MB, 16 MB as float64
    A = blocks_of(X)
    tracemalloc.start()
    A.moments()
    A.normal_product(np.ones((20, 3)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**21


def test_the_door_chooses_by_where_the_data_are(X, tmp_path, monkeypatch):
    monkeypatch.setattr(row_sources, "SMALL_MAP", 100)
    np.save(tmp_path / "x.npy", X)
    assert isinstance(linear_map(np.load(tmp_path / "x.npy", mmap_mode="r")), RowBlocks)
    assert type(linear_map(X)) is LinearMap
    known = LinearMap(X)
    assert linear_map(known) is known
    with pytest.raises(InvalidTypeError, match=r"X is read in blocks of rows; use psdopt\.linalg\.linear_map"):
        LinearMap(np.load(tmp_path / "x.npy", mmap_mode="r"), "X")
