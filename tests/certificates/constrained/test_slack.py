"""λ_min(S) and its lower bound by blocks, entries and products; proofs that S ⪰ 0 whatever the sizes of its rows."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import block_diag

from psdopt import Constrained, QuadraticSDP, certify, constraints, solve
from psdopt.certificates.constrained import definite_slack
from psdopt.certificates.constrained.definite_slack import proven_semidefinite
from psdopt.certificates.constrained.slack import slack_eigenpair
from psdopt.constraints.allowed import Allowed
from psdopt.constraints.conic import Conic, diagonal_blocks
from psdopt.linalg import definite
from psdopt.linalg.limits import ITERATED_ORDER, SMALL_ORDER
from psdopt.linalg.tolerances import EPS
from tests.instances import symmetric


@pytest.mark.parametrize("low", [0.0, -1e-3, 0.4])
def test_a_bound_is_proven_by_blocks_and_for_the_whole(low) -> None:
    parts = [symmetric(np.random.default_rng(1), 6), symmetric(np.random.default_rng(2), 4), np.diag([3.0, 2.0])]
    parts[0] += (low - np.linalg.eigvalsh(parts[0])[0]) * np.eye(6)
    parts[1] += (low + 1.0 - np.linalg.eigvalsh(parts[1])[0]) * np.eye(4)
    S = sp.csr_array(sp.block_diag([sp.csr_array(part) for part in parts], format="csr"))
    for blocks in ((), diagonal_blocks(S)):
        bound = slack_eigenpair(S, 1e-5 - low, None, 0, blocks).lower_bound
        assert low - 1e-5 - 1e-12 <= bound <= low + 1e-12
        assert slack_eigenpair(S, -1e-5 - low, None, 0, blocks).lower_bound <= low + 1e-12


def tridiagonal(n, shift=0.0):
    return sp.csr_array(
        sp.diags_array([-np.ones(n - 1), 2.0 + shift * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    )


def test_a_narrow_band_gives_the_pair_that_a_dense_factor_gives() -> None:
    n = ITERATED_ORDER + 20
    pair = slack_eigenpair(tridiagonal(n), 1e-6)
    least = 2.0 - 2.0 * np.cos(np.pi / (n + 1))
    assert pair.backend == "banded"
    assert least * (1.0 - 1e-9) <= pair.value <= 1.1 * least  # after some steps of inverse iteration
    assert -1e-6 <= pair.lower_bound <= least
    low = slack_eigenpair(tridiagonal(n, -0.1), 1e-6)  # not provable: the spectrum says so
    assert low.backend == "dense"
    assert low.value == pytest.approx(least - 0.1)


@pytest.mark.parametrize("n", [3, 40, 600])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e8])
def test_a_bound_is_given_down_to_the_accuracy_and_holds(n, scale):
    S = scale * tridiagonal(n)
    least = scale * (2.0 - 2.0 * np.cos(np.pi / (n + 1)))
    rounding = 64 * EPS * np.sqrt(n) * 4.0 * scale
    for below in (0.0, 0.1, 1.0):
        shifted = sp.csr_array(S - (least + below * scale) * sp.eye_array(n))  # λ_min = −below
        assert slack_eigenpair(shifted, 0.5 * below * scale).lower_bound <= -below * scale + rounding
        accuracy = 1.5 * below * scale + rounding
        found = slack_eigenpair(shifted, accuracy).lower_bound
        assert -accuracy - 8.0 * rounding <= found <= -below * scale + rounding


def test_a_bound_block_by_block():
    rng = np.random.default_rng(0)
    A = symmetric(rng, 4)
    A = A - (np.linalg.eigvalsh(A)[0] - 0.25) * np.eye(4)  # λ_min = 0.25
    for single, expected in ((0.1, 0.1), (3.0, 0.25), (-0.2, -0.2)):
        S = sp.csr_array(sp.block_diag([sp.csr_array(A), [[single]], [[5.0]]]))
        blocks = [np.arange(4), np.array([4]), np.array([5])]
        pair = slack_eigenpair(S, 0.0, None, 0, blocks)
        np.testing.assert_allclose([pair.values[0], pair.lower_bound], expected, atol=1e-12)
        assert pair.lower_bound <= expected
        np.testing.assert_allclose(S @ pair.vector, expected * pair.vector, atol=1e-10)
    S = sp.csr_array(sp.block_diag([sp.csr_array(A - np.eye(4)), [[1.0]]]))  # λ_min = −0.75
    pair = slack_eigenpair(S, 0.1, None, 0, [np.arange(4), np.array([4])])
    np.testing.assert_allclose([pair.values[0], pair.lower_bound], -0.75, atol=1e-12)
    singles = sp.csr_array(sp.diags_array([3.0, -0.5, 2.0]))
    found = slack_eigenpair(singles, 0.5 + 1e-12, None, 0, [np.array([k]) for k in range(3)]).lower_bound
    np.testing.assert_allclose(found, -0.5, atol=1e-14)
    assert found < -0.5


def diagonal_program(C: np.ndarray) -> Conic:
    """S = C + diag(y)."""
    n = len(C)
    return Constrained(QuadraticSDP(C=0.5 * sp.csr_array(C)), constraints.diagonal(n, 1.0)).conic


def coupled(n: int, least: float, seed: int = 0) -> np.ndarray:
    """A symmetric matrix with entries beside the diagonal and the smallest eigenvalue `least`."""
    G = np.random.default_rng(seed).standard_normal((n, n))
    S = G + G.T
    return S + (least - np.linalg.eigvalsh(S)[0]) * np.eye(n)


def test_definite_is_proven_and_indefinite_is_not() -> None:
    for least, proven in ((1e-6, True), (-1e-6, False)):
        S = coupled(8, least)
        shift = np.arange(1.0, 9.0)
        assert proven_semidefinite(diagonal_program(S - np.diag(shift)), shift) is proven


def test_rows_of_any_size_are_proven_by_their_own_rounding() -> None:
    """λ_min(S) is 1e-20 |S| here: next to |S| it is rounding, in units of each row it is not."""
    D = 10.0 ** np.linspace(-12.0, 4.0, 6)
    S = D[:, None] * coupled(6, 0.1) * D
    y = np.diagonal(S).copy()
    conic = diagonal_program(S - np.diag(y))
    assert proven_semidefinite(conic, y)
    worse = y.copy()
    worse[0] -= 2.0 * y[0]
    assert not proven_semidefinite(conic, worse)


def test_rounding_of_the_entries_themselves_counts(monkeypatch) -> None:
    """S_11 = y − 1e8 is a difference: y = 1e8 (1 + 2 eps) makes it positive in arithmetic, not beyond doubt."""
    monkeypatch.setattr(definite_slack, "EXTENDED", np.float64)
    C = np.array([[-1e8, 0.0], [0.0, 1.0]])
    C[0, 1] = C[1, 0] = 1e-9
    conic = diagonal_program(C)
    assert not proven_semidefinite(conic, np.array([1e8 * (1.0 + 2.0 * EPS), 0.0]))
    assert proven_semidefinite(conic, np.array([1e8 + 1.0, 0.0]))


@pytest.mark.skipif(np.finfo(np.longdouble).eps >= EPS, reason="long doubles are doubles here")
def test_small_blocks_are_tried_in_extended_precision() -> None:
    """A Hilbert matrix of integers, with 1e-15 of its largest entry added to the diagonal."""
    k, unit = 12, 2.0**60
    H = np.round(unit / (np.arange(k)[:, None] + np.arange(k) + 1.0))
    conic, more = diagonal_program(H), np.full(k, 1e-15 * unit)
    assert proven_semidefinite(conic, more)
    assert not proven_semidefinite(conic, -more)


def test_single_rows_count() -> None:
    C = block_diag(coupled(4, 0.5), [[2.0]], [[-1.0]])
    conic = diagonal_program(C)
    assert not proven_semidefinite(conic, np.zeros(6))
    assert proven_semidefinite(conic, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.5]))


def repeated(parts: list[np.ndarray]) -> Conic:
    """Blocks with these C and a multiplier of each diagonal entry, S = C + diag(y)."""
    return diagonal_program(block_diag(*parts))


@pytest.mark.parametrize("limit", [2**20, 1, 3 * 36])
@pytest.mark.parametrize("least", [-1e-3, -(2.0**-48), 0.0])
@pytest.mark.parametrize("at", [0, 2, 4])
def test_of_blocks_of_one_order_the_one_that_is_not_definite_is_refused(at, least, limit, monkeypatch) -> None:
    """Indefinite, by the last bits alone, or singular; whichever pieces the blocks are worked on in."""
    monkeypatch.setattr(definite_slack, "BLOCK", limit)
    parts = [coupled(6, 0.5, seed) for seed in range(5)]
    assert proven_semidefinite(repeated(parts), np.zeros(30))
    G = np.random.default_rng(7).integers(-1, 2, (6, 5)).astype(np.float64)
    parts[at] = G @ G.T + least * np.eye(6)  # numbers without rounding: λ_min is `least`
    conic = repeated([*parts, coupled(3, 0.1), coupled(3, 0.2, 1)])
    assert [stack.rows.shape for stack in conic.stacks] == [(2, 3), (5, 6)]
    assert not proven_semidefinite(conic, np.zeros(36))
    for kind in (np.float64, np.longdouble):
        (left,) = definite_slack._undecided(conic, np.zeros(36), conic.stacks, kind)
        assert left.rows.tolist() == [list(range(6 * at, 6 * at + 6))]
    y = np.zeros(36)
    y[6 * at : 6 * at + 6] = 1e-2
    assert proven_semidefinite(conic, y)
    y[6 * at] = np.nan
    assert [len(left) for left in definite_slack._undecided(conic, y, conic.stacks, np.float64)] == [1]


def test_what_is_not_finite_in_one_block_leaves_the_proofs_of_the_others() -> None:
    H = np.stack([coupled(4, 0.5, seed) for seed in range(4)])
    H[2, 1, 0] = H[2, 0, 1] = np.nan
    for kind in (np.float64, np.longdouble):
        assert definite_slack._definite(H.astype(kind), EPS).tolist() == [True, True, False, True]


@pytest.mark.skipif(np.finfo(np.longdouble).eps >= EPS, reason="long doubles are doubles here")
def test_of_blocks_of_one_order_those_left_are_tried_in_extended_precision() -> None:
    k, unit = 12, 2.0**60
    H = np.round(unit / (np.arange(k)[:, None] + np.arange(k) + 1.0))
    conic = repeated([H, unit * np.eye(k) + H, H])
    more = np.concatenate([np.full(k, 1e-15 * unit), np.zeros(k), np.full(k, 1e-15 * unit)])
    left = definite_slack._undecided(conic, more, conic.stacks, np.float64)
    assert [stack.rows[:, 0].tolist() for stack in left] == [[0, 2 * k]]
    assert proven_semidefinite(conic, more)
    more[2 * k :] *= -1.0
    assert not proven_semidefinite(conic, more)
    left = definite_slack._undecided(conic, more, conic.stacks, np.longdouble)
    assert [stack.rows[:, 0].tolist() for stack in left] == [[2 * k]]


@pytest.mark.parametrize("count", [1, 3])
def test_rounding_of_a_diagonal_entry_counts_beside_the_others(count, monkeypatch) -> None:
    """S = [[1, 1 − 1e-9], [1 − 1e-9, 1]], the first entry 1e8 + 1 less 1e8: it may be wrong by more than 1e-9."""
    monkeypatch.setattr(definite_slack, "EXTENDED", np.float64)
    near, whole = np.array([[-1e8, 1.0 - 1e-9], [1.0 - 1e-9, 1.0]]), np.array([[1.0, 1.0 - 1e-9], [1.0 - 1e-9, 1.0]])
    y = np.zeros(2 * count)
    assert proven_semidefinite(repeated([whole] * count), y)
    conic = repeated([near] + [whole] * (count - 1))
    y[0] = 1e8 + 1.0
    assert not proven_semidefinite(conic, y)
    (left,) = definite_slack._undecided(conic, y, conic.stacks, np.float64)
    assert left.rows.tolist() == [[0, 1]]


def arrow(a, u):
    A = a * np.eye(len(u) + 1)
    A[0, 1:] = A[1:, 0] = u
    return A


def arrows_of(C, forms):
    group = constraints.sparse_forms([sp.csr_array(A) for A in forms], 1.0)
    return Constrained(QuadraticSDP(C=0.5 * sp.csr_array(C)), group).conic


def exactly_semidefinite(C, forms, y):
    """Whether a >= |u| for S = [[a, uᵀ], [u, a I]] = C + Σ y_t A_t, in rational numbers."""
    a, *u = (Fraction(C[0, k]) + sum(Fraction(t) * Fraction(A[0, k]) for t, A in zip(y, forms, strict=True))
             for k in range(len(C)))  # fmt: skip
    return a >= 0 and a * a >= sum(each * each for each in u)


@pytest.mark.parametrize("order", [3, 4, 40])
@pytest.mark.parametrize("size", [1.0, 1e6, 1e-6])
def test_what_is_proven_of_an_arrow_is_true_to_the_last_bit(order, size) -> None:
    """λ_min = a − |u| is some roundings above or below zero, of S itself or of terms that cancel."""
    rng, proven, wrong = np.random.default_rng(order), 0, 0
    for _ in range(150):
        forms = [arrow(rng.standard_normal(), rng.standard_normal(order - 1)) for _ in range(3)]
        y, u = size * rng.standard_normal(3), rng.standard_normal(order - 1)
        depth = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-17.0, -11.0) * max(size, 1.0)
        C = arrow(np.linalg.norm(u) + depth, u) - sum(t * A for t, A in zip(y, forms, strict=True))
        conic = arrows_of(C, forms)
        assert len(conic.hubs) == 1
        found = proven_semidefinite(conic, y)
        known = exactly_semidefinite(conic.C.toarray(), forms, y)
        assert known or not found
        proven += found
        wrong += not known
    assert wrong > 40
    assert proven > 10


@pytest.mark.parametrize("scale", [1e-200, 1e-170, 1e-90, 1.0, 1e90])
def test_arrows_are_told_apart_whatever_their_size(scale) -> None:
    """[[1, uᵀ], [u, I]] is definite for |u| < 1; squares of such entries may underflow."""
    for length, known in ((0.9, True), (1.0 - 1e-9, True), (1.0 + 1e-9, False), (1.1, False), (1e6, False)):
        S = arrow(1.0, length * np.array([0.6, 0.8]))
        conic = Conic(sp.csr_array(scale * S), 0.0, arrows_of(S, [np.eye(3)]).forms, Allowed(np.ones(1), np.ones(1)))
        assert len(conic.hubs) == 1
        assert proven_semidefinite(conic, np.zeros(1)) is known
        assert not proven_semidefinite(conic, np.array([-2.0 * scale]))
        assert not proven_semidefinite(conic, np.array([np.nan]))
    assert proven_semidefinite(arrows_of(arrow(1.0, np.zeros(2)), [arrow(0.0, np.ones(2))]), np.zeros(1))


def test_an_arrow_does_not_hide_what_is_not_definite_beside_it() -> None:
    """Two arrows, a matrix and a row, each indefinite in turn."""
    good = [arrow(1.0, np.array([0.5, 0.5])), coupled(3, 0.5), arrow(1.0, np.full(5, 0.4)), np.eye(1)]
    bad = [arrow(1.0, np.array([0.8, 0.8])), coupled(3, 0.5) - np.eye(3), arrow(1.0, np.full(5, 0.5)), -np.eye(1)]
    for at in (None, 0, 1, 2, 3):
        parts = [bad[k] if k == at else good[k] for k in range(4)]
        conic = arrows_of(sp.block_diag([sp.csr_array(part) for part in parts]), [np.eye(13)])
        assert [stack.order for stack in conic.stacks if stack.arrow] == [3, 6]
        assert proven_semidefinite(conic, np.zeros(1)) is (at is None)
        assert proven_semidefinite(conic, np.full(1, 2.0))


@pytest.mark.parametrize("large", [False, True])
def test_blocks_of_any_order_have_the_least_eigenpair_of_the_whole(large) -> None:
    """Also where zeros are stored between blocks, and where blocks too large for one decomposition lie among them."""
    rng = np.random.default_rng(3)
    parts = [coupled(k, 0.5, k) for k in (1, 3, 1, 2, 3, *([SMALL_ORDER + 6] if large else []))]
    n = sum(map(len, parts))
    order = rng.permutation(n)
    S = block_diag(*parts)[np.ix_(order, order)] - 2.0 * np.eye(n)
    rows = np.repeat(np.arange(n), n), np.tile(np.arange(n), n)
    full = sp.csr_array((S.ravel(), rows), shape=(n, n))  # all zeros stored
    for given in (sp.csr_array(S), full):
        pair = slack_eigenpair(given, 0.0, blocks=diagonal_blocks(given))
        assert len(diagonal_blocks(given)) == len(parts)
        least = np.linalg.eigvalsh(S)[0]
        assert pair.value == pytest.approx(least, rel=1e-12)
        assert least - 1e-11 <= pair.lower_bound <= least + 1e-14
        assert np.linalg.norm(S @ pair.vector - pair.value * pair.vector) <= 1e-12


@pytest.mark.parametrize("n", [SMALL_ORDER + 1, 150, ITERATED_ORDER + 1])
@pytest.mark.parametrize("seed", range(3))
def test_where_no_sharper_bound_is_asked_for_one_factor_proves_the_accuracy(n, seed, monkeypatch) -> None:
    factors, inside = [], definite.dpotrf
    monkeypatch.setattr(definite, "dpotrf", lambda *a, **k: factors.append(1) or inside(*a, **k))
    rng = np.random.default_rng(seed)
    A = sp.random_array((n, n), density=0.1, rng=rng)
    dense = (A + A.T).toarray()
    dense -= (np.linalg.eigvalsh(dense)[0] + 1e-3) * np.eye(n)  # λ_min = −1e-3
    for S in (dense, sp.csr_array(dense)):
        factors.clear()
        pair = slack_eigenpair(S, 2e-3, sharp=False)
        assert len(factors) == 1
        assert -2e-3 <= pair.lower_bound <= -1e-3 + 1e-10
        assert pair.value >= -1e-3 - 1e-10
        assert pair.vector @ S @ pair.vector == pytest.approx(pair.value, abs=1e-10)
        assert pair.residual == pytest.approx(np.linalg.norm(S @ pair.vector - pair.value * pair.vector), abs=1e-10)
        sharp = slack_eigenpair(S, 2e-3)
        assert sharp.lower_bound > pair.lower_bound
        too_low = slack_eigenpair(S, 0.9e-3, sharp=False)  # no factor proves it, and the spectrum says why
        assert -1e-2 <= too_low.lower_bound <= -1e-3 + 1e-10


def test_a_narrow_band_is_factored_as_a_band_in_any_case() -> None:
    assert slack_eigenpair(tridiagonal(ITERATED_ORDER + 20), 1e-6, sharp=False).backend == "banded"


def test_what_is_not_finite_is_proven_by_no_factor() -> None:
    S = np.eye(SMALL_ORDER + 1)
    S[1, 1] = np.nan
    with pytest.raises(FloatingPointError):
        slack_eigenpair(S, 1.0, sharp=False)


def test_the_certificate_of_a_cut_in_a_run_costs_one_factor(monkeypatch) -> None:
    factors, inside = [], definite.dpotrf
    monkeypatch.setattr(definite, "dpotrf", lambda *a, **k: factors.append(1) or inside(*a, **k))
    n, rng = 120, np.random.default_rng(0)
    half = sp.random_array((n, n), density=0.05, rng=rng)
    problem = Constrained(QuadraticSDP(C=sp.csr_array(half + half.T)), constraints.diagonal(n, 1.0))
    result = solve(problem)
    assert result.optimal
    assert len(factors) == 1
    assert result.certificate.gap_relative <= 1e-6
    sharp = certify(problem, result.matrix, dual=result.state.dual)
    assert sharp.dual_value >= result.certificate.dual_value
    exact = np.linalg.eigvalsh(result.certificate.slack().toarray())[0]
    assert result.certificate.lower_bound <= exact
