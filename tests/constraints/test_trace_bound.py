"""What constraints imply: bounds on the trace, a feasible matrix; and the scale of each of their violations."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, QuadraticSDP, Status, certify, constraints, solve
from psdopt.certificates.constrained.scales import relative_violation
from psdopt.constraints.allowed import Allowed
from psdopt.constraints.feasible import REACHED
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.trace_bound import definite_part, found_trace_bound
from psdopt.constraints.violation import relative, row_scales
from psdopt.linalg.tolerances import ROOT_EPS
from psdopt.methods import AugmentedLagrangian, BoundaryPoint, InteriorPoint

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
    found = found_trace_bound(forms, Allowed(np.array([-np.inf]), np.array([6.0 * scale])), forms.norms)
    assert found.value == pytest.approx(6.0, rel=0.05)
    assert found.value >= 6.0
    assert found.weights[0] * scale >= 1.0 - 1e-12
    assert (found.least, found.source) == (0.0, "constraints")
    assert found.value == pytest.approx(found.weights[0] * 6.0 * scale, rel=1e-9)
    other = found_trace_bound(forms, Allowed(np.array([-6.0 * scale]), np.array([np.inf])), forms.norms)
    assert other is None  # the bound is on the wrong side
    negative = constraints.SparseForms.of([-scale * np.diag(np.arange(1.0, 6.0))])
    turned = found_trace_bound(negative, Allowed(np.array([-6.0 * scale]), np.array([np.inf])), negative.norms)
    assert turned.value == pytest.approx(found.value, rel=1e-9)


def test_near_unit_forms_are_bounded_by_their_rows() -> None:
    """I + E, |E| <= e in row sums: tr M <= b/(1 − e), and no least trace unless e is rounding."""
    E = np.zeros((N, N))
    E[0, 1] = E[1, 0] = 0.2
    forms = constraints.SparseForms.of([np.eye(N) + E])
    found = found_trace_bound(forms, Allowed(np.array([3.0]), np.array([3.0])), forms.norms)
    w = 5.0 / (5.0 + 2.0 * 0.2**2)
    error = max(abs(1.0 - w) + 0.2 * w, abs(1.0 - w))
    assert found.value == pytest.approx(3.0 * w / (1.0 - error), rel=1e-6)
    assert found.least == 0.0
    exact = constraints.SparseForms.of([np.eye(N) + 1e-10 * E])
    tight = found_trace_bound(exact, Allowed(np.array([3.0]), np.array([3.0])), exact.norms)
    assert tight.least == pytest.approx(3.0, rel=1e-8)
    assert tight.least <= 3.0 <= tight.value
    loose = found_trace_bound(exact, Allowed(np.array([2.0]), np.array([3.0])), exact.norms)
    assert (loose.least, loose.value) == (0.0, pytest.approx(3.0, rel=1e-8))


def test_an_entry_of_the_diagonal_in_no_constraint_leaves_the_trace_free() -> None:
    forms = constraints.SparseForms.of([np.diag([1.0, 1.0, 1.0, 1.0, 0.0])])
    assert found_trace_bound(forms, Allowed(np.array([1.0]), np.array([1.0])), forms.norms) is None
    assert found_trace_bound(None, Allowed(np.zeros(1), np.zeros(1)), np.ones(1)) is None
    free = constraints.SparseForms.of([np.eye(N)])
    assert found_trace_bound(free, Allowed(np.array([-np.inf]), np.array([np.inf])), free.norms) is None


RNG = np.random.default_rng(0)
FORMS = [(A + A.T) / 2.0 for A in RNG.standard_normal((4, 5, 5))]
INSIDE = np.cov(RNG.standard_normal((5, 9)))


@pytest.mark.parametrize("groups", [
    [constraints.diagonal(5, 1.0)],
    [constraints.trace(5, 3.0), constraints.entries([0, 1], [1, 2], 5, [0.5, -0.25])],
    [constraints.sparse_forms(FORMS, [float(np.sum(A * INSIDE)) for A in FORMS])],
    [constraints.entries([0], [1], 5, lower=0.25), constraints.diagonal(5, upper=1.0)],
    [constraints.entries([0, 1], [1, 2], 5, lower=0.0)],
], ids=["diagonal", "trace-and-entries", "forms", "inequalities", "homogeneous"])  # fmt: skip
def test_what_is_found_is_feasible(groups):
    problem = Constrained(QuadraticSDP(C=np.eye(5)), groups)
    Y = problem.feasible_factor
    assert relative_violation(problem, problem.measured(Y), Y) <= 10.0 * REACHED
    assert problem.feasible_factor is Y


def test_on_a_face():
    """⟨u uᵀ, M⟩ = 0: steps stay where M u = 0."""
    u = np.ones(4)
    held = [constraints.sparse_forms([np.outer(u, u)], 0.0), constraints.trace(4, 2.0)]
    Y = Constrained(QuadraticSDP(C=np.eye(4)), held).feasible_factor
    assert np.linalg.norm(u @ Y) <= 1e-12
    assert np.sum(Y**2) == pytest.approx(2.0)


def test_scales_of_constraints_change_nothing():
    values = [float(np.sum(A * INSIDE)) for A in FORMS]
    scales = [1e6, 1e-3, 1.0, 10.0]
    F = QuadraticSDP(C=np.eye(5))
    plain = Constrained(F, constraints.sparse_forms(FORMS, values)).feasible_factor
    scaled = constraints.sparse_forms(
        [s * A for s, A in zip(scales, FORMS, strict=True)], [s * v for s, v in zip(scales, values, strict=True)]
    )
    assert Constrained(F, scaled).feasible_factor == pytest.approx(plain, rel=1e-6, abs=1e-8)


def test_none_where_nothing_is_feasible():
    problem = Constrained(
        QuadraticSDP(C=np.eye(3)), [constraints.diagonal(3, 1.0), constraints.entries([0], [1], 3, 2.0)]
    )
    assert problem.feasible_factor is None


PAIR = SparseForms.of([np.diag([1.0, 0.0, -2.0]), np.array([[0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]])])
Y = np.array([[2.0, 0.0], [0.0, 1.0], [3.0, 4.0]])


def test_a_scale_is_the_bound_or_the_size_of_the_terms() -> None:
    # M_ii = (4, 1, 25): Σ |A_ij| √(M_ii M_jj) = 4 + 50 and 6 · 2
    assert row_scales(PAIR, PAIR.norms, np.array([7.0, 0.5]), Y) == pytest.approx([54.0, 12.0])
    assert row_scales(PAIR, PAIR.norms, np.array([-100.0, 13.0]), Y) == pytest.approx([100.0, 13.0])


def test_rows_of_M_that_vanish_are_not_told_from_zero_where_a_bound_is_zero() -> None:
    vanishing = np.array([[0.0], [0.0], [1.0]])
    zero, small = np.zeros(2), np.array([0.0, 1e-12])
    scales = row_scales(PAIR, PAIR.norms, zero, vanishing)
    assert scales == pytest.approx([2.0 + ROOT_EPS, 6.0 * ROOT_EPS])
    assert row_scales(PAIR, PAIR.norms, small, vanishing)[1] == pytest.approx(1e-12)  # a bound of its own


def test_without_entries_the_sizes_are_norms() -> None:
    norms = np.array([2.0, 1e-6])
    M = Y @ Y.T
    assert row_scales(None, norms, np.array([1.0, 5.0]), Y) == pytest.approx([2.0 * np.linalg.norm(M), 5.0])


def test_ratios_of_nothing_are_zero() -> None:
    assert relative(np.array([0.0, 1.0, -2.0]), np.array([0.0, 0.0, 4.0])).tolist() == [0.0, np.inf, 0.5]


@pytest.mark.parametrize("bounds", [[1e8, 1e-3, 1, 1], [1e10, 1, 1, 1], [1e6, 1e-4, 1e-4, 1e-4], [1e7, 1, 1, 1]])
@pytest.mark.parametrize("method", [InteriorPoint(), BoundaryPoint(), AugmentedLagrangian()])
def test_a_large_bound_hides_no_other(bounds, method) -> None:
    """Every M_ii is given. The default method meets each; another one meets each or does not say `optimal`."""
    n = len(bounds)
    problem = Constrained(QuadraticSDP(C=np.diag([1.0, -1.0, 1.0, 1.0]) / 2), constraints.diagonal(n, bounds))
    result = solve(problem, method=method)
    right = np.allclose(np.diag(result.matrix.to_dense()), bounds, rtol=2e-6, atol=0.0)
    assert right or result.status is not Status.OPTIMAL
    assert right or isinstance(method, AugmentedLagrangian)


def test_each_group_shows_its_own_violation() -> None:
    groups = [constraints.trace(3, 1e6), constraints.entries([0, 1], [0, 1], 3, [1.0, 2.0])]
    problem = Constrained(QuadraticSDP(C=np.eye(3)), groups)
    certificate = certify(problem, np.diag([1.0, np.sqrt(3.0), np.sqrt(1e6 - 4.0)]))
    assert [name for name, _ in certificate.constraints.violations] == [group.name for group in groups]
    trace, off = (violation for _, violation in certificate.constraints.violations)
    assert trace == pytest.approx(0.0, abs=1e-12)
    assert off == certificate.constraints.primal_infeasibility == pytest.approx(1.0 / 3.0)
    shown = [row for row in certificate.rows() if "largest in" in row[0]]
    assert [row[2] for row in shown] == [trace, off]


def test_the_definite_part_of_an_objective_is_below_its_spectrum() -> None:
    rng = np.random.default_rng(4)
    A = rng.standard_normal((N, N))
    C = A @ A.T + 0.5 * np.eye(N)
    low = np.linalg.eigvalsh(C)[0]
    assert 0.9 * low <= definite_part(sp.csr_array(C)) <= low
    assert definite_part(sp.csr_array(np.diag([3.0, 2.0, 5.0]))) == 2.0
    assert definite_part(sp.csr_array(C - (low + 0.1) * np.eye(N))) == 0.0
    assert definite_part(sp.csr_array(np.diag([1.0, 0.0]))) == 0.0
