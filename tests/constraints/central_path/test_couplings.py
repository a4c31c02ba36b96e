"""Schur complements and blocks against traces of products, for every kind of constraint and every way to take it."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.constraints.central_path.block import Block
from psdopt.constraints.central_path.couplings import Couplings

N = 7
ROWS, COLUMNS = np.triu_indices(N)


def matrices() -> list[np.ndarray]:
    """Rank one of both signs, a diagonal entry, an entry, some entries, a dense matrix, the identity."""
    rng = np.random.default_rng(0)
    found = []
    for sign in (1.0, -1.0):
        a = np.zeros(N)
        a[[1, 3, 4]] = rng.standard_normal(3)
        found.append(sign * np.outer(a, a))
    for places, value in ([[(2, 2)], 3.0], [[(2, 4), (4, 2)], 0.5], [[(2, 4), (4, 2), (0, 0)], -0.7]):
        A = np.zeros((N, N))
        for at in places:
            A[at] = value
        found.append(A)
    G = rng.standard_normal((N, N))
    return [*found, G + G.T, np.eye(N)]


def by_entries(forms: list[np.ndarray]) -> sp.csr_array:
    return sp.csr_array(np.array([np.where(ROWS == COLUMNS, 1.0, 2.0) * A[ROWS, COLUMNS] for A in forms]))


def pair(seed: int) -> tuple[np.ndarray, np.ndarray]:
    G, H = np.random.default_rng(seed).standard_normal((2, N, N))
    return G @ G.T, H @ H.T


def traces(forms: list[np.ndarray], X: np.ndarray, Q: np.ndarray) -> np.ndarray:
    return np.array([[np.trace(A @ X @ B @ Q) for B in forms] for A in forms])


@pytest.mark.parametrize("light", [[], [3], [4, 3], [3, 4, 5], [6, 5, 4, 3, 2]])
@pytest.mark.parametrize("fresh", [True, False])
def test_every_split_into_kinds_gives_the_traces(light, fresh) -> None:
    forms = matrices()
    couplings, (X, Q) = Couplings(ROWS, COLUMNS, by_entries(forms), N), pair(1)
    assert set(couplings.outer) == {0, 1, 2}
    couplings.light = np.setdiff1d(np.array(light, dtype=np.intp), couplings.outer)
    rest = np.setdiff1d(np.arange(len(forms)), couplings.outer)
    couplings.heavy = np.setdiff1d(rest, couplings.light)
    couplings.arrange()
    M = np.zeros((len(forms), len(forms)))
    couplings.add(M, X, Q, fresh=fresh)
    assert np.allclose(np.triu(M), np.triu(traces(forms, X, Q)), rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("weights", [1.0, np.array([1.0, 2.0, -0.5, 3.0])])
def test_single_entries_are_gathered_into_the_system_itself_or_added_to_it(weights) -> None:
    at = [(0, 0), (3, 3), (1, 2), (0, 5)]
    forms = []
    for (a, b), w in zip(at, np.broadcast_to(weights, 4), strict=True):
        A = np.zeros((N, N))
        A[a, b] = A[b, a] = w
        forms.append(A)
    for order in ([0, 1, 2, 3], [2, 0, 3, 1]):  # diagonal entries first, and not
        these = [forms[k] for k in order]
        couplings, (X, Q) = Couplings(ROWS, COLUMNS, by_entries(these), N), pair(2)
        assert couplings.single
        assert (len(couplings.light), len(couplings.outer)) == (4, 0)
        for fresh in (True, False):
            M = np.zeros((4, 4))
            couplings.add(M, X, Q, fresh=fresh)
            assert np.allclose(np.triu(M), np.triu(traces(these, X, Q)), rtol=1e-12, atol=1e-11)


def test_what_is_nearly_of_rank_one_is_not_taken_for_it() -> None:
    a = np.zeros(N)
    a[[0, 2, 5]] = 1.0, -2.0, 0.5
    exact = np.outer(a, a)
    off, hollow, mixed = exact.copy(), exact.copy(), exact.copy()
    off[0, 2] = off[2, 0] = exact[0, 2] * (1.0 + 1e-12)
    hollow[5, 5] = 0.0
    mixed[5, 5] = -mixed[5, 5]
    flipped = exact.copy()
    flipped[2, 5] = flipped[5, 2] = -exact[2, 5]
    couplings = Couplings(ROWS, COLUMNS, by_entries([exact, off, hollow, mixed, flipped, -exact]), N)
    assert list(couplings.outer) == [0, 5]
    assert list(couplings.signs) == [1.0, -1.0]
    found = couplings.vectors.toarray()
    assert np.allclose(found[0, 0] * found[0], exact[0], rtol=0, atol=1e-15)
    assert np.allclose(found[1, 0] * found[1], exact[0], rtol=0, atol=1e-15)


def test_vectors_with_most_entries_stay_with_the_matrix_products() -> None:
    a = np.arange(1.0, N + 1.0)
    few = np.where(np.arange(N) < 3, a, 0.0)
    assert list(Couplings(ROWS, COLUMNS, by_entries([np.outer(a, a), np.outer(few, few)]), N).outer) == [1]


def block(size: int, density: float, m: int = 5) -> tuple[Block, np.ndarray]:
    rng = np.random.default_rng(size)
    i, j = np.triu_indices(size)
    kept = (rng.random(len(i)) < density) | (np.arange(len(i)) < 2)
    i, j = i[kept], j[kept]
    B = sp.csr_array(rng.standard_normal((m, len(i))) * (rng.random((m, len(i))) < 0.7))
    A = np.zeros((m, size, size))
    for t in range(m):
        A[t, i, j] += 0.5 * B.toarray()[t]
        A[t, j, i] += 0.5 * B.toarray()[t]
    return Block(np.arange(size), np.eye(size), i, j, B), A


@pytest.mark.parametrize(("size", "density", "scattered"), [(6, 0.8, False), (60, 0.01, True)])
def test_measured_and_adjoint_are_those_of_the_matrices(size, density, scattered) -> None:
    found, A = block(size, density)
    assert found.scattered is scattered
    rng = np.random.default_rng(1)
    X, v, V = rng.standard_normal((size, size)), rng.standard_normal(5), rng.standard_normal((size, 3))
    assert np.allclose(found.measure(X), np.einsum("tij,ij->t", A, X), rtol=0, atol=1e-12 * size)
    S = np.einsum("t,tij->ij", v, A)
    assert np.allclose(found.adjoint(v), S, rtol=0, atol=1e-13)
    assert np.allclose(found.adjoint_times(v, V), S @ V, rtol=0, atol=1e-12)
    assert found.measure(X) @ v == pytest.approx(np.sum(S * X), rel=1e-12)
    G, M = S @ S.T, np.full((5, 5), 2.0)
    found.add_schur(M, G, X @ X.T)
    assert np.allclose(np.triu(M), np.triu(2.0 + traces(list(A), G, X @ X.T)), rtol=1e-10, atol=1e-9)
    assert list(found.used) == [0, 1, 2, 3, 4]
    assert np.allclose(found.measure(np.asfortranarray(X)), found.measure(X), rtol=0, atol=1e-13)
