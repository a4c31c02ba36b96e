"""Rays, roundings and pairs of certificates.proofs at each limit, with problems whose values are prescribed."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import Ability, AutogradProblem, QuadraticSDP, TermSum
from psdopt.certificates import bounds as proofs
from psdopt.certificates.bounds import (
    FAR_OUT,
    checked_eigenpair,
    falls_without_end,
    gaps_at_hand,
    improvement,
    pair_at_fixed_trace,
    plane_minimum,
)
from psdopt.certificates.scales import ROUNDINGS
from psdopt.contracts.roles import Duality
from psdopt.linalg.extreme import DENSE_LIMIT, smallest_eigenpair
from psdopt.linalg.tolerances import EPS
from psdopt.terms import IdentityForm, LinearTerm, ProductTerm
from tests.instances import psd, symmetric

PAIR = smallest_eigenpair(np.diag([-0.5, 1.0, 2.0]), tol=1e-12)


def at_hand(product=2.0, below=0.0, curvature=0.0, trace=None, bound=None, value=10.0, tr=4.0, n=3):
    problem = SimpleNamespace(lower_curvature=curvature, n=n)
    return gaps_at_hand(problem, value, product, tr, replace(PAIR, lower_bound=-below), trace, 0.25, bound)


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
        assert falls_without_end(function(f, convex=convex), Y, ray) is expected


def test_a_ray_is_followed_in_its_own_direction_and_in_units_of_the_factor():
    """F is evaluated at Y + mu D |Y| / |D| for large mu: at zero in units of one."""
    assert min(FAR_OUT) > 10.0
    for Y, size in ((np.array([[3.0], [4.0]]), 5.0), (np.zeros((2, 1)), 1.0)):
        seen = []
        problem = function(lambda M: -anp.trace(M))
        problem.at = lambda Z, seen=seen, whole=problem.at: (seen.append(Z), whole(Z))[1]
        assert falls_without_end(problem, Y, np.array([[0.0, 2.0], [0.0, 0.0]]))
        for Z, mu in zip(seen, FAR_OUT, strict=True):
            start = np.pad(Y, ((0, 0), (0, 1)))
            np.testing.assert_allclose(Z - start, mu * size * np.array([[0.0, 1.0], [0.0, 0.0]]), atol=1e-7)


@pytest.mark.parametrize("ray", [np.zeros((2, 1)), np.full((2, 1), np.nan), np.full((2, 1), np.inf)])
def test_no_ray_at_all(ray):
    assert not falls_without_end(function(lambda M: -anp.trace(M)), np.ones((2, 1)), ray)


def test_values_that_are_not_finite_far_out_confirm_nothing():
    assert not falls_without_end(function(lambda M: -anp.exp(anp.trace(M))), np.ones((2, 1)), np.ones((2, 1)))


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
        left.append(plane_minimum(here, v).value / here.value)
    assert left[0] < 0.5
    np.testing.assert_allclose(left, left[0], rtol=1e-9)
    problem = Plain(1.0)
    np.testing.assert_allclose(plane_minimum(problem.at(np.zeros((2, 1))), v).value, 0.0, atol=1e-14)
    at_best = problem.at(np.array([[0.0], [1.0]]))
    assert plane_minimum(at_best, v) is at_best


@pytest.mark.parametrize("order", [0, 1])
def test_the_best_of_several_planes_and_none_below_rounding(order):
    rng = np.random.default_rng(0)
    problem = QuadraticSDP(psd(rng, 4) + np.eye(4), C=symmetric(rng, 4) - 3.0 * np.eye(4))
    here = problem.at(0.1 * rng.standard_normal((4, 1)))
    vectors = list(np.eye(4)[:2]) if order else list(np.eye(4)[1::-1])
    gains = [float(here.value - plane_minimum(here, v).value) for v in vectors]
    gain, v = improvement(here, vectors)
    assert gain == max(gains) > 0.0
    assert v is vectors[int(np.argmax(gains))]
    better = plane_minimum(here, v)
    assert improvement(here, vectors, 0.99 * gain / better.size**2)[1] is v
    assert improvement(here, [v], 1.01 * gain / better.size**2) == (0.0, None)
    assert improvement(here, []) == (0.0, None)


def test_a_plane_that_falls_without_end_is_told_with_its_vector():
    problem = TermSum([LinearTerm(np.diag([1.0, -1.0]))])
    v = np.array([0.0, 1.0])
    gain, found = improvement(problem.at(np.ones((2, 1))), [np.array([1.0, 0.0]), v])
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
    pair, unit = pair_at_fixed_trace(problem, here, S, product, trace, 1e-4, None, 0)
    least = np.linalg.eigvalsh(dense)[0]
    assert pair.lower_bound <= least + 1e-12 * offset
    assert pair.vectors.shape[1] == 2
    assert trace * (least - pair.lower_bound) <= 1e-4 * unit + 1e-9 * offset
    # F rises by far more than tol to matrices of the set far from M, and c (tr M − t) leaves that as it is
    plain = TermSum([LinearTerm(C - offset * np.eye(n)), ProductTerm(IdentityForm(n), IdentityForm(n), 1e-3)])
    there = plain.at(Y)
    other = pair_at_fixed_trace(plain, there, there.gradient, product - offset * trace, trace, 1e-4, None, 0)[1]
    np.testing.assert_allclose(unit, other, rtol=1e-3)


@pytest.mark.parametrize("unit", [4.0, 2.0**-30, 0.0])
@pytest.mark.parametrize("n", [4, DENSE_LIMIT, DENSE_LIMIT + 1])
@pytest.mark.parametrize("enough", [True, False])
def test_what_is_asked_of_the_pair_at_a_fixed_trace(monkeypatch, unit, n, enough):
    """F is 5, and 13 at the centre: the first pair serves a unit of 8, the second, if need be, that of the vectors.

    A lower bound at the threshold, or one that is off by the accuracy asked for, leaves room for a proof to tol · unit.
    """
    trace, tol, product, asked = 16.0, 2.0**-10, 2.0, []
    vectors = np.eye(n)[:, :2]
    evaluation = SimpleNamespace(value=5.0, factor=2.0 * np.eye(n)[:, :1])
    duality = SimpleNamespace(value_unit=lambda value, trace: None)
    problem = SimpleNamespace(n=n, duality=duality)
    # the gap that the first pair proves: exactly tol · unit, or more
    bound = (product - tol * unit * (1.0 if enough else 1.5)) / trace - (0.0 if enough else 1e-9)

    def pair(problem, evaluation, S, **options):
        asked.append(options)
        return replace(PAIR, lower_bound=bound, vectors=vectors)

    monkeypatch.setattr(proofs, "checked_eigenpair", pair)
    monkeypatch.setattr(proofs, "reference_value", lambda problem, at: {trace: 13.0}[at])
    monkeypatch.setattr(proofs, "unit_at_fixed_trace", lambda problem, here, at, found: unit * (found is vectors))
    start = np.ones(n)
    _, own = pair_at_fixed_trace(problem, evaluation, None, product, trace, tol, start, 7)
    assert own == unit
    again = n > DENSE_LIMIT and unit > 0.0 and not enough
    assert len(asked) == 1 + again
    assert asked[0]["start"] is start
    for options, size in zip(asked, (8.0, unit), strict=False):
        assert options["count"] == 2
        assert options["seed"] == 7
        assert 0.0 < options["tol"] <= 0.5 * tol * size / trace
        assert 0.0 < product / 4.0 - options["threshold"] <= tol * size / trace
    if again:
        np.testing.assert_array_equal(asked[1]["start"], vectors[:, 0])


def test_at_a_trace_of_zero_no_bound_ends_the_search_early(monkeypatch):
    asked = []
    monkeypatch.setattr(proofs, "checked_eigenpair", lambda *_, **options: (asked.append(options), PAIR)[1])
    monkeypatch.setattr(proofs, "reference_value", lambda problem, at: math.inf)
    monkeypatch.setattr(proofs, "unit_at_fixed_trace", lambda *_: 1.0)
    problem = SimpleNamespace(n=3, duality=SimpleNamespace(value_unit=lambda value, trace: None))
    pair_at_fixed_trace(problem, SimpleNamespace(value=-5.0, factor=np.zeros((3, 1))), None, 0.0, 2.0, 1e-3, None, 0)
    assert asked[0]["threshold"] == -math.inf
    assert 0.0 < asked[0]["tol"] <= 0.5 * 1e-3 * 5.0 / 2.0  # F at the centre is infinite: |F(M)| is the unit


class Ray:
    """F takes given values at the three factors of a ray, where traces and roundings are given as well."""

    def __init__(self, values, traces=(1.0, 2.0, 3.0), convex=False):
        self.abilities = frozenset({Ability.CONVEX}) if convex else frozenset()
        self.points = iter(zip(values, traces, strict=True))

    def at(self, Y):
        value, trace = next(self.points)
        return SimpleNamespace(value=value, size=math.sqrt(trace), gradient=np.zeros((2, 2)), factor=Y)


@pytest.mark.parametrize(
    ("values", "traces", "convex", "expected"),
    [
        ((4.0, 3.0, 2.0), (1.0, 2.0, 3.0), True, True),
        ((4.0, 3.0, 2.001), (1.0, 2.0, 3.0), True, True),  # the second fall is 99.9 % of the first
        ((4.0, 3.0, 2.2), (1.0, 2.0, 3.0), True, False),
        ((4.0, 3.0, 3.0), (1.0, 2.0, 3.0), False, False),
        ((4.0, 4.0, 3.0), (1.0, 2.0, 3.0), False, False),
        ((4.0, 5.0, 4.0), (1.0, 2.0, 3.0), False, False),
        ((4.0, 3.0, 0.0), (1.0, 2.0, 3.0), False, True),
        ((4.0, 3.0, 0.0), (1.0, 2.0, 3.0), True, False),  # a convex F falls no faster far out
        ((4.0, 3.0, 0.0), (1.0, 2.0, 5.0), True, True),
        ((4.0, 3.0, -9.0), (1.0, 3.0, 23.0), True, True),  # a little steeper: the path is not quite straight
        ((4.0, 3.0, -17.0), (1.0, 11.0, 21.0), True, False),
        ((4.0, 3.0, -math.inf), (1.0, 2.0, 3.0), False, False),
        ((1e18, 1e18 - 1e3, 1e18 - 1e4), (1.0, 2.0, 3.0), False, False),  # roundings
        ((1e18 + 1e6, 1e18, 1e18 - 1e3), (1.0, 2.0, 3.0), False, False),
        ((1e12, 1e12 - 1e3, 1e12 - 1e4), (1.0, 2.0, 3.0), False, True),
        ((0.0, -1.0, -1e18), (1.0, 2.0, 3.0), False, True),
    ],
)
def test_falls_along_a_ray_at_their_limits(values, traces, convex, expected):
    assert falls_without_end(Ray(values, traces, convex), np.ones((2, 1)), np.ones((2, 1))) is expected


@pytest.mark.parametrize("n", [DENSE_LIMIT, DENSE_LIMIT + 1])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("off", [0.0, 0.9, 1.1, 3.0])
def test_when_a_problem_is_asked_for_its_eigenpair_and_when_it_is_believed(monkeypatch, n, count, off):
    """A Ritz value of a check may lie below the bound of the problem by ROUNDINGS · eps · |S|, and not more."""
    told = replace(PAIR, lower_bound=-1.0)
    size = 64.0
    other = replace(PAIR, values=np.array([-1.0 - off * ROUNDINGS * EPS * size]), norm=size)

    class Told(Duality):
        def smallest_eigenpair(self, evaluation, S, **options):
            return told

    monkeypatch.setattr(proofs, "smallest_eigenpair", lambda S, **options: other)
    for duality, own in ((Told(), True), (Duality(), False)):
        problem = SimpleNamespace(duality=duality, n=n)
        found = checked_eigenpair(problem, None, None, tol=0.0, threshold=0.0, start=None, seed=0, count=count)
        believed = own and count == 1 and n > DENSE_LIMIT and other.value >= -1.0 - ROUNDINGS * EPS * size
        assert found is (told if believed else other)
        assert not believed or off < 1.0
        assert believed or off > 1.0 or not own or count > 1 or n <= DENSE_LIMIT
