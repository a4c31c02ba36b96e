"""Squared losses of measurements as a conic problem with soft bounds: values, dual values, and its solution."""

import cvxpy as cp
import numpy as np
import pytest

from psdopt import TermSum
from psdopt.constraints.central_path.interior_steps import Iterate, first_iterate, newton_step
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.soft import soft_conic, soft_size
from psdopt.contracts.abilities import Ability
from psdopt.errors import IncompatibleError, InvalidTypeError
from psdopt.problems import QuadraticSDP
from psdopt.terms import (
    Entries,
    HalfSquaredOneSided,
    LeastSquares,
    Linear,
    LinearTerm,
    MeasuredTerm,
    PairDistances,
    QuadraticForms,
    SquaredHinge,
    TripletDifferences,
)
from psdopt.terms.losses import Loss
from tests.instances import psd


def measurements(rng: np.random.Generator, n: int):
    X, m = rng.standard_normal((9, n)), 12
    i, j = rng.integers(0, 4, m), rng.integers(4, 7, m)
    k = rng.integers(7, 9, m)
    yield QuadraticForms(rng.standard_normal((m, n)))
    yield PairDistances(i, j, X)
    yield TripletDifferences(i, j, k, X)
    yield Entries(rng.integers(0, n, m), rng.integers(0, n, m), n)
    yield PairDistances(i % 3, 3 + j % 3, n=n)
    yield TripletDifferences(i % 2, 2 + j % 2, 4 + k % 2, n=n)


def losses(rng: np.random.Generator, m: int):
    target, weights = rng.uniform(0.5, 2.0, m), rng.uniform(0.1, 2.0, m)
    weights[3] = 0.0
    yield LeastSquares(target, weights)
    yield SquaredHinge(target, np.where(np.arange(m) % 2, 1.0, -1.0), weights)
    yield HalfSquaredOneSided(target, np.arange(m) % 3 - 1.0, weights)


def fits(n: int = 6, seed: int = 0) -> list[TermSum]:
    rng = np.random.default_rng(seed)
    pull = LinearTerm(0.1 * psd(rng, n))
    return [
        TermSum([MeasuredTerm(each, loss, 0.7), pull], 0.25)
        for each in measurements(rng, n)
        for loss in losses(rng, each.size)
    ]


def on_the_path(problem: TermSum, steps: int) -> tuple[StandardForm, Iterate]:
    conic = soft_conic(problem)
    assert conic is not None
    form = StandardForm(conic)
    at = Iterate.of(form, *first_iterate(form), np.zeros(form.m))
    for _ in range(steps):
        at, length, _ = newton_step(form, at, 0.9)
        assert length > 0.0
    return form, at


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # of the other solver
@pytest.mark.parametrize("number", range(18))
def test_the_path_ends_where_a_conic_solver_does(number):
    """Both of the same least value, and the value of v below it from the step on at which the dual equation holds."""
    problem = fits()[number]
    (term, pull), n = problem.terms, problem.n
    M = cp.Variable((n, n), PSD=True)
    conic = soft_conic(problem)
    assert conic is not None
    a = cp.hstack([cp.trace(conic.forms.matrix(np.eye(conic.m)[t]).toarray() @ M) for t in range(conic.m)])
    cost, w = cp.trace(pull.C.to_dense() @ M), 1.0 / conic.softness
    for bound, sign in ((conic.upper, 1.0), (conic.lower, -1.0)):
        t = np.flatnonzero(np.isfinite(bound))
        if len(t):
            cost = cost + 0.5 * cp.sum(cp.multiply(w[t], cp.square(cp.pos(sign * (a[t] - bound[t])))))
    least = cp.Problem(cp.Minimize(cost + 0.25)).solve(solver=cp.CLARABEL)
    form, at = on_the_path(problem, 14)
    value = problem.at(form.assembled(at.Lx)).value
    assert value == pytest.approx(least, rel=2e-5, abs=2e-5)
    assert form.dual_value(at.v, at.Z) == pytest.approx(value, rel=1e-4, abs=1e-4)
    assert term.measurement.size == conic.m


def test_softness_is_one_over_the_curvature_and_no_weight_asks_for_nothing():
    problem = fits()[0]
    conic, term = soft_conic(problem), problem.terms[0]
    assert conic is not None
    used = term.loss.weights > 0.0
    np.testing.assert_allclose(conic.softness[used], 1.0 / (2.0 * 0.7 * term.loss.weights[used]))
    assert not np.isfinite(conic.lower[~used]).any()
    assert not np.isfinite(conic.upper[~used]).any()


class Quartic(Loss):
    def value(self, a):
        return float(np.sum(a**4))

    def derivative(self, a):
        return 4.0 * a**3

    def second(self, a):
        return 12.0 * a**2


def test_other_problems_have_no_soft_bounds():
    rng, n = np.random.default_rng(1), 5
    X = QuadraticForms(rng.standard_normal((8, n)))
    others = [
        TermSum([MeasuredTerm(X, loss, w)])
        for loss, w in ((Quartic(), 1.0), (Linear(1.0), 1.0), (LeastSquares(1.0), -1.0))
    ]
    for problem in (*others, QuadraticSDP(np.eye(n), 1.0, -np.eye(n)), TermSum([LinearTerm(np.eye(n))])):
        assert Ability.SOFT_BOUNDS not in problem.abilities
        with pytest.raises((InvalidTypeError, IncompatibleError), match="soft"):
            soft_conic(problem)


def test_flops_are_those_of_the_cheaper_system():
    """Few entries and many rows, or the reverse: neither count alone says what a step costs."""
    rng, n = np.random.default_rng(2), 5

    def of(m: int) -> float:
        forms = MeasuredTerm(QuadraticForms(rng.standard_normal((m, n))), SquaredHinge())
        return soft_size(TermSum([forms])).flops

    assert of(10_000) < 1e8 < 10_000.0**3 / 3.0
    assert of(3) <= 40.0 * n**3 + 9.0
