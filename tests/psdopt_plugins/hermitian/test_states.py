"""Tomography of states: pure states are recovered, and minima agree with CVXPY's."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from psdopt.errors import InvalidInputError
from psdopt_plugins.hermitian.pauli import PauliStrings
from psdopt_plugins.hermitian.states import outcome_rows, state_from_counts, state_problem, state_tomography
from tests.psdopt_plugins.hermitian.dense import all_strings, pauli, random_state


@pytest.mark.parametrize(("q", "rank"), [(1, 1), (2, 1), (3, 1), (3, 2)])
def test_states_are_recovered_from_all_expectations(q, rank):
    Z = random_state(np.random.default_rng(q), 2**q, rank)
    state = state_tomography(all_strings(q), PauliStrings(all_strings(q)).of(Z))
    assert state.result.optimal
    # F − min F = 2^q |H − Z Z*|² / 2 is at most tol = 1e-6 times a unit below 2^q
    assert np.linalg.norm(state.matrix - Z @ Z.conj().T) <= 2e-3
    assert np.isclose(np.trace(state.matrix).real, 1.0, rtol=1e-12)


def noisy(q, rng):
    strings = all_strings(q)[1:]
    Z = random_state(rng, 2**q, 2)
    exact = np.array([np.vdot(Z, pauli(s) @ Z).real for s in strings])
    return strings, exact + 0.1 * rng.standard_normal(len(exact)), rng.uniform(0.5, 2.0, len(exact))


def test_the_rank_grows_beyond_that_of_the_start(monkeypatch):
    """Noise of few shots makes the nearest state one of many columns."""
    monkeypatch.setattr("psdopt_plugins.hermitian.states.COLUMNS", 2)
    strings, values, weights = noisy(4, np.random.default_rng(0))
    state = state_tomography(strings, values + 0.2, weights=weights)
    assert state.result.optimal
    assert state.factor.shape[1] > 2
    assert not state_tomography(strings, values + 0.2, weights=weights, rank=2).result.optimal


def test_a_pure_state_is_proven_in_one_column(monkeypatch):
    """Eigenvalues of S come in pairs; the second vector stands for the same state, and is no rise of F."""
    monkeypatch.setattr("psdopt_plugins.hermitian.states.COLUMNS", 1)
    state = state_from_counts(["Z", "X", "Y"], [[8, 62], [40, 30], [61, 9]])
    assert state.result.optimal
    assert state.factor.shape[1] == 1
    assert state.result.certificate.unit > 0.1


def test_weighted_least_squares_agree_with_a_dense_solver():
    cp = pytest.importorskip("cvxpy")
    strings, values, weights = noisy(2, np.random.default_rng(0))
    H = cp.Variable((4, 4), hermitian=True)
    off = cp.hstack([cp.real(cp.trace(pauli(s) @ H)) - b for s, b in zip(strings, values, strict=True)])
    program = cp.Problem(cp.Minimize(0.5 * cp.sum(cp.multiply(weights, off**2))), [H >> 0, cp.real(cp.trace(H)) == 1])
    program.solve(solver=cp.CLARABEL)
    state = state_tomography(strings, values, weights=weights, tol=1e-9)
    assert state.result.optimal
    assert np.isclose(state.result.value + 0.5 * weights @ values**2, program.value, rtol=1e-6)
    assert np.allclose(state.matrix, H.value, atol=1e-4)


def test_the_state_of_maximum_likelihood_is_a_fixed_point_of_its_iteration():
    """R H = N H with R = Σ n_k / p_k |a_k⟩⟨a_k| (Hradil 1997), and N − R ⪰ 0."""
    rng = np.random.default_rng(1)
    bases, Z = all_strings(2, "XYZ"), random_state(rng, 4, 1)
    rows = outcome_rows(bases).matmat(np.eye(4))
    p = np.sum(np.abs(rows @ Z) ** 2, axis=1).reshape(9, 4)
    assert np.allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    counts = np.array([rng.multinomial(200, each) for each in p])
    state = state_from_counts(bases, counts, tol=1e-10)
    assert state.result.optimal
    found = np.einsum("ki,ij,kj->k", rows, state.matrix, rows.conj()).real
    R = (rows.conj().T * (counts.ravel() / found)) @ rows
    assert np.allclose(R @ state.matrix, counts.sum() * state.matrix, atol=1e-3 * counts.sum())
    assert np.linalg.eigvalsh(counts.sum() * np.eye(4) - R)[0] >= -1e-4 * counts.sum()
    assert np.linalg.norm(state.matrix - Z @ Z.conj().T) <= 0.2


def test_outcomes_are_products_of_eigenvectors():
    rows = outcome_rows(["XYZ"])
    vectors = rows.matmat(np.eye(8)).conj()
    signs = [(-1) ** bin(k >> 1).count("1") for k in range(8)]
    for v, sign in zip(vectors, signs, strict=True):
        assert np.allclose(pauli("XYI") @ v, sign * v, atol=1e-14)
    assert np.allclose(rows.rmatmat(np.eye(8)), vectors.T, atol=1e-14)


def test_a_limit_of_the_rank_is_kept():
    strings, values, _ = noisy(3, np.random.default_rng(2))
    with pytest.warns(ConvergenceWarning):
        assert state_tomography(strings, values, rank=1, max_iterations=3).factor.shape == (8, 1)


def test_five_qubits_are_proven_within_few_steps():
    rng = np.random.default_rng(0)
    strings = ["".join(each) for each in rng.choice(list("IXYZ"), (500, 5))]
    values = PauliStrings(strings).of(random_state(rng, 32, 2))
    state = state_tomography(strings, values + 0.01 * rng.standard_normal(500))
    assert state.result.optimal
    assert state.result.iterations <= 300


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: state_problem(["X", "Z"], [1.0]), r"values must be a number or have shape \(2,\)"),
        (lambda: state_problem(["X"], [1.0], [-1.0]), "weights must be non-negative; found -1"),
        (lambda: state_tomography(["X"], [np.nan]), "values must be finite"),
        (lambda: state_from_counts(["XI"], np.ones((1, 4))), "bases must be of the letters XYZ; found 'XI'"),
        (lambda: state_from_counts(["X"], np.ones((2, 2))), r"counts must be \(1, 2\), .* found shape \(2, 2\)"),
        (lambda: state_from_counts(["X"], [[-1.0, 2.0]]), "counts must be an array .* found -1"),
    ],
)
def test_bad_input(make, text):
    with pytest.raises(InvalidInputError, match=text):
        make()


@pytest.mark.parametrize("often", [1e10, 1e6, 1e8, 1e11])
def test_an_outcome_that_is_rare_has_the_probability_of_its_share(often):
    """−log is not replaced above the least probability that the likeliest state can have, n_t / Σ n."""
    counts = np.array([[often, 1.0]])
    found = state_from_counts(["Z"], counts)
    p = np.abs(found.matrix.diagonal())
    assert found.result.optimal
    assert np.isclose(p[1], 1.0 / often, rtol=1e-2)
    least = -float(np.sum(counts * np.log(counts / counts.sum())))
    assert abs(-float(np.sum(counts * np.log(p))) - least) <= 1e-3
