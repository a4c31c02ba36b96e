"""Bounds proven by Cholesky factors: they hold on every spectrum, and what cannot be proven is not claimed."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from psdopt.linalg import definite
from psdopt.linalg.banded import _factor_above, _lower_band, banded_pair_above, narrow_order
from psdopt.linalg.definite import bound_above, factor_above, pair_above, proven_pair
from psdopt.linalg.extreme import smallest_eigenpair
from psdopt.linalg.limits import SMALL_ORDER
from psdopt.linalg.tolerances import EPS
from tests.linalg.instances import SPECTRA, matrix


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

    def blind(g):  # "solves" that stay among the other eigenvectors
        found = factor_above(S, g)
        return None if found is None else (lambda b: np.eye(80)[:, : b.shape[1]], found[1])

    assert proven_pair(S, blind, -0.6) is None


def test_an_eigenvector_as_a_start_does_not_hide_the_smallest_one():
    S = np.diag(np.r_[np.linspace(0.0, 1.0, 79), -0.5])
    pair = smallest_eigenpair(S, threshold=-0.6, start=np.eye(80)[0])
    assert pair.value == pytest.approx(-0.5, abs=1e-4)
    assert -0.6 <= pair.lower_bound <= -0.5 + 1e-12


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


def ring(n: int, seed: int, low: float) -> sp.csr_array:
    """A cycle with random weights, its rows shuffled, λ_min = `low`."""
    rng = np.random.default_rng(seed)
    i = rng.permutation(n)
    w = rng.choice([-1.0, 1.0], n)
    A = sp.coo_array((w, (i, np.roll(i, 1))), shape=(n, n)).tocsr()
    A = A + A.T
    least = np.linalg.eigvalsh(A.toarray())[0]
    return sp.csr_array(A + (low - least) * sp.eye_array(n))


@pytest.mark.parametrize("low", [0.0, -1e-3, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_a_ring_has_a_band_of_two_and_its_bound_is_sharp(low, seed) -> None:
    n = 80
    S = ring(n, seed, low)
    order, band = narrow_order(S)
    assert band <= 2
    assert sorted(order) == list(range(n))
    pair = banded_pair_above(S, order, band, low - 1e-6)
    assert pair is not None
    true = np.linalg.eigvalsh(S.toarray())[0]
    assert low - 1e-6 <= pair.lower_bound <= true
    assert pair.value == pytest.approx(low, abs=1e-6)
    assert np.linalg.norm(S @ pair.vector - pair.value * pair.vector) < 1e-2


def test_what_is_too_low_is_not_proven_and_nan_is_none() -> None:
    S = ring(100, 4, -1.0)
    order, band = narrow_order(S)
    assert _factor_above(_lower_band(S[order][:, order], band), -0.99) is None
    assert banded_pair_above(S, order, band, -0.99) is None
    solve, bound = _factor_above(_lower_band(S[order][:, order], band), -1.01)
    assert -1.011 < bound <= -1.01
    shifted = (S + 1.01 * sp.eye_array(100)).toarray()
    b = np.arange(100.0)
    assert np.allclose(shifted[np.ix_(order, order)] @ solve(b), b)
    S.data[0] = np.nan
    assert _factor_above(_lower_band(S[order][:, order], band), -5.0) is None


def test_no_narrow_band_in_a_random_graph() -> None:
    A = sp.random(100, 100, density=0.1, random_state=np.random.default_rng(0), format="csr")
    assert narrow_order(sp.csr_array(A + A.T)) is None
