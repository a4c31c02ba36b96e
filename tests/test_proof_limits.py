"""Rays, roundings and pairs of certificates.bounds at each limit, with problems whose values are prescribed."""

import math
from dataclasses import replace
from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import Ability, AutogradProblem, QuadraticSDP, TermSum
from psdopt.certificates import bounds
from psdopt.linalg.extreme import smallest_eigenpair
from psdopt.terms import IdentityForm, LinearTerm, ProductTerm
from tests.instances import psd, symmetric

PAIR = smallest_eigenpair(np.diag([-0.5, 1.0, 2.0]), tol=1e-12)


def at_hand(product=2.0, below=0.0, curvature=0.0, trace=None, bound=None, value=10.0, tr=4.0, n=3):
    problem = SimpleNamespace(lower_curvature=curvature, n=n)
    return bounds.gaps_at_hand(problem, value, product, tr, replace(PAIR, lower_bound=-below), trace, 0.25, bound)


def test_bounds_that_cost_nothing_by_hand():
    assert at_hand() == [2.25]
    assert at_hand(product=-2.0) == [0.25]
    assert at_hand(below=0.5) == []
    assert at_hand(below=-0.5) == [2.25]
    assert at_hand(bound=7.0) == [3.0, 2.25]
    assert at_hand(bound=12.0, below=0.5) == [0.0]
    assert at_hand(trace=6.0, below=0.5) == [2.0 + 6.0 * 0.5 + 0.25]
    assert at_hand(trace=6.0, below=-0.5) == [0.25]  # ⟨S, M⟩ below its bound is rounding
    # ⟨S, M⟩ + b tr M + n b² / (2 σ)
    assert at_hand(below=0.5, curvature=0.2) == [2.0 + 0.5 * 4.0 + 3 * 0.25 / 0.4 + 0.25]
    assert at_hand(below=0.5, curvature=0.2, product=-9.0) == [0.25]
    assert at_hand(below=0.0, curvature=0.2) == [2.25, 2.25]


def function(f, n=2, convex=True):
    return AutogradProblem(f, n, convex=convex)


@pytest.mark.parametrize(
    ("f", "convex", "expected"),
    [
        (lambda M: -anp.trace(M), True, True),
        (lambda M: -3.0 * anp.trace(M) + 5.0, True, True),
        (lambda M: anp.trace(M), True, False),
        (lambda M: 0.0 * anp.trace(M), True, False),
        (lambda M: -anp.log(1.0 + anp.trace(M)), True, True),
        (lambda M: 1.0 / (1.0 + anp.trace(M)), True, False),  # levels off
        (lambda M: (1.0 + anp.trace(M)) ** -0.1, True, False),
        (lambda M: -anp.sqrt(1.0 + anp.trace(M)), True, True),
        (lambda M: -(anp.trace(M) ** 2), True, False),  # falls faster and faster: no convex F
        (lambda M: -(anp.trace(M) ** 2), False, True),
        (lambda M: anp.sin(anp.trace(M)) - anp.trace(M), False, True),
        (lambda M: -M[0, 0] + 2.0 * M[1, 1], True, True),  # along the ray e₀ only
        (lambda M: 2.0 * M[0, 0] - M[1, 1], True, False),
    ],
)
def test_what_falls_along_a_ray(f, convex, expected):
    Y = np.array([[0.3], [0.4]])
    for scale in (1e-6, 1.0, 1e6):
        ray = scale * np.array([[1.0], [0.0]])
        for start in (Y, 0.0 * Y):
            assert bounds.falls_without_end(function(f, convex=convex), start, ray) is expected


@pytest.mark.parametrize("ray", [np.zeros((2, 1)), np.full((2, 1), np.nan), np.full((2, 1), np.inf)])
def test_no_ray_at_all_and_values_that_are_not_finite_confirm_nothing(ray):
    assert not bounds.falls_without_end(function(lambda M: -anp.trace(M)), np.ones((2, 1)), ray)
    assert not bounds.falls_without_end(function(lambda M: -anp.exp(anp.trace(M))), np.ones((2, 1)), np.ones((2, 1)))


