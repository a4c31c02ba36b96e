"""Krylov spaces of one vector: the recurrence, Ritz vectors, the ends of a spectrum."""

import numpy as np
import pytest

from psdopt.linalg.krylov import lanczos_steps, norm_estimate, smallest_ritz_vector
from psdopt.linalg.low_pass import low_pass
from psdopt.linalg.tolerances import EPS
from tests.linalg.instances import frame, matrix


def test_the_recurrence_holds_after_every_step():
    S, start = matrix(np.linspace(-1.0, 3.0, 20)), np.random.default_rng(1).standard_normal(20)
    steps = 0
    for Q, T, length in lanczos_steps(lambda v: S @ v, start, 12):
        steps += 1
        assert Q.shape == (20, steps)
        np.testing.assert_allclose(Q.T @ Q, np.eye(steps), rtol=0, atol=64 * EPS)
        np.testing.assert_allclose(Q.T @ S @ Q, T, rtol=0, atol=1e3 * EPS)
        rest = S @ Q - Q @ T
        np.testing.assert_allclose(rest[:, :-1], 0.0, atol=1e3 * EPS)
        assert np.linalg.norm(rest[:, -1]) == pytest.approx(length, rel=1e-10)
    assert steps == 12
    np.testing.assert_allclose(Q[:, 0], start / np.linalg.norm(start), rtol=1e-14)


def test_an_invariant_space_ends_the_recurrence():
    S = matrix([1.0, 1.0, 2.0, 2.0, 5.0, 5.0])
    taken = list(lanczos_steps(lambda v: S @ v, np.ones(6), 6))
    assert len(taken) == 3
    assert taken[-1][2] == 0.0
    np.testing.assert_allclose(np.linalg.eigvalsh(taken[-1][1]), [1.0, 2.0, 5.0], rtol=1e-12)
    assert len(list(lanczos_steps(lambda v: S @ v, np.ones(6), 2))) == 2
    assert len(list(lanczos_steps(lambda v: 0.0 * v, np.ones(6), 6))) == 1


def test_a_vector_far_from_the_rest_is_found_in_few_products():
    S = matrix(np.r_[-10.0, np.linspace(0.0, 1.0, 40)])
    calls = []

    def product(v):
        calls.append(v)
        return S @ v

    v, found = smallest_ritz_vector(product, np.ones(41), 8, lambda: 1e-2)
    assert found
    assert len(calls) < 8
    assert np.linalg.norm(S @ v + 10.0 * v) <= 1.1e-2
    _, found = smallest_ritz_vector(product, np.ones(41), 4, lambda: 1e-12)
    assert not found
    v, found = smallest_ritz_vector(product, 1e200 * np.ones(41), 1, lambda: np.inf)
    assert not found
    np.testing.assert_allclose(v, np.ones(41) / np.sqrt(41))


@pytest.mark.parametrize("n", [1, 2, 5, 100])
def test_ends_of_a_spectrum_lie_inside_it_and_near_its_ends(n):
    spectrum = np.linspace(-2.0, 3.0, n) if n > 1 else np.array([3.0])
    S = matrix(spectrum)
    *_, (_, T, _) = lanczos_steps(lambda v: S @ v, np.cos(np.arange(1.0, n + 1.0) ** 2), 16)
    low, *_, high = np.linalg.eigvalsh(T) if n > 1 else (T[0, 0], T[0, 0])
    slack, near = 64 * n * EPS, 0.05 * 5.0  # of the width of the spectrum
    assert spectrum[0] - slack <= low <= spectrum[0] + near
    assert spectrum[-1] - near <= high <= spectrum[-1] + slack


def test_the_norm_is_estimated_from_below():
    for seed in range(5):
        S = matrix(np.random.default_rng(seed).standard_normal(50), seed)
        exact = np.linalg.norm(S, 2)
        assert 0.85 * exact <= norm_estimate(S) <= exact * (1.0 + 64 * EPS)
    assert norm_estimate(np.zeros((3, 3))) == 0.0


DEGREE = 6


def spectrum(seed, n=40, largest=3.0):
    values = np.concatenate([[0.0], largest * np.random.default_rng(seed).random(n - 2), [largest]])
    return values, frame(n, seed)


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
