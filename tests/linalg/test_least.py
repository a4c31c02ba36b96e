"""Least eigenvectors: every backend agrees with LAPACK and counts its products, ARPACK after a few steps of our own."""

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, eigsh

from psdopt.errors import UnknownNameError
from psdopt.linalg.least import BACKENDS, least_eigenpairs
from psdopt.linalg.limits import ITERATED_ORDER, PROBES
from tests.linalg.instances import Counted, symmetric


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shift", [0.0, 40.0, -40.0])  # mixed, positive and negative definite
def test_backends_agree_with_lapack_and_count_their_products(backend, shift):
    S = symmetric(240, 1, shift)
    tol, operator = 1e-7 * np.linalg.norm(S, 2), Counted(S)
    pair = least_eigenpairs(operator, tol=tol, backend=backend)
    assert abs(pair.value - np.linalg.eigvalsh(S)[0]) <= tol
    assert np.linalg.norm(S @ pair.vector - pair.value * pair.vector) <= 2 * tol
    assert pair.products == operator.columns


#: An order at which only more than a tenth of the eigenvectors are worth a decomposition.
LARGE = ITERATED_ORDER + 10


@pytest.mark.parametrize(
    ("n", "count", "start", "proven", "expected"),
    [
        (40, 1, False, False, "dense"), (ITERATED_ORDER, 1, True, False, "dense"),
        (ITERATED_ORDER + 1, 1, False, False, "eigsh"), (ITERATED_ORDER + 1, 1, True, False, "lanczos"),
        (ITERATED_ORDER + 1, 1, False, True, "lanczos"), (LARGE, LARGE // 10 + 1, False, False, "dense"),
        (LARGE, LARGE // 10, True, False, "lanczos"),
    ],
)  # fmt: skip
def test_which_backend_is_taken_and_what_it_promises(n, count, start, proven, expected):
    S = np.diag(np.linspace(-1.0, 1.0, n))
    guess = np.eye(n)[:, :count] if start else None
    pair = least_eigenpairs(S, tol=1e-3, start=guess, count=count, proven=proven)
    assert pair.backend == expected
    assert pair.failure_probability == (0.0 if expected == "dense" else 1e-8 if proven else 1.0)
    assert pair.vectors.shape[1] == count
    if expected == "lanczos" and start and not proven:
        assert pair.products <= 3 * count


@pytest.mark.parametrize("start", [np.zeros(5), np.full(5, np.nan), None])
def test_a_useless_guess_is_none_and_arpack_leaves_small_orders_to_lapack(start):
    S = np.diag([3.0, 1.0, 2.0, 5.0, 4.0])
    for backend, count, got in (("eigsh", 5, 4), ("eigsh", 2, 2), ("lanczos", 5, 5), ("dense", 5, 5)):
        pair = least_eigenpairs(S, tol=1e-8, start=start, count=count, backend=backend)
        np.testing.assert_allclose(pair.values, np.sort(np.diag(S))[:got], atol=1e-7)
    single = least_eigenpairs(np.array([[7.0]]), tol=1e-8, backend="eigsh")
    assert (single.backend, float(single.values[0])) == ("dense", 7.0)
    with pytest.raises(UnknownNameError, match="lanczos"):
        least_eigenpairs(S, tol=1e-6, start=start, backend="lanczo")


def test_a_start_in_an_invariant_subspace_is_not_the_end_and_nan_in_a_product_is_said():
    """ARPACK's own route, started at an eigenvector of another eigenvalue, and cold."""
    S = symmetric(400, 8)
    values, vectors = np.linalg.eigh(S)
    pair = least_eigenpairs(S, tol=1e-6, start=vectors[:, 7:8], backend="eigsh")
    assert pair.value == pytest.approx(values[0], abs=1e-5)
    S[3, 5] = S[5, 3] = np.nan
    with pytest.raises(FloatingPointError):
        least_eigenpairs(S, tol=1e-3)


def products_of_eigsh(S, tol):
    counted = Counted(S)
    operator = LinearOperator(S.shape, matvec=lambda x: counted @ x.reshape(-1, 1), dtype=float)
    eigsh(operator, 1, which="SA", tol=tol / np.linalg.norm(S, 2), v0=np.ones(len(S)))
    return counted.columns


@pytest.mark.parametrize("seed", range(4))
def test_cold_and_far_apart_needs_a_third_of_the_products_of_eigsh(seed):
    """One eigenvalue far below the rest, as in gradients of kernel target alignment."""
    n = 617
    v = np.random.default_rng(seed).standard_normal((n, 1))
    S = symmetric(n, seed) / np.sqrt(n) - 1e3 * v @ v.T / n
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
