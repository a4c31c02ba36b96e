"""F along an arc: the polynomial against direct evaluation, and its first minimiser."""

import numpy as np
import pytest

from psdopt.linalg.arc import arc_of_inner, arc_polynomial, first_minimizer
from psdopt.linalg.tolerances import EPS
from tests.problems.test_term_fit import FITS, N


@pytest.mark.parametrize("kind", FITS)
def test_an_arc_equals_direct_evaluation(kind):
    rng = np.random.default_rng(2)
    problem = kind(rng)
    fit = problem.quadratic_fit()
    Y, X, Z = rng.standard_normal((3, N, 4))
    here = problem.at(Y)
    (block, measured), X_, Z_ = fit.at(here), fit.block(X), fit.block(Z)
    pair, linear = fit.pair, fit.linear
    rates = np.stack([2 * pair(block, X_), pair(X_, X_) + 2 * pair(block, Z_), 2 * pair(X_, Z_), pair(Z_, Z_)])
    parts = [2 * linear(block, X_), linear(X_, X_) + 2 * linear(block, Z_), 2 * linear(X_, Z_), linear(Z_, Z_)]
    p = arc_polynomial(rates, fit.multipliers(measured), fit.curvatures, parts)
    assert len(p) == 9
    assert p[0] == 0.0
    assert p[1] == pytest.approx(np.vdot(here.factor_gradient(), X), rel=1e-10)
    assert arc_polynomial(rates, fit.multipliers(measured), fit.curvatures, parts, slope=7.0)[1] == 7.0
    for mu in (-0.7, 0.3, 1.0, 2.5):
        direct = problem.at(Y + mu * X + mu**2 * Z).value
        terms = [abs(c * mu**k) for k, c in enumerate(p)]
        assert np.polyval(p[::-1], mu) + here.value == pytest.approx(direct, rel=0, abs=1e3 * EPS * max(terms))


def test_inner_products_along_an_arc():
    Y, X, Z = np.random.default_rng(0).standard_normal((3, 6, 2))
    mu = 0.7
    moved = Y + mu * X + mu**2 * Z
    found = np.polyval([*arc_of_inner(Y, X, Z)[::-1], np.vdot(Y, Y)], mu)
    assert found == pytest.approx(np.vdot(moved, moved), rel=1e-13)


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        ([0.0, -2.0, 1.0], 1.0),
        ([0.0, -1.0, 0.0, 0.0, 0.25], 1.0),
        ([0.0, -6.0, 4.5, -1.0, 0.0625], None),  # further minima lie behind a hill
        ([0.0, 1.0, 1.0], 0.0),
        ([0.0, 0.5, -2.0, 1.0], 0.0),  # it falls further on
        ([0.0, -1.0], np.inf),
        ([0.0, -1.0, 0.0, 0.0, -1.0], np.inf),
        ([0.0, 0.0, 1.0], 0.0),
    ],
)
def test_the_first_minimiser(p, expected):
    found = first_minimizer(p)
    if expected is None:
        roots = np.roots(np.polyder(p[::-1]))
        expected = min(roots[np.isreal(roots) & (roots.real > 0.0)].real)
    assert found == pytest.approx(expected, rel=1e-9)
