"""What a constrained problem knows of itself: measured values, supports, multiples, bounds on the trace, refusals."""

import re

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints.model import HUGE
from psdopt.contracts.abilities import Ability
from psdopt.errors import InvalidInputError, InvalidTypeError

N = 4
Y = np.random.default_rng(0).standard_normal((N, 2))
M = Y @ Y.T


def program(**options) -> Constrained:
    """An equation, a lower bound, an upper bound and an interval on entries, beside a fixed trace."""
    groups = [
        constraints.trace(N, 2.0),
        constraints.entries([0, 1, 2], [0, 2, 3], N, lower=[0.5, -np.inf, -1.0], upper=[np.inf, 0.0, 1.0]),
    ]
    return Constrained(QuadraticSDP(C=np.diag([1.0, 2.0, 3.0, 4.0])), groups, **options)


def test_groups_are_measured_one_after_the_other() -> None:
    problem = program()
    assert (problem.m, problem.n) == (4, N)
    assert np.allclose(problem.measured(Y), [np.trace(M), M[0, 0], M[1, 2], M[2, 3]], rtol=1e-13)
    assert np.allclose(problem.at(Y).measured, problem.measured(Y), rtol=0, atol=0)
    assert np.allclose(problem.norms, [2.0, 1.0, np.sqrt(0.5), np.sqrt(0.5)], rtol=1e-14)
    assert problem.homogeneous.tolist() == [False, False, False, False]


def test_the_violation_is_what_the_nearest_bound_lacks_with_a_sign() -> None:
    problem = program()
    a = np.array([2.5, 0.2, 0.3, -1.5])
    assert np.allclose(problem.violation(a), [0.5, -0.3, 0.3, -0.5], rtol=0, atol=1e-15)
    assert np.array_equal(problem.violation(np.array([2.0, 9.0, -9.0, 0.0])), np.zeros(4))


def test_multipliers_that_push_against_no_bound_are_cut_and_the_support_is_the_largest_pairing() -> None:
    problem = program()
    y = np.array([1.0, 2.0, -3.0, -4.0])
    kept = problem.admissible(y)
    assert np.array_equal(kept, [1.0, 0.0, 0.0, -4.0])
    assert problem.support(kept) == 2.0 + 4.0
    rng = np.random.default_rng(1)
    for _ in range(50):  # σ(y) >= yᵀa for every a within the bounds
        y = problem.admissible(rng.standard_normal(4))
        a = np.clip(3.0 * rng.standard_normal(4), problem.lower, problem.upper)
        assert problem.support(y) >= y @ a - 1e-12
    assert problem.support(np.zeros(4)) == 0.0


def test_the_best_multiple_is_the_least_distance_of_any() -> None:
    problem, here = program(), program().at(Y)
    alpha = here.best_multiple()
    a, scale = here.measured, 1.0 / problem.norms

    def distance(factor: float) -> float:
        return float(np.linalg.norm(scale * problem.violation(factor * a)))

    others = [distance(factor) for factor in np.linspace(0.01, 5.0, 400)]
    assert distance(alpha) <= min(others) * (1.0 + 1e-2) + 1e-12


def test_abilities_are_those_that_survive() -> None:
    linear, curved = program(), Constrained(QuadraticSDP(B=1.0, n=N), constraints.diagonal(N, 1.0))
    assert {Ability.CONSTRAINTS, Ability.CONIC, Ability.CONVEX} <= linear.abilities
    assert Ability.CONIC not in curved.abilities
    assert {Ability.NEAREST, Ability.CONSTRAINED_FIT} <= curved.abilities
    assert curved.nearest is not None
    assert linear.nearest is None
    assert Constrained(QuadraticSDP(B=1.0, n=N), constraints.diagonal(N, upper=1.0)).nearest is None  # no equations


def test_a_face_is_found_and_only_zero_may_be_left_of_it() -> None:
    two = Constrained(QuadraticSDP(C=np.eye(N)), [constraints.entries([0], [0], N, 0.0), constraints.trace(N, 1.0)])
    assert two.face is not None
    assert two.face.order == N - 1
    assert not two.only_zero
    assert two.on_face.n == N - 1
    assert program().face is None
    assert program().on_face is program().on_face or program().face is None
    assert Constrained(QuadraticSDP(C=np.eye(N)), constraints.trace(N, 0.0)).only_zero


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Constrained(program(), constraints.trace(N, 1.0)), InvalidTypeError, "all constraints at once"),
        (lambda: Constrained(QuadraticSDP(C=np.eye(2)), "trace"), InvalidTypeError, "constraints"),
        (lambda: Constrained(np.eye(2), constraints.trace(2, 1.0)), InvalidTypeError, "problem"),
        (lambda: program(trace_bound=0.0), InvalidInputError, "trace_bound"),
        (
            lambda: Constrained(QuadraticSDP(C=np.eye(2)), constraints.sparse_forms([np.eye(2), 0 * np.eye(2)], 1.0)),
            InvalidInputError,
            r"constraint 1 has a form that is zero, and bounds \[1, 1\] without 0",
        ),
        (
            lambda: Constrained(QuadraticSDP(C=np.eye(2)), constraints.diagonal(2, 1e200)),
            InvalidInputError,
            re.escape(f"bounds must be at most {HUGE:g} in size; found 1e+200"),
        ),
        (
            lambda: Constrained(QuadraticSDP(C=1e150 * np.eye(2)), constraints.diagonal(2, 1.0)),
            InvalidInputError,
            "the entries of C must be at most",
        ),
        (
            lambda: Constrained(QuadraticSDP(C=np.eye(2)), constraints.sparse_forms([1e120 * np.eye(2)], 1.0)),
            InvalidInputError,
            "the entries of the forms must be at most",
        ),
        (
            lambda: Constrained(QuadraticSDP(C=np.eye(2)), constraints.sparse_forms([1e-90 * np.eye(2)], 1e20)),
            InvalidInputError,
            r"bounds next to \|A_t\| must be at most",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(make, error, words) -> None:
    with pytest.raises(error, match=words):
        make()
