"""Evaluations that have moved: what rounding has left of them is computed anew from Y."""

from __future__ import annotations

import numpy as np
import pytest

from psdopt import TermSum
from psdopt.linalg.operators import LinearMap
from psdopt.problems import term_sum
from psdopt.terms.losses import LeastSquares
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import QuadraticForms

N, M, R = 7, 20, 3


def problem():
    """Exact values of random quadratic forms, and the factor Y that has them."""
    rng = np.random.default_rng(0)
    X, Y = LinearMap(rng.standard_normal((M, N))), rng.standard_normal((N, R))
    targets = np.sum((X.data @ Y) ** 2, axis=1)
    return TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(targets))]), Y


@pytest.mark.parametrize("scale", [1e4, 1e8])
def test_what_is_left_of_a_large_value_is_not_its_rounding(scale):
    F, Y = problem()
    there = 1.01 * Y
    far = F.at(there + scale * np.random.default_rng(1).standard_normal((N, R)))
    moved = far.along(there - far.factor).step(1.0)
    direct = F.at(moved.factor)
    assert direct.value < term_sum.FALLEN * far.value
    assert moved.value == pytest.approx(direct.value, rel=1e-12)
    np.testing.assert_allclose(moved.factor_gradient(), direct.factor_gradient(), rtol=1e-9)


def test_many_small_falls_count_as_one_large_one(monkeypatch):
    """F of Y/2 is a sixteenth: five halvings are a fall by a million, and each of those is recomputed once."""
    F, Y = problem()
    here, calls, original = F.at(1e9 * Y), [], term_sum.TermEvaluation.refresh
    monkeypatch.setattr(term_sum.TermEvaluation, "refresh", lambda evaluation: calls.append(1) or original(evaluation))
    refreshed = []
    for _ in range(25):
        here = here.along(-0.5 * here.factor).step(1.0)
        assert here.value == pytest.approx(F.at(here.factor).value, rel=1e-9)
        refreshed.append(len(calls))
    assert refreshed == [k // 5 for k in range(1, 26)]


def test_an_ordinary_step_applies_nothing_twice():
    F, Y = problem()
    here = F.at(2.0 * Y)
    line = here.along(-0.4 * here.factor)
    before = F.counts()["operator_applications"]
    moved = line.step(1.0)
    assert moved.value < here.value
    moved.factor_gradient()
    assert F.counts()["operator_applications"] == before + 1  # the adjoint's, for the gradient
