"""Pair products on a device are NumPy's, whatever the size of the blocks."""

import numpy as np
import pytest

from psdopt.devices import held, indices_on, on_host, pairs
from psdopt.linalg.arrays import line_dots, mixed_row_dots, pair_dots
from tests.devices.libraries import LIBRARIES, sent

rng = np.random.default_rng(2)
Y, Z = rng.standard_normal((20, 3)), rng.standard_normal((20, 3))
FIRST, SECOND = rng.integers(20, size=50), rng.integers(20, size=50)


@pytest.mark.parametrize("library", LIBRARIES)
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
