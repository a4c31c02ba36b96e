"""Bases of measurements: the system of the multipliers is the same one, written in other coordinates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt.images import Images
from psdopt.linalg.tolerances import EPS
from psdopt.terms import bases, entry_coupling
from psdopt.terms.bases import Basis, DistanceBasis
from psdopt.terms.measurements import Entries, PairDistances

N = 5
WHOLE = {
    "first": ([0, 1, 2, 3, 4, 0, 3, 1, 0], [0, 1, 2, 3, 4, 2, 1, 4, 3]),  # as in kernel learning
    "first, in another order": ([1, 0, 2, 4, 3, 0, 3], [1, 0, 2, 4, 3, 2, 1]),
    "last": ([2, 4, 0, 1, 2, 3, 4], [1, 3, 0, 1, 2, 3, 4]),
    "in between": ([4, 0, 3, 1, 2, 0, 3, 2], [4, 2, 3, 1, 2, 0, 0, 4]),
}
OTHERS = {
    "a diagonal entry is missing": ([0, 1, 2, 3, 0, 3], [0, 1, 2, 3, 2, 1]),
    "one is there twice and one is missing": ([0, 1, 2, 3, 3, 0], [0, 1, 2, 3, 3, 2]),
    "one is there twice": ([0, 1, 2, 3, 4, 4, 0], [0, 1, 2, 3, 4, 4, 2]),
    "nothing but the diagonal": ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
    "no diagonal": ([0, 3], [2, 1]),
}


def symmetric_pair(rng):
    return [A + A.T for A in rng.standard_normal((2, N, N))]


def both_ways(measurement, ridge, rng):
    """(basis, T, K, T K Tᵀ as the basis makes it), K from traces of dense products."""
    basis, identity = measurement.basis(ridge), Images((), np.eye(N))
    T = np.column_stack([basis.values(column) for column in np.eye(measurement.size)])
    P, Q = symmetric_pair(rng)
    unit = np.eye(N)
    A = [
        0.5 * (np.outer(unit[i], unit[j]) + np.outer(unit[j], unit[i]))
        for i, j in zip(measurement.i, measurement.j, strict=True)
    ]
    K = np.array([[np.trace(a @ P @ b @ Q) for b in A] for a in A]) + np.diag(ridge)
    made = basis.system(P, Q, identity, np.full((measurement.size,) * 2, np.nan))
    return basis, T, K, made


@pytest.mark.parametrize("block", [1, 15, entry_coupling.BLOCK])
@pytest.mark.parametrize("name", WHOLE)
def test_distances_stand_in_for_entries_where_the_whole_diagonal_is_measured(name, block, monkeypatch):
    monkeypatch.setattr(entry_coupling, "BLOCK", block)
    rng, measurement = np.random.default_rng(0), Entries(*WHOLE[name], N)
    ridge = rng.uniform(0.5, 2.0, measurement.size)
    basis, T, K, made = both_ways(measurement, ridge, rng)
    assert isinstance(basis, DistanceBasis)
    np.testing.assert_allclose(np.triu(made), np.triu(T @ K @ T.T), rtol=0, atol=1e3 * EPS * np.abs(K).max())
    v = rng.standard_normal(measurement.size)
    np.testing.assert_allclose(basis.weights(v), T.T @ v, rtol=0, atol=64 * EPS * np.abs(v).max())
    # what it measures are diagonal entries and squared distances
    Y = rng.standard_normal((N, 3))
    M, own = Y @ Y.T, measurement.i == measurement.j
    distances = PairDistances(measurement.i[~own], measurement.j[~own], n=N)
    images = Images((), Y)
    expected = np.concatenate([np.diag(M), distances.pair(images, images)])
    np.testing.assert_allclose(
        basis.values(measurement.pair(images, images)), expected, rtol=0, atol=64 * EPS * np.abs(M).max()
    )


@settings(max_examples=25, deadline=None)
@given(more=st.integers(1, 10), scale=st.floats(-6, 6), seed=st.integers(0, 2**31))
def test_a_system_solved_in_the_basis_is_solved(more, scale, seed):
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(N * (N - 1) // 2)[:more]
    i, j = (ends[chosen] for ends in np.triu_indices(N, 1))
    order = rng.permutation(N + len(i))
    measurement = Entries(np.concatenate([np.arange(N), i])[order], np.concatenate([np.arange(N), j])[order], N)
    ridge = 10.0**scale * rng.uniform(0.2, 1.0, measurement.size)
    basis, identity = measurement.basis(ridge), Images((), np.eye(N))
    assert isinstance(basis, DistanceBasis)
    P, Q = (A @ A.T for A in rng.standard_normal((2, N, N)))
    made = basis.system(P, Q, identity, np.empty((measurement.size,) * 2))
    made = np.triu(made) + np.triu(made, 1).T
    q = rng.standard_normal(measurement.size)
    inner = np.linalg.solve(made, basis.values(q))
    v = basis.weights(inner)
    plain = Basis(measurement, ridge).system(P, Q, identity, np.empty((measurement.size,) * 2))
    K = np.triu(plain) + np.triu(plain, 1).T
    # the residual of a stable solution, however ill-conditioned the system, taken back to the entries
    T = np.column_stack([basis.values(column) for column in np.eye(measurement.size)])
    allowed = 64 * measurement.size * EPS * np.linalg.norm(np.linalg.inv(T), 2) * np.linalg.norm(made, 2)
    np.testing.assert_allclose(K @ v, q, rtol=0, atol=allowed * np.linalg.norm(inner))


@pytest.mark.parametrize("name", OTHERS)
def test_entries_without_a_whole_diagonal_are_their_own_basis(name):
    rng, measurement = np.random.default_rng(1), Entries(*OTHERS[name], N)
    basis, T, K, made = both_ways(measurement, rng.uniform(0.5, 2.0, measurement.size), rng)
    assert not isinstance(basis, DistanceBasis)
    np.testing.assert_array_equal(T, np.eye(measurement.size))
    np.testing.assert_allclose(np.triu(made), np.triu(K), rtol=0, atol=1e3 * EPS * np.abs(K).max())
    v = rng.standard_normal(measurement.size)
    np.testing.assert_array_equal(basis.weights(v), v)


def test_a_diagonal_that_hardly_counts_would_drown_the_rest_and_is_left_out():
    """In T K Tᵀ the ridge of the diagonal is added to that of the distances, whose own digits it would cost."""
    measurement = Entries(*WHOLE["first"], N)
    own = measurement.i == measurement.j
    just, above = (np.where(own, bases.DROWNING * factor, 1.0) for factor in (1.0, 1.01))
    assert isinstance(measurement.basis(just), DistanceBasis)
    assert not isinstance(measurement.basis(above), DistanceBasis)
