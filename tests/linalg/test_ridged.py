"""Systems of multipliers, dense and sparse: definite, singular and indefinite ones, and rows of different sizes."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.linalg.ridged import arrow_ridged_solver, ridged_solver, sparse_ridged_solver


def sparse_of(M: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return sparse_ridged_solver(sp.csc_array(M))


@pytest.mark.parametrize("solver", [ridged_solver, sparse_of], ids=["dense", "sparse"])
def test_a_definite_system_is_solved_to_rounding(solver) -> None:
    rng = np.random.default_rng(0)
    G = rng.standard_normal((30, 40))
    K, x = G @ G.T, rng.standard_normal(30)
    assert np.allclose(solver(K)(K @ x), x, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("solver", [ridged_solver, sparse_of], ids=["dense", "sparse"])
def test_redundant_rows_leave_a_solution_of_moderate_size(solver) -> None:
    rng = np.random.default_rng(1)
    G = rng.standard_normal((6, 40))
    G = np.concatenate([G, G[:2], G[:1] + G[3:4]])  # nine rows of rank six
    K = G @ G.T
    right = K @ rng.standard_normal(9)
    x = solver(K)(right)
    assert np.linalg.norm(K @ x - right) <= 1e-9 * np.linalg.norm(right)
    assert np.linalg.norm(x) <= 10.0 * np.linalg.norm(np.linalg.lstsq(K, right, rcond=1e-10)[0])


@pytest.mark.parametrize("solver", [ridged_solver, sparse_of], ids=["dense", "sparse"])
def test_indefinite_and_infinite_systems_are_refused(solver) -> None:
    with pytest.raises(np.linalg.LinAlgError, match="definite"):
        solver(np.diag([1.0, -1.0]))
    with pytest.raises(np.linalg.LinAlgError, match="finite"):
        solver(np.diag([1.0, np.inf]))


@pytest.mark.parametrize("solver", [ridged_solver, sparse_of], ids=["dense", "sparse"])
def test_noise_is_met_in_units_of_each_row(solver) -> None:
    """The third row is twice the first but for rounding of 1e-9."""
    size = np.array([1.0, 3.0, 2.0])
    K = size[:, None] * (np.array([[1.0, 0.5, 1.0], [0.5, 1.0, 0.5], [1.0, 0.5, 1.0]]) - 1e-9 * np.eye(3)) * size
    assert np.linalg.eigvalsh(K)[0] < -1e-9
    right = K @ np.array([1.0, -1.0, 0.5])
    w = solver(K)(right)
    assert np.linalg.norm(K @ w - right) <= 1e-6 * np.linalg.norm(right)
    assert np.linalg.norm(w) <= 10.0


def banded(m: int, seed: int) -> sp.csc_array:
    """G Gᵀ for a random sparse G (m, 3 m) whose rows have entries near each other."""
    rng = np.random.default_rng(seed)
    t = np.repeat(np.arange(m), 6)
    k = 3 * t + rng.integers(-4, 8, len(t))
    G = sp.csr_array((rng.standard_normal(len(t)), (t, np.clip(k, 0, 3 * m - 1))), shape=(m, 3 * m))
    return sp.csc_array(G @ G.T)


@pytest.mark.parametrize("decades", [0.0, 6.0])
def test_a_sparse_system_is_solved_as_the_dense_one(decades) -> None:
    m = 150
    size = sp.diags_array(10.0 ** np.random.default_rng(0).uniform(-decades / 2, decades / 2, m))
    K = sp.csc_array(size @ banded(m, 1) @ size)
    assert K.nnz < m**2 / 5
    x = np.random.default_rng(2).standard_normal(m) / size.diagonal()
    sparse, dense = sparse_ridged_solver(K)(K @ x), ridged_solver(K.toarray())(K @ x)
    error = np.linalg.norm((dense - x) * size.diagonal())
    assert error <= 1e-6 * np.sqrt(m)
    assert np.linalg.norm((sparse - x) * size.diagonal()) <= 1e-6 * np.sqrt(m)


def test_a_singular_sparse_system_has_the_residual_and_size_of_the_dense_one() -> None:
    """Twenty of its rows are repeated: each repeated row has the pattern of the one that it repeats."""
    twice = np.r_[np.arange(100), np.arange(0, 100, 5)]
    K = sp.csc_array(sp.csr_array(banded(100, 3))[twice][:, twice])
    right = K @ np.random.default_rng(4).standard_normal(120)
    for w in (sparse_ridged_solver(K)(right), ridged_solver(K.toarray())(right)):
        assert np.linalg.norm(K @ w - right) <= 1e-8 * np.linalg.norm(right)
        assert np.linalg.norm(w) <= 10.0 * np.linalg.norm(np.linalg.lstsq(K.toarray(), right, rcond=1e-10)[0])


@pytest.mark.parametrize("bad", [
    [[0.0, 1.0], [1.0, 0.0]],  # no pivot on the diagonal
    [[1.0, 2.0], [2.0, 1.0]],
    [[-1.0, 0.0], [0.0, -1.0]],
    [[2.0, 0.0, 3.0], [0.0, 1.0, 0.0], [3.0, 0.0, 2.0]],
    [[1e8, 0.0], [0.0, -1.0]],  # small beside the largest entry, and still no rounding
])  # fmt: skip
def test_a_negative_eigenvalue_beyond_rounding_is_refused(bad) -> None:
    for solver in (ridged_solver, sparse_of):
        with pytest.raises(np.linalg.LinAlgError, match="definite"):
            solver(np.array(bad))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [(0, 1), (2, 2)])
def test_sparse_systems_that_are_not_finite_are_refused(value, at) -> None:
    M = 4.0 * np.eye(3)
    M[at] = M[at[::-1]] = value
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        sparse_of(M)


@pytest.mark.parametrize("solver", [ridged_solver, sparse_of], ids=["dense", "sparse"])
def test_small_rows_keep_their_digits_where_a_ridge_is_needed(solver) -> None:
    """Rows from 1e-8 to 1, the second the first but for its size: a ridge in units of the largest would drown both."""
    size = np.array([1e-8, 3e-8, 1e-6, 1e-3, 1.0, 1.0])
    G = np.random.default_rng(3).standard_normal((6, 20))
    G[1] = G[0]
    K = size[:, None] * (G @ G.T) * size
    right = K @ (np.random.default_rng(4).standard_normal(6) / size)
    off = (K @ solver(K)(right) - right) / size
    assert np.linalg.norm(off) <= 1e-9 * np.linalg.norm(right / size)


@pytest.mark.parametrize("density", [0.02, 1.0])
@pytest.mark.parametrize("singular", [False, True])
def test_rows_that_do_not_meet_are_eliminated_first_with_the_same_solution(density, singular) -> None:
    rng = np.random.default_rng(7)
    first, m = 50, 90
    diagonal = 10.0 ** rng.uniform(-4.0, 4.0, first)
    B = rng.standard_normal((first, m - first)) * (rng.random((first, m - first)) < density)
    B *= np.sqrt(diagonal)[:, None]
    G = rng.standard_normal((m - first, m))
    K = np.block([[np.diag(diagonal), B], [B.T, B.T @ (B / diagonal[:, None]) + G @ G.T]])
    if singular:  # the last row says what the last but one does
        K[:, -1], K[-1] = K[:, -2], K[-2]
        K[-1, -1] = K[-2, -2]
    right = K @ rng.standard_normal(m)
    units = np.sqrt(K.diagonal())
    E, M = sp.csr_array(K[:first, first:]), K[first:, first:].copy()
    M[np.tril_indices(m - first, -1)] = np.nan  # the upper triangle alone counts
    for w in (arrow_ridged_solver(K.diagonal()[:first], E, M)(right), ridged_solver(K)(right)):
        assert np.linalg.norm((K @ w - right) / units) <= 1e-10 * np.linalg.norm(right / units)


@pytest.mark.parametrize(("d", "E", "M", "found"), [
    ([1.0, -1.0], 0.0, 1.0, "not definite"),
    ([1.0, 1.0], 0.0, -1.0, "not definite"),
    ([1.0, 1.0], 0.8, 1.0, "not definite"),
    ([1.0, np.nan], 0.0, 1.0, "not finite"),
    ([1.0, 1.0], np.inf, 1.0, "not finite"),
])  # fmt: skip
def test_a_system_that_is_not_definite_in_either_part_is_refused(d, E, M, found) -> None:
    with pytest.raises(np.linalg.LinAlgError, match=found):
        arrow_ridged_solver(np.array(d), sp.csr_array(np.full((2, 1), E)), np.full((1, 1), M))
