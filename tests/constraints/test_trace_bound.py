"""Bounds on the trace: implied ones, tight ones, none where nothing is implied, and one that no M can meet."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints.trace_bound import found_trace_bound

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


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_weights_are_those_of_the_nearest_form_scaled_until_it_is_above_one(scale) -> None:
    """A = diag(1, ..., 5) scaled: w A nearest to I has w = 15/55, its least eigenvalue 15/55: tr M <= b."""
    forms = constraints.SparseForms.of([scale * np.diag(np.arange(1.0, 6.0))])
    found = found_trace_bound(forms, np.array([-np.inf]), np.array([6.0 * scale]), forms.norms)
    assert found.value == pytest.approx(6.0, rel=0.05)
    assert found.value >= 6.0
    assert found.weights[0] * scale >= 1.0 - 1e-12
    assert (found.least, found.source) == (0.0, "constraints")
    assert found.value == pytest.approx(found.weights[0] * 6.0 * scale, rel=1e-9)
    other = found_trace_bound(forms, np.array([-6.0 * scale]), np.array([np.inf]), forms.norms)
    assert other is None  # the bound is on the wrong side
    negative = constraints.SparseForms.of([-scale * np.diag(np.arange(1.0, 6.0))])
    turned = found_trace_bound(negative, np.array([-6.0 * scale]), np.array([np.inf]), negative.norms)
    assert turned.value == pytest.approx(found.value, rel=1e-9)


def test_near_unit_forms_are_bounded_by_their_rows() -> None:
    """I + E, |E| <= e in row sums: tr M <= b/(1 − e), and no least trace unless e is rounding."""
    E = np.zeros((N, N))
    E[0, 1] = E[1, 0] = 0.2
    forms = constraints.SparseForms.of([np.eye(N) + E])
    found = found_trace_bound(forms, np.array([3.0]), np.array([3.0]), forms.norms)
    w = 5.0 / (5.0 + 2.0 * 0.2**2)
    error = max(abs(1.0 - w) + 0.2 * w, abs(1.0 - w))
    assert found.value == pytest.approx(3.0 * w / (1.0 - error), rel=1e-6)
    assert found.least == 0.0
    exact = constraints.SparseForms.of([np.eye(N) + 1e-10 * E])
    tight = found_trace_bound(exact, np.array([3.0]), np.array([3.0]), exact.norms)
    assert tight.least == pytest.approx(3.0, rel=1e-8)
    assert tight.least <= 3.0 <= tight.value
    loose = found_trace_bound(exact, np.array([2.0]), np.array([3.0]), exact.norms)
    assert (loose.least, loose.value) == (0.0, pytest.approx(3.0, rel=1e-8))


def test_an_entry_of_the_diagonal_in_no_constraint_leaves_the_trace_free() -> None:
    forms = constraints.SparseForms.of([np.diag([1.0, 1.0, 1.0, 1.0, 0.0])])
    assert found_trace_bound(forms, np.array([1.0]), np.array([1.0]), forms.norms) is None
    assert found_trace_bound(None, np.zeros(1), np.zeros(1), np.ones(1)) is None
    free = constraints.SparseForms.of([np.eye(N)])
    assert found_trace_bound(free, np.array([-np.inf]), np.array([np.inf]), free.norms) is None
