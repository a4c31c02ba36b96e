"""Lines and planes of sums of terms pass the kit: models, minimisers, degrees."""

import pytest

from tests.problems.twins import composed, with_checks

from ..instances import INSTANCES


@with_checks("line_model", "line_minimum", "plane_model", "plane_minimum", "polynomial_degree")
def test_lines_and_planes(check):
    check()


@pytest.mark.parametrize("name", INSTANCES)
def test_lines_and_planes_of_quadratic_sums_are_polynomials(name):
    instance, rng, Y = composed(name, 2)
    here = instance.problem.at(Y)
    line, plane = here.along(rng.standard_normal(Y.shape)), here.along_atom(rng.standard_normal(len(Y)))
    assert (line.coefficients is not None) == (plane.quadratic is not None) == instance.quadratic
    for upper in (0.5 * line.minimize(), 0.1):
        assert line.minimize(upper) <= upper
    alpha, beta = plane.minimize(alpha=(1.0, 1.0), beta=(0.0, 0.25))
    assert alpha == 1.0
    assert 0.0 <= beta <= 0.25
