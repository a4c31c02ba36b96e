"""Multipliers of redundant constraints: the shortest with the same S and the same bound, whatever the method gave."""

import numpy as np
import pytest
import scipy.sparse as sp

import psdopt.certificates.constrained.least_multipliers as module
from psdopt import Constrained, QuadraticSDP, certify, constraints, solve
from psdopt.certificates.constrained.least_multipliers import least_multipliers
from psdopt.methods import AugmentedLagrangian, BoundaryPoint, InteriorPoint
from psdopt.testing.constrained import DenseConstraints
from tests.instances import symmetric

N = 6
E = [np.diag(e) for e in np.eye(N)]
DIAGONAL = constraints.diagonal(N, 1.0)
#: Equations that follow from M_ii = 1.
REDUNDANT = {
    "twice": [DIAGONAL],
    "in other units": [constraints.sparse_forms([100.0 * A for A in E], 100.0)],
    "combined": [constraints.trace(N, float(N)), constraints.sparse_forms([E[0] + 2.0 * E[1] - E[3]], 2.0)],
}


def problem_with(rows: list[constraints.Constraint]) -> Constrained:
    return Constrained(QuadraticSDP(C=0.5 * symmetric(np.random.default_rng(5), N)), rows)


def along_nothing(problem: Constrained, y: np.ndarray) -> float:
    """The length of the part of y along the d with A*(d) = 0, relative to |y|."""
    A = DenseConstraints(problem).A.reshape(problem.m, -1)
    _, s, V = np.linalg.svd(A.T)
    d = V[int(np.sum(s > 1e-10 * s[0])) :]
    assert len(d) > 0
    return float(np.linalg.norm(d @ y) / np.linalg.norm(y))


@pytest.mark.parametrize("method", [InteriorPoint(), BoundaryPoint(), AugmentedLagrangian()], ids=lambda m: m.name)
@pytest.mark.parametrize("rows", REDUNDANT.values(), ids=REDUNDANT)
def test_answers_have_the_shortest_multipliers(rows, method):
    problem = problem_with([DIAGONAL, *rows])
    result = solve(problem, method=method, tol=1e-6)
    assert result.optimal
    y = result.certificate.constraints.multipliers
    assert along_nothing(problem, y) <= 1e-12
    again = certify(problem, result.matrix.factor, dual=y)
    assert again.dual_value == pytest.approx(result.certificate.dual_value, rel=1e-9)


def test_copies_of_an_inequality_share_its_multiplier():
    pair = constraints.entries([0], [1], N, upper=0.05)
    once = problem_with([DIAGONAL, pair])
    result = solve(once, tol=1e-8)
    y = result.certificate.constraints.multipliers
    assert y[-1] > 0.1
    twice = problem_with([DIAGONAL, pair, pair])
    found = certify(twice, result.matrix.factor, dual=np.append(y, 0.0)).constraints.multipliers
    assert found == pytest.approx(np.append(y[:-1], [0.5 * y[-1]] * 2), rel=1e-9)


def test_no_multiplier_gets_a_sign_that_its_bound_forbids():
    """Of M_00, M_11 <= 1 and M_00 + 9 M_11 <= 10 with y = (0.1, 3, 0) the shortest of any signs is negative first."""
    rows = constraints.sparse_forms([E[0], E[1], E[0] + 9.0 * E[1]], upper=np.array([1.0, 1.0, 10.0]))
    problem, Y = problem_with([rows]), np.eye(N)[:, :2]
    y, A = np.array([0.1, 3.0, 0.0]), np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 9.0]])
    free = np.linalg.pinv(A) @ A @ y
    assert free.min() < 0.0
    found = least_multipliers(problem, y, problem.measured(Y), Y)
    assert found.min() >= 0.0
    assert A @ found == pytest.approx(A @ y)
    assert np.linalg.norm(found) <= np.linalg.norm(y)


def test_inequalities_off_their_bounds_take_no_multiplier():
    rows = [constraints.entries([0, 0], [0, 0], N, upper=np.array([1.0, 2.0]))]
    problem, Y = problem_with(rows), np.eye(N)[:, :1]
    y = np.array([1.0, 0.0])
    assert np.array_equal(least_multipliers(problem, y, problem.measured(Y), Y), y)


def test_equations_that_contradict_each_other_keep_what_proves_it():
    """y = (1, −1) has A*(y) = 0 and σ(y) < 0; the shortest y with this A* would prove nothing."""
    problem = problem_with([constraints.trace(N, 1.0), constraints.trace(N, 2.0)])
    y = np.array([1.0, -1.0])
    Y = np.eye(N)[:, :1]
    assert least_multipliers(problem, y, problem.measured(Y), Y) is y


def test_without_redundant_rows_nothing_changes():
    problem = problem_with([DIAGONAL, constraints.entries([0, 1], [1, 2], N, upper=0.1)])
    Y, y = np.eye(N), np.arange(1.0, N + 3.0)
    assert least_multipliers(problem, y, problem.measured(Y), Y) is y


def test_independent_rows_cost_no_least_squares(monkeypatch):
    """Rows with places of their own, and a chain of rows that have one once the next is left out."""
    monkeypatch.setattr(module, "least_squares", lambda *given: pytest.fail("multipliers are unique"))
    monkeypatch.setattr(module.np.linalg, "lstsq", lambda *given, **more: pytest.fail("multipliers are unique"))
    chain = constraints.sparse_forms([E[k] + (E[k + 1] if k + 1 < N else 0.0) for k in range(N)], 1.5)
    for rows in ([DIAGONAL], [chain]):
        problem = problem_with(rows)
        y, Y = np.arange(1.0, 1.0 + problem.m), np.eye(N)
        assert least_multipliers(problem, y, problem.measured(Y), Y) is y


@pytest.mark.parametrize(
    ("B", "answer"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], True),
        ([[1.0, 1.0], [0.0, 1.0]], True),
        ([[1.0, 1.0], [1.0, 1.0]], False),
        ([[1.0, 1.0], [1.0, -1.0]], False),  # they are, but no place shows it
        ([[0.0, 0.0], [0.0, 1.0]], True),
    ],
)
def test_independence_is_seen_from_places(B, answer):
    assert module._independent(sp.csr_array(np.array(B))) is answer
    stored = sp.csr_array((np.ravel(B), ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(2, 2))  # with zeros
    assert module._independent(stored) is answer
