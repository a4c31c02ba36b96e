"""Cliques of chordal graphs, programs over them, and matrices completed from them."""

import numpy as np
import pytest
import scipy.sparse as sp

import psdopt.constraints.conic
from benchmarks.papers.power_flow import power_flow, tiled
from benchmarks.papers.power_networks import FOURTEEN
from psdopt import Constrained, InteriorPoint, PSDCone, QuadraticSDP, Status, TermSum, constraints, solve
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.cliques import Cliques, cliques_of
from psdopt.constraints.conic import Conic, diagonal_blocks
from psdopt.terms import LogDet


def graph(kind: str, n: int, seed: int) -> sp.csr_array:
    """The pattern of a sparse symmetric matrix."""
    rng = np.random.default_rng(seed)
    if kind == "tree":
        i, j = np.arange(1, n), np.array([rng.integers(0, k) for k in range(1, n)])
    elif kind == "band":
        i = np.concatenate([np.arange(n - d) for d in (1, 2, 3)])
        j = np.concatenate([np.arange(d, n) for d in (1, 2, 3)])
    elif kind == "ring":
        i, j = np.arange(n), (np.arange(n) + 1) % n
    else:
        i, j = rng.integers(0, n, (2, n // 2 + n // 4))
    A = sp.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
    return sp.csr_array(((A + A.T + sp.eye_array(n)) > 0).astype(float))


KINDS = ["tree", "band", "ring", "random"]


def found(A: sp.csr_array, least: int = 1) -> Cliques:
    i, j = sp.triu(A, format="coo").coords
    blocks = diagonal_blocks(A)
    return cliques_of(i, j, blocks, np.array([len(rows) > least for rows in blocks]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_edges_lie_in_cliques_that_share_with_earlier_ones_what_they_share_with_their_parent(kind, seed) -> None:
    A = graph(kind, 40, seed)
    cliques = found(A)
    sets = [set(rows.tolist()) for rows in cliques.rows]
    assert set().union(*sets) == set(range(40))
    assert all(any({i, j} <= each for each in sets) for i, j in zip(*A.nonzero(), strict=True))
    before: set[int] = set()
    for clique, p in zip(sets, cliques.parent, strict=True):
        assert clique & before == (clique & sets[p] if p >= 0 else set())
        before |= clique
    assert max(map(len, sets)) <= {"tree": 4, "band": 10, "ring": 6, "random": 20}[kind]
    assert not any(a < b for a in sets for b in sets)


def test_blocks_of_few_rows_and_dense_ones_are_one_clique() -> None:
    A = sp.block_diag([np.ones((30, 30)), graph("ring", 12, 0), graph("ring", 20, 0)], format="csr")
    assert sorted(map(len, found(A, least=12).rows))[-2:] == [12, 30]


@pytest.mark.parametrize("kind", KINDS)
def test_places_and_copies_stand_for_entries_of_m(kind) -> None:
    A = graph(kind, 30, 5)
    cliques, M = found(A), np.random.default_rng(0).standard_normal((30, 30))
    M = M + M.T
    apart = M[np.ix_(cliques.origin, cliques.origin)]
    clique = np.repeat(np.arange(len(cliques.rows)), [len(each) for each in cliques.rows])
    i, j = sp.triu(A, format="coo").coords
    a, b = cliques.placed(i, j)
    assert np.array_equal(clique[a], clique[b])
    assert np.array_equal(apart[a, b], M[i, j])
    own, above = cliques.copies()
    assert np.array_equal(apart[tuple(own)], apart[tuple(above)])
    assert np.array_equal(clique[own[0]], clique[own[1]])
    assert np.array_equal(clique[above[0]], np.array(cliques.parent)[clique[own[0]]])
    # every entry within several cliques is linked once less than it occurs
    times = sum(len(rows) * (len(rows) + 1) // 2 for rows in cliques.rows)
    pairs = {(x, y) for rows in cliques.rows for x in rows.tolist() for y in rows.tolist() if x <= y}
    assert own.shape[1] == times - len(pairs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank", [1, 3, 30])
def test_a_completion_has_the_entries_of_its_cliques(kind, rank) -> None:
    A = graph(kind, 30, 6)
    cliques, rng = found(A), np.random.default_rng(1)
    G = rng.standard_normal((30, rank))
    M, r = G @ G.T, max(map(len, cliques.rows))
    Y = np.zeros((len(cliques.origin), r))
    for start, rows in zip(cliques.start, cliques.rows, strict=True):  # a factor of each, turned at random
        values, V = np.linalg.eigh(M[np.ix_(rows, rows)])
        Y[start : start + len(rows), : len(rows)] = V * np.sqrt(np.maximum(values, 0.0))
        Y[start : start + len(rows)] = Y[start : start + len(rows)] @ np.linalg.qr(rng.standard_normal((r, r)))[0]
    Z = cliques.completed(Y)
    assert Z.shape == (30, r)
    for rows in cliques.rows:
        assert np.allclose(Z[rows] @ Z[rows].T, M[np.ix_(rows, rows)], rtol=0.0, atol=1e-10 * np.max(np.abs(M)))


def program(kind: str, n: int, seed: int) -> Constrained:
    """A random program on a sparse pattern, with a solution: constraints at a random M, costs C ≻ −A*(y) for some y."""
    rng = np.random.default_rng(seed)
    A = graph(kind, n, seed)
    i, j = sp.triu(A, format="coo").coords
    m = n // 2
    B = sp.random_array((m, len(i)), density=min(1.0, 4.0 / len(i)), rng=rng, data_sampler=rng.standard_normal)
    B = sp.csr_array(sp.vstack([B, sp.csr_array((i == j).astype(float)[None])]))  # and the trace
    forms = constraints.SparseForms(i, j, B, n)
    G = rng.standard_normal((n, n))
    a = forms.B @ (G @ G.T)[forms.i, forms.j] / n
    upper = a + np.where(rng.random(m + 1) < 0.3, 0.5, 0.0)
    W = sp.csr_array((rng.standard_normal(len(i)), (i, j)), shape=(n, n))
    C = sp.csr_array(W + W.T)
    return Constrained(QuadraticSDP(C=0.5 * C), constraints.Constraint(forms, a, upper))


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Blocks of more than four rows are split, whatever it costs."""
    monkeypatch.setattr(psdopt.constraints.conic, "SMALL_ORDER", 4)
    monkeypatch.setattr(Conic, "flops", property(lambda self: 100.0 ** -len(self.blocks)))
    return monkeypatch


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_split_program_has_the_solution_of_the_whole(kind, seed, eager) -> None:
    p = program(kind, 40, seed)
    assert p.conic is not None
    assert p.conic.split is not None
    split = solve(p, PSDCone(40), InteriorPoint(), tol=1e-8)
    assert split.optimal
    assert isinstance(split.state.form.cliques, Cliques)
    assert len(split.certificate.constraints.multipliers) == p.m
    assert StandardForm(p.conic).cliques is None  # not unless asked
    assert split.rank <= max(map(len, p.conic.split[1].rows))
    eager.setattr(psdopt.constraints.conic, "SMALL_ORDER", 40)
    whole = solve(program(kind, 40, seed), PSDCone(40), InteriorPoint(), tol=1e-8)
    assert whole.optimal
    assert whole.state.form.cliques is None
    unit = whole.certificate.unit
    assert abs(split.value - whole.value) <= 1e-6 * unit


def test_a_split_program_without_a_feasible_matrix_is_proven_so(eager) -> None:
    n = 20
    p = program("band", n, 0)
    groups = [*p.constraints, constraints.entries([0], [0], n, lower=1.0), constraints.trace(n, upper=0.5)]
    assert solve(Constrained(p.problem, groups), PSDCone(n), InteriorPoint()).status is Status.INFEASIBLE


def test_a_warm_start_of_a_split_program_takes_fewer_steps(eager) -> None:
    p = program("ring", 30, 1)
    first = solve(p, PSDCone(30), InteriorPoint(), tol=1e-6)
    again = program("ring", 30, 1)
    y = first.certificate.constraints.multipliers
    warm = solve(again, PSDCone(30), InteriorPoint(), start=first.matrix, dual=y, tol=1e-6)
    assert warm.optimal
    assert warm.iterations < first.iterations


def test_dense_patterns_small_blocks_and_log_dets_are_not_split() -> None:
    n = 100
    dense = Constrained(QuadraticSDP(C=np.ones((n, n))), constraints.diagonal(n, 1.0))
    small = program("tree", 40, 0)
    curved = Constrained(TermSum([LogDet(n)]), constraints.diagonal(n, upper=1.0))
    for p in (dense, small, curved):
        assert p.central is not None
        assert p.central.split is None
        assert p.central.cheapest is p.central


def test_power_flow_is_split_where_networks_are_large_and_has_its_published_cost() -> None:
    p = power_flow(FOURTEEN)
    result = solve(p)
    assert result.optimal
    assert result.value + FOURTEEN.constant == pytest.approx(FOURTEEN.known, abs=0.02)
    large = power_flow(tiled(FOURTEEN, 5))
    assert large.conic is not None
    assert large.conic.split is not None
    assert large.conic.split[0].cubes < 0.1 * large.conic.cubes
    result = solve(large)
    assert result.optimal
    assert result.state.form.cliques is not None
    assert result.rank <= 30
