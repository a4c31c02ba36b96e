"""Phase retrieval: signals are found and proven, masks are transforms, and minima agree with CVXPY's."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from psdopt import certify, solve
from psdopt.errors import InvalidInputError
from psdopt_plugins.hermitian import phases
from psdopt_plugins.hermitian.phases import coded_masks, phase_fit_problem, phase_problem, retrieve_phase


def gaussian(seed, m, n):
    rng = np.random.default_rng(seed)
    X, z = ((rng.standard_normal(s) + 1j * rng.standard_normal(s)) / np.sqrt(2) for s in ((m, n), n))
    return X, z, np.abs(X @ z) ** 2


def distance(x, z):
    """|x − z| / |z| at the best phase."""
    return np.linalg.norm(x * np.exp(1j * np.angle(np.vdot(x, z))) - z) / np.linalg.norm(z)


@pytest.mark.parametrize(("m", "n", "kind"), [(30, 4, np.asarray), (300, 50, np.asarray), (60, 8, sp.csr_array)])
def test_signals_are_found_and_proven(m, n, kind):
    X, z, b = gaussian(0, m, n)
    found = retrieve_phase(kind(X), b)
    assert distance(found.signal, z) <= 1e-10
    assert found.certificate.gap_relative <= 1e-6
    assert found.certificate.dual_value <= np.vdot(z, z).real * (1.0 + 1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("digits", [1, 3, 6])
def test_rows_in_any_units_are_fitted_in_the_same_steps(digits, kind):
    X, z, b = gaussian(1, 200, 30)
    units = 10.0 ** np.random.default_rng(0).uniform(-digits, digits, 200)
    alike, mixed = retrieve_phase(X, b), retrieve_phase(kind(X * units[:, None]), b * units**2)
    assert distance(mixed.signal, z) <= 1e-10
    assert abs(mixed.result.iterations - alike.result.iterations) <= 2
    assert mixed.certificate.gap_relative <= 1e-6
    expected = alike.certificate.constraints.multipliers / units**2  # of the squares as they are
    assert np.allclose(mixed.certificate.constraints.multipliers, expected, rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("shape", [(24,), (6, 6)])
def test_coded_masks_by_fast_transforms(shape):
    rng = np.random.default_rng(1)
    masks = rng.choice([1, -1, 1j, -1j], (10, *shape)) * np.where(rng.random((10, *shape)) < 0.8, 0.5**0.5, 3.0**0.5)
    X, N = coded_masks(masks), int(np.prod(shape))
    rows = X.matmat(np.eye(N))
    W = rng.standard_normal((10 * N, 2)) + 1j * rng.standard_normal((10 * N, 2))
    assert np.allclose(X.rmatmat(W), rows.conj().T @ W, rtol=1e-12)
    image = rng.standard_normal(shape)
    assert np.allclose(X.matvec(image.ravel())[:N], np.fft.fftn(masks[0] * image, norm="ortho").ravel(), rtol=1e-12)
    z = rng.standard_normal(N) + 1j * rng.standard_normal(N)
    found = retrieve_phase(X, np.abs(rows @ z) ** 2)
    assert distance(found.signal, z) <= 1e-10
    assert found.certificate.gap_relative <= 1e-6


def test_the_least_trace_agrees_with_a_dense_solver():
    """With few squares H is not z z*: the general method solves the program that CVXPY has."""
    cp = pytest.importorskip("cvxpy")
    X, _, b = gaussian(2, 7, 4)
    H = cp.Variable((4, 4), hermitian=True)
    met = [cp.real(cp.trace(np.outer(x.conj(), x) @ H)) == square for x, square in zip(X, b, strict=True)]
    program = cp.Problem(cp.Minimize(cp.real(cp.trace(H))), [H >> 0, *met])
    program.solve(solver=cp.CLARABEL)
    result = solve(phase_problem(X, b), tol=1e-8, rng=0)
    assert result.optimal
    assert np.isclose(result.value, program.value, rtol=1e-6)


def test_squares_with_noise_are_fitted_with_a_penalty():
    X, z, b = gaussian(3, 120, 10)
    b = np.maximum(b + 0.05 * b.mean() * np.random.default_rng(0).standard_normal(120), 0.0)
    found = retrieve_phase(X, b, penalty=0.05)
    assert found.result.optimal
    assert distance(found.signal, z) <= 0.2
    H = found.result.matrix.hermitian() @ found.result.matrix.hermitian().conj().T
    residual = np.einsum("ti,ij,tj->t", X, H, X.conj()).real - b
    value = 0.5 * residual @ residual / 120 + 0.05 * np.trace(H).real
    assert np.isclose(found.result.value, value, rtol=1e-12)
    S = X.conj().T @ (residual[:, None] / 120 * X) + 0.05 * np.eye(10)  # the gradient: optimal if S ⪰ 0 and S H = 0
    assert np.linalg.eigvalsh(S)[0] >= -1e-4
    assert np.linalg.norm(S @ H) <= 1e-4


def test_the_certificate_of_a_penalised_fit_is_of_the_signal():
    """Of noise alone the minimiser has several columns, and z z* is not it."""
    X, _, _ = gaussian(5, 40, 6)
    b = np.random.default_rng(1).exponential(size=40)
    found = retrieve_phase(X, b, penalty=0.01)
    assert found.result.optimal
    residual = np.abs(X @ found.signal) ** 2 - b
    value = 0.5 * residual @ residual / 40 + 0.01 * np.vdot(found.signal, found.signal).real
    assert np.isclose(found.certificate.value, value, rtol=1e-12)
    assert value - found.result.value <= found.certificate.gap * (1.0 + 1e-6)
    assert found.certificate.gap_relative > 1e-6


def test_squares_that_are_zero_are_those_of_the_zero_signal():
    X, _, b = gaussian(4, 40, 8)
    found = retrieve_phase(X, 0.0 * b)
    assert not np.any(found.signal)
    assert found.certificate.gap == 0.0


@pytest.mark.parametrize(
    ("spoilt", "name", "value", "why"),
    [
        (0.0, "phase_multipliers", lambda X, z: None, "no multipliers were found"),
        (0.5, "MOST_ENTRIES", 480, "the fit of rank one does not meet the squares"),
        (0.0, "MOST_ENTRIES", 479, "X has too many entries for a search of multipliers"),
    ],
)
def test_what_is_not_proven_says_why(spoilt, name, value, why, monkeypatch):
    monkeypatch.setattr(phases, name, value)
    X, _, b = gaussian(4, 60, 8)
    b = b * np.linspace(1.0 - spoilt, 1.0 + spoilt, 60)
    with pytest.warns(ConvergenceWarning, match=f"z z\\* is not proven to be optimal: {why}"):
        assert retrieve_phase(X, b).certificate is None


def test_a_wrong_signal_has_no_proof():
    X, z, b = gaussian(5, 60, 8)
    wrong = np.concatenate([z.real, z.imag])[:, None] * 1.01
    certificate = certify(phase_problem(X, b), wrong)
    assert certificate.constraints.primal_infeasibility > 1e-3


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: phase_problem(np.eye(2), [1.0]), r"squares must be a number or have shape \(2,\), one per row of X"),
        (lambda: phase_problem(np.eye(2), [1.0, -1.0]), "squares must be at least 0; found -1"),
        (lambda: retrieve_phase([[np.nan]], [1.0]), "X must be finite"),
        (lambda: retrieve_phase(np.eye(2), [1.0, 1.0], penalty=0.0), "penalty must be"),
        (lambda: phase_fit_problem(np.eye(2), [1.0, 1.0], -1.0), "penalty must be"),
        (lambda: coded_masks(np.ones(3)), r"masks must be an array \(k, ...\), not empty; found shape \(3,\)"),
        (lambda: coded_masks([[np.nan]]), "masks must be finite; found 1 NaN"),
    ],
)
def test_bad_input(make, text):
    with pytest.raises(InvalidInputError, match=text):
        make()


def test_the_proof_writes_no_entries_out():
    """Certified with multipliers, small signals take the path of large ones: neither a face nor a trace is bounded."""
    X, _, b = gaussian(0, 96, 16)
    found = retrieve_phase(X, b)
    assert found.certificate.constraints.trace_bound is None
    assert found.certificate.gap_relative <= 1e-9
    assert phase_problem(X, b).forms is not None  # which the interior point method needs
