"""The smallest eigenpair: spectrum and frame are drawn apart, so that all of the spectrum is known exactly."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator

from psdopt.errors import InvalidInputError
from psdopt.linalg.extreme import smallest_eigenpair
from psdopt.linalg.tolerances import EPS
from tests.linalg.instances import SPECTRA, Counted, frame, matrix

settings.register_profile("psdopt", deadline=None, max_examples=25, derandomize=True, print_blob=True)


settings.load_profile("psdopt")


def check(pair, S, exact, slack=4.0):
    """What must hold for every answer, whatever the backend says of itself."""
    rounding = slack * len(S) ** 0.5 * np.finfo(float).eps * np.linalg.norm(exact, np.inf)
    k = pair.values.size
    assert np.abs(pair.vectors.T @ pair.vectors - np.eye(k)).max() < 1e-12
    assert pair.value >= exact[0] - rounding
    unit = np.max(np.abs(exact)) or 1.0  # squares of entries near 1e-160 underflow
    residual = unit * np.linalg.norm((S @ pair.vector - pair.value * pair.vector) / unit)
    assert abs(residual - pair.residual) <= rounding
    assert np.min(np.abs(exact - pair.value)) <= pair.residual + rounding
    assert pair.norm <= np.max(np.abs(exact)) + rounding
    if pair.failure_probability < 1.0:
        assert pair.lower_bound <= exact[0]


@given(
    st.sampled_from(sorted(SPECTRA)),
    st.sampled_from([2, 3, 10, 60, 150]),
    st.integers(0, 10**6),
    st.sampled_from([1e-150, 1e-8, 1.0, 1e8, 1e150]),
    st.sampled_from([0.0, 1e-6, 1e-2]),
    st.integers(1, 3),
    st.sampled_from([6, 60, 5000]),
)
@settings(max_examples=150)
def test_the_bound_holds_on_every_spectrum_scale_and_budget(name, n, seed, scale, tol, count, budget):
    S = matrix(scale * SPECTRA[name](n, np.random.default_rng(seed)), seed)
    exact = np.linalg.eigvalsh(S)
    count = min(count, n)
    pair = smallest_eigenpair(
        S, backend="lanczos", tol=tol, scale="norm", count=count, max_products=budget, seed=seed + 1
    )
    check(pair, S, exact)
    if budget == 5000:
        assert pair.converged
        size = np.max(np.abs(exact))
        assert pair.value - pair.lower_bound <= max(tol, 1e-12) * size * 1.01
        np.testing.assert_allclose(pair.values, exact[:count], atol=max(tol, 1e-9 * (count > 1), 1e-13) * size)


def test_the_stated_failure_probability_is_not_exceeded():
    n, runs, chance = 120, 200, 0.2
    spectra = {
        "outlier": (np.r_[-0.05, np.linspace(0.0, 1.0, n - 1)], 14),
        "two clusters": (np.r_[-0.3, 1e-6 * np.arange(n // 2), np.ones(n - 1 - n // 2)], 6),
    }
    for name, (spectrum, budget) in spectra.items():
        S = np.diag(spectrum)
        pairs = [
            smallest_eigenpair(S, backend="lanczos", failure_probability=chance, max_products=budget, seed=s)
            for s in range(runs)
        ]
        missed = np.mean([pair.lower_bound > spectrum[0] for pair in pairs])
        assert missed <= chance + 3 * np.sqrt(chance * (1 - chance) / runs)
        if name == "two clusters":  # where the residual alone is always wrong, the stated chance is nearly attained
            assert missed > 0.05
            assert all(pair.value - pair.residual > spectrum[0] for pair in pairs)


def test_arpack_misses_the_smallest_and_only_the_random_certificate_shows_it():
    S = matrix(np.linspace(0.0, 1.0, 1000), 1)
    own = smallest_eigenpair(S, tol=1e-6)
    assert own.backend == "lanczos"
    assert own.converged
    assert -1.1e-6 <= own.lower_bound <= 0.0
    other = smallest_eigenpair(S, tol=1e-6, backend="eigsh")
    assert other.failure_probability == 1.0  # whatever it found, no claim is made that it is the smallest
    assert other.value >= own.lower_bound


def test_a_wrong_start_does_not_deceive_the_certificate():
    S = matrix(np.random.default_rng(3).standard_normal(600))
    exact, U = np.linalg.eigh(S)
    trusted = smallest_eigenpair(S, start=U[:, 7], trust_start=True, tol=1e-8)
    assert trusted.value > exact[6]
    assert trusted.lower_bound > exact[0]
    certified = smallest_eigenpair(S, start=U[:, 7], tol=1e-8)
    assert certified.converged
    assert certified.lower_bound <= exact[0] <= certified.value + 1e-12
    assert exact[0] >= certified.value - 1e-8


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_arpack_that_stops_early_is_verified_by_an_own_residual(scale):
    S = scale * matrix(np.linspace(0.0, 1.0, 300))
    short = smallest_eigenpair(S, backend="eigsh", count=2, max_products=30)
    check(short, S, np.linalg.eigvalsh(S))
    assert not short.converged


def test_every_kind_of_operator_gives_the_same_answer():
    S = matrix(np.random.default_rng(0).standard_normal(510))
    kinds = [S, sp.csr_array(S), LinearOperator(S.shape, matvec=lambda x: S @ x, dtype=float)]
    values = [smallest_eigenpair(K).value for K in kinds]
    np.testing.assert_allclose(values, values[0], rtol=1e-13)
    first, second = smallest_eigenpair(S, seed=5), smallest_eigenpair(S, seed=5)
    assert first.products == second.products
    assert np.array_equal(first.vectors, second.vectors)


def test_exhausted_budget_is_reported_with_a_weaker_bound():
    S = matrix(np.linspace(0.0, 1.0, 600))
    pairs = [smallest_eigenpair(S, max_products=budget) for budget in (1, 20, 80)]
    assert not any(pair.converged for pair in pairs)
    bounds = [pair.lower_bound for pair in pairs]
    assert np.isfinite(bounds).all()
    assert bounds == sorted(bounds)
    assert bounds[-1] <= 0.0
    assert all(pair.products <= max(budget, 4) for pair, budget in zip(pairs, (1, 20, 80), strict=True))


@pytest.mark.parametrize("backend", ["dense", "lanczos", "eigsh"])
def test_nan_raises(backend):
    S = np.eye(50)
    S[3, 4] = np.nan
    with pytest.raises(FloatingPointError, match="not finite"):
        smallest_eigenpair(S, backend=backend)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count must be between"), ({"count": 9}, "count must be between"),
        ({"tol": -1.0}, "at least 0; found"), ({"tol": np.nan}, "at least 0; found"),
        ({"failure_probability": 0.0}, "failure_probability"), ({"start": np.ones(3)}, "start must be"),
        ({"start": np.zeros(8), "trust_start": True}, "start must be"), ({"trust_start": True}, "start must be"),
        ({"count": 8, "backend": "eigsh"}, "needs count < n"), ({"backend": "arnoldi"}, "backend must be"),

    ],
)  # fmt: skip
def test_bad_options_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        smallest_eigenpair(np.eye(8), **options)
    with pytest.raises(ValueError, match="square"):
        smallest_eigenpair(np.ones((3, 4)), **options)


@pytest.mark.parametrize(
    "spectrum",
    [np.linspace(-1.0, 1.0, 700), np.linspace(-0.5, 1.0, 700), np.r_[-0.1, np.linspace(0.0, 1.0, 698), 50.0]],
)
def test_the_norm_that_rounding_is_measured_in_is_that_of_the_operator(spectrum):
    """Images of random columns show an average eigenvalue; the allowance for rounding needs the largest."""
    pair = smallest_eigenpair(sp.diags_array(spectrum), seed=3)
    assert 0.95 * np.abs(spectrum).max() <= pair.norm <= 4.0 * np.abs(spectrum).max()


VALUES = np.concatenate([[-1.0, -0.9, -0.5], np.linspace(0.0, 4.0, 77)])


@pytest.mark.parametrize("backend", ["dense", "lanczos", "eigsh"])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("size", [1.0, 1e-9, 1e8])
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
def test_the_tolerance_is_relative_to_the_norm_or_to_a_scale(tol):
    S = matrix(VALUES)
    costs = []
    for scale in ("norm", 4.0, 0.04):
        operator = Counted(S)
        pair = smallest_eigenpair(operator, tol=tol, scale=scale, backend="lanczos")
        assert pair.converged
        assert pair.values[0] - pair.lower_bound <= 1.01 * tol * (4.0 if scale == "norm" else scale) + 1e-12
        costs.append(operator.columns)
    assert costs[0] == costs[1] <= costs[2]


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


@pytest.mark.parametrize(("threshold", "short"), [(-1.05, False), (-0.9995, False), (-0.7, True), (0.0, True)])
def test_a_vector_that_refutes_the_threshold_is_enough_where_the_caller_says_so(threshold, short):
    S = matrix(np.linspace(-1.0, 1.0, 600))
    full = smallest_eigenpair(S, tol=1e-3, threshold=threshold, backend="lanczos")
    pair = smallest_eigenpair(S, tol=1e-3, threshold=threshold, backend="lanczos", refutes=True)
    assert pair.converged
    assert pair.lower_bound <= -1.0 + 1e-12
    assert (pair.products < full.products) is short
    if short:
        assert pair.value < threshold
        assert pair.value - pair.lower_bound <= 0.5 * (threshold - pair.value) + 1e-9


@pytest.mark.parametrize("count", [1, 2, 5, 6])
@pytest.mark.parametrize("backend", ["lanczos", "dense"])
@pytest.mark.parametrize(
    "S",
    [
        [[3.0]], [[-2.0]], [[0.0]], np.zeros((5, 5)), np.eye(2), -7 * np.eye(700), np.zeros((600, 600)),
        3.0 * np.eye(12), np.zeros((12, 12)), matrix([-1.0] + [2.0] * 11),
        matrix(np.r_[-np.ones(6), np.linspace(0.0, 1.0, 594)]),
    ],
)  # fmt: skip
def test_multiples_of_the_identity_and_projectors(S, count, backend):
    """An invariant subspace is met at once: the columns that are still wanted lie outside of it."""
    S = np.asarray(S)
    count, exact = min(count, len(S)), np.linalg.eigvalsh(S)
    pair = smallest_eigenpair(S, count=count, backend=backend)
    V, size = pair.vectors, np.abs(exact).max()
    assert V.shape == (len(S), count)
    np.testing.assert_allclose(pair.values, exact[:count], rtol=0, atol=1e-13 * size)
    np.testing.assert_allclose(V.T @ V, np.eye(count), atol=1e-12)
    np.testing.assert_allclose(S @ V, V * pair.values, atol=1e-11)
    assert pair.converged
    assert pair.lower_bound <= exact[0]
    assert pair.value - pair.lower_bound <= 1e-12 * size


@pytest.mark.parametrize("tol", [0.0, 1e-6])
@pytest.mark.parametrize("count", [1, 4, 5, 7, 12])
@pytest.mark.parametrize("times", [2, 6, 9])
def test_a_multiple_eigenvalue_is_found_as_often_as_it_is_there(times, count, tol):
    d = np.concatenate([-np.ones(times), np.linspace(0.5, 2.0, 4).repeat(20)])
    Q = frame(len(d), 3)
    pair = smallest_eigenpair((Q * d) @ Q.T, count=count, backend="lanczos", tol=tol)
    np.testing.assert_allclose(pair.values, d[:count], atol=1e-5)


def test_lanczos_costs_about_what_its_convergence_needs():
    """A wrong restart, a lost block or a bound that is too weak shows in the products."""
    S = matrix(np.concatenate([[-1.0], np.linspace(0.0, 4.0, 899)]))
    for count, most in ((1, 120), (4, 400)):
        operator = Counted(S)
        pair = smallest_eigenpair(operator, tol=1e-6, count=count, backend="lanczos", max_products=2000)
        assert pair.converged
        assert operator.columns <= most, operator.columns
