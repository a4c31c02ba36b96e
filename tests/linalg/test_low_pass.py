"""The filter is the polynomial that it says, holds down what it says, and costs what it says."""

import numpy as np
import pytest

from psdopt.linalg.low_pass import low_pass
from psdopt.linalg.tolerances import EPS

DEGREE = 6


def spectrum(seed, n=40, largest=3.0):
    rng = np.random.default_rng(seed)
    values = np.concatenate([[0.0], largest * rng.random(n - 2), [largest]])
    return values, np.linalg.qr(rng.standard_normal((n, n)))[0]


@pytest.mark.parametrize("degree", [1, 2, DEGREE])
@pytest.mark.parametrize("cut", [0.1, 0.4])
def test_filter_is_the_chebyshev_polynomial_of_the_matrix(degree, cut):
    values, V = spectrum(0)
    L = V * values @ V.T
    Y = np.random.default_rng(1).standard_normal((40, 3))
    applied = []
    found = low_pass(lambda X: applied.append(X.shape) or L @ X, Y, values[-1], degree, cut)
    x = (2.0 * values / values[-1] - (1.0 + cut)) / (1.0 - cut)
    expected = V @ (np.polynomial.Chebyshev.basis(degree)(x)[:, None] * (V.T @ Y))
    np.testing.assert_allclose(found, expected, atol=100 * EPS * np.abs(expected).max() * 4.0**degree)
    assert applied == [(40, 3)] * degree


def test_modes_above_the_cut_do_not_grow_and_the_lowest_grows_most():
    values, V = spectrum(2)
    factors = np.diag(V.T @ low_pass(lambda X: (V * values @ V.T) @ X, V, values[-1], DEGREE))
    held = values >= 0.1 * values[-1]
    assert np.abs(factors[held]).max() <= 1.0 + 1e4 * EPS
    order = np.argsort(values[~held])
    assert np.all(np.diff(factors[~held][order]) < 0.0)
    assert factors[0] == pytest.approx(np.cosh(DEGREE * np.arccosh((1.0 + 0.1) / (1.0 - 0.1))))
    assert 25.0 < factors[0] < 26.0
