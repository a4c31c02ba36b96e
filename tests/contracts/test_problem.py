"""The problem's contract: the default searches of lines and planes, its gradient as an operator, what it refuses."""

import math

import numpy as np
import pytest

from psdopt import AutogradProblem, LineModel, PlaneModel
from psdopt.contracts.gradient import GradientOperator
from psdopt.contracts.problem import Problem
from psdopt.errors import InvalidInputError, InvalidTypeError


class Line(LineModel):
    """A line that offers value, derivatives and step alone."""

    def __init__(self, coefficients, known):
        self.c = coefficients
        self.coefficients = coefficients if known else None

    def value(self, mu):
        return float(np.polyval(self.c[::-1], mu))

    def derivatives(self, mu):
        first = np.polyder(self.c[::-1])
        return float(np.polyval(first, mu)), float(np.polyval(np.polyder(first), mu))

    def step(self, mu):
        raise NotImplementedError


class Plane(PlaneModel):
    def __init__(self, c, g, H, known):
        self.c, self.g, self.H = c, np.array(g), np.array(H)
        self.quadratic = (c, self.g, self.H) if known else None

    def value(self, alpha, beta):
        x = np.array([alpha, beta])
        return float(self.c + self.g @ x + 0.5 * x @ self.H @ x)

    def derivatives(self, alpha, beta):
        return self.g + self.H @ np.array([alpha, beta]), self.H

    def step(self, alpha, beta):
        raise NotImplementedError


@pytest.mark.parametrize("known", [True, False])
def test_a_line_is_minimised_by_default(known):
    line = Line([5.0, -4.0, 1.0, 0.0, 0.5], known)  # convex: −4 + 2 mu + 2 mu³ = 0 at mu = 1
    assert line.minimize() == pytest.approx(1.0, rel=1e-9)
    assert line.minimize(0.25) == pytest.approx(0.25)
    assert Line([0.0, 1.0, 1.0, 0.0, 0.0], known).minimize() == 0.0
    assert math.isinf(Line([0.0, -1.0, 0.0, 0.0, 0.0], known).minimize())


@pytest.mark.parametrize("known", [True, False])
def test_a_plane_is_minimised_by_default(known):
    plane = Plane(1.0, [-3.0, -1.0], [[2.0, 0.5], [0.5, 1.0]], known)
    inside = np.linalg.solve(plane.H, -plane.g)
    assert plane.minimize() == pytest.approx(tuple(inside), rel=1e-9)
    assert plane.minimize(alpha=(1.0, 1.0)) == pytest.approx((1.0, 0.5), rel=1e-9)
    assert plane.minimize(beta=(0.0, 0.1))[1] == pytest.approx(0.1)


def test_the_gradient_knows_blocks_by_identity():
    rng = np.random.default_rng(0)
    S, Y, calls = rng.standard_normal((5, 5)), rng.standard_normal((5, 2)), []

    def apply(V):
        calls.append(V)
        return S @ V

    product = S @ Y
    operator = GradientOperator(5, apply, lambda V: product if V is Y else None)
    assert operator @ Y is product
    assert not calls
    np.testing.assert_allclose(operator @ Y.copy(), product)
    np.testing.assert_allclose(operator @ Y[:, 0], product[:, 0])
    assert operator.T is operator
    assert len(calls) == 2


def test_what_no_problem_takes_or_offers_is_said():
    problem = AutogradProblem(lambda M: M[0, 0], 3)
    with pytest.raises(InvalidInputError, match=r"Y must have shape \(3, r\); found \(2, 1\)"):
        problem.at(np.ones((2, 1)))
    with pytest.raises(InvalidTypeError, match="AutogradProblem has no closed form"):
        problem.solve_in_closed_form()
    here = problem.at(np.ones((3, 1)))
    for offer in (lambda: here.restricted(np.ones((1, 1))), here.preconditioner, here.diagonal_preconditioner):
        with pytest.raises(InvalidTypeError, match="AutogradProblem offers no"):
            offer()


def test_a_hook_that_moved_is_named_with_its_new_place():
    with pytest.raises(TypeError, match=r"psdopt.Starts and return that from the property 'starts'"):
        type("Old", (Problem,), {"first_atoms": lambda self: None})


def test_what_is_made_from_f_is_made_once_and_goes_with_its_problem():
    first, second = (AutogradProblem(lambda M: 0.0, 2) for _ in range(2))
    made = []
    for _ in range(2):
        assert first.once("number", lambda: made.append(1) or len(made)) == 1
    assert first.once("other", lambda: len(made)) == 1
    assert second.once("number", lambda: made.append(1) or len(made)) == 2
