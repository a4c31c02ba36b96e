"""Problems of the gallery beside their twins, checked by the kit, and comparisons of evaluations."""

import numpy as np
import pytest

from psdopt.linalg.tolerances import EPS
from psdopt.testing.parametrize import AssertedCheck
from psdopt.testing.runner import yield_checks

from ..instances import INSTANCES, N

#: Operations in a chain of some dozens of products; measured worst is below a tenth of it.
ROUNDING = 4096 * EPS


def with_checks(*names):
    """Decorate a test that takes `check`: these checks of the kit, for every problem of the gallery and its twin."""
    parameters = []
    for name in INSTANCES:
        instance, *_ = composed(name, 3)
        instance.problem.twin = instance.twin
        parameters += [
            pytest.param(AssertedCheck(bound), id=f"{name}-{bound.name}")
            for bound in yield_checks(instance.problem)
            if bound.name.removeprefix("problem.") in names and not bound.inapplicable
        ]
    return pytest.mark.parametrize("check", parameters)


def composed(name, r, seed=0, scale=1.0):
    rng = np.random.default_rng([seed, r])
    instance = INSTANCES[name](rng)
    Y = scale * rng.standard_normal((N, r))
    return instance, rng, Y


def assert_close(found, expected, scale):
    scale = max(float(scale), float(np.max(np.abs(expected))))
    assert np.max(np.abs(np.asarray(found) - expected)) <= ROUNDING * scale


def size_of(evaluation):
    """Magnitude of the terms that a value is the sum of: rounding is relative to it."""
    problem = evaluation.problem
    zero = abs(problem.value_at_zero())
    return zero + sum(abs(t.value(evaluation.feature(k))) for k, t in enumerate(problem.terms))


def assert_same_point(moved, fresh):
    """All that an evaluation offers, compared with a fresh one at the same factor up to rounding."""
    assert_close(moved.factor, fresh.factor, 0.0)
    assert_close(moved.value, fresh.value, size_of(fresh))
    S = fresh.gradient @ np.eye(N)
    size = np.linalg.norm(S) * max(1.0, np.linalg.norm(fresh.factor))
    assert_close(moved.factor_gradient(), fresh.factor_gradient(), size)
    assert_close(moved.gradient @ np.eye(N), S, size)
