"""Problems of margins, and their losses."""

import numpy as np
import pytest
from scipy.optimize import linprog

from psdopt import Ability, Spectraplex, certify
from psdopt.errors import InvalidInputError
from psdopt.linalg.tolerances import EPS
from psdopt.margins import CappedMargin
from psdopt.margins.problem import _checked_cost
from psdopt.testing import parametrize_with_checks
from tests.margins.instances import conic_optimum, instance, matrices, only

LOSSES = [CappedMargin(15, cap, mu) for cap, mu in ((0.12, 0.7), (0.3, 0.7), (1.0, 0.7), (0.3, 0.0))]


@parametrize_with_checks([*LOSSES, only(d=4, m=10, nu=0.4, seed=1).smoothed(0.3)])
def test_conformance(check):
    check()


def test_certificate_makes_any_hint_feasible():
    problem, X, t = instance(seed=6)
    optimum = conic_optimum(matrices(X, t), problem.C)
    Y = Spectraplex(6).random_point(np.random.default_rng(0))
    for hint in (None, np.zeros(40), np.full(40, 7.0), np.random.default_rng(1).standard_normal(40)):
        certificate = certify(problem, Y, trace=1.0, dual=hint)
        assert certificate.value - certificate.gap <= -optimum + 1e-6
    with pytest.raises(InvalidInputError, match="dual"):
        certify(problem, Y, trace=1.0, dual=np.ones(3))


def test_the_least_cost_is_accepted_whatever_the_rounding_of_its_reciprocal():
    """C = 1/m pays exactly what it costs; (1/49) · 49 is below 1 by a rounding. A thousandth less is refused."""
    for m in (1, 3, 49, 98, 1000, 99_991):
        assert _checked_cost(1.0 / m, m) == 1.0 / m
        with pytest.raises(InvalidInputError, match="C must be at least 1/m"):
            _checked_cost(0.999 / m, m)


@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("own", [True, False])
def test_subgradients_have_the_error_that_they_say(mu, own):
    """S = −Σ w_r A_r and epsilon = F(M) + ⟨w, a⟩ + (mu m/2) |w − 1/m|²; zero for the weights of M itself."""
    problem, X, t = instance(d=4, m=10, nu=0.4, seed=1)
    problem = problem.smoothed(mu) if mu else problem
    A, rng = matrices(X, t), np.random.default_rng(2)
    Y = rng.standard_normal((4, 2))
    evaluation = problem.at(Y)
    a = np.einsum("rij,ij->r", A, Y @ Y.T)
    w = problem.dual_weights(evaluation) if own else np.full(10, 0.1)
    S, epsilon = problem.duality.subgradient(evaluation, None if own else w)
    np.testing.assert_allclose(S @ np.eye(4), -np.einsum("r,rij->ij", w, A), atol=1e-10)
    expected = evaluation.value + w @ a + 0.5 * mu * 10 * np.sum((w - 0.1) ** 2)
    assert epsilon == pytest.approx(max(expected, 0.0), abs=1e-9)
    assert (epsilon <= 1e-9) == own


@pytest.mark.parametrize("trace", [0.5, 8.0])
def test_values_have_a_unit_that_grows_with_the_trace(trace):
    problem, _, _ = instance(d=4, m=10, seed=1)
    least = problem.duality.value_unit(0.0, trace)
    assert least == pytest.approx(trace * problem.duality.value_unit(0.0, 1.0), rel=1e-12)
    assert 0.0 < least < problem.typical_margin * trace
    assert problem.duality.value_unit(-7.0 * least, trace) == 7.0 * least


def test_a_smoothed_problem_has_a_gradient_and_a_hard_one_has_none():
    problem, _, _ = instance(d=4, m=10, seed=1)
    assert problem.abilities == {Ability.CONVEX, Ability.MARGINS}
    assert Ability.GRADIENT in problem.smoothed(0.1).abilities
    assert (problem.smoothing, problem.smoothed(0.1).smoothing) == (0.0, 0.1)
    assert _checked_cost(None, 7) == 1.0


@pytest.mark.parametrize("cap", [0.1, 0.23, 0.5, 1.0])
@pytest.mark.parametrize("ties", [False, True])
def test_the_value_is_that_of_the_linear_program(cap, ties):
    """f(a) = max {−⟨w, a⟩ : 0 <= w <= cap, Σ w = 1}, attained at the weights."""
    a = np.random.default_rng(0).standard_normal(12)
    a = np.round(a) if ties else a
    loss = CappedMargin(12, cap)
    best = linprog(a, A_eq=np.ones((1, 12)), b_eq=[1.0], bounds=[(0.0, loss.cap)] * 12)
    w = loss.weights(a)
    assert loss.value(a) == pytest.approx(-best.fun, abs=1e-12)
    assert -w @ a == pytest.approx(loss.value(a), abs=1e-12)
    assert w.min() >= 0.0
    assert w.max() <= loss.cap * (1.0 + 4.0 * EPS)
    assert w.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(loss.derivative(a), -w)


@pytest.mark.parametrize("count", [1, 2, 5, 12])
@pytest.mark.parametrize("mu", [1.0, 1e-3])
def test_the_excess_is_attained(count, mu):
    """Where 1/cap is whole and the margins lie far apart, w is a vertex of W: f − f_mu is the excess and no less."""
    loss, exact = CappedMargin(12, 1.0 / count, mu), CappedMargin(12, 1.0 / count)
    a = 100.0 * np.random.default_rng(1).permutation(12)
    assert loss.excess == pytest.approx(0.5 * mu * (12.0 / count - 1.0), rel=1e-14)
    assert exact.excess == 0.0
    assert exact.value(a) - loss.value(a) == pytest.approx(loss.excess, rel=1e-9, abs=1e-12)
    w = loss.weights(a)
    assert loss.penalty(w) == pytest.approx(0.5 * mu * 12 * np.sum((w - 1.0 / 12) ** 2))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [((10, 0.05), "cap must be at least 1/m = 0.1; found 0.05"),
     ((4, 0.5, -1.0), "smoothing must be a finite number of at least 0"),
     ((4, 0.5, np.inf), "smoothing must be a finite number of at least 0"), ((4, np.nan), "cap must be at least")],
)  # fmt: skip
def test_bad_input(arguments, text):
    with pytest.raises(InvalidInputError, match=text):
        CappedMargin(*arguments)


def test_the_cap_is_between_uniform_weights_and_one():
    assert CappedMargin(4, 2.0).cap == 1.0
    assert CappedMargin(4, 0.6).cap == 0.6
    rounded = CappedMargin(3, (1.0 - 2e-16) / 3.0)
    assert rounded.cap == 1.0 / 3.0
    for size in (3, 1000):
        with pytest.raises(InvalidInputError, match="cap"):
            CappedMargin(size, (1.0 - 1e-11) / size)


@pytest.mark.parametrize(("cap", "rank"), [(0.5, 2), (1.0, 1), (0.25, 4), (0.3, 4), (0.2, 5)])
def test_the_margin_is_the_entry_of_rank_one_over_cap(cap, rank):
    a = np.array([5.0, 3.0, 1.0, 4.0, 2.0])
    assert CappedMargin(5, cap).margin(a) == float(rank)


def test_measurements_that_overflow_have_no_weights_and_are_no_error():
    """F is evaluated far out along rays, and there the driver says what is not finite."""
    loss = CappedMargin(3, 0.5, 0.1)
    assert np.all(np.isnan(loss.weights(np.array([1.0, np.inf, 0.0]))))
    assert np.isnan(loss.value(np.array([1.0, -np.inf, 0.0])))
