"""Bounds from banded factors: below every eigenvalue, as sharp as dense ones, refused where S is too low."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.linalg.banded import banded_factor, banded_pair_above, narrow_order


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
    assert banded_factor(S, order, band, -0.99) is None
    assert banded_pair_above(S, order, band, -0.99) is None
    solve, bound = banded_factor(S, order, band, -1.01)
    assert -1.011 < bound <= -1.01
    shifted = (S + 1.01 * sp.eye_array(100)).toarray()
    b = np.arange(100.0)
    assert np.allclose(shifted[np.ix_(order, order)] @ solve(b), b)
    S.data[0] = np.nan
    assert banded_factor(S, order, band, -5.0) is None


def test_no_narrow_band_in_a_random_graph() -> None:
    A = sp.random(100, 100, density=0.1, random_state=np.random.default_rng(0), format="csr")
    assert narrow_order(sp.csr_array(A + A.T)) is None
