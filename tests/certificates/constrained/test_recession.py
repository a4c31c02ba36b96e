"""Rays along which a linear F falls: exact but for rounding, and none where F or tr M is bounded."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, Status, certify, constraints, solve
from psdopt.certificates.constrained.certify import Multipliers
from psdopt.certificates.constrained.recession import proven_ray, recession_bounds
from psdopt.methods import AugmentedLagrangian, BoundaryPoint, InteriorPoint, LagrangeNewton

METHODS = [None, AugmentedLagrangian(), BoundaryPoint(), LagrangeNewton(), InteriorPoint()]


def linear(C, *groups) -> Constrained:
    return Constrained(QuadraticSDP(C=np.asarray(C, dtype=float) / 2.0), list(groups))


def test_bounds_of_directions_are_zero_or_none() -> None:
    low, high = recession_bounds(np.array([1.0, -np.inf, -3.0]), np.array([1.0, 5.0, np.inf]))
    assert low.tolist() == [0.0, -np.inf, 0.0]
    assert high.tolist() == [0.0, 0.0, np.inf]


def test_a_ray_must_fall_and_be_unseen() -> None:
    problem, e = linear(np.diag([1.0, -1.0, 0.0]), constraints.entries([0], [0], 3, 1.0)), np.eye(3)
    assert np.allclose(proven_ray(problem, 5.0 * e[:, 1:2]), e[:, 1:2])
    assert proven_ray(problem, e[:, 0:1]) is None  # nothing of it is left
    assert proven_ray(problem, e[:, 2:3]) is None  # does not fall
    for none in (None, np.zeros((3, 1)), np.full((3, 1), np.inf)):
        assert proven_ray(problem, none) is None
    nearly = proven_ray(problem, e[:, 1:2] + 0.1 * e[:, 0:1])
    assert np.array_equal(nearly[0], [0.0])  # moved to M_00 = 0, without a rest


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_bounds_count_towards_their_side_only(scale) -> None:
    """M_00 >= 1 is no obstacle to a growing M_00, M_00 <= 1 is one, in whatever units."""
    C, growing, A = np.diag([-1.0, 1.0, 0.0]), np.eye(3)[:, :1], scale * np.diag([1.0, 0.0, 0.0])
    assert proven_ray(linear(C, constraints.sparse_forms([A], lower=scale)), growing) is not None
    assert proven_ray(linear(C, constraints.sparse_forms([-A], upper=-scale)), growing) is not None
    assert proven_ray(linear(C, constraints.sparse_forms([A], upper=scale)), growing) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_ray_is_moved_onto_general_conditions(seed) -> None:
    """A_t with integers and ⟨A_t, D₀⟩ = 0 for one D₀: from near D₀ the ray found meets them to rounding."""
    rng = np.random.default_rng(seed)
    n, v = 6, np.array([1.0, 2.0, -1.0, 0.0, 3.0, 1.0])
    forms = []
    for _ in range(4):
        G = rng.integers(-3, 4, (n, n)).astype(float)
        A = G + G.T
        A[3, 3] -= 1.0
        A[0, 0] -= v @ A @ v
        forms.append(A)
    problem = linear(-np.outer(v, v), constraints.sparse_forms(forms, rng.integers(-3, 4, 4).astype(float)))
    R = proven_ray(problem, (v + 1e-4 * rng.standard_normal(n))[:, None])
    assert R is not None
    D = R @ R.T
    assert np.linalg.norm(D) == pytest.approx(1.0)
    for A in forms:
        assert abs(np.sum(A * D)) <= 1e-13 * np.sum(np.abs(A) * np.sqrt(np.outer(np.diag(D), np.diag(D))))
    assert np.sum(problem.conic.C.toarray() * D) < 0.0


def test_a_fall_of_1e_10_is_none() -> None:
    free = constraints.entries([2], [2], 3, 1.0)
    for fall, ray in ((1e-10, False), (1e-5, True)):
        C = np.array([[1.0, -1.0 - fall, 0.0], [-1.0 - fall, 1.0, 0.0], [0.0, 0.0, 0.0]])
        assert (proven_ray(linear(C, free), np.array([[1.0], [1.0], [0.0]])) is not None) == ray
        assert (proven_ray(linear(np.diag([-fall, 1.0, 0.0]), free), np.eye(3)[:, :1]) is not None) == ray


def test_entries_that_a_combination_of_rows_forbids_make_no_ray() -> None:
    """A_0 − A_1 and A_1 − A_2 are semidefinite: M e = 0 for two vectors e, and D_ij = √rounding is rounding."""
    A = [
        [[2, 0, 1, -2], [0, 1, 0, 0], [1, 0, 0, -1], [-2, 0, -1, 4]],
        [[2, 0, 1, -2], [0, 0, 0, 0], [1, 0, 0, -1], [-2, 0, -1, 3]],
        [[2, 0, 1, -2], [0, 0, 0, 0], [1, 0, 0, -1], [-2, 0, -1, 2]],
    ]
    C = 0.5 * np.array([[1, -1, 1, -1], [-1, 0, 0, 1], [1, 0, 1, -1], [-1, 1, -1, 1]])
    rows = constraints.sparse_forms(np.array(A, dtype=float), [2.0, 1.0, 0.0])
    for tol in (1e-4, 1e-6, 1e-8):
        assert solve(Constrained(QuadraticSDP(C=C), rows), tol=tol).status is not Status.UNBOUNDED


def test_what_is_feasible_in_the_limit_only_is_not_unbounded() -> None:
    """M e = 0 for e = (0, 1, 0, −1), and on that face two rows say 0 = 1; far out along a ray both are nearly met."""
    A = [
        [[-1, 0.5, -1, 0.5], [0.5, 1, 0.5, -1], [-1, 0.5, -1, 0.5], [0.5, -1, 0.5, 0]],
        [[-1, 0.5, -1, 0.5], [0.5, 0, 0.5, 0], [-1, 0.5, -1, 0.5], [0.5, 0, 0.5, -1]],
        [[1, 0, 1, -1], [0, 0, 0, 0], [1, 0, 1, -1], [-1, 0, -1, 1]],
    ]
    C = 0.5 * np.array([[0, 0, 0, -1], [0, 0, 0, 0], [0, 0, 0, -1], [-1, 0, -1, 1]])
    rows = constraints.sparse_forms(np.array(A, dtype=float), [0.0, 0.0, 1.0])
    for tol in (1e-4, 1e-6, 1e-8):
        assert solve(Constrained(QuadraticSDP(C=C), rows), tol=tol).status is not Status.UNBOUNDED


def test_no_ray_where_the_trace_is_bounded_or_F_is_curved() -> None:
    e = np.eye(2)[:, :1]
    held = constraints.entries([1], [1], 2, 1.0)
    assert proven_ray(linear(np.diag([-1.0, 0.0]), held), e) is not None
    assert proven_ray(Constrained(QuadraticSDP(C=np.diag([-1.0, 0.0])), held, trace_bound=1e9), e) is None
    assert proven_ray(Constrained(QuadraticSDP(A=np.eye(2), C=np.diag([-1.0, 0.0])), held), e) is None
    for small in (1e-8, 1e-12, 1e-17):  # tr M <= 1/small, though that is found for the first alone
        assert (
            proven_ray(linear(np.diag([-1.0, 0.0]), constraints.sparse_forms([np.diag([small, 1.0])], 1.0)), e) is None
        )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("C", "prices"), [([-1.0, 0.0], [1e-8, 1.0]), (-np.ones(5), np.logspace(-8, 0, 5)), (-np.ones(3), [1e-5, 1e3, 1.0])]
)
def test_bounded_programs_are_not_unbounded(method, C, prices) -> None:
    """min Σ c_i M_ii with Σ p_i M_ii = 1: the minimum is min c_i / p_i."""
    least = float(np.min(np.asarray(C) / prices))
    result = solve(
        linear(np.diag(C), constraints.sparse_forms([np.diag(prices)], [1.0])), method=method, max_iterations=100
    )
    assert result.status in (Status.OPTIMAL, Status.NO_PROGRESS, Status.ITERATION_LIMIT)
    assert result.certificate.constraints.ray is None
    if result.status is Status.OPTIMAL:
        assert result.value == pytest.approx(least, rel=2e-6)
    assert result.certificate.dual_value <= least * (1.0 - 1e-12)
    assert result.status is Status.OPTIMAL or method is not None


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-8, 1e-10, 1e-12])
@pytest.mark.parametrize("method", METHODS)
def test_a_proven_word_does_not_depend_on_tol(tol, method) -> None:
    A = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, -1.0], [0.0, -1.0, 0.0]])  # no D along (1, 0, 1) is seen
    problem = linear(np.diag([-1.0, 2.0, 0.5]), constraints.sparse_forms([A, np.diag([0.0, 1.0, 0.0])], [0.25, 1.0]))
    result = solve(problem, method=method, tol=tol)
    assert result.status is Status.UNBOUNDED
    R, M = result.certificate.constraints.ray, result.matrix.to_dense()
    for t in (1.0, 1e3):
        moved = certify(problem, np.hstack([result.matrix.factor, np.sqrt(t) * R]))
        assert moved.constraints.primal_infeasibility <= 1e-6
        assert moved.value < result.value - 0.1 * t
    assert M.shape == (3, 3)


def test_a_ray_is_handed_out_only_where_nothing_refutes_it() -> None:
    """Of an infeasible problem no word `unbounded` is said, though its recession cone has a ray."""
    C = np.diag([-1.0, 1.0])
    empty = linear(C, constraints.entries([1], [1], 2, lower=1.0), constraints.sparse_forms([np.diag([0.0, 2.0])], 1.0))
    for method in METHODS:
        assert solve(empty, method=method).status is Status.INFEASIBLE
    held = linear(C, constraints.entries([1], [1], 2, 1.0))
    ray = Multipliers(np.zeros(1), direction=np.eye(2)[:, :1])
    assert certify(held, np.eye(2), dual=ray).unbounded
    assert not certify(held, 2.0 * np.eye(2), dual=ray).unbounded  # that matrix is not feasible
    assert certify(linear(-C, constraints.entries([1], [1], 2, 1.0)), np.eye(2), dual=ray).constraints.ray is None
