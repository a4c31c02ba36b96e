"""Columns of Y: added along negative eigenvalues of S, dropped where they are short, counted in principal axes."""

import math

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.linalg.arrays import orthonormal_columns
from psdopt.linalg.tolerances import VANISHED
from psdopt.methods.augmented_lagrangian.columns import independent, narrowed, widened

N = 6
S = np.diag([-2.0, -1.0, 1.0, 2.0, 3.0, 4.0])


def evaluation(Y):
    """F(M) = ⟨S, M⟩ + ½ |M|²: the best length along the first eigenvector is √2."""
    return QuadraticSDP(B=1.0, C=0.5 * S).at(Y)


def falling_along(k):
    """S with one negative eigenvalue."""
    return np.diag(np.where(np.arange(N) == k, -1.0, 1.0))


def test_columns_are_added_along_negative_eigenvalues_alone() -> None:
    """More may come where S has two: two columns along their eigenvectors share the best length of the first."""
    Y = np.concatenate([np.eye(N)[:, 4:]] * 8, axis=1)
    here = evaluation(Y)
    wider = widened(here, S, np.eye(N)[:, :1], 20, 1.0)
    assert wider.shape == (N, 18)
    assert np.array_equal(wider[:, :16], Y)
    added = wider[:, 16:]
    assert np.abs(added[2:]).max() == 0.0
    assert np.linalg.matrix_rank(added) == 2
    _, beta = here.along_atom(np.eye(N)[:, 0]).minimize(alpha=(1.0, 1.0))
    np.testing.assert_allclose(np.linalg.norm(added, axis=0) ** 2, [beta / 2.0, beta / 2.0], rtol=1e-9)


def test_without_room_columns_of_zeros_make_place_and_without_these_nothing_changes() -> None:
    full = np.eye(N)[:, 3:]
    assert widened(evaluation(full), S, np.eye(N)[:, :1], 3, 1.0) is None
    spare = np.concatenate([full[:, :1], 1e-9 * full[:, 1:]], axis=1)
    wider = widened(evaluation(spare), falling_along(0), np.eye(N)[:, :1], 3, 1.0)
    assert wider.shape == (N, 3)
    assert np.abs(wider[0]).max() > 0.1
    assert np.abs(wider[:, 2]).max() == 0.0  # the number of columns is kept


def on_diagonal(scale=1.0) -> Constrained:
    return Constrained(QuadraticSDP(C=0.5 * S), constraints.diagonal(N, scale))


def test_columns_are_dropped_as_many_as_hold_a_share_of_the_trace_together() -> None:
    rng = np.random.default_rng(0)
    sizes = np.array([2.0, 1.0, 1e-2, 1e-3])
    Y = orthonormal_columns(rng, N, 4) * sizes @ orthonormal_columns(rng, 4, 4).T
    rest = (sizes[2:] ** 2).sum() / (sizes**2).sum()
    far = on_diagonal(1e3)  # where bounds are large, the trace decides
    assert narrowed(far, Y, 1.01 * rest).shape == (N, 2)
    assert narrowed(far, Y, 0.99 * rest).shape == (N, 3)
    assert narrowed(far, Y, 0.0) is None
    narrower = narrowed(far, Y, 1.01 * rest)
    assert np.linalg.norm(Y @ Y.T - narrower @ narrower.T, "nuc") == pytest.approx((sizes[2:] ** 2).sum(), rel=1e-6)


def test_columns_that_a_constraint_needs_stay_however_large_the_trace() -> None:
    """Of a trace of 1e8 the columns have a share of 1e-8, of what the constraints ask for everything."""
    Y = np.eye(N)[:, :3] * np.array([1e4, 1.0, 1.0])
    asked = Constrained(QuadraticSDP(C=0.5 * S), constraints.entries([1, 2], [1, 2], N, 1.0))
    assert narrowed(asked, Y, 1e-3) is None
    other = Constrained(QuadraticSDP(C=0.5 * S), constraints.entries([3], [3], N, 1.0))
    assert narrowed(other, Y, 1e-3).shape == (N, 1)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_what_is_dropped_is_measured_by_the_bounds_in_any_unit_and_by_m_without_any(unit) -> None:
    """A column with 3e-4 of what a constraint asks for goes where 4e-4 of it may be missing, and stays at 2e-4."""
    Y = np.eye(N)[:, :2] * np.array([1.0, math.sqrt(3e-4)])
    asked = constraints.sparse_forms([unit * np.diag([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])], [unit])
    free = constraints.sparse_forms([np.diag([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])], upper=0.0)  # no bound has a size
    for group, factor in ((asked, Y), (free, math.sqrt(unit) * Y)):
        problem = Constrained(QuadraticSDP(C=0.5 * S), group)
        assert narrowed(problem, factor, 4e-4).shape == (N, 1)
        assert narrowed(problem, factor, 2e-4) is None


