"""MarginProblem: smoothed ones pass the kit, and certificates make something of any hint."""

import numpy as np
import pytest

from psdopt import Ability, Spectraplex, certify
from psdopt.errors import InvalidInputError
from psdopt.margins import CappedMargin
from psdopt.margins.problem import _checked_cost
from psdopt.testing import parametrize_with_checks
from tests.margins.instances import conic_optimum, instance, matrices, only

SMOOTHED = [CappedMargin(15, cap, 0.7) for cap in (0.12, 0.3, 1.0)]


@parametrize_with_checks([*SMOOTHED, only(d=4, m=10, nu=0.4, seed=1).smoothed(0.3)])
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
