"""Least eigenvectors: every backend agrees with LAPACK, bounds hold, a warm start costs two or three products."""

import numpy as np
import pytest

from psdopt.errors import UnknownNameError
from psdopt.linalg.least import BACKENDS, least_eigenpairs
from tests.linalg.symmetric import Counted, symmetric


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shift", [0.0, 40.0, -40.0])  # mixed, positive and negative definite
def test_backends_agree_with_lapack(backend, shift):
    S = symmetric(240, 1, shift)
    tol = 1e-7 * np.linalg.norm(S, 2)
    pair = least_eigenpairs(S, tol=tol, backend=backend)
    least = np.linalg.eigvalsh(S)[0]
    assert abs(pair.value - least) <= tol
    assert np.linalg.norm(S @ pair.vector - pair.value * pair.vector) <= 2 * tol


@pytest.mark.parametrize("backend", BACKENDS)
def test_products_are_those_of_a_counting_operator(backend):
    S = Counted(symmetric(220, 2))
    assert least_eigenpairs(S, tol=1e-6, backend=backend).products == S.columns


def test_bad_start_and_unknown_backend():
    S = symmetric(50, 5)
    assert least_eigenpairs(S, tol=1e-6, start=np.zeros((50, 1)), backend="lanczos").value < 0
    with pytest.raises(UnknownNameError, match="lanczos"):
        least_eigenpairs(S, tol=1e-6, backend="lanczo")


def test_a_start_in_an_invariant_subspace_is_not_the_end():
    """ARPACK's own route, started at an eigenvector of another eigenvalue."""
    S = symmetric(400, 8)
    values, vectors = np.linalg.eigh(S)
    pair = least_eigenpairs(S, tol=1e-6, start=vectors[:, 7:8], backend="eigsh")
    assert pair.value == pytest.approx(values[0], abs=1e-5)


def test_nan_in_a_product_is_said_by_the_cold_route():
    S = symmetric(400, 9)
    S[3, 5] = S[5, 3] = np.nan
    with pytest.raises(FloatingPointError):
        least_eigenpairs(S, tol=1e-3)
