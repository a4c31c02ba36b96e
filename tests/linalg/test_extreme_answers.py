"""Every number of an answer of the extreme eigensolvers, for each backend and count, against the dense spectrum."""

import numpy as np
import pytest

from psdopt.linalg.extreme import smallest_eigenpair
from psdopt.linalg.least import least_eigenpairs
from psdopt.linalg.limits import ITERATED_ORDER
from psdopt.linalg.tolerances import EPS
from tests.linalg.spectra import frame, matrix
from tests.linalg.symmetric import Counted

VALUES = np.concatenate([[-1.0, -0.9, -0.5], np.linspace(0.0, 4.0, 77)])


@pytest.mark.parametrize("backend", ["dense", "lanczos", "eigsh"])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("size", [1.0, 1e-9])
def test_every_number_of_an_answer(backend, count, size):
    S = size * matrix(VALUES)
    operator = Counted(S)
    pair = smallest_eigenpair(operator, tol=1e-6, scale="norm", count=count, backend=backend)
    assert pair.backend == backend
    assert pair.converged
    assert pair.products == operator.columns
    np.testing.assert_allclose(pair.values, size * VALUES[:count], atol=2e-6 * size * 4.0)
    V = pair.vectors
    np.testing.assert_allclose(V.T @ V, np.eye(count), atol=1e-12)
    residual = np.linalg.norm(S @ V[:, 0] - pair.values[0] * V[:, 0])
    np.testing.assert_allclose(pair.residual, residual, rtol=1e-6, atol=64 * EPS * size * 4.0)
    assert 2.0 * size <= pair.norm <= 4.0 * size * (1.0 + 64 * EPS)  # a lower estimate
    below = pair.values[0] - pair.lower_bound
    assert 0.0 <= below <= 2e-6 * 4.0 * size
    if backend == "eigsh":  # value minus residual, and no random column behind it
        assert pair.failure_probability == 1.0
        assert residual <= below <= residual + 1e4 * EPS * size
    else:
        assert pair.lower_bound <= size * -1.0
        assert pair.failure_probability == (0.0 if backend == "dense" else 1e-8)


@pytest.mark.parametrize("tol", [1e-2, 1e-5])
def test_the_tolerance_is_relative_to_the_norm_or_to_a_scale_and_never_below_rounding(tol):
    S = matrix(VALUES)
    costs = []
    for scale in ("norm", 4.0, 0.04):
        operator = Counted(S)
        pair = smallest_eigenpair(operator, tol=tol, scale=scale, backend="lanczos")
        assert pair.converged
        assert pair.values[0] - pair.lower_bound <= 1.01 * tol * (4.0 if scale == "norm" else scale) + 1e-12
        costs.append(operator.columns)
    assert costs[0] == costs[1] <= costs[2]
    exact = smallest_eigenpair(S, tol=0.0, backend="lanczos")
    assert exact.converged
    assert exact.values[0] - exact.lower_bound <= 1e-11


def test_an_exact_vector_without_a_bound_is_not_converged():
    """Random columns prove a bound; where the products end before that, the small residual alone is no answer."""
    values = np.linspace(-1.0, 1.0, 600)
    S, Q = matrix(values), frame(len(values), 0)
    short = smallest_eigenpair(S, tol=1e-8, start=Q[:, 0], backend="lanczos", max_products=12)
    assert short.residual <= 1e-10
    assert short.lower_bound < -1.0
    assert not short.converged
    trusted = smallest_eigenpair(S, tol=1e-8, start=Q[:, 0], backend="lanczos", trust_start=True)
    assert trusted.converged
    assert trusted.products <= 3
    assert trusted.failure_probability == 1.0
    assert abs(trusted.lower_bound + 1.0) <= 1e-9
    again = smallest_eigenpair(S, tol=1e-8, count=3, start=Q[:, :1], backend="lanczos", max_products=4)
    assert not again.converged


@pytest.mark.parametrize(("threshold", "early"), [(-2.0, True), (-1.05, True), (-1.0, False), (-0.5, False)])
@pytest.mark.parametrize("backend", ["lanczos", "dense"])
def test_a_threshold_below_the_least_eigenvalue_is_confirmed_and_one_above_never(threshold, early, backend):
    S = matrix(VALUES)
    pair = smallest_eigenpair(S, tol=1e-9, threshold=threshold, backend=backend)
    assert pair.converged
    assert pair.lower_bound <= -1.0
    assert (pair.lower_bound >= threshold) is early
    if backend == "lanczos":
        full = smallest_eigenpair(S, tol=1e-9, backend="lanczos")
        assert pair.products <= full.products
        assert (pair.products < full.products) is early


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("backend", ["lanczos", "dense"])
def test_several_columns_of_a_multiple_of_the_identity_and_of_a_projector(count, backend):
    """An invariant subspace is met at once: the columns that are still wanted lie outside of it."""
    for S in (3.0 * np.eye(12), np.zeros((12, 12)), matrix([-1.0] + [2.0] * 11)):
        pair = smallest_eigenpair(S, tol=1e-10, count=count, backend=backend)
        expected = np.linalg.eigvalsh(S)
        assert pair.vectors.shape == (12, count)
        np.testing.assert_allclose(pair.values, expected[:count], atol=1e-12)
        np.testing.assert_allclose(pair.vectors.T @ pair.vectors, np.eye(count), atol=1e-12)
        np.testing.assert_allclose(S @ pair.vectors, pair.vectors * pair.values, atol=1e-11)
        assert pair.converged


def test_lanczos_costs_about_what_its_convergence_needs():
    """A wrong restart, a lost block or a bound that is too weak shows in the products."""
    S = matrix(np.concatenate([[-1.0], np.linspace(0.0, 4.0, 899)]))
    for count, most in ((1, 120), (4, 400)):
        operator = Counted(S)
        pair = smallest_eigenpair(operator, tol=1e-6, count=count, backend="lanczos", max_products=2000)
        assert pair.converged
        assert operator.columns <= most, operator.columns


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


def test_a_trusted_start_is_bounded_by_its_residual_whatever_it_is():
    """value − |S v − value v| − rounding: nothing else is known of a vector that was not searched for."""
    S, Q = matrix(VALUES), frame(len(VALUES), 0)
    start = Q[:, 0] + 0.1 * Q[:, 40] - 0.05 * Q[:, 79]
    pair = smallest_eigenpair(S, start=start, trust_start=True, tol=0.5, scale="norm")
    v = pair.vector
    residual = np.linalg.norm(S @ v - pair.value * v)
    assert residual > 1e-3
    assert pair.failure_probability == 1.0
    np.testing.assert_allclose(pair.value - pair.lower_bound, residual, rtol=1e-9)


@pytest.mark.parametrize("backend", ["dense", "lanczos"])
def test_no_tolerance_at_all_is_rounding(backend):
    """tol, or the scale it is measured in, may be 0: then the answer is as good as rounding allows."""
    S = matrix(VALUES)
    for options in ({"tol": 0.0}, {"tol": 0.5, "scale": 0.0}):
        pair = smallest_eigenpair(S, backend=backend, **options)
        assert pair.converged
        assert 0.0 <= pair.value - pair.lower_bound <= 1e-11
