"""Sums over groups on a device are those of a sparse product, for groups of any size."""

import pickle

import numpy as np
import pytest

from psdopt.devices import held, indices_on, on_host, pairs
from psdopt.devices.groups import GroupSums, PairSums
from psdopt.devices.library import device_for
from psdopt.linalg.arrays import SymmetricPattern, line_dots, mixed_row_dots, pair_dots
from tests.devices.libraries import sent, there


@pytest.mark.parametrize("size", [1, 5, 40])
@pytest.mark.parametrize("members", [0, 1, 8, 9, 65, 700])
def test_sums_of_groups(library: str, size: int, members: int) -> None:
    rng = np.random.default_rng(members)
    keys = np.minimum(rng.geometric(0.3, size=members) - 1, size - 1)  # one group is far larger than the others
    values = rng.standard_normal(members)
    device = device_for(sent(library, np.ones(1)), "w")
    sums = GroupSums(keys, size, device)
    expected = np.bincount(keys, values, size)
    np.testing.assert_allclose(on_host(sums(there(library, values))), expected, rtol=1e-13, atol=1e-13)
    assert 1 <= len(sums.levels) <= 5


def test_sums_over_pairs_are_a_symmetric_sparse_matrix(library: str) -> None:
    rng = np.random.default_rng(1)
    n, p = 30, 200
    i, j = rng.integers(n // 2, size=p), rng.integers(n - 3, size=p)  # repeated pairs, i = j, rows without pairs
    w, Z = rng.standard_normal(p), rng.standard_normal((n, 4))
    dense = np.zeros((n, n))
    for a, b, weight in zip(i, j, w, strict=True):
        dense[a, b] += weight
        dense[b, a] += weight
    made = PairSums(i, j, n, device_for(sent(library, w), "w"))(there(library, w))
    np.testing.assert_allclose(on_host(made @ there(library, Z)), dense @ Z, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(on_host(made.sum(axis=1)), dense.sum(axis=1), rtol=1e-12, atol=1e-12)
    pattern = pickle.loads(pickle.dumps(SymmetricPattern(i, j, n)))
    known, found = pattern(w), pattern(there(library, w))
    assert found.shape == known.shape
    np.testing.assert_allclose(on_host(found @ there(library, Z)), known @ Z, rtol=1e-12, atol=1e-12)


rng = np.random.default_rng(2)
Y, Z = rng.standard_normal((20, 3)), rng.standard_normal((20, 3))
FIRST, SECOND = rng.integers(20, size=50), rng.integers(20, size=50)


@pytest.mark.parametrize("gathered", [1, 30, 2**23])
def test_blocks_of_pairs(library: str, gathered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "GATHERED", gathered)
    there, other = held(sent(library, Y)), held(sent(library, Z))
    i, j = indices_on(there.device, FIRST), indices_on(there.device, SECOND)
    for found, expected in (
        ((pair_dots(i, j, there, other),), (pair_dots(FIRST, SECOND, Y, Z),)),
        ((pair_dots(i, j, there, there),), (pair_dots(FIRST, SECOND, Y, Y),)),
        (line_dots(i, j, there, other), line_dots(FIRST, SECOND, Y, Z)),
        (mixed_row_dots((i, j), there, other), mixed_row_dots(np.stack([FIRST, SECOND]), Y, Z)),
    ):
        for one, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(on_host(one), wanted, rtol=1e-13, atol=1e-14)
