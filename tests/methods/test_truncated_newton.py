"""Truncated Newton: its direction on a quadratic model, quadratic convergence, products per step, refusals."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from psdopt import FlatQuotient, QuadraticSDP, TruncatedNewton
from psdopt.errors import InvalidInputError
from psdopt.testing.gallery import with_spectrum

N = 8


def states(method: TruncatedNewton, steps: int) -> list:
    target = with_spectrum(np.linspace(0.5, 2.0, N), 3)
    problem = QuadraticSDP(None, 1.0, -target)
    geometry = FlatQuotient(N, N)
    found = [method.init(problem, geometry, geometry.from_factor(np.linalg.cholesky(target + 0.2 * np.eye(N))))]
    for _ in range(steps):
        found.append(method.step(found[-1]))
    return found


def test_accurate_systems_converge_faster_than_linearly() -> None:
    norms = [state.gradient_norm for state in states(TruncatedNewton(share=1e-8), 4)]
    scale = norms[0]
    assert norms[2] <= 10.0 * (norms[1] / scale) ** 1.5 * scale
    assert norms[4] <= 1e-9 * scale


def test_the_slope_along_the_direction_is_negative_and_the_value_falls() -> None:
    found = states(TruncatedNewton(), 5)
    values = [state.evaluation.value for state in found]
    assert all(b < a for a, b in pairwise(values[:4]))
    moved = found[1].point - found[0].point
    assert float(np.vdot(found[0].gradient, moved)) < 0.0


@pytest.mark.parametrize("inner", [1, 3])
def test_products_per_step_are_bounded(inner) -> None:
    assert all(state.extras["products"] <= inner for state in states(TruncatedNewton(inner=inner), 5)[1:])


@pytest.mark.parametrize(
    ("options", "words"), [({"inner": 0}, "inner"), ({"inner": 1.5}, "inner"), ({"share": 1.0}, "share")]
)
def test_refusals(options, words) -> None:
    with pytest.raises(InvalidInputError, match=words):
        TruncatedNewton(**options)
