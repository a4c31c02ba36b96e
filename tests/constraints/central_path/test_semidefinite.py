"""Blocks of one order as one array: all members against matrices written out, and against the blocks apart."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.constraints.central_path.couplings import BatchedCouplings, Couplings
from psdopt.constraints.central_path.semidefinite import LocalSemidefinite, Semidefinite, SemidefiniteMetric
from psdopt.linalg.tolerances import EPS

M = 5


def blocks(count: int, size: int, density: float = 0.8, m: int = M) -> tuple[Semidefinite, np.ndarray]:
    """Random blocks and the A_tk, (m, K, s, s); the last constraint has no entries in the first block."""
    rng = np.random.default_rng(size + 100 * (count - 1))
    i, j = np.triu_indices(size)
    kept = (rng.random(len(i)) < density) | (np.arange(len(i)) < 2)
    i, j = i[kept], j[kept]
    entries = rng.standard_normal((m, count * len(i))) * (rng.random((m, count * len(i))) < 0.7)
    if count > 1:
        entries[-1, : len(i)] = 0.0
    A = np.zeros((m, count, size, size))
    A[:, :, i, j] += 0.5 * entries.reshape(m, count, -1)
    A[:, :, j, i] += 0.5 * entries.reshape(m, count, -1)
    G = rng.standard_normal((count, size, size)) if count > 1 else np.eye(size)[None]
    rows = rng.permutation(count * size).reshape(count, size) if count > 1 else np.arange(size)[None]
    return Semidefinite(rows, G + G.mT, i, j, sp.csr_array(entries)), A


def apart(part: Semidefinite) -> list[Semidefinite]:
    """The same blocks, each a part of its own."""
    p = len(part.i)
    pieces = [sp.csr_array(part.B[:, k * p : (k + 1) * p]) for k in range(part.count)]
    return [Semidefinite(part.rows[[k]], part.C[[k]], part.i, part.j, piece) for k, piece in enumerate(pieces)]


def definite(part: Semidefinite, seed: int) -> np.ndarray:
    G = np.random.default_rng(seed).standard_normal(part.C.shape)
    return G @ G.mT + np.eye(part.size)


def traces(A: np.ndarray, X: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """[Σ_k tr(A_sk X_k A_tk Q_k)]."""
    images = X @ A @ Q
    return np.einsum("skij,tkji->st", A, images)


CASES = [(1, 6, 0.8, False), (1, 60, 0.01, True), (4, 5, 0.8, False), (3, 60, 0.01, False), (7, 2, 1.0, False)]


@pytest.mark.parametrize(("count", "size", "density", "scattered"), CASES)
def test_measured_and_adjoint_are_those_of_the_matrices(count, size, density, scattered) -> None:
    part, A = blocks(count, size, density)
    assert part.scattered is scattered
    assert (part.count, part.size, part.degree) == (count, size, count * size)
    rng = np.random.default_rng(1)
    X, v = rng.standard_normal((count, size, size)), rng.standard_normal(M)
    V = rng.standard_normal((count, size, 3))
    assert np.allclose(part.measure(X), np.einsum("tkij,kij->t", A, X), rtol=0, atol=1e-12 * size)
    S = np.einsum("t,tkij->kij", v, A)
    assert np.allclose(part.adjoint(v), S, rtol=0, atol=1e-13)
    assert np.allclose(part.adjoint_times(v, V), S @ V, rtol=0, atol=1e-12)
    assert part.measure(X) @ v == pytest.approx(np.sum(S * X), rel=1e-12)
    assert np.allclose(part.measure(np.asfortranarray(X)), part.measure(X), rtol=0, atol=1e-13)


@pytest.mark.parametrize(("count", "size", "density", "scattered"), CASES)
def test_metrics_are_the_traces_of_products_dense_sparse_and_by_their_roots(count, size, density, scattered) -> None:
    part, A = blocks(count, size, density)
    assert isinstance(part.products, Couplings if count == 1 else BatchedCouplings)
    X, Z = definite(part, 2), definite(part, 3)
    L, K = part.factor(X), np.linalg.inv(part.factor(Z))
    Q = np.linalg.inv(Z)
    expected = traces(A, X, Q)
    close = {"rtol": 1e-9, "atol": 1e-9 * np.abs(expected).max()}
    metric = SemidefiniteMetric(part, X, Q, L, K)
    found = np.full((M, M), 2.0)
    metric.add_to(found, fresh=False)
    assert np.allclose(np.triu(found), np.triu(2.0 + expected), **close)
    found = np.zeros((M, M))
    metric.add_to(found, fresh=True)
    assert np.allclose(np.triu(found), np.triu(expected), **close)
    assert sp.issparse(metric.sparse())
    assert np.allclose(metric.sparse().toarray(), expected, **close)
    w = np.random.default_rng(4).standard_normal(M)
    S = np.einsum("t,tkij->kij", w, A)
    for _ in range(2):  # by products, then by the root
        image, right = metric.image(w)
        assert np.allclose(image, X @ S @ Q, rtol=0, atol=1e-9 * np.abs(image).max())
        assert np.allclose(right, S @ Q, rtol=0, atol=1e-9 * np.abs(right).max())
        whole = X @ S @ Q
        assert np.allclose(metric.moved(w), 0.5 * (whole + whole.mT), rtol=0, atol=1e-9 * np.abs(image).max())
        G = metric.root()
        assert G.shape == (M, count * size**2)
        assert np.allclose(G @ G.T, expected, **close)


def test_the_sparse_products_of_one_block_are_those_of_the_constraints_that_have_entries_there() -> None:
    part, A = blocks(1, 6, m=4)
    more = sp.csr_array(sp.vstack([sp.csr_array((3, part.B.shape[1])), part.B, sp.csr_array((2, part.B.shape[1]))]))
    wide = Semidefinite(part.rows, part.C, part.i, part.j, more)
    assert wide.compact[0].tolist() == [3, 4, 5, 6]
    X = definite(part, 1)
    found = SemidefiniteMetric(wide, X, X, X, None).sparse()
    assert found.nnz <= 16
    assert np.allclose(found.toarray()[3:7, 3:7], traces(A, X, X), rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize(("count", "size"), [(4, 5), (3, 2), (2, 12)])
def test_blocks_together_are_the_same_as_apart(count, size) -> None:
    part, _ = blocks(count, size)
    single = apart(part)
    rng = np.random.default_rng(5)
    b, v, D = 1e2 * rng.standard_normal(M), rng.standard_normal(M), rng.standard_normal(part.C.shape)
    part.C[1] *= 1e3
    single[1].C = part.C[[1]]
    D = D + D.mT
    X, Z = definite(part, 6), definite(part, 7)
    parted = [X[[k]] for k in range(count)]
    assert np.allclose(part.measure(D), sum(p.measure(D[[k]]) for k, p in enumerate(single)), rtol=0, atol=1e-12)
    assert np.allclose(part.adjoint(v), np.concatenate([p.adjoint(v) for p in single]), rtol=0, atol=1e-13)
    X0, Z0 = part.start(b)
    assert len(np.unique(X0[:, 0, 0])) > 1
    assert len(np.unique(Z0[:, 0, 0])) > 1
    for mine, theirs in zip((X0, Z0), zip(*(p.start(b) for p in single), strict=True), strict=True):
        assert np.allclose(mine, np.concatenate(theirs), rtol=1e-13, atol=0)
    L = part.factor(X)
    assert np.allclose(
        L, np.concatenate([p.factor(P) for p, P in zip(single, parted, strict=True)]), rtol=0, atol=1e-13
    )
    H = part.root(X)
    assert np.allclose(H @ H.mT, X, rtol=0, atol=1e-12 * np.abs(X).max())
    lengths = np.linalg.norm(H, axis=1)
    assert np.all(np.diff(lengths, axis=1) <= 1e-12 * lengths.max())  # longest columns first
    assert part.largest(Z) == pytest.approx(max(p.largest(Z[[k]]) for k, p in enumerate(single)), rel=1e-13)
    Y, expected = np.zeros((count * size, size + 1)), np.zeros((count * size, size + 1))
    part.placed(Y, H)
    for k, p in enumerate(single):
        p.placed(expected, H[[k]])
    assert np.array_equal(Y, expected)
    assert np.array_equal(Y[part.rows[1], :size], H[1])


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("off", [0.0, 1.0])
def test_linearised_equations_together_are_those_of_the_blocks_apart(careful, off) -> None:
    """With a dual equation that holds or does not, in predictor and corrector."""
    part, _ = blocks(4, 5)
    rng = np.random.default_rng(8)
    dv = 0.1 * rng.standard_normal(M)
    X, Z = definite(part, 1), definite(part, 2)
    R = [off * np.eye(part.size)[None] if off else None for _ in range(part.count)]
    L, K = part.factor(X), part.factor(Z)
    whole = part.local(X, Z, L, K, np.concatenate(R) if off else None, careful)
    single = [p.local(X[[k]], Z[[k]], L[[k]], K[[k]], R[k], careful) for k, p in enumerate(apart(part))]
    assert isinstance(whole, LocalSemidefinite)
    assert len(whole.terms) == (off > 0.0)

    def equal(mine: np.ndarray, theirs: np.ndarray) -> bool:
        return bool(np.allclose(mine, theirs, rtol=0, atol=1e-10 * (1.0 + np.abs(mine).max())))

    for _ in range(2):
        assert all(
            equal(term, sum(terms)) for term, *terms in zip(whole.terms, *(each.terms for each in single), strict=True)
        )
        assert equal(whole.inverse, sum(each.inverse for each in single))
        dX, dZ = whole.along(0.3, dv)
        moves = [each.along(0.3, dv) for each in single]
        assert equal(dX, np.concatenate([D for D, _ in moves]))
        assert equal(dZ, np.concatenate([D for _, D in moves]))
        whole.correct(dX, dZ)
        for each, (P, S) in zip(single, moves, strict=True):
            each.correct(P, S)
    assert len(whole.terms) == 1 + (off > 0.0)


SIGNS = [(1, 1, 1, 1, 1), (-1, 1, 1, 1, 1), (-1, -1, -1, 1, 1), (-1, -1, -1, -1, -1)]


@pytest.mark.parametrize("several", [*([signs] for signs in SIGNS), SIGNS[:2], SIGNS[1:3], SIGNS, SIGNS[::-1]])
def test_both_parts_of_matrices_and_the_roots_of_the_negative_ones(several) -> None:
    part, _ = blocks(len(several), 5)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((len(several), 5, 5)))[0]
    values = np.array(several) * np.arange(1.0, 6.0)
    W = (Q * values[:, None]) @ Q.mT
    up, down, root = part.split(W)
    np.testing.assert_allclose(up, (Q * np.maximum(values, 0.0)[:, None]) @ Q.mT, atol=1e-12)
    np.testing.assert_allclose(down, (Q * np.maximum(-values, 0.0)[:, None]) @ Q.mT, atol=1e-12)
    np.testing.assert_allclose(root @ root.mT, down, atol=1e-12)
    assert root.shape == (len(several), 5, int(np.max(np.sum(values < 0.0, axis=1))))


@pytest.mark.parametrize("mu", [0.0, 1e-12, 0.3])
@pytest.mark.parametrize("nu", [None, np.arange(3.0)])
def test_points_of_a_path_differ_by_a_matrix(mu, nu) -> None:
    part, _ = blocks(3, 5)
    part.weights = nu
    W = definite(part, 1) - 2.0 * definite(part, 2)
    X, Z = part.smoothed(W)(mu)
    np.testing.assert_allclose(X - Z, W, rtol=0, atol=1e-12)
    target = (mu + (np.zeros(3) if nu is None else nu))[:, None, None] * np.eye(5)
    np.testing.assert_allclose(X @ Z, target, rtol=0, atol=1e-12)
    least = np.linalg.eigvalsh(np.concatenate([X, Z]))[:, 0]
    assert np.all(least > 0.0) if mu > 1e-3 else np.all(least > -1e-12)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("least", [1e-3, 1e-11, -1e-11])
def test_definite_means_beyond_rounding_in_every_block(count, least) -> None:
    """Numbers of about 1e4 and a smallest eigenvalue of 1e-11 in one block: less than their rounding."""
    part, _ = blocks(count, 5)
    v = 1e4 * np.random.default_rng(2).standard_normal(M)
    D = definite(part, 3)
    for k in range(count):
        S = D.copy()
        S[k] += (least - np.linalg.eigvalsh(S[k])[0]) * np.eye(5)
        part.C = S + part.adjoint(v)
        assert EPS * np.linalg.norm(part.C) > 1e-13
        assert part.definite(v) is (least == 1e-3)


def test_what_is_not_definite_has_no_factor() -> None:
    part, _ = blocks(3, 4)
    X = definite(part, 0)
    X[1, 2, 2] = -1.0
    with pytest.raises(np.linalg.LinAlgError):
        part.factor(X)


@pytest.mark.parametrize("count", [1, 2])
def test_blocks_without_any_constraint_are_measured_as_nothing(count) -> None:
    none = np.zeros(0, dtype=np.intp)
    part = Semidefinite(
        np.arange(3 * count).reshape(count, 3), np.zeros((count, 3, 3)), none, none, sp.csr_array((2, 0))
    )
    X = np.stack([np.eye(3)] * count)
    assert part.measure(X).tolist() == [0.0, 0.0]
    assert not np.any(part.adjoint(np.ones(2)))
    assert [each[0, 0, 0] for each in part.start(np.ones(2))] == [10.0, 10.0]
    metric, found = SemidefiniteMetric(part, X, X, X, None), np.zeros((2, 2))
    metric.add_to(found, fresh=True)
    assert not np.any(np.triu(found))
    assert metric.sparse().nnz == 0
