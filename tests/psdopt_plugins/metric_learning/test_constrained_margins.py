"""Metrics of large margin and of kernel alignment under hard constraints, against a conic solver."""

import numpy as np
import pytest

from psdopt import Constrained, solve
from psdopt.constraints import diagonal, trace
from psdopt.errors import InvalidInputError
from psdopt_plugins.metric_learning import kta_problem, lmnn_problem, triplet_margin_problem

cp = pytest.importorskip("cvxpy")

GROUPS = {
    "a fixed trace": ([trace(4, 0.7)], lambda M: [cp.trace(M) == 0.7]),
    "a bounded diagonal": ([diagonal(4, upper=0.2)], lambda M: [cp.diag(M) <= 0.2]),
    "both": ([trace(4, 0.7), diagonal(4, lower=0.1, upper=0.4)],
             lambda M: [cp.trace(M) == 0.7, cp.diag(M) <= 0.4, cp.diag(M) >= 0.1]),
}  # fmt: skip


def data():
    """24 samples of two classes, two target neighbours of each, three impostors of each pair."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((24, 4)), np.repeat([0, 1], 12)
    X[y == 1, 0] += 1.5
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    pairs = [(i, j) for i in range(24) for j in np.argsort(np.where(y == y[i], D[i], np.inf))[:2]]
    return X, pairs, [(i, j, k) for i, j in pairs for k in np.argsort(np.where(y != y[i], D[i], np.inf))[:3]]


def squared(X, M, i, j):
    return (X[i] - X[j]) @ M @ (X[i] - X[j])


def lmnn(M):
    """The problem and its formula."""
    X, pairs, triplets = data()
    hinges = [cp.square(cp.pos(1 + squared(X, M, i, j) - squared(X, M, i, k))) for i, j, k in triplets]
    return lmnn_problem(X, pairs, triplets, 2.0), sum(squared(X, M, i, j) for i, j in pairs) + 2.0 * sum(hinges)


def kta(M):
    X, labels = data()[0], np.repeat([0, 1], 12)
    Y = np.eye(2)[labels]
    return kta_problem(X, labels, 0.1), 0.1 * cp.sum_squares(X @ M @ X.T - Y @ Y.T) + cp.sum_squares(M - np.eye(4))


@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("made", [lmnn, kta])
def test_values_are_certified_and_agree_with_clarabel(made, name):
    M, (groups, conic) = cp.Variable((4, 4), PSD=True), GROUPS[name]
    problem, objective = made(M)
    result = solve(Constrained(problem, groups))
    expected = cp.Problem(cp.Minimize(objective), conic(M)).solve(solver="CLARABEL")
    assert result.optimal
    assert result.value == pytest.approx(expected, rel=1e-6)
    assert result.certificate.dual_value <= expected * (1 + 1e-6)


def test_a_smoothed_margin_bounds_the_hinge_from_below():
    X, _, triplets = data()
    margins = triplet_margin_problem(X, triplets, 0.1)
    groups = [trace(4, 1.0), diagonal(4, upper=0.4)]
    M, rho = cp.Variable((4, 4), PSD=True), cp.Variable()
    values = cp.hstack([squared(X, M, i, k) - squared(X, M, i, j) for i, j, k in triplets])
    objective = -rho + 0.1 * cp.sum(cp.pos(rho - values))
    expected = cp.Problem(cp.Minimize(objective), [cp.trace(M) == 1, cp.diag(M) <= 0.4]).solve(solver="CLARABEL")
    widths = []
    for mu in (1e-2, 1e-3):
        result = solve(Constrained(margins.smoothed(mu), groups), tol=1e-6)
        lower, upper = result.certificate.dual_value, margins.at(result.matrix.factor).value
        assert result.optimal
        assert lower <= expected <= upper + 1e-6
        widths.append(upper - lower)
    assert widths[1] < 0.2 * widths[0]


def test_a_hinge_without_a_gradient_is_refused():
    X, _, triplets = data()
    with pytest.raises(InvalidInputError, match="smoothed"):
        Constrained(triplet_margin_problem(X, triplets, 0.1), trace(4, 1.0))
