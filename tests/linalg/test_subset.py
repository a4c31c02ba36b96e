"""A few eigenpairs of a dense matrix, also where LAPACK's first algorithm gives up; the leading ones."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from scipy.linalg.lapack import dsyevr
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

from psdopt.linalg import subset
from psdopt.linalg.leading import top_eigenpairs
from psdopt.linalg.subset import eigenpairs, least_eigenvalue, principal_axes
from psdopt.linalg.tolerances import EPS
from tests.linalg.instances import matrix


def failing(a: np.ndarray, **options: object) -> object:
    """``syevr`` where it ends with an internal error."""
    return *dsyevr(a, **options)[:4], 1


@pytest.mark.parametrize("fails", [False, True])
def test_they_are_those_of_all_pairs(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    G = np.random.default_rng(0).standard_normal((7, 7))
    A = G + G.T
    if fails:
        monkeypatch.setattr(subset, "dsyevr", failing)
    values, V = eigenpairs(A, 1, 3)
    assert np.allclose(values, np.linalg.eigvalsh(A)[1:4])
    assert np.allclose(A @ V, V * values)
    assert least_eigenvalue(A) == pytest.approx(np.linalg.eigvalsh(A)[0])


@pytest.mark.parametrize("fails", [False, True])
def test_what_is_not_finite_is_said(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if fails:
        monkeypatch.setattr(subset, "dsyevr", failing)
    for spoilt in (np.full((3, 3), np.nan), np.diag([1.0, np.inf, 2.0])):
        with pytest.raises(FloatingPointError, match="not finite"):
            eigenpairs(spoilt, 0, 0)


def test_principal_axes_are_those_of_the_product_in_descending_order():
    Y = np.random.default_rng(0).standard_normal((9, 4))
    values, W = principal_axes(Y)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(Y @ Y.T)[:-5:-1], rtol=1e-12)
    np.testing.assert_allclose((Y @ W).T @ (Y @ W), np.diag(values), rtol=0, atol=64 * EPS * values[0])
    np.testing.assert_allclose(W.T @ W, np.eye(4), rtol=0, atol=64 * EPS)


def test_principal_axes_of_no_size_are_left_out():
    rng = np.random.default_rng(1)
    Y = np.column_stack([rng.standard_normal((9, 2)), np.zeros(9)])
    Y = Y @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    assert principal_axes(Y)[1].shape == (3, 2)
    assert len(principal_axes(np.zeros((4, 2)))[0]) == 0
    assert principal_axes(np.zeros((4, 0)))[1].shape == (0, 0)
    sizes = np.diag([1.0, 1e-2, 1e-4])
    assert len(principal_axes(sizes)[0]) == 3
    assert len(principal_axes(sizes, 1e-6)[0]) == 2


@pytest.mark.parametrize("spectrum", ["indefinite", "few positive", "negative", "low rank", "zero"])
@pytest.mark.parametrize(("n", "k"), [(60, 5), (600, 10)])
def test_objective_and_orthonormality(spectrum, n, k):
    rng = np.random.default_rng(2)
    values = {
        "indefinite": rng.standard_normal(n),
        "few positive": np.r_[3.0, 2.0, 1.0, -rng.random(n - 3)],
        "negative": -rng.random(n),
        "low rank": np.r_[np.arange(1.0, k), np.zeros(n + 1 - k)],
        "zero": np.zeros(n),
    }[spectrum]
    K = matrix(values, 3)
    top = top_eigenpairs(K, k)
    expected = np.sort(values[values > 0])[::-1][:k]
    assert top.converged
    assert top.values.size == expected.size
    assert expected.sum() * (1 - 1e-6) <= top.values.sum() + 1e-300
    assert top.values.sum() <= expected.sum() * (1 + 1e-12)
    assert np.abs(top.vectors.T @ top.vectors - np.eye(expected.size)).max(initial=0.0) < 1e-12
    residual = np.linalg.norm(K @ top.vectors - top.vectors * top.values, axis=0)
    np.testing.assert_allclose(top.residuals, residual, atol=1e-12)


def test_refusals_and_budget():
    with pytest.raises(ValueError, match="square"):
        top_eigenpairs(np.ones((3, 2)), 1)
    with pytest.raises(FloatingPointError):
        top_eigenpairs(np.full((5, 5), np.nan), 1)
    K = np.diag(np.linspace(0.0, 1.0, 700))
    short = top_eigenpairs(K, 10, max_products=60)
    assert not short.converged
    assert short.products <= 60


@pytest.mark.parametrize("copies", [1, 2, 5, 10, 14])
def test_repeated_values_are_all_found_whatever_their_number(copies: int) -> None:
    n, k = 1500, 10
    values = np.r_[np.full(copies, 3.0), np.linspace(2.1, 2.0, 10), 2.0 * np.random.default_rng(0).random(n)][:n]
    top = top_eigenpairs(scipy.sparse.diags_array(values), k)
    exact = np.sort(values)[::-1][:k].sum()
    assert top.converged
    assert top.error <= 1e-6
    assert exact * (1.0 - 1e-6) <= top.values.sum() <= exact * (1.0 + 1e-12)


@pytest.mark.parametrize("k", [4, 10, 17])
def test_the_error_that_is_told_bounds_that_of_the_sum_on_a_cube_of_points(k: int) -> None:
    path = scipy.sparse.diags_array([np.ones(13), np.ones(13)], offsets=[1, -1])
    eye, e = scipy.sparse.eye_array(14), 2.0 * np.cos(np.pi * np.arange(1, 15) / 15)
    plane = scipy.sparse.kron(path, eye) + scipy.sparse.kron(eye, path)
    cube = scipy.sparse.csr_array(scipy.sparse.kron(plane, eye) + scipy.sparse.kron(scipy.sparse.eye_array(196), path))
    exact = np.sort((e[:, None, None] + e[:, None] + e).ravel())[::-1][:k].sum()  # values come in threes and sixes
    top = top_eigenpairs(cube, k)
    assert top.converged
    assert (exact - top.values.sum()) / exact <= top.error <= 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_the_error_that_is_told_bounds_that_of_the_sum_where_the_kth_value_converges_late(seed: int) -> None:
    """A kernel whose k-th pair estimates from gaps take for another one, and twelve values within a thousandth."""
    K = rbf_kernel(load_digits().data[:1500] / 16.0, gamma=0.05)
    values = np.r_[1.0 + 1e-3 * np.random.default_rng(2).random(12), 0.5 * np.random.default_rng(3).random(488)]
    for S, k in ((0.5 * (K + K.T), 20), (matrix(values, 0), 5)):
        top = top_eigenpairs(scipy.sparse.linalg.aslinearoperator(S), k, seed=seed)
        exact = np.linalg.eigvalsh(S)[::-1][:k].sum()
        assert top.converged
        assert (exact - top.values.sum()) / exact <= top.error <= 1e-6


@pytest.mark.parametrize("gamma", [0.01, 0.05])
def test_a_kernel_is_proven_by_the_size_of_its_entries(gamma: float) -> None:
    """In the products that the values need and one for each pair; an operator of unknown entries needs more."""
    K = rbf_kernel(np.random.default_rng(0).standard_normal((500, 10)), gamma=gamma)
    top, other = top_eigenpairs(K, 5), top_eigenpairs(scipy.sparse.linalg.aslinearoperator(K), 5)
    exact = np.linalg.eigvalsh(K)[:-6:-1].sum()
    assert top.converged
    assert (exact - top.values.sum()) / exact <= top.error <= 1e-6
    assert top.products <= 28
    assert top.products < other.products


@pytest.mark.parametrize("copies", [2, 3])
def test_entries_prove_nothing_where_a_repeated_value_is_missed(copies: int) -> None:
    values = np.r_[4.0, np.full(copies, 2.0), 0.5 ** np.arange(1.0, 500.0)]
    top = top_eigenpairs(matrix(values, 0), 4)
    assert top.converged
    assert top.values.sum() == pytest.approx(np.sort(values)[:-5:-1].sum(), rel=1e-6)


@pytest.mark.parametrize("copies", [40, 400])
def test_of_many_values_at_the_kth_not_all_are_found(copies: int) -> None:
    values = np.r_[2.5, 2.4, np.full(copies, 2.0), np.random.default_rng(0).random(1500)]
    top = top_eigenpairs(scipy.sparse.diags_array(values), 10)
    assert top.converged
    assert top.products < 1500
    assert top.values.sum() == pytest.approx(20.9, rel=1e-6)


@pytest.mark.parametrize("shift", [3.0, 30.0])
def test_a_multiple_of_the_identity_costs_no_products(shift: float) -> None:
    """The space stays the same, and orthogonal, however large the part of K q along q."""
    G = np.random.default_rng(0).standard_normal((600, 600))
    K = (G + G.T) / np.sqrt(1200.0)
    plain, shifted = (
        top_eigenpairs(scipy.sparse.linalg.aslinearoperator(S), 10, tol=tol)
        for S, tol in ((K, 1e-6), (K + shift * np.eye(600), 1e-6 * 1.4 / (1.4 + shift)))
    )
    assert shifted.converged
    assert shifted.products <= plain.products + 10
    np.testing.assert_allclose(shifted.values - shift, plain.values, atol=1e-5)
    assert np.abs(shifted.vectors.T @ shifted.vectors - np.eye(10)).max() < 1e-13


def test_the_stop_is_not_late() -> None:
    """Columns of one Lanczos run to 1e-6, by how soon the exact error falls below it, and those of the look after."""
    G = np.random.default_rng(0).standard_normal((600, 600))
    K = scipy.sparse.linalg.aslinearoperator((G + G.T) / np.sqrt(1200.0))
    top = top_eigenpairs(K, 10)
    assert top.products <= 240
    start = top_eigenpairs(K, 10, start=top.vectors)
    assert start.converged
    np.testing.assert_allclose(start.values, top.values, rtol=1e-5)


def test_an_array_that_would_take_longer_is_left_to_lapack() -> None:
    """A clustered spectrum after the first error; one that falls, and an operator, of which no entry is known, not."""
    G = np.random.default_rng(0).standard_normal((400, 400))
    clustered = (G + G.T) / np.sqrt(800.0)
    top = top_eigenpairs(clustered, 5)
    assert top.products < 30
    np.testing.assert_allclose(top.values, np.linalg.eigvalsh(clustered)[:-6:-1], rtol=1e-12)
    assert np.abs(top.vectors.T @ top.vectors - np.eye(5)).max() < 8 * EPS  # LAPACK's own: 30
    assert top_eigenpairs(scipy.sparse.linalg.aslinearoperator(clustered), 5).products > 90
    assert top_eigenpairs(matrix(0.9 ** np.arange(400.0), 0), 5).blocks > top.blocks
    assert top_eigenpairs(clustered, 30).products == 30  # at so low an order, at once
    falling = matrix(0.9 ** np.arange(500.0), 0)
    assert top_eigenpairs(falling, 20).blocks > 30


@pytest.mark.parametrize("unit", [1e-300, 1e-165, 1e100])
def test_units_do_not_matter(unit: float) -> None:
    K = matrix(np.linspace(-1.0, 2.0, 120), 0)
    np.testing.assert_allclose(top_eigenpairs(unit * K, 3).values / unit, top_eigenpairs(K, 3).values, rtol=1e-6)
