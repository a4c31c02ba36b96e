"""ARPACK after a few Lanczos steps of our own: products, and how they compare with ARPACK alone."""

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, eigsh

from psdopt.linalg.least import least_eigenpairs
from psdopt.linalg.limits import PROBES
from tests.linalg.symmetric import Counted, symmetric


def gradient_like(n, seed):
    """One eigenvalue far below the rest, as in gradients of kernel target alignment."""
    rng = np.random.default_rng(seed)
    v = rng.standard_normal((n, 1))
    return symmetric(n, seed) / np.sqrt(n) - 1e3 * v @ v.T / n


def products_of_eigsh(S, tol):
    counted = Counted(S)
    operator = LinearOperator(S.shape, matvec=lambda x: counted @ x.reshape(-1, 1), dtype=float)
    eigsh(operator, 1, which="SA", tol=tol / np.linalg.norm(S, 2), v0=np.ones(len(S)))
    return counted.columns


@pytest.mark.parametrize("seed", range(4))
def test_cold_and_far_apart_needs_a_third_of_the_products_of_eigsh(seed):
    S = gradient_like(617, seed)
    tol = 1e-3 * np.linalg.norm(S, 2)
    pair = least_eigenpairs(S, tol=tol)
    assert pair.backend == "eigsh"
    assert pair.residual <= tol
    assert abs(pair.value - np.linalg.eigvalsh(S)[0]) <= tol
    assert 3 * pair.products <= products_of_eigsh(S, tol)


@pytest.mark.parametrize("n", [617, 1200])
@pytest.mark.parametrize("accuracy", [1e-2, 1e-4])
def test_cold_and_close_together_costs_little_more_than_eigsh(n, accuracy):
    S = symmetric(n, 7)
    tol = accuracy * np.linalg.norm(S, 2)
    pair = least_eigenpairs(S, tol=tol)
    assert pair.residual <= tol
    restart = 10  # ARPACK looks at what it has after every so many products
    assert pair.products <= products_of_eigsh(S, tol) + PROBES + restart + 1
