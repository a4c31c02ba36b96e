"""Lines and planes of sums: which rounds of requests they take, and brackets of minima in few rounds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdopt.problems.distributed import Summed
from psdopt.problems.distributed.rounds import bracket, root_between
from tests.problems.distributed.instances import Pairs


def summed(one_sided):
    pairs = Pairs(one_sided=one_sided)
    return Summed(pairs.recipes([40, 80]), local=pairs.local), pairs.whole


def moved(problem):
    evaluation = problem.at(np.random.default_rng(0).standard_normal((5, 2)))
    return evaluation, -evaluation.factor_gradient()


def test_a_quartic_answers_without_a_question():
    problem, whole = summed(one_sided=False)
    evaluation, D = moved(problem)
    line = evaluation.along(D)
    rounds = problem.rounds
    mu = line.minimize()
    assert mu == pytest.approx(whole.at(evaluation.factor).along(D).minimize())
    assert line.derivatives(mu)[0] == pytest.approx(0.0, abs=1e-9 * abs(line.slope))
    assert line.value(0.0) == evaluation.value
    assert problem.rounds == rounds
    new = line.step(mu)  # parts are asked once F or S Y at the new point is needed
    assert problem.rounds == rounds
    assert new.value == pytest.approx(line.value(mu), rel=1e-12)
    new.factor_gradient()
    assert problem.rounds == rounds + 1


def test_the_step_of_a_search_is_not_asked_for_again():
    problem, _ = summed(one_sided=True)
    evaluation, D = moved(problem)
    line = evaluation.along(D)
    mu = line.minimize()
    rounds = problem.rounds
    new = line.step(mu)
    assert line.value(mu) == new.value
    assert line.value(0.0) == evaluation.value
    assert line.derivatives(0.0)[0] == line.slope  # F'(0) is known; F'' takes a round
    assert problem.rounds == rounds + 1
    assert abs(line.derivatives(mu)[0]) <= 2e-3 * abs(line.slope)
    assert line.minimize(upper=0.25 * mu) == 0.25 * mu


class Asked:
    """F' and F'' of a function, counting the rounds in which they are asked for."""

    def __init__(self, first, second):
        self.first, self.second, self.rounds = first, second, 0

    def __call__(self, mus):
        self.rounds += 1
        return self.first(mus), self.second(mus)


@given(root=st.floats(1e-6, 1e6), curvature=st.floats(1e-6, 1e6))
def test_a_parabola_takes_one_round_and_is_exact(root, curvature):
    F = Asked(lambda mu: curvature * (mu - root), lambda mu: np.full(len(mu), curvature))
    left, right = bracket(F, -curvature * root, curvature)
    assert F.rounds == 1
    assert root_between(left, right) == pytest.approx(root, rel=1e-12)


def test_a_minimum_far_beyond_the_newton_step_is_bracketed():
    F = Asked(lambda mu: -1.0 / (1.0 + mu) + 1e-6 * mu, lambda mu: (1.0 + mu) ** -2 + 1e-6)
    left, right = bracket(F, -1.0, 1.0)
    assert left[0] < right[0]
    assert F.first(left[0]) < 0.0 <= F.first(right[0])


def test_the_root_of_the_cubic_is_of_fourth_order():
    errors = []
    for width in (0.2, 0.1):
        a, b = math.pi / 2 - 0.37 * width, math.pi / 2 + 0.63 * width
        ends = [np.array([t, -math.cos(t), math.sin(t)]) for t in (a, b)]
        errors.append(abs(root_between(*ends) - math.pi / 2))
    assert errors[1] < errors[0] / 12.0


def test_no_descent_no_end_and_not_finite_are_told_apart():
    rising = Asked(lambda mu: 1.0 + mu, lambda mu: np.ones(len(mu)))
    assert bracket(rising, 1.0, 1.0) == 0.0
    assert rising.rounds == 0
    falling = Asked(lambda mu: -np.ones(len(mu)), lambda mu: np.zeros(len(mu)))
    assert bracket(falling, -1.0, 0.0) == math.inf
    assert bracket(falling, -1.0, 0.0, upper=5.0) == 5.0
    assert math.isnan(bracket(falling, math.nan, 0.0))
    wall = Asked(lambda mu: np.where(mu < 3.0, -1.0, np.nan), lambda mu: np.zeros(len(mu)))
    assert 0.0 < bracket(wall, -1.0, 0.0) < 3.0


def test_a_ridge_is_left_downhill():
    # F = mu⁴/4 − mu²/2: F'(0) = 0 and F''(0) < 0, as along a new column of Y
    F = Asked(lambda mu: mu**3 - mu, lambda mu: 3.0 * mu**2 - 1.0)
    left, right = bracket(F, 0.0, -1.0)
    assert left[0] <= 1.0 <= right[0]
