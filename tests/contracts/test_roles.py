"""Role objects: the defaults of what a problem may know beyond F claim nothing, and are right for a smooth F."""

import numpy as np

from psdopt import QuadraticSDP
from psdopt.contracts.roles import Duality, Preconditioner, Starts


def evaluation(rng):
    A = rng.standard_normal((5, 5))
    problem = QuadraticSDP(A=A @ A.T, B=1.0, C=A + A.T)
    return problem, problem.at(rng.standard_normal((5, 2)))


def test_no_start_is_proposed():
    Y = np.arange(6.0).reshape(3, 2)
    assert Starts().first_atoms() is None
    assert Starts().proposed_start(Y) is Y


def test_nothing_is_claimed_of_bounds_and_units():
    _, here = evaluation(np.random.default_rng(1))
    duality = Duality()
    assert duality.dual_bound(here) is None
    assert duality.value_unit(3.0, 1.0) is None


def test_the_eigenpair_is_that_of_the_gradient():
    _, here = evaluation(np.random.default_rng(2))
    S = here.gradient @ np.eye(5)
    pair = Duality().smallest_eigenpair(here, S, count=2)
    assert np.allclose(pair.values, np.linalg.eigvalsh(S)[:2])


def test_the_coarser_preconditioner_is_the_same_one_unless_there_is_another():
    class Twice(Preconditioner):
        def at(self, evaluation):
            return lambda R: 2.0 * R

    R = np.ones((3, 1))
    assert np.array_equal(Twice().diagonal_at(None)(R), 2.0 * R)
