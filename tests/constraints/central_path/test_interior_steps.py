"""One step of the path: linearised equations, the ways to solve them, and Schur complements."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import block_diag

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints.central_path import interior_steps
from psdopt.constraints.central_path.coupled_systems import Metric, RootedSystem, schur_solver
from psdopt.constraints.central_path.couplings import Couplings
from psdopt.constraints.central_path.interior_steps import Iterate, definite_move, newton_step
from psdopt.constraints.central_path.orthant import Orthant, OrthantMetric
from psdopt.constraints.central_path.semidefinite import Semidefinite, SemidefiniteMetric
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.linalg.arrays import norm


def bounded_form(n: int = 12) -> StandardForm:
    """Diagonal entries equal to one, some others between bounds, so that there is a block and a linear part."""
    rng = np.random.default_rng(0)
    C = rng.standard_normal((n, n))
    group = [constraints.diagonal(n, 1.0), constraints.entries([0, 2], [1, 3], n, lower=-0.5, upper=0.4)]
    return StandardForm(Constrained(QuadraticSDP(C=0.25 * (C + C.T)), group).conic)


def stacked_form() -> StandardForm:
    """Three blocks of order 3, two of order 4 and a single row under constraints that all of them share."""
    rng = np.random.default_rng(5)

    def blocks() -> sp.csr_array:
        parts = [rng.standard_normal((s, s)) for s in (3, 4, 3, 1, 4, 3)]
        return sp.csr_array(block_diag(*(P + P.T for P in parts)))

    forms = [blocks() for _ in range(5)]
    lower, upper = np.array([1.0, 0.5, -np.inf, -1.0, 2.0]), np.array([1.0, np.inf, 2.0, 1.0, 2.0])
    group = constraints.sparse_forms(forms, lower=lower, upper=upper)
    return StandardForm(Constrained(QuadraticSDP(C=0.5 * blocks()), group).conic)


def iterate(form: StandardForm) -> Iterate:
    rng = np.random.default_rng(1)
    v = 0.1 * rng.standard_normal(form.m)
    X, Z = [], []
    for part in form.parts:
        for P in (X, Z):
            if isinstance(part, Orthant):
                P.append(rng.random(part.degree) + 0.5)
            else:
                G = 0.3 * rng.standard_normal(part.C.shape)
                P.append(np.eye(part.size) + G @ G.mT)
    return Iterate.of(form, X, Z, v)


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize(("form", "kinds"), [(bounded_form(), [1, 0]), (stacked_form(), [3, 2, 0])])
def test_directions_solve_the_linearised_equations(careful, corrected, form, kinds) -> None:
    """Of matrices of each order, and of the linear part, which comes last."""
    assert [part.count if isinstance(part, Semidefinite) else 0 for part in form.parts] == kinds
    at = iterate(form)
    step = interior_steps.LinearisedEquations(form, at, careful)
    target, t = 0.3, 0.0
    T = [np.zeros_like(X) for X in at.X]
    if corrected:
        dX, dZ, _ = step.direction(0.0)
        for part, dP, dS in zip(step.parts, dX, dZ, strict=True):
            part.correct(dP, dS)
        T = [dP @ dS @ np.linalg.inv(Z) for dP, dS, Z in zip(dX[:-1], dZ[:-1], at.Z[:-1], strict=True)]
        t = dX[-1] * dZ[-1] / at.Z[-1]
        assert min(norm(each) for each in (*T, t)) > 1e-3
    dX, dZ, dv = step.direction(target)
    left = form.b - form.measure([X + D for X, D in zip(at.X, dX, strict=True)])
    assert norm(left) <= 1e-12 * max(norm(form.b), sum(map(norm, at.X)))
    for part, Z, D in zip(form.parts, at.Z, dZ, strict=True):
        assert norm(part.C - part.adjoint(at.v + dv) - Z - D) <= 1e-12
    for k, X in enumerate(at.X[:-1]):
        Zi = np.linalg.inv(at.Z[k])
        whole = target * Zi - X - X @ dZ[k] @ Zi - T[k]
        assert np.allclose(dX[k], 0.5 * (whole + whole.mT), rtol=0, atol=1e-11)
    x, z = at.X[-1], at.Z[-1]
    assert np.allclose(z * (x + dX[-1] + t) + x * dZ[-1], target, rtol=0, atol=1e-11)


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("form", [bounded_form(), stacked_form()])
def test_a_step_goes_on_in_the_cone_with_its_factors(careful, form) -> None:
    new, length, was = newton_step(form, iterate(form), 0.9, careful)
    assert was is careful
    assert 0.0 < length <= 1.0
    pairs = [*zip(new.X, new.Lx, strict=True), *zip(new.Z, new.Lz, strict=True)]
    for P, L in pairs:
        square = L @ L.mT if P.ndim == 3 else L * L
        assert np.allclose(square, P, rtol=0, atol=1e-13 * norm(P))
    assert min(new.X[-1].min(), new.Z[-1].min()) > 0.0


def test_a_step_that_leaves_the_cone_is_shortened_for_all_blocks() -> None:
    pair = np.array([[1.0, 0.5], [0.5, 1.0]])
    A = sp.csr_array(block_diag(pair, pair, [[1.0]]))
    form = StandardForm(Constrained(QuadraticSDP(C=A), constraints.sparse_forms([A], 1.0)).conic)
    eyes = np.stack([np.eye(2), np.eye(2)])
    moves = [np.stack([np.zeros((2, 2)), np.diag([-1.1, 0.0])]), np.ones(1)]
    (P, q), (L, root), step = definite_move(form, [eyes, np.ones(1)], moves, 1.0)
    assert 0.1 < step < 1.0 / 1.1
    assert np.array_equal(P[0], np.eye(2))
    assert np.allclose(P[1], np.diag([1.0 - step * 1.1, 1.0]), rtol=0, atol=1e-15)
    assert q[0] == 1.0 + step
    assert np.allclose(L @ L.mT, P, rtol=0, atol=1e-15)
    assert root[0] == pytest.approx(np.sqrt(q[0]))
    (P, q), _, step = definite_move(form, [eyes, np.ones(1)], [np.zeros_like(eyes), np.array([-1.1])], 1.0)
    assert 0.1 < step < 1.0 / 1.1
    assert q[0] == pytest.approx(1.0 - step * 1.1)
    with pytest.raises(np.linalg.LinAlgError, match="definite"):
        definite_move(form, [0.0 * eyes, np.ones(1)], [-eyes, np.ones(1)], 1.0)


def form_of(n: int = 5, m: int = 4, repeated: int = 0) -> StandardForm:
    """A block of order n, a row that is a block of order one, and an inequality, so that there is a linear part."""
    rng = np.random.default_rng(n)
    forms = []
    for _ in range(m):
        A = rng.standard_normal((n, n))
        forms.append(sp.csr_array(block_diag(A + A.T, [[rng.standard_normal()]])))
    forms += forms[:repeated]
    C = sp.csr_array(block_diag(np.eye(n), [[1.0]]))
    lower = np.r_[-np.inf, np.ones(len(forms) - 1)]
    upper = np.ones(len(forms))
    group = constraints.sparse_forms(forms, lower=lower, upper=upper)
    return StandardForm(Constrained(QuadraticSDP(C=0.5 * C), group).conic)


def metrics(form: StandardForm, size: float = 1.0, sign: float = 1.0, ratio: float = 1.0) -> list[Metric]:
    """D ↦ P D Q with P = `size` L Lᵀ, Q = `sign` KᵀK for matrices, `ratio` times numbers near one for the rest."""
    rng, found = np.random.default_rng(7), []
    for part in form.parts:
        if isinstance(part, Orthant):
            found.append(OrthantMetric(part, ratio * (rng.random(part.degree) + 0.5)))
            continue
        L, K = (np.tril(rng.standard_normal(part.C.shape) + 3.0 * np.eye(part.size)) for _ in "LK")
        found.append(SemidefiniteMetric(part, size * L @ L.mT, sign * K.mT @ K, np.sqrt(size) * L, K))
    return found


def system_of(form: StandardForm, maps: list[Metric]) -> np.ndarray:
    """(m, m) by its definition, Σ_k ⟨A_sk, H_k A_tk⟩."""
    M = np.zeros((form.m, form.m))
    for part, metric in zip(form.parts, maps, strict=True):
        A = [part.adjoint(e) for e in np.eye(form.m)]
        H = [metric.h * a if isinstance(metric, OrthantMetric) else metric.P @ a @ metric.Q for a in A]
        M += np.array([[np.sum(a * h) for h in H] for a in A])
    return M


def paired_form() -> StandardForm:
    """Two blocks, orders 3 and 4, that share the constraints: each holds a diagonal entry of both."""
    forms = [sp.csr_array(([1.0, 1.0], ([t, 3 + t], [t, 3 + t])), shape=(7, 7)) for t in range(3)]
    C = sp.csr_array(block_diag(np.ones((3, 3)), np.ones((4, 4))))
    return StandardForm(Constrained(QuadraticSDP(C=C), constraints.sparse_forms(forms, 1.0)).conic)


@pytest.mark.parametrize("form", [form_of(), stacked_form(), bounded_form(), paired_form()])
def test_all_ways_solve_the_system_of_its_definition(form, monkeypatch) -> None:
    maps = metrics(form)
    x = np.random.default_rng(2).standard_normal(form.m)
    right = system_of(form, maps) @ x
    assert not form.conic.sparse
    found = [schur_solver(form, maps)(right), RootedSystem(form, maps).solve(right)]
    monkeypatch.setattr(type(form.conic), "sparse", True)
    found.append(schur_solver(form, maps)(right))
    for w in found:
        assert np.linalg.norm(w - x) <= 1e-7 * np.linalg.norm(x)


def test_systems_of_two_threads_share_no_memory() -> None:
    form = form_of()
    right = np.ones(form.m)
    with ThreadPoolExecutor(1) as pool:
        mine = schur_solver(form, metrics(form))
        expected = mine(right)
        other = pool.submit(schur_solver, form, metrics(form, 9.0)).result()
        np.testing.assert_array_equal(mine(right), expected)
        assert not np.allclose(pool.submit(other, right).result(), expected)


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
    (part,) = form.parts
    A = [part.adjoint(e) for e in np.eye(m)]
    right = np.array([[np.sum(a * b) for b in A] for a in A]) @ x
    L = L[None]
    metric = SemidefiniteMetric(part, L @ L.mT, L @ L.mT, L, L.mT)
    rooted = RootedSystem(form, [metric])
    assert np.linalg.norm(rooted.solve(right) - x) <= 1e-4 * np.linalg.norm(x)
    try:
        w = schur_solver(form, [metric])(right)
    except np.linalg.LinAlgError:
        return
    assert np.linalg.norm(w - x) >= 1e-3 * np.linalg.norm(x)


def test_a_system_that_overflows_has_no_root() -> None:
    form = form_of(5, 4)
    found = metrics(form)
    found[0].root = lambda: np.full((form.m, 9), 1e200)
    with np.errstate(over="ignore"), pytest.raises(np.linalg.LinAlgError, match="overflows"):
        RootedSystem(form, found)


def test_repeated_rows_get_no_multiplier_and_the_rest_is_solved() -> None:
    form = form_of(5, 4, repeated=2)
    rooted = RootedSystem(form, metrics(form))
    assert rooted.kept < form.m
    x = np.random.default_rng(3).standard_normal(form.m)
    right = rooted.G.T @ (rooted.G @ x) / rooted.scale
    w = rooted.solve(right)
    assert np.linalg.norm(rooted.G @ (w / rooted.scale - x)) <= 1e-9 * np.linalg.norm(rooted.G @ x)
    assert np.linalg.norm(w) <= 1e3 * np.linalg.norm(x)


def test_the_complement_of_a_matrix_that_is_not_definite_is_refused() -> None:
    form = form_of()
    with pytest.raises(np.linalg.LinAlgError):
        schur_solver(form, metrics(form, sign=-1.0, ratio=0.0))


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
