"""The loss of counts: the kit, and its parabola below the floor."""

import numpy as np
import pytest

from psdopt.errors import InvalidInputError
from psdopt.testing import parametrize_with_checks
from psdopt_plugins.hermitian.likelihood import NegativeLogLikelihood

LOSS = NegativeLogLikelihood([3.0, 0.0, 1.0], 0.1)


@parametrize_with_checks([LOSS, NegativeLogLikelihood(np.arange(5.0), 0.5)])
def test_conformance(check):
    check()


def test_it_is_the_logarithm_above_the_floor_and_below_it_everywhere():
    a = np.array([0.2, 0.0, 0.5])
    assert np.isclose(LOSS.value(a), -3.0 * np.log(0.2) - np.log(0.5), rtol=1e-14)
    below = np.linspace(1e-3, 0.1, 50)
    one = NegativeLogLikelihood([1.0], 0.1)
    assert all(one.value(np.array([t])) <= -np.log(t) + 1e-15 for t in below)
    assert np.isfinite(one.value(np.array([-1.0])))


@pytest.mark.parametrize(
    ("counts", "floor"), [([-1.0], 0.1), ([[1.0]], 0.1), ([1.0], 0.0), ([np.inf], 0.1), ([1.0], [1.0, 2.0])]
)
def test_bad_input(counts, floor):
    with pytest.raises(InvalidInputError, match=r"^(counts|floor) must be "):
        NegativeLogLikelihood(counts, floor)
