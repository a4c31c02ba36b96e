"""Systems of all rows as one banded matrix: rows of unlike lengths, several bands, other weights on one pattern."""

import numpy as np
import pytest

from psdopt.linalg import banded_rows
from psdopt.linalg.banded_rows import BandedRows, band_numbers
from psdopt.linalg.tolerances import EPS

from .test_row_updates import random_pattern, solved_by_a_loop


@pytest.mark.parametrize("gathering", [0.0, 1e9], ids=["gathered", "whole"])
@pytest.mark.parametrize("shared", [0.0, banded_rows.SHARED])
@pytest.mark.parametrize("density", [0.1, 0.6])
def test_bands_solve_the_systems_of_all_rows(density, shared, gathering, monkeypatch):
    monkeypatch.setattr(banded_rows, "GATHERING", gathering)
    monkeypatch.setattr(banded_rows, "SHARED", shared)  # 0: a band for each length of a row
    rng = np.random.default_rng(3)
    P, W, T, (weights, targets) = random_pattern(rng, 24, density)
    U, b, rho = rng.standard_normal((24, 5)), rng.standard_normal((24, 5)), 0.5 + rng.random(24)
    expected, condition = solved_by_a_loop(P, W, T, U, b, rho)
    rows = BandedRows(weights, targets)
    lengths = np.diff(weights.indptr)
    assert len(rows.bands) == (1 if shared else len(np.unique(lengths[lengths > 0])))
    allowed = 64 * 24 * EPS * condition * np.abs(expected).max()
    np.testing.assert_allclose(rows.solve(U, b, rho), expected, rtol=0, atol=allowed)
    other = weights.copy()
    other.data = other.data * (1.0 + rng.random(len(other.data)))
    again = rows.reweighted(other)
    assert again.bands is rows.bands
    np.testing.assert_allclose(again.solve(U, b, 2.0), BandedRows(other, None).solve(U, b, 2.0), rtol=0, atol=allowed)


def test_rows_share_a_band_while_padding_is_cheap():
    counts = np.array([1, 2, 2, 1, 3])
    assert len(np.unique(band_numbers(counts))) == 1
    far = np.array([1] * 400 + [90])
    numbers = band_numbers(far)
    assert numbers[0] != numbers[-1]


def test_only_small_problems_take_this_way(monkeypatch):
    _, _, _, (weights, _) = random_pattern(np.random.default_rng(0), 12, 0.5)
    assert BandedRows.fits(weights)
    monkeypatch.setattr(banded_rows, "SMALL_ORDER", 11)
    assert not BandedRows.fits(weights)
