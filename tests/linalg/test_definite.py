"""Bounds proven by Cholesky factors: they hold on every spectrum, and what cannot be proven is not claimed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdopt.linalg import definite
from psdopt.linalg.definite import bound_above, factor_above, pair_above
from psdopt.linalg.extreme import smallest_eigenpair
from psdopt.linalg.limits import SMALL_ORDER
from psdopt.linalg.tolerances import EPS


def matrix(spectrum, seed):
    n = len(spectrum)
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
    S = (Q * np.asarray(spectrum)) @ Q.T
    return 0.5 * (S + S.T)


SPECTRA = {
    "spread": lambda n, rng: np.linspace(-0.1, 1.0, n),
    "cluster at zero": lambda n, rng: np.r_[1e-7 * rng.standard_normal(5), rng.random(n - 5)],
    "one below": lambda n, rng: np.r_[-1e-3, np.linspace(0.0, 1.0, n - 1)],
    "equal": lambda n, rng: np.ones(n),
    "zero": lambda n, rng: np.zeros(n),
    "negative": lambda n, rng: -rng.random(n),
}


@given(
    st.sampled_from(sorted(SPECTRA)), st.sampled_from([6, 64, 130]), st.integers(0, 10**6),
    st.sampled_from([1e-100, 1e-6, 1.0, 1e100]), st.floats(-0.5, 0.5),
)  # fmt: skip
def test_a_factor_proves_its_bound_and_exists_only_above_it(name, n, seed, scale, g):
    S = matrix(scale * SPECTRA[name](n, np.random.default_rng(seed)), seed)
    least = np.linalg.eigvalsh(S)[0]
    rounding = 8 * n * EPS * np.linalg.norm(S, 2)
    found = factor_above(S, scale * g)
    if found is None:
        assert least <= scale * g + n * rounding
        return
    R, bound = found
    assert bound <= scale * g
    assert bound <= least + rounding
    R = np.triu(R)
    np.testing.assert_allclose(R.T @ R, S - scale * g * np.eye(n), rtol=0, atol=n * rounding + n * EPS * scale)


@given(st.sampled_from(sorted(SPECTRA)), st.integers(0, 10**6), st.floats(1e-6, 1.0), st.booleans())
def test_a_pair_lies_between_threshold_and_the_smallest_eigenvalue(name, seed, below, adverse):
    n = 70
    S = matrix(SPECTRA[name](n, np.random.default_rng(seed)), seed)
    values, V = np.linalg.eigh(S)
    threshold = values[0] - below
    # the worst start: an eigenvector of another eigenvalue, which inverse iteration would never leave
    pair = pair_above(S, threshold, V[:, -1] if adverse else None)
    if pair is None:
        return
    rounding = 8 * n * EPS
    assert threshold - n * rounding <= pair.lower_bound <= values[0] + rounding
    assert pair.value >= values[0] - rounding
    assert np.linalg.norm(pair.vector) == pytest.approx(1.0)
    assert pair.vector @ S @ pair.vector == pytest.approx(pair.value, abs=rounding)
    assert pair.residual == pytest.approx(np.linalg.norm(S @ pair.vector - pair.value * pair.vector), abs=rounding)


def test_an_eigenvector_that_was_missed_is_found_out():
    S = np.diag(np.r_[np.linspace(0.0, 1.0, 79), -0.5])
    assert pair_above(S, -0.6, np.eye(80)[0]) is None
    # so that the caller computes the spectrum
    pair = smallest_eigenpair(S, threshold=-0.6, start=np.eye(80)[0])
    assert pair.value == pytest.approx(-0.5)
    assert pair.lower_bound == pytest.approx(-0.5)


def test_nothing_is_claimed_below_the_threshold():
    S = matrix(np.r_[-1e-3, np.linspace(0.0, 1.0, 99)], 0)
    assert pair_above(S, -0.9e-3) is None
    pair = smallest_eigenpair(S, threshold=-0.9e-3)
    assert pair.lower_bound == pytest.approx(-1e-3)
    assert pair_above(S, -1.1e-3).lower_bound >= -1.1e-3


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_nothing_is_proven_of_a_matrix_that_is_not_finite(wrong):
    S = np.eye(3)
    S[1, 1] = wrong
    assert factor_above(S, 0.0) is None


@pytest.mark.parametrize("n", [SMALL_ORDER, SMALL_ORDER + 1, 200])
def test_a_threshold_that_holds_spares_the_spectrum(n, monkeypatch):
    calls = []
    inside = definite.dpotrf
    monkeypatch.setattr(definite, "dpotrf", lambda *a, **k: calls.append(1) or inside(*a, **k))
    S = matrix(np.r_[np.zeros(4), np.linspace(0.5, 1.0, n - 4)], 1)
    pair = smallest_eigenpair(S, threshold=-1e-3)
    assert len(calls) == (2 if n > SMALL_ORDER else 0)
    assert pair.failure_probability == 0.0
    assert pair.converged
    assert -1e-3 <= pair.lower_bound <= n * EPS
    assert abs(pair.value) <= 1e-5


@given(st.sampled_from([1, 2, 9, 40, 120]), st.integers(0, 10**6), st.sampled_from([0.02, 0.2]))
def test_the_bound_on_the_largest_eigenvalue_is_within_its_accuracy(n, seed, accuracy):
    rng = np.random.default_rng(seed)
    for spectrum in (rng.random(n), np.linspace(0.0, 1.0, n) ** 0.1, np.zeros(n), np.r_[np.zeros(n - 1), 1.0]):
        S = matrix(spectrum, seed)
        largest = float(np.linalg.eigvalsh(S)[-1])
        rounding = 16 * n * n * EPS
        assert largest - rounding <= bound_above(S, accuracy) <= (1.0 + accuracy) * largest + rounding
