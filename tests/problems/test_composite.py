"""Sums of problems of different kinds, seen through W: against the parts evaluated one by one."""

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import AutogradProblem, QuadraticSDP
from psdopt.contracts.abilities import Ability
from psdopt.problems.composite import Composite

N, Q, R = 6, 4, 2
RNG = np.random.default_rng(3)
W = np.linalg.qr(RNG.standard_normal((N, Q)))[0]


def parts(count):
    known = [
        QuadraticSDP(A=np.diag(np.arange(1.0, N + 1.0)), B=0.5, C=np.diag(np.linspace(-2.0, 1.0, N))),
        AutogradProblem(lambda M: anp.sum((M - 0.5) ** 4), N, convex=True),
    ]
    return known[:count]


@pytest.mark.parametrize("through", [False, True])
@pytest.mark.parametrize("count", [1, 2])
def test_everything_is_the_sum_over_the_parts(count, through):
    problems, basis = parts(count), W if through else np.eye(N)
    whole = Composite(problems, W if through else None)
    Y, D = RNG.standard_normal((2, whole.n, R))
    v, T = RNG.standard_normal(whole.n), RNG.standard_normal((R, 3))
    here, there = whole.at(Y), [part.at(basis @ Y) for part in problems]

    def value_at(Z):
        return sum(part.at(basis @ Z).value for part in problems)

    def close(found, expected):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)

    assert whole.n == basis.shape[1]
    close(here.value, value_at(Y))
    close(here.factor_gradient(), basis.T @ sum(part.factor_gradient() for part in there))
    close(here.gradient @ D, basis.T @ sum(part.gradient @ (basis @ D) for part in there))
    close(here.gradient @ here.factor, 0.5 * here.factor_gradient())
    close(here.hessian_vector(D), basis.T @ sum(part.hessian_vector(basis @ D) for part in there))
    line, plane = here.along(D), here.along_atom(v)
    close([line.value(mu) for mu in (0.0, 0.3, 2.0)], [value_at(Y + mu * D) for mu in (0.0, 0.3, 2.0)])
    slope = (line.value(0.3 + 1e-5) - line.value(0.3 - 1e-5)) / 2e-5
    np.testing.assert_allclose(line.derivatives(0.3)[0], slope, rtol=1e-6, atol=1e-6 * abs(here.value))
    mu = line.minimize()
    assert line.value(mu) <= min(line.value(s * mu) for s in (0.9, 1.0, 1.1)) + 1e-9
    close(line.step(mu).value, value_at(Y + mu * D))
    close(line.step(mu).factor, Y + mu * D)
    wide = np.column_stack([np.sqrt(2.0) * Y, np.sqrt(3.0) * v])
    close(plane.value(2.0, 3.0), value_at(wide))
    close(plane.step(2.0, 3.0).value, value_at(wide))
    best = plane.minimize()
    assert plane.value(*best) <= plane.value(1.0, 0.0) + 1e-9
    close(here.mix(T).value, value_at(Y @ T))
    close(here.append(v).value, value_at(np.column_stack([Y, v])))
    close(here.append(D).factor, np.hstack([Y, D]))
    close(here.refresh().value, here.value)


def test_abilities_are_those_of_all_parts_and_curvatures_of_convex_parts_add_up():
    quadratic, other = parts(2)
    assert Ability.QUADRATIC not in Composite([quadratic]).abilities
    assert Composite([quadratic, quadratic]).lower_curvature == 2.0 * quadratic.lower_curvature > 0.0
    assert Composite([quadratic, other]).lower_curvature == quadratic.lower_curvature
    bent = AutogradProblem(lambda M: -anp.sum(M**2), N)
    assert Ability.CONVEX not in Composite([quadratic, bent]).abilities
    assert Composite([quadratic, bent]).lower_curvature == 0.0
