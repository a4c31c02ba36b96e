"""Couplings of entries and of distances, in blocks."""

import numpy as np
import pytest

from psdopt.contracts.images import Images
from psdopt.linalg.tolerances import EPS
from psdopt.terms import entry_coupling
from psdopt.terms.measurements import Entries, PairDistances


@pytest.mark.parametrize("block", [1, 40, entry_coupling.CACHED])
@pytest.mark.parametrize(
    ("i", "j"),
    [
        ([0, 1, 2, 3, 4, 0, 3, 1], [0, 1, 2, 3, 4, 2, 1, 4]),  # the whole diagonal first, as in kernel learning
        ([1, 0, 2, 3, 4, 0, 3], [1, 0, 2, 3, 4, 2, 1]),  # the same in another order
        ([2, 4, 0, 3, 1], [2, 4, 2, 1, 4]),  # a part of it
        ([0, 3, 2, 1], [2, 1, 2, 4]),  # in between
        ([0, 3], [2, 1]),
        ([3, 1], [3, 1]),
    ],
)
def test_coupling_of_entries_in_blocks_and_wherever_the_diagonal_lies(i, j, block, monkeypatch):
    monkeypatch.setattr(entry_coupling, "CACHED", block)
    rng, n = np.random.default_rng(len(i)), 5
    P, Q = (A + A.T for A in rng.standard_normal((2, n, n)))
    unit = np.eye(n)
    matrices = [0.5 * (np.outer(unit[a], unit[b]) + np.outer(unit[b], unit[a])) for a, b in zip(i, j, strict=True)]
    expected = [[np.trace(A @ P @ B @ Q) for B in matrices] for A in matrices]
    found = Entries(i, j, n).coupling(P, Q, Images((), np.eye(n)))
    np.testing.assert_allclose(np.triu(found), np.triu(expected), rtol=0, atol=1e3 * EPS)


@pytest.mark.parametrize("block", [1, 15, entry_coupling.CACHED])
def test_coupling_of_distances_in_blocks(block, monkeypatch):
    monkeypatch.setattr(entry_coupling, "CACHED", block)
    rng, n = np.random.default_rng(0), 5
    P, Q = (A + A.T for A in rng.standard_normal((2, n, n)))
    i, j = np.triu_indices(n, 1)
    E = np.eye(n)[i] - np.eye(n)[j]
    found = PairDistances(i, j, n=n).coupling(P, Q, Images((), np.eye(n)))
    np.testing.assert_allclose(np.triu(found), np.triu((E @ P @ E.T) * (E @ Q @ E.T)), rtol=0, atol=1e3 * EPS)
