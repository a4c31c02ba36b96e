"""Sums over streams, and composites."""

from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import AutogradProblem, FlatQuotient, LagrangeNewton, QuadraticSDP, solve
from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Problem
from psdopt.errors import IncompatibleError, InvalidInputError
from psdopt.methods.online_gradient import OnlineRiemannianGradient
from psdopt.problems.composite import Composite
from psdopt.problems.streamed import Streamed, streamed
from psdopt.testing import parametrize_with_checks
from psdopt_plugins.regression import psd_regression_problem, psd_regression_stream
from tests.instances import quadratic_twin
from tests.methods.regressions import FIXED, D, M, R, data


class Batches:
    """A stream with no class of the library as its base: rows of an array, again and again."""

    size, repeatable = M, True

    def __init__(self, X, y):
        self.X, self.y = X, y

    def take(self, batch_size, start, count):
        for number in range(start, start + count):
            rows = np.arange(number * batch_size, (number + 1) * batch_size) % M
            yield SimpleNamespace(rows=self.X[rows], targets=self.y[rows])

    def sample(self, count, batch_size):
        return list(self.take(batch_size, 0, count))


class Offers(Problem):
    """Streamed regression on forms, from the interface of a problem alone."""

    def __init__(self, X, y):
        self.n, self.stream, self.whole = D, Batches(X, y), psd_regression_problem(X, y)
        self.abilities = frozenset({"gradient", "convex", "stream"})

    def at(self, Y):
        return self.whole.at(Y)

    def batch_gradient(self, batch, Y):
        image = batch.rows @ Y
        residual = (image**2).sum(axis=1) - batch.targets
        return batch.rows.T @ (residual[:, None] * image) / len(residual), 0.5 * float(np.mean(residual**2))


def test_a_problem_that_offers_a_stream_by_itself_is_learned_from():
    X, y = data()
    theirs, ours = Offers(X, y), psd_regression_stream(X, y, order="given")
    start = np.random.default_rng(0).standard_normal((D, R))
    method = OnlineRiemannianGradient(**FIXED)
    results = [solve(p, FlatQuotient(D, R), method, start=start, max_iterations=4) for p in (theirs, ours)]
    np.testing.assert_allclose(results[0].matrix.factor, results[1].matrix.factor, rtol=1e-9, atol=1e-12)
    assert results[0].value < 0.1 * results[0].history["value"][0]


def test_a_missing_member_is_named_and_abilities_that_stand_for_members_stay_with_the_held_out_problem():
    theirs = Offers(*data())
    theirs.stream = None
    with pytest.raises(IncompatibleError, match="stream"):
        solve(theirs, FlatQuotient(D, R), OnlineRiemannianGradient())
    with pytest.raises(IncompatibleError, match="stream and batch_gradient is not there"):
        streamed(object())
    problem = psd_regression_stream(*data())
    assert Ability.QUADRATIC_FIT in problem.held_out.abilities
    with pytest.raises(IncompatibleError, match="lacks quadratic-fit"):
        solve(problem, FlatQuotient(D, R), LagrangeNewton())


def test_samples_are_counted_from_none():
    held_out = QuadraticSDP(np.eye(3), C=-np.eye(3))
    problem = Streamed(SimpleNamespace(d=3), held_out, lambda batch, Y: (2.0 * Y, 7.0))
    assert problem.counts()["samples"] == 0
    for seen, size in ((4, 4), (9, 5)):
        found, value = problem.batch_gradient(SimpleNamespace(targets=np.ones(size)), np.eye(3))
        np.testing.assert_array_equal(found, 2.0 * np.eye(3))
        assert value == 7.0
        assert problem.counts()["samples"] == seen
    with pytest.raises(InvalidInputError, match="held_out must be of order 4 like the stream; found 3"):
        Streamed(SimpleNamespace(d=4), held_out, problem.gradient)


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
