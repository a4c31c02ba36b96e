"""The linear systems of the master's interior point."""

import numpy as np
import pytest

from psdopt.margins import SignedSquares
from psdopt.margins.masters.newton_system import NewtonSystem


@pytest.mark.parametrize("spread", [0.0, 3.0, 6.0])
@pytest.mark.parametrize("k", [2, 9])
def test_newton_system_is_solved(spread, k):
    rng = np.random.default_rng(k)
    squares = SignedSquares(rng.standard_normal((90, k)), _signs(45))
    E = 10.0 ** rng.uniform(-spread, spread, 45)
    system, r = NewtonSystem(squares, E), rng.standard_normal(45)
    x = system.solve(r)
    dense = squares.gram() + np.diag(E)
    exact = np.linalg.solve(dense, r)
    assert (x - exact) @ dense @ (x - exact) <= 1e-8 * (exact @ dense @ exact)


def _signs(m):
    import scipy.sparse as sp

    columns = np.arange(2 * m)
    return sp.csr_array((np.tile([1.0, -1.0], m), columns, np.arange(0, 2 * m + 1, 2)), shape=(m, 2 * m))