@pytest.mark.parametrize("bound", [1.0, 0.0])
def test_one_column_stays_whatever_the_share_and_as_many_as_are_known_to_be_needed(bound) -> None:
    Y = np.eye(N)[:, :4] * np.array([1.0, 1e-6, 1e-7, 1e-8])
    assert narrowed(on_diagonal(), Y, 1e-3, fewest=3).shape == (N, 3)
    assert narrowed(on_diagonal(), Y, 1e-3, fewest=4) is None
    assert narrowed(on_diagonal(bound), np.eye(N)[:, :3], 20.0).shape == (N, 1)


def test_columns_that_are_zero_in_principal_axes_do_not_count() -> None:
    rng = np.random.default_rng(1)
    Y = orthonormal_columns(rng, N, 2) @ orthonormal_columns(rng, 4, 2).T
    assert independent(Y, 1.0).shape == (N, 2)
    assert np.allclose(independent(Y, 1.0) @ independent(Y, 1.0).T, Y @ Y.T)
    assert independent(1e-8 * Y, 1.0).shape == (N, 0)
    # zero is relative to the longest column or to the first factor
    for small, first, kept in ((1.1, 0.1, 2), (0.9, 0.1, 1), (1.1, 2.0, 1), (2.1, 2.0, 2)):
        Y = np.eye(N)[:, :2] * np.array([1.0, small * VANISHED])
        assert independent(Y, first).shape[1] == kept


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_direction_without_a_best_length_enters_with_a_small_one(size) -> None:
    """Where F rises along it, or falls for ever: a share of the mean column of M, or of a first Y that has vanished."""
    Y = size * np.eye(N)[:, 4:]
    rising, falling = evaluation(Y), QuadraticSDP(C=-np.eye(N)).at(Y)
    shares = []
    for here, k in ((rising, 3), (falling, 0)):
        added = widened(here, falling_along(k), np.eye(N)[:, k : k + 1], 6, size)[:, 2:]
        shares.append(np.linalg.norm(added) ** 2 / size**2)
    assert 0.0 < shares[0] < 1e-2
    single = widened(evaluation(Y[:, :1]), S, np.eye(N)[:, 3:4], 6, size)[:, 1:]
    shares.append(np.linalg.norm(single) ** 2 / size**2)
    tiny = widened(rising, falling_along(3), np.eye(N)[:, 3:4], 6, 1e9 * size)[:, 2:]
    shares.append(np.linalg.norm(tiny) ** 2 / ((VANISHED * 1e9 * size) ** 2 / 2.0))
    np.testing.assert_allclose(shares, shares[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("columns", "most", "width"),
    [(4, 5, 5), (4, 4, None), (7, 8, 8), (1, 6, 2), (2, 6, 4), (3, 6, 5), (8, 36, 10), (8, 9, 9)],
)
def test_as_many_columns_as_there_are_where_there_is_room_and_eigenvalues_are_negative(columns, most, width) -> None:
    Y = np.random.default_rng(0).standard_normal((N, columns))
    wider = widened(evaluation(Y), S, np.eye(N)[:, :1], most, 1.0)
    assert (None if wider is None else wider.shape[1]) == width


@pytest.mark.parametrize(("third", "added"), [(-0.15, 2), (-0.25, 3)])
def test_eigenvalues_that_are_small_beside_the_least_add_no_columns(third, added) -> None:
    Y = np.random.default_rng(0).standard_normal((N, 4))
    wider = widened(evaluation(Y), np.diag([-2.0, -1.0, third, 2.0, 3.0, 4.0]), np.eye(N)[:, :1], N + 4, 1.0)
    assert wider.shape[1] == 4 + added
