"""The scale of each constraint: its own bound, and what it sees of M."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, Status, certify, constraints, solve
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.violation import VANISHED, relative, row_scales
from psdopt.methods import AugmentedLagrangian, BoundaryPoint, InteriorPoint, LagrangeNewton

FORMS = SparseForms.of([np.diag([1.0, 0.0, -2.0]), np.array([[0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]])])
Y = np.array([[2.0, 0.0], [0.0, 1.0], [3.0, 4.0]])


def test_a_scale_is_the_bound_or_the_size_of_the_terms() -> None:
    # M_ii = (4, 1, 25): Σ |A_ij| √(M_ii M_jj) = 4 + 50 and 6 · 2
    assert row_scales(FORMS, FORMS.norms, np.array([7.0, 0.5]), Y) == pytest.approx([54.0, 12.0])
    assert row_scales(FORMS, FORMS.norms, np.array([-100.0, 13.0]), Y) == pytest.approx([100.0, 13.0])


def test_scales_follow_the_units_of_the_rows_of_M() -> None:
    d = np.array([1e3, 1.0, 1e-2])
    other = SparseForms.of([A / np.outer(d, d) for A in (FORMS.matrix(e).toarray() for e in np.eye(2))])
    near = np.array([1.0, 1.0])
    assert row_scales(other, other.norms, near, d[:, None] * Y) == pytest.approx(
        row_scales(FORMS, FORMS.norms, near, Y)
    )


def test_rows_of_M_that_vanish_are_not_told_from_zero_where_a_bound_is_zero() -> None:
    vanishing = np.array([[0.0], [0.0], [1.0]])
    zero, small = np.zeros(2), np.array([0.0, 1e-12])
    scales = row_scales(FORMS, FORMS.norms, zero, vanishing)
    assert scales == pytest.approx([2.0 + VANISHED, 6.0 * VANISHED])
    assert row_scales(FORMS, FORMS.norms, small, vanishing)[1] == pytest.approx(1e-12)  # a bound of its own


def test_without_entries_the_sizes_are_norms() -> None:
    norms = np.array([2.0, 1e-6])
    M = Y @ Y.T
    assert row_scales(None, norms, np.array([1.0, 5.0]), Y) == pytest.approx([2.0 * np.linalg.norm(M), 5.0])


def test_ratios_of_nothing_are_zero() -> None:
    assert relative(np.array([0.0, 1.0, -2.0]), np.array([0.0, 0.0, 4.0])).tolist() == [0.0, np.inf, 0.5]


@pytest.mark.parametrize("bounds", [[1e8, 1e-3, 1, 1], [1e10, 1, 1, 1], [1e6, 1e-4, 1e-4, 1e-4], [1e7, 1, 1, 1]])
@pytest.mark.parametrize("method", [InteriorPoint(), BoundaryPoint(), LagrangeNewton(), AugmentedLagrangian()])
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
