"""Sums of problems of different kinds, seen through W, pass the kit beside twins that know F as a formula."""

import autograd.numpy as anp
import numpy as np

from psdopt import AutogradProblem, QuadraticSDP
from psdopt.contracts.abilities import Ability
from psdopt.problems.composite import Composite
from psdopt.testing import parametrize_with_checks
from tests.instances import quadratic_twin

N, Q = 6, 4
W = np.linalg.qr(np.random.default_rng(3).standard_normal((N, Q)))[0]
A, C = np.diag(np.arange(1.0, N + 1.0)), np.diag(np.linspace(-2.0, 1.0, N))
QUADRATIC = QuadraticSDP(A=A, B=0.5, C=C)
SUM = [QUADRATIC, AutogradProblem(lambda M: anp.sum((M - 0.5) ** 4), N, convex=True)]
TWINS = [quadratic_twin(A, 0.5 * np.eye(N), C, n=N), SUM[1]]


def composed(count, basis):
    problem = Composite(SUM[:count], basis)
    wide = np.eye(N) if basis is None else basis
    problem.twin = AutogradProblem(
        lambda M: sum(part.function(anp.dot(anp.dot(wide, M), wide.T)) for part in TWINS[:count]), problem.n
    )
    return problem


@parametrize_with_checks([composed(2, W), composed(1, None)])
def test_a_sum_is_a_problem(check):
    check()


def test_abilities_are_those_of_all_parts_and_curvatures_of_convex_parts_add_up():
    assert Composite(SUM, W).n == Q
    assert Ability.QUADRATIC not in Composite([QUADRATIC]).abilities
    assert Composite([QUADRATIC, QUADRATIC]).lower_curvature == 2.0 * QUADRATIC.lower_curvature > 0.0
    assert Composite(SUM).lower_curvature == QUADRATIC.lower_curvature
    bent = AutogradProblem(lambda M: -anp.sum(M**2), N)
    assert Ability.CONVEX not in Composite([QUADRATIC, bent]).abilities
    assert Composite([QUADRATIC, bent]).lower_curvature == 0.0
