"""Measured terms: their lines in blocks, solutions with a known answer, calls, and bad inputs.

Whole terms (value, gradient, Hessian, lines, planes, counts) are compared with autograd twins in
``tests/problems/test_term_sum.py``.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, TermSum, solve
from psdopt.errors import InvalidInputError
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import EPS
from psdopt.terms import (
    Entries,
    IdentityForm,
    LeastSquares,
    Linear,
    LinearTerm,
    MeasuredTerm,
    PairDistances,
    QuadraticForms,
    SquaredHinge,
    TripletDifferences,
)
from psdopt.terms.measured import MeasuredCurve
from tests.terms.test_losses import LOSSES


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_lines_have_the_derivatives_of_the_loss(name):
    rng, m = np.random.default_rng(4), 11
    loss = LOSSES[name](rng, m)
    a0, a1, a2 = rng.standard_normal((3, m))
    curve = MeasuredCurve(loss, 0.7, a0, a1, a2)
    for mu in (0.0, 0.3, 2.0):
        a, velocity = a0 + mu * a1 + mu**2 * a2, a1 + 2 * mu * a2
        first = 0.7 * loss.derivative(a) @ velocity
        second = 0.7 * (loss.second(a) @ velocity**2 + 2 * loss.derivative(a) @ a2)
        sizes = np.array([np.abs(loss.derivative(a)) @ np.abs(velocity), np.abs(loss.second(a)) @ velocity**2 + 1.0])
        assert np.all(
            np.abs(np.array(curve.derivatives(mu)) - [first, second]) <= 64 * EPS * (sizes.sum() + abs(second))
        )
        assert curve.value(mu) == pytest.approx(0.7 * loss.value(a), rel=64 * EPS, abs=64 * EPS)


def test_regression_recovers_the_matrix_that_made_the_data():
    rng = np.random.default_rng(0)
    n, r, m = 6, 2, 60
    G, X = rng.standard_normal((n, r)), rng.standard_normal((m, n))
    y = np.sum((X @ G) ** 2, axis=1)
    problem = TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(y), 1 / (2 * m))])
    result = solve(problem, FlatQuotient(n, 3), ConjugateGradient(), tol=1e-5)
    assert result.optimal
    assert np.linalg.norm(result.matrix.to_dense() - G @ G.T) <= 1e-2 * np.linalg.norm(G @ G.T)


def test_large_margin_problem_never_goes_up_and_satisfies_its_dual():
    """LMNN (Hao et al., eq. 8): the dual value of formulas.md, section 5, bounds the optimum from below."""
    rng = np.random.default_rng(1)
    X, labels = rng.standard_normal((40, 6)), np.repeat([0, 1], 20)
    X[labels == 1, 0] += 2.0
    shared = LinearMap(X, "X")
    i = np.repeat(np.arange(40), 6)
    j = np.array([rng.choice(np.flatnonzero((labels == labels[a]) & (np.arange(40) != a))) for a in i])
    k = np.array([rng.choice(np.flatnonzero(labels != labels[a])) for a in i])
    lam = 0.5
    problem = TermSum(
        [
            MeasuredTerm(PairDistances(i, j, shared), Linear()),
            MeasuredTerm(TripletDifferences(i, j, k, shared), SquaredHinge(), lam),
        ]
    )
    result = solve(problem, tol=1e-7)
    assert result.optimal
    values = result.history["value"]
    assert np.all(np.diff(values) <= 64 * EPS * values[0])
    M = result.matrix.to_dense()
    d = lambda a, b: np.einsum("ti,ij,tj->t", X[a] - X[b], M, X[a] - X[b])  # noqa: E731
    multiplier = 2 * lam * np.maximum(0.0, 1.0 - d(i, k) + d(i, j))
    C0 = (X[i] - X[j]).T @ (X[i] - X[j])
    S = (
        C0
        - (X[i] - X[k]).T @ (multiplier[:, None] * (X[i] - X[k]))
        + (X[i] - X[j]).T @ (multiplier[:, None] * (X[i] - X[j]))
    )
    low, base = np.linalg.eigvalsh(S)[0], np.linalg.eigvalsh(C0)[0]
    repaired = multiplier * min(1.0, base / (base - low))
    dual = np.sum(repaired - repaired**2 / (4 * lam))
    assert dual <= result.value * (1 + 1e-12)
    assert result.value - dual <= 1e-4 * result.value


def test_least_squares_with_a_trace_term_has_a_shrunken_solution():
    """min (M_11 − 2)² + lam tr M: M_11 = 2 − lam/2, all else 0."""
    problem = TermSum([MeasuredTerm(Entries([0], [0], 3), LeastSquares(2.0)), LinearTerm(IdentityForm(3), 0.6)])
    result = solve(problem, tol=1e-9)
    assert result.optimal
    expected = np.zeros((3, 3))
    expected[0, 0] = 1.7
    np.testing.assert_allclose(result.matrix.to_dense(), expected, atol=1e-4)


def calls_of(act):
    """Number of calls, of Python functions and of compiled ones, that `act` makes."""
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        act()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("loss", [LeastSquares(1.0), SquaredHinge(1.0)], ids=["polynomial", "hinge"])
def test_a_line_makes_as_many_calls_for_many_pairs_as_for_few(loss):
    """No loop over pairs in Python: 40 times the pairs, the same number of calls."""
    rng, n = np.random.default_rng(0), 100
    Y, D = rng.standard_normal((2, n, 2))
    counts = []
    for p in (200, 8000):
        i = rng.integers(0, n, p)
        problem = TermSum([MeasuredTerm(PairDistances(i, (i + rng.integers(1, n, p)) % n, n=n), loss)])
        here = problem.at(Y)
        here.factor_gradient()
        problem.at(D).along(Y).step(0.1).factor_gradient()  # whatever is made once is made

        def act(here=here):
            line = here.along(D)
            line.derivatives(0.3)
            line.step(0.1).factor_gradient()

        counts.append(calls_of(act))
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: MeasuredTerm(Entries([0], [1], 3), LeastSquares([1.0, 2.0])), InvalidInputError,
         "loss must be made for 1 measurements; found arrays of length 2"),
        (lambda: MeasuredTerm(Entries([0], [1], 3), LeastSquares(1.0), math.nan), InvalidInputError,
         "weight must be a finite number"),
    ],
)  # fmt: skip
def test_bad_input(make, kind, text):
    with pytest.raises(kind, match=text):
        make()
