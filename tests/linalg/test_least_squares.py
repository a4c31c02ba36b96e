"""Least squares and systems by rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator
from scipy.sparse.linalg import lsqr as scipys

from psdopt.linalg.least_squares import least_squares, lsqr
from psdopt.linalg.limits import MOST_PRODUCTS
from psdopt.linalg.row_updates import RowUpdates
from psdopt.linalg.tolerances import EPS

RNG = np.random.default_rng(0)
REPEATED = np.repeat(RNG.standard_normal((6, 9)), 2, axis=0)


@pytest.mark.parametrize("A", [*map(RNG.standard_normal, [(30, 12), (12, 30), (20, 20)]), REPEATED])
@pytest.mark.parametrize("kind", [sp.csr_array, aslinearoperator])
def test_the_solution_of_least_length(A, kind):
    b = RNG.standard_normal(len(A))
    assert least_squares(kind(A), b) == pytest.approx(np.linalg.lstsq(A, b, rcond=None)[0], rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("A", [*map(RNG.standard_normal, [(60, 12), (12, 60)]), REPEATED])
@pytest.mark.parametrize(("steps", "atol", "btol"), [(4, 1e-6, 1e-6), (200, 1e-6, 1e-6), (200, 1e-14, 1e-3)])
def test_steps_for_arrays_of_any_shape_are_scipys(A, steps, atol, btol):
    b, used = RNG.standard_normal((len(A) // 2, 2)), []

    def forth(x):
        used.append(1)
        return (A @ x).reshape(-1, 2)

    found = lsqr(forth, lambda u: A.T @ u.ravel(), b, steps, atol, btol)
    expected, _, taken = scipys(A, b.ravel(), atol=atol, btol=btol, iter_lim=steps)[:3]
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert abs(len(used) - taken) <= 1


def test_ill_conditioned_systems_and_zeros_end_at_once():
    D, used = np.geomspace(1.0, 1e-12, 40), []

    def forth(x):
        used.append(1)
        return D * x

    assert np.isfinite(lsqr(forth, lambda u: D * u, np.ones(40), 1000, 0.0, 0.0)).all()
    assert len(used) < 500
    assert not lsqr(forth, lambda u: D * u, np.zeros(40), 10).any()
    assert not lsqr(lambda x: 0.0 * x, lambda u: 0.0 * u, np.ones(40), 10).any()


def test_steps_are_bounded():
    """The system of a second difference of order 4,000 has a condition of 1e7: 200 + 20 √4000 steps do not solve it."""
    n, products = 4000, []
    D = sp.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1]).tocsr()

    class Counted(type(aslinearoperator(D))):
        def _matvec(self, v):
            products.append(1)
            return super()._matvec(v)

    x = least_squares(Counted(D), np.ones(n))
    assert np.all(np.isfinite(x))
    assert len(products) <= MOST_PRODUCTS + MOST_PRODUCTS // 10 * 63 + 1


def random_pattern(rng, n, density):
    """Symmetric weights and targets on a random symmetric pattern, some rows empty, as CSR of one pattern."""
    P = np.triu(rng.random((n, n)) < density)
    P[0] = False
    P = P | P.T
    P[0], P[:, 0] = False, False
    W, T = rng.random((n, n)) + 0.1, rng.standard_normal((n, n))
    W, T = W + W.T, T + T.T
    rows, columns = np.nonzero(P)
    starts = np.concatenate([[0], np.cumsum(P.sum(axis=1))])
    return P, W, T, [sp.csr_array((A[rows, columns], columns, starts), shape=(n, n)) for A in (W, T)]


def solved_by_a_loop(P, W, T, U, b, rho):
    """V (n, r), and the largest condition number of the systems."""
    r, rows, condition = U.shape[1], [], 1.0
    for i in range(len(U)):
        A = rho[i] * np.eye(r) + (U.T * (W[i] * P[i])) @ U
        rows.append(np.linalg.solve(A, U.T @ (W[i] * P[i] * T[i]) + rho[i] * b[i]))
        condition = max(condition, np.linalg.cond(A))
    return np.array(rows), condition


#: One group of rows and several, in one piece and in pieces; fewer and more entries per row than columns.
SIZES = [
    (17, 7, 0.15), (17, 7, 0.7), (17, 1, 0.4), (17, 3, 0.3), (60, 9, 0.1), (270, 4, 0.01), (270, 3, 0.2),
    (270, 60, 0.2),
]  # fmt: skip
#: Stiff rows lose no more digits than their condition.
STIFF = [(17, 4, 0.3, 1e-3), (17, 4, 0.3, 1e-7)]


@pytest.mark.parametrize(("n", "r", "density", "size"), [*((*sizes, 1.0) for sizes in SIZES), *STIFF])
def test_row_updates_equal_a_loop_over_rows(n, r, density, size):
    rng = np.random.default_rng(r)
    P, W, T, (weights, targets) = random_pattern(rng, n, density)
    U, b, rho = rng.standard_normal((n, r)), rng.standard_normal((n, r)), size * (0.5 + rng.random(n))
    expected, condition = solved_by_a_loop(P, W, T, U, b, rho)
    V = RowUpdates(weights, targets).solve(U, b, rho)
    allowed = 64 * n * EPS * condition * np.abs(expected).max()
    np.testing.assert_allclose(V, expected, rtol=0, atol=allowed)
    assert condition > 2.0 or r == 1  # the systems are not near-identities


def test_without_targets_they_are_zero():
    *_, (weights, targets) = random_pattern(np.random.default_rng(4), 15, 0.1)
    U, b = np.random.default_rng(5).standard_normal((2, 15, 4))
    zeros = weights.copy()
    zeros.data = np.zeros(weights.nnz)
    found = RowUpdates(weights, None)
    np.testing.assert_array_equal(found.solve(U, b, 0.7), RowUpdates(weights, zeros).solve(U, b, 0.7))
    assert not found.target_values.any()
    assert np.array_equal(RowUpdates(weights, targets).target_values, targets.data)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_matrix_near_underflow_has_a_solution_without_an_error():
    """|A⁻¹|² overflows."""
    A = 2e-155 * RNG.standard_normal((12, 5))
    assert np.isfinite(lsqr(lambda v: A @ v, lambda u: A.T @ u, np.ones(12), 50)).all()
