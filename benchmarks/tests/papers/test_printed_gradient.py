"""Armijo with the right sign, stopping rule, invariances of the iterates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.papers.printed_gradient import PrintedGradient
from psdopt import FlatQuotient, LowRankPSD, Outcome, Polar, solve
from psdopt.linalg.arrays import orthonormal_columns
from psdopt.linalg.tolerances import EPS
from psdopt_plugins.regression import psd_regression_problem

SEEDS = st.integers(0, 2**16)
STEPS = 5


def instance(seed, n=6, r=2, m=30):
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((m, n)), rng.standard_normal((n, r))
    return rng, X, np.abs(rng.standard_normal(m)) * 3, Y


def iterate(X, y, geometry, Y, **options):
    method = PrintedGradient(**options)
    result = solve(psd_regression_problem(X, y), geometry, method, start=LowRankPSD(Y), max_iterations=STEPS, tol=1e-15)
    return result.matrix.to_dense()


def close(A, B):
    """Iterates agree up to rounding that five steps of a nonlinear method may amplify."""
    return np.linalg.norm(A - B) <= 1e7 * EPS * max(np.linalg.norm(A), np.linalg.norm(B))


@given(SEEDS)
@settings(max_examples=15)
def test_rotating_the_data_rotates_the_answer(seed):
    rng, X, y, Y = instance(seed)
    O = orthonormal_columns(rng, 6, 6)  # noqa: E741
    for geometry in (Polar(6, 2), FlatQuotient(6, 2)):
        W = iterate(X, y, geometry, Y)
        rotated = iterate(X @ O.T, y, geometry, O @ Y)
        assert close(rotated, O @ W @ O.T)


@given(SEEDS, st.sampled_from([0.25, 4.0, 1024.0]))
@settings(max_examples=15)
def test_units_of_the_data_do_not_matter_for_polar(seed, mu):
    """x → x/√mu with start mu W and y unchanged; and (X, y) → (mu X, mu y) with the normalised first trial.

    (The first of these needs no normalisation; the second is false for a fixed step, whatever the paper says.)
    """
    _, X, y, Y = instance(seed)
    W = iterate(X, y, Polar(6, 2), Y)
    assert close(iterate(X / np.sqrt(mu), y, Polar(6, 2), np.sqrt(mu) * Y) / mu, W)
    assert close(iterate(np.sqrt(mu) * X, mu * y, Polar(6, 2), Y), W)


def test_flat_iterates_depend_on_units():
    _, X, y, Y = instance(0)
    W, scaled = (iterate(X / c, y, FlatQuotient(6, 2), c * Y) / c**2 for c in (1.0, 3.0))
    assert not close(scaled, W)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_the_decrease_is_sufficient_in_any_unit_of_f_and_steps_are_halvings(scale):
    _, X, y, Y = instance(3)
    problem = psd_regression_problem(np.sqrt(scale) * X, scale * y)
    geometry, method = FlatQuotient(6, 2), PrintedGradient()
    state = method.init(problem, geometry, geometry.from_factor(Y))
    for _ in range(6):
        after = method.step(state)
        size = geometry.norm(state.point, state.gradient)
        assert after.evaluation.value <= state.evaluation.value - 0.5 * after.step * size**2 * (1.0 - 1e-9)
        assert after.outcome is Outcome.RUNNING
        halvings = np.log2(method.first / (after.step * size))
        assert halvings == pytest.approx(round(halvings), abs=1e-6)
        state = after


@pytest.mark.parametrize("geometry", [Polar(6, 2), FlatQuotient(6, 2)])
def test_the_run_ends_at_a_small_change_of_f_or_of_y_whichever_comes_first(geometry):
    _, X, y, Y = instance(2)
    problem = psd_regression_problem(X, y)
    plain = PrintedGradient()
    assert plain.change_tol == 0.0
    first = set()
    for steps in (0, 3, 40):
        state = plain.init(problem, geometry, geometry.from_factor(Y))
        for _ in range(steps):
            state = plain.step(state)
        after = plain.step(state)
        assert after.outcome is Outcome.RUNNING
        old, new = state.evaluation, after.evaluation
        of_value = abs(new.value - old.value) / abs(old.value)
        frame = state.here.evaluation.factor
        of_factor = np.linalg.norm(after.here.evaluation.factor - frame) / np.linalg.norm(frame)
        least = min(of_value, of_factor)
        first.add(of_value < of_factor)
        for share, ended in ((0.999, False), (1.001, True)):
            told = PrintedGradient(change_tol=share * least).step(state).outcome
            assert told is (Outcome.FINISHED if ended else Outcome.RUNNING)
    assert first == {False, True}
