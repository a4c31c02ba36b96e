"""Units of values: what they are, what leaves them as they are, and that none is infinite."""

from __future__ import annotations

import math

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import AutogradProblem, QuadraticSDP, stationarity_scale
from psdopt.roles import Duality
from psdopt.units import (
    gradient_size_at_zero,
    own_unit,
    ratio,
    reference_value,
    unit_at_fixed_trace,
    unit_on_the_cone,
)

from .instances import symmetric


def barrier(floor=0.0):
    return AutogradProblem(lambda M: anp.sum(1.0 / (anp.diag(M) + floor)) + anp.trace(M), 3, convex=True)


def test_references_are_values_of_f():
    problem = QuadraticSDP(None, 1.0, -np.eye(4))
    assert reference_value(problem, 0.0) == 0.0
    assert reference_value(problem, 2.0) == pytest.approx(problem.at(np.eye(4) / math.sqrt(2.0)).value)
    assert reference_value(barrier(), 0.0) == math.inf


def test_a_reference_is_evaluated_once():
    calls = []
    problem = AutogradProblem(lambda M: calls.append(1) or anp.trace(M), 3, convex=True)
    assert [reference_value(problem, 1.0) for _ in range(3)] == [pytest.approx(1.0)] * 3
    assert len(calls) == 1


def test_on_the_cone_the_unit_is_the_decrease_from_zero_at_the_best_multiple():
    problem = QuadraticSDP(None, 1.0, -2.0 * np.eye(3))
    best = problem.at(math.sqrt(problem.at(np.eye(3)).best_multiple()) * np.eye(3))
    assert unit_on_the_cone(problem, best) == pytest.approx(-best.value)


def test_an_infinite_value_at_zero_makes_no_unit():
    problem = barrier()
    evaluation = problem.at(np.eye(3))
    assert unit_on_the_cone(problem, evaluation) == pytest.approx(4.0 * (12.75 - 6.0))


@pytest.mark.parametrize("c", [0.0, 1e3, -1e3])
def test_what_vanishes_on_a_fixed_trace_changes_no_unit(c):
    rng = np.random.default_rng(0)
    K = symmetric(rng, 5)
    Y = rng.standard_normal((5, 2))
    Y /= np.linalg.norm(Y)
    units = []
    for shift in (0.0, c):
        problem = QuadraticSDP(None, 1.0, -K + shift * np.eye(5))
        units.append(unit_at_fixed_trace(problem, problem.at(Y), 1.0, np.linalg.eigh(-K)[1][:, :2]))
    assert units[0] > 0.0
    assert units[1] == pytest.approx(units[0], rel=1e-9)


def test_a_unit_of_the_problem_is_capped():
    class Huge(Duality):
        def value_unit(self, value, trace):
            return 1e30

    class Proud(QuadraticSDP):
        duality = Huge()

    problem = Proud(None, 1.0, -np.eye(2))
    assert own_unit(problem, -3.0, 1.0, 2.0) == 3.0


def test_the_size_of_the_gradient_at_zero():
    problem = QuadraticSDP(None, 1.0, np.diag([1.0, -5.0, 2.0]))
    assert gradient_size_at_zero(problem) == pytest.approx(10.0, rel=0.2)  # ∇F(0) = 2 C
    assert gradient_size_at_zero(barrier()) == math.inf


def test_stationarity_has_a_unit_where_m_gains_nothing():
    problem = QuadraticSDP(None, 1.0, np.eye(2))
    assert stationarity_scale(problem, 1.0, 2.0) == pytest.approx(2.0 * gradient_size_at_zero(problem))
    assert stationarity_scale(problem, 1.0, 0.0) == 0.0


def test_no_amount_is_nothing_in_any_unit():
    assert ratio(0.0, 0.0) == 0.0
    assert ratio(1.0, 0.0) == math.inf
    assert ratio(1.0, 4.0) == 0.25
