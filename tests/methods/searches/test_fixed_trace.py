"""Steps at a fixed trace do not change if c (tr M − t), which is 0 there, is added to F."""

import numpy as np
import pytest

from psdopt import ConjugateGradient, FixedTrace, QuadraticSDP, TermSum, solve
from psdopt.linalg.arrays import without_radial
from psdopt.methods.searches.paths import LagrangianLine, locate, path_along
from psdopt.methods.searches.step_lengths import modelled
from psdopt.terms import Entries, MeasuredTerm, SquaredHinge

N = 10
POINT = FixedTrace(N, 3).random_point(np.random.default_rng(1))
TANGENT = FixedTrace(N, 3).random_vector(POINT, np.random.default_rng(2))
SHIFTS = [1e2, 1e4, -1e4, 1e6, -1e6, 1e8, -1e8]


def quadratic(c: float = 0.0, size: float = 1.0) -> QuadraticSDP:
    """tr M² and a linear term of this size, plus c tr M."""
    K = np.random.default_rng(0).standard_normal((N, N))
    return QuadraticSDP(None, 2.0, -2.0 * size * (K + K.T) + 0.5 * c * np.eye(N))


@pytest.mark.parametrize("hinge", [False, True])
def test_the_model_has_slope_and_curvature_of_f_on_the_sphere(hinge):
    hinges = TermSum([MeasuredTerm(Entries([0, 1], [2, 2], N), SquaredHinge(np.array([1.0, 2.0])))])
    problem = hinges if hinge else quadratic(3.0)
    geometry = FixedTrace(N, 3)
    here = problem.at(POINT)
    line = LagrangianLine(here.along(TANGENT), here, TANGENT)
    h = 1e-4

    def on_sphere(s: float) -> float:
        return problem.at(geometry.retract(POINT, s * TANGENT)).value

    first, second = line.derivatives(0.0)
    assert first == pytest.approx((on_sphere(h) - on_sphere(-h)) / (2.0 * h), rel=1e-5, abs=1e-8)
    assert second == pytest.approx((on_sphere(h) - 2.0 * here.value + on_sphere(-h)) / h**2, rel=1e-4, abs=1e-6)
    assert line.value(h) == pytest.approx(here.value + h * first + 0.5 * h**2 * second, abs=1e-9)
    np.testing.assert_array_equal(line.step(0.5).factor, POINT + 0.5 * TANGENT)


def test_no_step_is_longer_than_its_line_tells_of_the_curve():
    """A linear F has no minimiser on the line; M turns by at most 45 degrees."""
    problem = QuadraticSDP(C=np.diag(np.arange(float(N))))
    here, downhill = problem.at(POINT), -FixedTrace(N, 3).gradient(POINT, problem.at(POINT).gradient)
    line = LagrangianLine(here.along(downhill), here, downhill)
    assert 0.0 < line.minimize() <= line.reach
    assert line.reach == pytest.approx(np.linalg.norm(POINT) / np.linalg.norm(downhill))
    assert LagrangianLine(here.along(0.0 * TANGENT), here, 0.0 * TANGENT).reach == np.inf


@pytest.mark.parametrize("c", SHIFTS)
def test_lines_and_covectors_do_not_see_the_constant(c):
    plain, shifted = quadratic().at(POINT), quadratic(c).at(POINT)
    rounding = 1e-13 * abs(c)
    model, other = (LagrangianLine(e.along(TANGENT), e, TANGENT) for e in (plain, shifted))
    np.testing.assert_allclose(other.coefficients[1:], model.coefficients[1:], atol=rounding, rtol=1e-12)
    np.testing.assert_allclose(
        without_radial(shifted.factor_gradient(), POINT), without_radial(plain.factor_gradient(), POINT), atol=rounding
    )


@pytest.mark.parametrize("c", SHIFTS)
@pytest.mark.parametrize(("method", "size"), [(ConjugateGradient(), 1.0), (ConjugateGradient("none"), 0.5)], ids=str)
def test_the_same_steps_are_taken_whatever_is_added(c, method, size):
    """Values of 1e8 have lost the last decreases to rounding, and slopes have not."""
    geometry = FixedTrace(N, N)
    plain = solve(quadratic(0.0, size), geometry, method, tol=1e-6)
    shifted = solve(quadratic(c / size, size), geometry, method, tol=1e-6)
    assert plain.optimal
    assert shifted.optimal
    assert shifted.iterations <= 1.2 * plain.iterations
    assert shifted.value - c / size == pytest.approx(plain.value, abs=1e-5 * plain.certificate.unit)


def test_a_step_that_values_do_not_resolve_is_taken_where_the_slope_is_smaller():
    geometry, problem = FixedTrace(N, 3), quadratic(1e12)
    here = locate(problem, geometry, POINT)
    gradient = geometry.gradient(POINT, here.evaluation.gradient)
    path = path_along(problem, geometry, here, -1e-6 * gradient, straight=True)
    slope = -1e-6 * geometry.inner(POINT, gradient, gradient)
    s = modelled(path, here.evaluation.value, slope)
    assert s > 0.0
    assert abs(path.slope(s)) <= abs(slope)


@pytest.mark.parametrize("mu", [0.0, 0.2, 0.7])
@pytest.mark.parametrize("radial", [0.0, 0.5, -0.3])
def test_derivatives_are_those_of_the_value_anywhere_on_the_line(mu, radial):
    """The multiplier's part is λ (2 mu ⟨Y, D⟩ + mu² |D|²), for directions with a radial part, too."""
    problem = TermSum([MeasuredTerm(Entries([0, 1], [2, 2], N), SquaredHinge(np.array([1.0, 2.0])))])
    here, D = problem.at(POINT), TANGENT + radial * POINT
    line, h = LagrangianLine(here.along(D), here, D), 1e-5
    moved = POINT + mu * D
    grown = np.sum(moved**2) - np.sum(POINT**2)
    multiplier = 0.5 * np.sum(here.factor_gradient() * POINT) / np.sum(POINT**2)
    assert line.value(mu) == pytest.approx(problem.at(moved).value - multiplier * grown, rel=1e-12)
    first, second = line.derivatives(mu)
    assert first == pytest.approx((line.value(mu + h) - line.value(mu - h)) / (2.0 * h), rel=1e-6, abs=1e-8)
    change = line.derivatives(mu + h)[0] - line.derivatives(mu - h)[0]
    assert second == pytest.approx(change / (2.0 * h), rel=1e-5, abs=1e-8)
