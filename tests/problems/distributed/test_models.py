"""Lines and planes of sums: which rounds of questions they take."""

import numpy as np
import pytest

from psdopt.problems.distributed import Summed
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
    line.step(mu)
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


@pytest.mark.parametrize("one_sided", [False, True])
def test_planes_are_minimised_in_their_box(one_sided):
    problem, whole = summed(one_sided)
    evaluation, _ = moved(problem)
    v = np.random.default_rng(1).standard_normal(5)
    plane, expected = evaluation.along_atom(v), whole.at(evaluation.factor).along_atom(v)
    assert (plane.quadratic is None) == one_sided
    for box in (((0.0, np.inf), (0.0, np.inf)), ((0.2, 0.9), (0.1, 0.8))):
        found = plane.minimize(*box)
        assert plane.value(*found) == pytest.approx(expected.value(*expected.minimize(*box)), rel=1e-9)
