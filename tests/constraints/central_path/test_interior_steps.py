"""One step of the path: linearised equations, the two ways to solve them, Schur complements and their blocks."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints.central_path import interior_steps
from psdopt.constraints.central_path.block import Block
from psdopt.constraints.central_path.coupled_systems import RootedSystem, SchurSystem
from psdopt.constraints.central_path.couplings import Couplings
from psdopt.constraints.central_path.interior_steps import Iterate, definite_move, newton_step
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.linalg.arrays import norm


def bounded_form(n: int = 12) -> StandardForm:
    """Diagonal entries equal to one, some others between bounds, so that there is a block and a linear part."""
    rng = np.random.default_rng(0)
    C = rng.standard_normal((n, n))
    group = [constraints.diagonal(n, 1.0), constraints.entries([0, 2], [1, 3], n, lower=-0.5, upper=0.4)]
    return StandardForm(Constrained(QuadraticSDP(C=0.25 * (C + C.T)), group).conic)


def iterate(form: StandardForm) -> Iterate:
    rng = np.random.default_rng(1)
    X, Z = [], []
    v = 0.1 * rng.standard_normal(form.m)
    z = rng.random(len(form.c)) + 0.5
    for block in form.blocks:
        G, H = 0.3 * rng.standard_normal((2, block.size, block.size))
        X.append(np.eye(block.size) + G @ G.T)
        Z.append(np.eye(block.size) + H @ H.T)
    return Iterate.of(X, Z, rng.random(len(form.c)) + 0.5, z, v)


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("corrected", [False, True])
def test_directions_solve_the_linearised_equations(careful, corrected) -> None:
    form = bounded_form()
    at = iterate(form)
    step = interior_steps._Step(form, at, careful)
    target, T, t = 0.3, None, 0.0
    if corrected:
        dX, dZ, dx, dz, _ = step.direction(0.0)
        step.correct(dX, dx, dz)
        T, t = dX[0] @ dZ[0] @ np.linalg.inv(at.Z[0]), dx * dz / at.z
    dX, dZ, dx, dz, dv = step.direction(target)
    block, X, Z = form.blocks[0], at.X[0], at.Z[0]
    left = form.b - form.measure([X + dX[0]], at.x + dx)
    assert norm(left) <= 1e-12 * norm(form.b)
    assert norm(block.C - block.adjoint(at.v + dv) - Z - dZ[0]) <= 1e-12
    assert norm(form.c - form.At @ (at.v + dv) - at.z - dz) <= 1e-12
    Zi = np.linalg.inv(Z)
    whole = target * Zi - X - X @ dZ[0] @ Zi - (0.0 if T is None else T)
    assert np.allclose(dX[0], 0.5 * (whole + whole.T), rtol=0, atol=1e-11)
    assert np.allclose(at.z * (at.x + dx + t) + at.x * dz, target, rtol=0, atol=1e-11)


@pytest.mark.parametrize("careful", [False, True])
def test_a_step_goes_on_in_the_cone_with_its_factors(careful) -> None:
    form = bounded_form()
    new, length, was = newton_step(form, iterate(form), 0.9, careful)
    assert was is careful
    assert 0.0 < length <= 1.0
    for P, L in [*zip(new.X, new.Lx, strict=True), *zip(new.Z, new.Lz, strict=True)]:
        assert np.allclose(L @ L.T, P, rtol=0, atol=1e-13 * norm(P))
    assert min(new.x.min(), new.z.min()) > 0.0


def test_a_step_that_leaves_the_cone_is_shortened_for_all_blocks() -> None:
    (P, Q), (L, _), step = definite_move([np.eye(2), np.eye(1)], [np.diag([-1.1, 0.0]), np.ones((1, 1))], 1.0)
    assert 0.1 < step < 1.0 / 1.1
    assert np.allclose(P, np.diag([1.0 - step * 1.1, 1.0]), rtol=0, atol=1e-15)
    assert Q[0, 0] == 1.0 + step
    assert np.allclose(L @ L.T, P, rtol=0, atol=1e-15)
    with pytest.raises(np.linalg.LinAlgError, match="definite"):
        definite_move([np.zeros((2, 2))], [-np.eye(2)], 1.0)


def form_of(n: int = 5, m: int = 4, repeated: int = 0) -> StandardForm:
    """A block of order n, a row that is a block of order one, and an inequality, so that there is a linear part."""
    rng = np.random.default_rng(n)
    forms = []
    for _ in range(m):
        A = rng.standard_normal((n, n))
        forms.append(sp.block_diag([A + A.T, [[rng.standard_normal()]]], format="csr"))
    forms += forms[:repeated]
    C = sp.block_diag([np.eye(n), [[1.0]]], format="csr")
    lower = np.r_[-np.inf, np.ones(len(forms) - 1)]
    upper = np.ones(len(forms))
    group = constraints.sparse_forms(forms, lower=lower, upper=upper)
    return StandardForm(Constrained(QuadraticSDP(C=0.5 * C), group).conic)


def roots(form: StandardForm, decades: float = 0.0) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    rng = np.random.default_rng(7)
    L, K = [], []
    for block in form.blocks:
        s = block.size
        sizes = 10.0 ** np.linspace(0.0, -decades, s)
        L.append(np.tril(rng.standard_normal((s, s)) + 3.0 * np.eye(s)) * sizes)
        K.append(np.tril(rng.standard_normal((s, s)) + 3.0 * np.eye(s)) * sizes)
    return L, K, rng.random(len(form.c)) + 0.5


def both(form: StandardForm, decades: float = 0.0) -> tuple[SchurSystem, RootedSystem]:
    L, K, ratio = roots(form, decades)
    schur = SchurSystem(form, [P @ P.T for P in L], [Q.T @ Q for Q in K], ratio)
    return schur, RootedSystem(form, L, K, ratio)


def test_systems_of_two_threads_share_no_memory() -> None:
    form = form_of()
    L, K, ratio = roots(form)
    X, Q = [P @ P.T for P in L], [R.T @ R for R in K]
    right = np.ones(form.m)
    with ThreadPoolExecutor(1) as pool:
        mine = SchurSystem(form, X, Q, ratio)
        expected = mine.solve(right)
        other = pool.submit(SchurSystem, form, [9.0 * P for P in X], Q, ratio).result()
        np.testing.assert_array_equal(mine.solve(right), expected)
        assert not np.allclose(pool.submit(other.solve, right).result(), expected)


def test_the_root_keeps_digits_that_the_complement_loses() -> None:
    """X and Q are 1e14 in a direction that no A_t sees, and I beyond it: [tr(A_s A_t)] is what is left of products."""
    n, m = 6, 5
    rng = np.random.default_rng(4)
    V = np.linalg.qr(rng.standard_normal((n, n)))[0]
    forms = []
    for _ in range(m):
        A = rng.standard_normal((n - 1, n - 1))
        forms.append(V[:, 1:] @ (A + A.T) @ V[:, 1:].T)
    conic = Constrained(QuadraticSDP(C=np.eye(n)), constraints.sparse_forms(forms, 1.0)).conic
    form = StandardForm(conic)
    L = V * np.r_[1e7, np.ones(n - 1)]
    x = rng.standard_normal(m)
    A = [form.blocks[0].adjoint(e) for e in np.eye(m)]
    right = np.array([[np.sum(a * b) for b in A] for a in A]) @ x
    rooted = RootedSystem(form, [L], [L.T], np.zeros(0))
    assert np.linalg.norm(rooted.solve(right) - x) <= 1e-4 * np.linalg.norm(x)
    try:
        w = SchurSystem(form, [L @ L.T], [L @ L.T], np.zeros(0)).solve(right)
    except np.linalg.LinAlgError:
        return
    assert np.linalg.norm(w - x) >= 1e-3 * np.linalg.norm(x)


def test_repeated_rows_get_no_multiplier_and_the_rest_is_solved() -> None:
    form = form_of(5, 4, repeated=2)
    _, rooted = both(form)
    assert rooted.kept < form.m
    x = np.random.default_rng(3).standard_normal(form.m)
    right = rooted.G.T @ (rooted.G @ x) / rooted.scale
    w = rooted.solve(right)
    assert np.linalg.norm(rooted.G @ (w / rooted.scale - x)) <= 1e-9 * np.linalg.norm(rooted.G @ x)
    assert np.linalg.norm(w) <= 1e3 * np.linalg.norm(x)


def test_the_complement_of_a_matrix_that_is_not_definite_is_refused() -> None:
    form = form_of()
    L, K, ratio = roots(form)
    with pytest.raises(np.linalg.LinAlgError):
        SchurSystem(form, [P @ P.T for P in L], [-Q.T @ Q for Q in K], 0.0 * ratio)


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
    found.couplings.add(M, G, X @ X.T)
    assert np.allclose(np.triu(M), np.triu(2.0 + traces(list(A), G, X @ X.T)), rtol=1e-10, atol=1e-9)
    assert list(found.used) == [0, 1, 2, 3, 4]
    assert np.allclose(found.measure(np.asfortranarray(X)), found.measure(X), rtol=0, atol=1e-13)
