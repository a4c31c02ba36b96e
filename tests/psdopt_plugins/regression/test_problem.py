"""Regression of a quadratic form: its problem, also up to an offset."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from psdopt import FlatQuotient, solve
from psdopt.errors import InvalidInputError
from psdopt.linalg.tolerances import EPS
from psdopt.testing import parametrize_with_checks
from psdopt_plugins.regression import psd_regression_problem
from psdopt_plugins.regression.measurements import LeastSquaresWithOffset

SEEDS = st.integers(0, 2**32 - 1)


def forms(kind, rng, m=12, n=5):
    """(arguments of the problem, the X_i as dense arrays)."""
    X = rng.standard_normal((m, n))
    pairs = np.array([rng.choice(m, 2, replace=False) for _ in range(9)])
    if kind == "rows":
        return {"X": X}, [np.outer(x, x) for x in X]
    if kind == "sparse rows":
        X = X * (rng.random((m, n)) < 0.4)
        return {"X": sp.csr_array(X)}, [np.outer(x, x) for x in X]
    if kind == "pairs":
        return {"X": X, "pairs": pairs}, [np.outer(X[a] - X[b], X[a] - X[b]) for a, b in pairs]
    if kind == "kernel":
        E = np.eye(m)
        return {"pairs": pairs, "n": m}, [np.outer(E[a] - E[b], E[a] - E[b]) for a, b in pairs]
    stack = rng.standard_normal((m, n, n))
    dense = [0.5 * (A + A.T) for A in stack]
    if kind == "general":
        return {"X": stack}, dense
    return {"X": [sp.csr_array(A) for A in stack]}, dense


KINDS = ["rows", "sparse rows", "pairs", "kernel", "general", "sparse general"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sided", [False, True])
@settings(max_examples=20)
@given(seed=SEEDS)
def test_value_and_gradient_are_the_formula(kind, sided, seed):
    rng = np.random.default_rng(seed)
    arguments, matrices = forms(kind, rng)
    m, n = len(matrices), matrices[0].shape[0]
    y, direction = rng.standard_normal(m), rng.choice([-1.0, 0.0, 1.0], m) if sided else None
    problem = psd_regression_problem(y=y, direction=direction, **arguments)
    Y = rng.standard_normal((n, 2))
    W = Y @ Y.T
    r = np.array([np.vdot(A, W) for A in matrices]) - y
    if direction is not None:
        r = np.where(direction * r < 0.0, 0.0, r)
    scale = sum(np.linalg.norm(A) * np.linalg.norm(W) for A in matrices) + np.abs(y).sum()
    evaluation = problem.at(Y)
    assert evaluation.value == pytest.approx(float(r @ r) / (2 * m), abs=100 * EPS * scale**2)
    S = sum(ri * A for ri, A in zip(r, matrices, strict=True)) / m
    size = scale * max(np.linalg.norm(A) for A in matrices) * np.linalg.norm(Y)
    np.testing.assert_allclose(evaluation.factor_gradient(), 2 * S @ Y, atol=1e3 * EPS * size)


def test_large_sparse_data_need_no_dense_array():
    rng = np.random.default_rng(0)
    X = sp.random_array((300, 100_000), density=2e-5, random_state=rng, format="csr")
    problem = psd_regression_problem(X, np.abs(rng.standard_normal(300)))
    result = solve(problem, FlatQuotient(100_000, 10), max_iterations=5)
    assert result.value < result.history["value"][0]


@pytest.mark.parametrize("kind", ["rows", "sparse rows", "pairs"])
@pytest.mark.parametrize("bounds", [False, True])
def test_samples_of_weight_zero_are_left_out(kind, bounds):
    """F and the run are those without them; Newton's method in multipliers takes such a problem, too."""
    rng = np.random.default_rng(4)
    given, X = forms(kind, rng)
    m = len(X)
    y, w = rng.random(m), rng.integers(0, 3, m).astype(float)
    w[:2] = 0.0, 1.0
    direction = rng.integers(-1, 2, m).astype(float) if bounds else None
    which = "pairs" if "pairs" in given else "X"
    kept = np.flatnonzero(w)
    some = {**given, which: given[which][kept]}
    whole = psd_regression_problem(**given, y=y, direction=direction, weights=w)
    kept_direction = None if direction is None else direction[kept]
    rest = psd_regression_problem(**some, y=y[kept], direction=kept_direction, weights=w[kept])
    Y = rng.standard_normal((whole.n, 2))
    assert whole.abilities == rest.abilities
    assert whole.at(Y).value == rest.at(Y).value
    np.testing.assert_array_equal(whole.at(Y).factor_gradient(), rest.at(Y).factor_gradient())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"X": np.ones((3, 2)), "y": [1.0, 2.0]}, "y must be a number or have shape"),
        ({"X": np.ones((3, 2)), "y": [1.0, 2.0, np.nan]}, "y must be finite"),
        ({"X": np.ones((3, 2))}, "y, the targets"),
        ({"y": [1.0]}, "X must be given unless pairs and n are"),
        ({"X": np.ones((3, 2)), "y": 1.0, "n": 2}, "n is for pairs without X"),
        ({"X": np.ones((3, 2)), "y": 1.0, "pairs": [[0, 3]]}, "between 0 and 2"),
        ({"X": np.ones((3, 2)), "y": 1.0, "pairs": [[1, 1]]}, "two different samples"),
        ({"X": np.ones((3, 2)), "y": 1.0, "direction": [2, 1, 1]}, "direction must be -1, 0 or"),
        ({"X": np.ones((2, 2, 3)), "y": 1.0}, "square matrices"),
        ({"pairs": [[0, 1]], "y": 1.0}, "must be an integer"),
        ({"target": 1.0}, r"target must have shape \(m,\), m >= 1; found \(\)"),
        ({"target": [1.0, np.nan]}, "target must be finite"),
    ],
)
def test_bad_input(arguments, text):
    with pytest.raises(InvalidInputError, match=text):
        (LeastSquaresWithOffset if "target" in arguments else psd_regression_problem)(**arguments)


RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 4))
Y = np.einsum("mi,ij,mj->m", X, np.diag([1.0, 2.0, 0.0, 0.5]), X) - 7.0


def test_the_loss_is_that_of_the_best_offset():
    loss, a = LeastSquaresWithOffset(Y), RNG.standard_normal(30)
    best = loss.offset(a)
    assert loss.value(a) == pytest.approx(np.sum((a + best - Y) ** 2))
    for other in (best - 0.1, best + 0.1):
        assert loss.value(a) < np.sum((a + other - Y) ** 2)
    np.testing.assert_allclose(loss.curvature(a, np.ones(30)), 0.0, atol=1e-14)


def test_the_form_is_recovered_below_zero():
    result = solve(psd_regression_problem(X, Y, offset=True))
    assert result.optimal
    np.testing.assert_allclose(result.matrix.to_dense(), np.diag([1.0, 2.0, 0.0, 0.5]), atol=1e-4)


@parametrize_with_checks([psd_regression_problem(X, Y, offset=True)])
def test_conformance(check):
    check()