def test_trials_of_a_plane_are_in_units_of_the_trace():
    """Without an exact plane beta is tried at some multiples of tr M, or of one at M = 0."""
    target = np.diag([0.0, 1.0])

    class Plain(AutogradProblem):
        def __init__(self, size):
            super().__init__(lambda M: anp.sum((M - size * target) ** 2), 2)
            self.abilities -= {Ability.EXACT_PLANE}

    v, left = np.array([0.0, 1.0]), []
    for size in (1e-6, 1.0, 1e6):
        problem = Plain(size)
        here = problem.at(math.sqrt(size) * np.array([[0.0], [0.1**0.5]]))
        left.append(bounds.plane_minimum(here, v).value / here.value)
    assert left[0] < 0.5
    np.testing.assert_allclose(left, left[0], rtol=1e-9)
    problem = Plain(1.0)
    np.testing.assert_allclose(bounds.plane_minimum(problem.at(np.zeros((2, 1))), v).value, 0.0, atol=1e-14)
    at_best = problem.at(np.array([[0.0], [1.0]]))
    assert bounds.plane_minimum(at_best, v) is at_best


@pytest.mark.parametrize("order", [0, 1])
def test_the_best_of_several_planes_and_none_below_rounding(order):
    rng = np.random.default_rng(0)
    problem = QuadraticSDP(psd(rng, 4) + np.eye(4), C=symmetric(rng, 4) - 3.0 * np.eye(4))
    here = problem.at(0.1 * rng.standard_normal((4, 1)))
    vectors = list(np.eye(4)[:2]) if order else list(np.eye(4)[1::-1])
    gains = [float(here.value - bounds.plane_minimum(here, v).value) for v in vectors]
    gain, v = bounds.improvement(here, vectors)
    assert gain == max(gains) > 0.0
    assert v is vectors[int(np.argmax(gains))]
    better = bounds.plane_minimum(here, v)
    assert bounds.improvement(here, vectors, 0.99 * gain / better.size**2)[1] is v
    assert bounds.improvement(here, [v], 1.01 * gain / better.size**2) == (0.0, None)
    assert bounds.improvement(here, []) == (0.0, None)


def test_a_plane_that_falls_without_end_is_told_with_its_vector():
    problem = TermSum([LinearTerm(np.diag([1.0, -1.0]))])
    v = np.array([0.0, 1.0])
    gain, found = bounds.improvement(problem.at(np.ones((2, 1))), [np.array([1.0, 0.0]), v])
    assert gain == math.inf
    assert found is v


@pytest.mark.parametrize(("trace", "offset"), [(0.5, 0.0), (3.0, 1e6)])
def test_the_pair_at_a_fixed_trace_is_sharp_enough_for_the_gap_at_any_order(trace, offset):
    """Beyond the dense order Lanczos stops early: the gap that its bound gives is within tol · unit of the true one."""
    n = 520
    C = np.diag(np.concatenate([[-1.0, -0.97], np.linspace(0.0, 5.0, n - 2)]) + offset)
    problem = TermSum([LinearTerm(C), ProductTerm(IdentityForm(n), IdentityForm(n), 1e-3)])
    Y = np.zeros((n, 1))
    Y[0] = math.sqrt(trace)
    here = problem.at(Y)
    S = here.gradient
    dense = C + 2e-3 * Y @ Y.T
    product = float((Y.T @ dense @ Y)[0, 0])
    pair, unit = bounds.pair_at_fixed_trace(problem, here, S, product, trace, 1e-4, None, 0)
    least = np.linalg.eigvalsh(dense)[0]
    assert pair.lower_bound <= least + 1e-12 * offset
    assert pair.vectors.shape[1] == 2
    assert trace * (least - pair.lower_bound) <= 1e-4 * unit + 1e-9 * offset
    # F rises by far more than tol to matrices of the set far from M, and c (tr M − t) leaves that as it is
    plain = TermSum([LinearTerm(C - offset * np.eye(n)), ProductTerm(IdentityForm(n), IdentityForm(n), 1e-3)])
    there = plain.at(Y)
    other = bounds.pair_at_fixed_trace(plain, there, there.gradient, product - offset * trace, trace, 1e-4, None, 0)[1]
    np.testing.assert_allclose(unit, other, rtol=1e-3)
