"""Least squares by LSQR: the solution of least length, for matrices and operators, to rounding."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt.linalg.least_squares import least_squares
from psdopt.linalg.limits import MOST_PRODUCTS

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (20, 20)])
@pytest.mark.parametrize("kind", [sp.csr_array, aslinearoperator])
def test_the_solution_of_least_length(shape, kind):
    A = RNG.standard_normal(shape)
    b = RNG.standard_normal(shape[0])
    assert least_squares(kind(A), b) == pytest.approx(np.linalg.lstsq(A, b, rcond=None)[0], rel=1e-9, abs=1e-11)


def test_of_equations_that_repeat_too():
    A = np.repeat(RNG.standard_normal((6, 9)), 2, axis=0)
    b = RNG.standard_normal(12)
    assert least_squares(sp.csr_array(A), b) == pytest.approx(np.linalg.lstsq(A, b, rcond=None)[0], rel=1e-9, abs=1e-11)


def test_steps_are_bounded():
    """The system of a second difference of order 4,000 has a condition of 1e7: 200 + 20 √4000 steps do not solve it."""
    n, products = 4000, []
    D = sp.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1]).tocsr()

    class Counted(type(aslinearoperator(D))):
        def _matvec(self, v):
            products.append(1)
            return super()._matvec(v)

    x = least_squares(Counted(D), np.ones(n))
    assert np.all(np.isfinite(x))
    assert len(products) <= MOST_PRODUCTS + MOST_PRODUCTS // 10 * 63 + 1
