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


def assert_same_point(moved, fresh):
    """All that an evaluation offers, compared with a fresh one at the same factor up to rounding.

    Of a value that is relative to the magnitude of the terms that it is the sum of.
    """
    problem, S = fresh.problem, fresh.gradient @ np.eye(N)
    terms = abs(problem.value_at_zero()) + sum(abs(t.value(fresh.feature(k))) for k, t in enumerate(problem.terms))
    slope = np.linalg.norm(S) * max(1.0, np.linalg.norm(fresh.factor))
    for found, expected, size in (
        (moved.factor, fresh.factor, 0.0), (moved.value, fresh.value, terms),
        (moved.factor_gradient(), fresh.factor_gradient(), slope), (moved.gradient @ np.eye(N), S, slope),
    ):  # fmt: skip
        assert np.max(np.abs(found - expected)) <= ROUNDING * max(float(size), np.max(np.abs(expected)))
