"""Combinations of equations that define a face of the cone, and those that nearly do."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, Status, constraints, solve
from psdopt.methods import AugmentedLagrangian, BoundaryPoint, InteriorPoint, LagrangeNewton

N = 4


def E(i: int, j: int, weight: float = 1.0, n: int = N) -> np.ndarray:
    A = np.zeros((n, n))
    A[i, j] = A[j, i] = weight
    return A


def hidden(C: np.ndarray, *, least: float = 1.0) -> Constrained:
    """M_11 + M_33 = 1 and M_33 = `least`, so that M_11 = 0 at 1; M_00 + 2 M_12 = 1, so that then M_00 = 1."""
    rows = constraints.sparse_forms([E(1, 1) + E(3, 3), E(3, 3), E(0, 0) + E(1, 2)], [1.0, least, 1.0])
    return Constrained(QuadraticSDP(C=0.5 * C), [rows, constraints.trace(N, 1e6)])


def centred(n: int, scales: np.ndarray, shift: float = 0.0) -> Constrained:
    """G 1 = 0 given by rows, each times its own number, and tr G = 1."""
    one = np.ones(n)
    A = [s * 0.5 * (np.outer(e, one) + np.outer(one, e)) for s, e in zip(scales, np.eye(n), strict=True)]
    b = np.zeros(n)
    b[0] = shift
    C = np.random.default_rng(0).standard_normal((n, n))
    return Constrained(QuadraticSDP(C=C + C.T), [constraints.sparse_forms(A, b), constraints.trace(n, 1.0)])


@pytest.mark.parametrize("method", [None, InteriorPoint(), AugmentedLagrangian(), LagrangeNewton(), BoundaryPoint()])
def test_a_face_that_two_rows_show_together_is_not_jumped_over(method) -> None:
    """M_11 = 3e-7 would free M_00, and the value would be 1: feasible to tolerance, and near no feasible matrix."""
    problem = hidden(E(0, 0, 100.0) + E(3, 3))
    assert problem.face.order == N - 1
    result = solve(problem, method=method, max_time=20.0)
    assert not result.optimal or result.value == pytest.approx(101.0, rel=1e-6)
    assert result.optimal or isinstance(method, BoundaryPoint)


METHODS = [None, InteriorPoint(), AugmentedLagrangian(), LagrangeNewton(), BoundaryPoint()]


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("trace", [1e4, 1e6])
def test_the_face_does_not_depend_on_how_rows_are_added_to_each_other(method, trace) -> None:
    """M_11 − M_33 + M_00 + 2 M_12 = 0 beside M_33 = 1 and M_00 + 2 M_12 = 1: M_11 = 0 by three rows together."""
    A = [E(1, 1) - E(3, 3) + E(0, 0) + E(1, 2), E(3, 3), E(0, 0) + E(1, 2)]
    C = E(0, 0, 100.0) + E(3, 3)
    rows = [constraints.sparse_forms(A, [0.0, 1.0, 1.0]), constraints.trace(N, trace)]
    problem = Constrained(QuadraticSDP(C=0.5 * C), rows)
    assert problem.face.order == N - 1
    result = solve(problem, method=method, max_iterations=300, max_time=20.0)
    assert result.certificate.constraints.on_face == 3
    assert not result.optimal or result.value == pytest.approx(101.0, rel=1e-6)
    assert isinstance(method, BoundaryPoint) or result.value == pytest.approx(101.0, rel=1e-4)
    # an error of 1e-14 in λ_min(S) counts times the trace, and multipliers of first-order methods have more
    first_order = isinstance(method, BoundaryPoint) or (isinstance(method, AugmentedLagrangian) and trace > 1e4)
    assert result.optimal or first_order
    assert result.status is not Status.STATIONARY or result.certificate.constraints.primal_infeasibility <= 1e-6


def test_rows_in_any_combination_show_the_face() -> None:
    base = [E(1, 1), E(3, 3), E(0, 0) + E(1, 2)]
    b = np.array([0.0, 1.0, 1.0])
    rng = np.random.default_rng(0)
    for _ in range(20):
        lower, upper = (np.eye(3) + np.tril(rng.integers(-3, 4, (3, 3)), -1) for _ in range(2))
        U = lower @ upper.T  # integers, and so is its inverse
        rows = constraints.sparse_forms([np.tensordot(u, base, 1) for u in U], U @ b)
        assert Constrained(QuadraticSDP(C=np.eye(N)), [rows, constraints.trace(N, 1e6)]).face.order == N - 1


@pytest.mark.parametrize("least", [1.0 - 1e-15, 1.0 + 1e-15])
def test_what_is_off_by_a_rounding_is_shown_by_no_row(least) -> None:
    problem = hidden(E(0, 0), least=least)
    assert problem.shown.face is None
    assert problem.face.searched


@pytest.mark.parametrize("least", [1.0 - 1e-7, 1.0 + 1e-7, 1.0 - 1e-11])
def test_what_is_off_by_more_than_a_rounding_is_no_face(least) -> None:
    assert hidden(E(0, 0), least=least).face is None


@pytest.mark.parametrize("scales", [np.ones(6), 10.0 ** np.arange(-6, 6, 2)])
def test_rows_of_zeros_define_a_face_together(scales) -> None:
    problem = centred(6, scales)
    assert problem.face.order == 5
    assert problem.face.rows.tolist() == [0, 1, 2, 3, 4, 5]
    np.testing.assert_allclose(problem.face.basis[:, 0] ** 2, 1.0 / 6.0, rtol=1e-12)
    result = solve(problem)
    assert result.optimal
    C, P = problem.conic.C.toarray(), np.eye(6) - 1.0 / 6.0
    assert result.value == pytest.approx(np.sort(np.linalg.eigvalsh(P @ C @ P))[0], rel=1e-6)
    assert centred(6, scales, shift=1e-12).face is None


def test_many_rows_that_one_row_contains_leave_its_last_entry() -> None:
    """tr M = n − 1 with M_ii = 1 for all but the last."""
    n = 7
    rows = [constraints.entries(range(n - 1), range(n - 1), n, 1.0), constraints.trace(n, n - 1.0)]
    problem = Constrained(QuadraticSDP(C=np.ones((n, n))), rows)
    assert problem.face.order == n - 1
    assert np.argmax(np.abs(problem.face.basis[:, 0])) == n - 1
    loose = Constrained(problem.problem, [rows[0], constraints.trace(n, n - 0.5)])
    assert loose.face is None
