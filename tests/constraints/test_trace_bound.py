"""Bounds on the trace: implied ones, tight ones, none where nothing is implied, and one that no M can meet."""

from __future__ import annotations

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints

N = 5


def limit(*groups, **options):
    return Constrained(QuadraticSDP(C=np.eye(N)), list(groups), **options).trace_limit


def test_the_trace_is_fixed_by_equations() -> None:
    for groups in ([constraints.trace(N, 3.0)], [constraints.diagonal(N, 0.6)],
                   [constraints.diagonal(N, 0.6), constraints.entries([0], [1], N, 0.1)]):  # fmt: skip
        found = limit(*groups)
        assert found.value == pytest.approx(3.0, rel=1e-9)
        assert found.least == pytest.approx(3.0, rel=1e-9)
        assert found.least <= 3.0 <= found.value


def test_upper_bounds_bound_and_do_not_fix() -> None:
    found = limit(constraints.diagonal(N, upper=2.0), constraints.entries([0, 1], [1, 2], N, lower=0.0))
    assert (found.value, found.least) == (pytest.approx(10.0), 0.0)


def test_a_definite_form_bounds_the_trace() -> None:
    A = np.diag([1.0, 2.0, 3.0, 4.0, 5.0])
    found = limit(constraints.sparse_forms([A], 6.0))
    assert found.value >= 6.0  # M = 6 e_1 e_1' is feasible
    assert found.least == 0.0


def test_nothing_implied_is_nothing_claimed() -> None:
    assert limit(constraints.entries([0], [0], N, 1.0)) is None
    assert limit(constraints.diagonal(N, lower=1.0)) is None
    assert limit(constraints.entries([0], [0], N, 1.0), trace_bound=9.0).source == "given"


def test_a_negative_bound_is_a_contradiction() -> None:
    problem = Constrained(QuadraticSDP(C=np.eye(N)), constraints.diagonal(N, [1.0, 1.0, 1.0, 1.0, -9.0]))
    assert problem.trace_limit is None
    w = problem.contradiction
    assert problem.support(w) < 0.0
    assert np.linalg.eigvalsh(problem.forms.matrix(w).toarray())[0] >= 1.0 - 1e-9


def test_only_zero_is_feasible_and_that_is_no_contradiction() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((N, N))
    problem = Constrained(QuadraticSDP(C=np.eye(N)), constraints.sparse_forms([A @ A.T, np.eye(N)], [0.0, 0.0]))
    assert problem.contradiction is None
    assert problem.trace_limit.value <= 1e-12
