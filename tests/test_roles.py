"""Role objects: what a problem that knows nothing more answers, and what one hook is enough for."""

from __future__ import annotations

import numpy as np
import pytest

from psdopt import QuadraticSDP, TermSum, certify
from psdopt.roles import Duality, PlainPreconditioner, Preconditioner, Starts
from psdopt.terms import IdentityForm, LinearTerm

PROBLEM = QuadraticSDP(None, 1.0, np.diag([-1.0, -2.0, 3.0]))


def test_a_problem_that_knows_nothing_proposes_nothing():
    Y = np.ones((3, 2))
    assert Starts().first_atoms() is None
    assert Starts().proposed_start(Y) is Y


def test_the_default_duality_is_the_gradient_and_no_bound():
    evaluation = PROBLEM.at(np.eye(3)[:, :2])
    S, epsilon = Duality().subgradient(evaluation)
    np.testing.assert_array_equal(S @ np.eye(3), evaluation.gradient @ np.eye(3))
    assert epsilon == 0.0
    assert Duality().dual_bound(evaluation) is None
    assert Duality().own_certificate(evaluation, tol=1e-6) is None
    assert Duality().value_unit(1.0, 1.0) is None


def test_the_default_eigenpair_is_the_smallest():
    evaluation = PROBLEM.at(np.zeros((3, 1)))
    pair = Duality().smallest_eigenpair(evaluation, evaluation.gradient, tol=1e-10)
    assert pair.value == pytest.approx(-4.0)
    np.testing.assert_allclose(np.abs(pair.vector), np.eye(3)[1], atol=1e-8)


@pytest.mark.parametrize("takes", [True, False])
def test_the_gradient_is_handed_over_only_to_a_bound_that_takes_it(takes):
    class Takes(Duality):
        def dual_bound(self, evaluation, dual=None, S=None):
            asked.append(S)

    class Older(Duality):
        def dual_bound(self, evaluation, dual=None):
            asked.append(None)

    class Known(TermSum):
        duality = Takes() if takes else Older()

    asked = []
    certify(Known([LinearTerm(IdentityForm(3))]), np.eye(3))
    (S,) = asked
    assert (S is not None) == takes
    if takes:
        np.testing.assert_allclose(S, np.eye(3))


def test_a_preconditioner_without_a_coarser_one_is_its_own():
    class Halves(Preconditioner):
        def at(self, evaluation):
            return lambda R: 0.5 * R

    R = np.ones((3, 1))
    np.testing.assert_array_equal(Halves().diagonal_at(None)(R), 0.5 * R)
    np.testing.assert_array_equal(PlainPreconditioner(lambda evaluation: lambda R: 2.0 * R).at(None)(R), 2.0 * R)
