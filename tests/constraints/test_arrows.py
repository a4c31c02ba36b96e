"""Blocks in arrow form: which blocks are, and that programs with them end as without their recognition."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import block_diag

from psdopt import Constrained, InteriorPoint, QuadraticSDP, Status, certify, constraints, read_sdpa, solve
from psdopt.constraints.allowed import Allowed
from psdopt.constraints.central_path.second_order import SecondOrder
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.conic import Conic
from psdopt.constraints.measurements import SparseForms
from tests.instances import symmetric


def arrow(a: float, u: np.ndarray, hub: int = 0) -> np.ndarray:
    """a on the diagonal, u beside it in row and column `hub`."""
    A = a * np.eye(len(u) + 1)
    beside = np.arange(len(u) + 1) != hub
    A[hub, beside] = A[beside, hub] = u
    return A


def of_blocks(C: list[np.ndarray], *forms: list[np.ndarray], order: np.ndarray | None = None) -> Conic:
    """⟨A_t, M⟩ = 1 with these diagonal blocks, rows of M in another `order`."""
    whole = [sp.csr_array(block_diag(*parts)) for parts in (C, *forms)]
    if order is not None:
        whole = [A[order][:, order] for A in whole]
    return Constrained(QuadraticSDP(C=0.5 * whole[0]), constraints.sparse_forms(whole[1:], 1.0)).conic


def found(conic: Conic) -> list[list[int]]:
    return [rows.tolist() for stack in conic.stacks if stack.arrow for rows in stack.rows]


@pytest.mark.parametrize("hub", range(4))
def test_arrows_have_their_common_row_first_wherever_it_lies(hub) -> None:
    rng = np.random.default_rng(hub)
    A, B, C = ([arrow(rng.standard_normal(), rng.standard_normal(3), hub), symmetric(rng, 3)] for _ in "ABC")
    conic = of_blocks(C, A, B)
    assert found(conic) == [[hub, *(k for k in range(4) if k != hub)]]
    assert [stack.rows.tolist() for stack in conic.matrices] == [[[4, 5, 6]]]
    assert conic.cubes == 27.0
    order = rng.permutation(7)
    turned = of_blocks(C, A, B, order=order)
    (arrows,) = [stack for stack in turned.stacks if stack.arrow]
    (rows,), y = arrows.rows, rng.standard_normal(2)
    assert order[rows[0]] == hub
    assert sorted(order[rows]) == [0, 1, 2, 3]
    assert turned.hubs == {turned.label[rows[0]]: rows[0]}
    for entries, S in (
        (turned.places[2], turned.C),
        (turned.entries(y), turned.slack(y)),
        (turned.entries(y.astype(np.longdouble)), turned.slack(y)),
    ):
        u, S = arrows.first_rows(entries), S.toarray()
        assert u.dtype == entries.dtype
        assert np.allclose(u[0].astype(np.float64), S[rows[0], rows], rtol=0, atol=1e-14)


def test_blocks_of_one_diagonal_and_entries_beside_one_row_in_some_forms_only_are_arrows() -> None:
    eye, zero = np.eye(3), np.zeros((3, 3))
    assert found(of_blocks([eye], [arrow(0.0, np.array([1.0, 0.0]))], [arrow(2.0, np.array([0.0, 1.0]))])) == [
        [0, 1, 2]
    ]
    assert found(of_blocks([zero], [arrow(1.0, np.array([1.0, 2.0]), 1)])) == [[1, 0, 2]]
    assert found(of_blocks([arrow(1.0, np.array([1.0, 2.0]), 2)], [eye])) == [[2, 0, 1]]


def test_what_is_no_arrow() -> None:
    ones, path = np.ones(3), np.eye(4) + np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    whole = arrow(1.0, ones)
    for k in range(4):  # unequal diagonals, in C or a form, by the last bit
        for size in (2.0, 1.0 + 2.0**-52, 0.0):
            other = whole.copy()
            other[k, k] = size
            assert not found(of_blocks([whole], [other]))
            assert not found(of_blocks([other], [whole]))
    second = whole.copy()
    second[1, 2] = second[2, 1] = 1e-300
    assert not found(of_blocks([whole], [second]))
    assert not found(of_blocks([second], [whole]))
    assert not found(of_blocks([whole], [arrow(1.0, ones, 1)]))  # another hub in another form
    assert not found(of_blocks([path], [whole]))
    assert not found(of_blocks([np.ones((2, 2))], [np.eye(2)]))  # of order two: two diagonal entries and one beside
    assert not found(of_blocks([np.eye(1)], [np.eye(1)]))
    assert found(of_blocks([whole], [whole])) == [[0, 1, 2, 3]]


def test_diagonals_are_compared_entry_by_entry() -> None:
    """1e20 + 1 and 1e20 + 2 are one number; (1e20, 1) and (1e20, 2) are not. Nor are (1, 2) and (2, 1)."""
    whole = arrow(1.0, np.array([0.1, 0.1]))
    assert not found(of_blocks([whole], [1e20 * np.eye(3)], [np.diag([1.0, 2.0, 2.0])]))
    assert not found(of_blocks([whole], [np.diag([1.0, 2.0, 2.0])], [np.diag([2.0, 1.0, 1.0])]))
    assert found(of_blocks([whole], [1e20 * np.eye(3)], [2.0 * np.eye(3)])) == [[0, 1, 2]]


def test_a_program_with_diagonals_of_very_different_sizes_is_solved() -> None:
    """tr M = 1, given as 1e20 tr M = 1e20, beside M_00 + 2 M_11 + 2 M_22 <= 1.2."""
    C, rest = arrow(1.0, np.array([0.1, 0.1])), np.diag([1.0, 2.0, 2.0])
    values = []
    for size in (1.0, 1e20):
        group = constraints.sparse_forms([size * np.eye(3), rest], lower=[size, 1.0], upper=[size, 1.2])
        result = solve(Constrained(QuadraticSDP(C=0.5 * C), group), tol=1e-8)
        assert result.status is Status.OPTIMAL
        values.append(result.value)
    assert values[0] == pytest.approx(values[1], rel=1e-7)


def test_places_that_are_given_twice_or_hold_zeros_are_counted_once_or_not_at_all() -> None:
    """A_1 = I with ½ in each of (0, 1) twice, in both orders, and in (0, 2); places (1, 2) and (2, 3) hold zeros."""
    i, j = np.array([0, 1, 2, 3, 0, 1, 0, 1, 0, 2]), np.array([0, 1, 2, 3, 1, 0, 2, 2, 3, 3])
    B = np.array([[1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 1.0, 0.0, 0.0, 0.0], [0.0] * 8 + [1.0, 0.0]])
    forms = SparseForms(i, j, B, 4)
    C = sp.csr_array(np.eye(4))
    conic = Conic(C, 0.0, forms, Allowed(np.ones(2), np.ones(2)))
    assert found(conic) == [[0, 1, 2, 3]]
    form = StandardForm(conic)
    (part,) = form.parts
    assert isinstance(part, SecondOrder)
    expected = np.array([[1.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.0, 0.5]])
    assert np.allclose(part.B.toarray() / form.row_scale[:, None], expected[form.source], rtol=1e-14, atol=0)


def test_zeros_of_a_sparse_objective_lead_to_no_other_row() -> None:
    """The zero (0, 1) lies between two arrows, with the common rows 4 and 3: row 1 has two places as row 3 has."""
    C = 0.5 * np.eye(6)
    C[3, 1], C[3, 5], C[4, 0], C[4, 2], C[0, 1] = -0.3, 0.4, 0.2, 0.5, 9.0
    C = sp.csr_array(C + C.T)
    C.data[C.data == 9.0] = 0.0
    assert np.count_nonzero(C.data == 0.0) == 2
    conic = Conic(C, 0.0, SparseForms.of([np.eye(6)]), Allowed(np.ones(1), np.ones(1)))
    assert sorted(found(conic)) == [[3, 1, 5], [4, 0, 2]]


def test_explicit_zeros_of_forms_connect_nothing() -> None:
    rows, columns = (each.ravel() for each in np.indices((3, 3)))
    A = sp.csr_array((np.eye(3).ravel(), (rows, columns)), shape=(3, 3))
    assert A.nnz == 9
    conic = Constrained(QuadraticSDP(C=0.5 * np.diag([1.0, 2.0, 3.0])), constraints.sparse_forms([A], 1.0)).conic
    assert [rows.tolist() for rows in conic.blocks] == [[0], [1], [2]]


def programs_of_arrows(seed: int, units: np.ndarray | None = None) -> Constrained:
    """Arrows of orders 4, 3 and 4, a block of order 3 and a row, in M = D N D; half of the constraints are bounds."""
    rng = np.random.default_rng(seed)

    def blocks() -> np.ndarray:
        parts = [arrow(rng.standard_normal(), rng.standard_normal(k), 1) for k in (3, 2, 3)]
        return block_diag(*parts, symmetric(rng, 3), [[rng.standard_normal()]])

    d = np.ones(15) if units is None else units
    A, m = [blocks() for _ in range(6)], 6
    at = np.array([np.trace(each) for each in A])
    upper = at + np.where(np.arange(m) < 3, 0.0, 1.0)
    C = 3.0 * np.eye(15) + blocks()
    C += max(0.0, 1.0 - np.linalg.eigvalsh(C)[0]) * np.eye(15)
    group = constraints.sparse_forms([d[:, None] * each * d for each in A], lower=at, upper=upper)
    return Constrained(QuadraticSDP(C=0.5 * d[:, None] * C * d), group)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("units", ["none", "of blocks", "of rows"])
def test_programs_with_arrows_end_as_without_their_recognition(seed, units, monkeypatch) -> None:
    """Values, bounds, factors and proofs. Units that differ within a block leave no arrow, and the same values."""
    rng = np.random.default_rng(50 + seed)
    d = {"none": np.ones(15), "of rows": np.exp2(rng.integers(-6, 7, 15))}.get(units)
    if d is None:
        d = np.repeat(np.exp2(rng.integers(-8, 9, 5)), (4, 3, 4, 3, 1))
    problem = programs_of_arrows(seed, d)
    assert len(problem.conic.hubs) == (0 if units == "of rows" else 3)
    result = solve(problem, method=InteriorPoint(), tol=1e-8)
    plain = solve(programs_of_arrows(seed), method=InteriorPoint(), tol=1e-9)
    with monkeypatch.context() as patch:
        patch.setattr(Conic, "hubs", {})
        other = solve(programs_of_arrows(seed, d), method=InteriorPoint(), tol=1e-8)
    for each in (result, plain, other):
        assert each.status is Status.OPTIMAL
        assert each.value == pytest.approx(plain.value, rel=1e-7)
        assert each.certificate.dual_value <= plain.value + 1e-7 * abs(plain.value)
        assert each.certificate.dual_value == pytest.approx(plain.value, rel=1e-7)
    Y = result.matrix.factor
    M, N = Y @ Y.T, other.matrix.factor @ other.matrix.factor.T
    off = problem.violation(problem.forms.B @ M[problem.forms.i, problem.forms.j])
    assert np.abs(off).max() <= 1e-6 * np.abs(problem.lower).max()
    S = problem.conic.slack(result.certificate.constraints.multipliers).toarray()
    scaled = S / (d[:, None] * d)
    assert np.linalg.eigvalsh(scaled)[0] >= -1e-7 * np.linalg.norm(scaled)
    for rows in found(problem.conic):
        seen = [np.r_[np.trace(P[np.ix_(rows, rows)]), 2.0 * P[rows[0], rows[1:]]] for P in (M, N)]
        assert np.allclose(*seen, rtol=0, atol=1e-3 * seen[1][0] + 1e-5 * np.trace(N))
        assert certify(problem, other.matrix, dual=result.certificate.constraints.multipliers).proves(1e-6)


POINTS = np.array([[0.0, 0.0], [4.0, 0.0], [1.0, 3.0]])


def test_the_point_of_least_distances_comes_out_of_a_file_of_arrows(tmp_path, monkeypatch) -> None:
    """min Σ t_k, [[t_k, x − p_k]; ·, t_k I] ⪰ 0: Fermat's point sees the sides of a triangle under 120 degrees."""
    lines = ["5 = m", "3 = blocks", "3 3 3", "0 0 1 1 1"]
    for k, p in enumerate(POINTS, start=1):
        lines += [f"0 {k} 1 {2 + c} {p[c]}" for c in (0, 1) if p[c]]
        lines += [f"{1 + c} {k} 1 {2 + c} 1" for c in (0, 1)] + [f"{2 + k} {k} {r} {r} 1" for r in (1, 2, 3)]
    path = tmp_path / "fermat.dat-s"
    path.write_text("\n".join(lines) + "\n")
    problem = read_sdpa(path)
    assert found(problem.conic) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    result = solve(problem, tol=1e-9)
    monkeypatch.setattr(Conic, "hubs", {})
    other = solve(read_sdpa(path), tol=1e-9)
    for each in (result, other):
        assert each.status is Status.OPTIMAL
        x = np.abs(each.certificate.constraints.multipliers[:2])
        away = POINTS - x
        sides = away / np.linalg.norm(away, axis=1)[:, None]
        assert np.allclose((sides @ sides.T)[np.triu_indices(3, 1)], -0.5, rtol=0, atol=1e-3)
        assert abs(each.value) == pytest.approx(np.linalg.norm(away, axis=1).sum(), rel=1e-7)
