"""Process tomography: channels are recovered, answers preserve traces, and minima agree with CVXPY's."""

import numpy as np
import pytest

from psdopt import Ability, AugmentedLagrangian, FlatQuotient
from psdopt.errors import InvalidInputError
from psdopt_plugins.hermitian.processes import process_problem, process_tomography, transfer_matrix
from tests.psdopt_plugins.hermitian.dense import all_strings, pauli


def channel(rng, q, kraus):
    """The Choi factor of a random channel, and its Kraus operators."""
    d = 2**q
    V = np.linalg.qr(rng.standard_normal((kraus * d, d)) + 1j * rng.standard_normal((kraus * d, d)))[0]
    operators = V.reshape(kraus, d, d)
    return np.stack([K.T.ravel() for K in operators], axis=1), operators


def reduced(J, d):
    """tr_out J."""
    return np.einsum("aibi->ab", J.reshape(d, d, d, d))


@pytest.mark.parametrize("q", [1, 2])
def test_the_transfer_matrix_is_of_the_kraus_operators(q):
    Z, operators = channel(np.random.default_rng(0), q, 2)
    letters = all_strings(q)
    expected = [
        [np.trace(pauli(a) @ sum(K @ pauli(b) @ K.conj().T for K in operators)).real / 2**q for b in letters]
        for a in letters
    ]
    assert np.allclose(transfer_matrix(Z), expected, atol=1e-13)


@pytest.mark.parametrize(("q", "missing"), [(1, 0.0), (2, 0.0), (3, 0.0), (2, 0.2)])
def test_channels_are_recovered(q, missing):
    rng = np.random.default_rng(q)
    Z, _ = channel(rng, q, 2)
    R = transfer_matrix(Z)
    R[rng.random(R.shape) < missing] = np.nan
    assert (Ability.NEAREST in process_problem(R).abilities) == (missing == 0.0)
    found = process_tomography(R, tol=1e-9)
    assert found.result.optimal
    assert np.allclose(reduced(found.matrix, 2**q), np.eye(2**q), atol=1e-6)
    assert np.allclose(found.matrix, Z @ Z.conj().T, atol=2e-3)


def test_missing_entries_leave_geometry_and_method_to_the_caller():
    R = transfer_matrix(channel(np.random.default_rng(1), 1, 2)[0])
    R[1, 2] = np.nan
    assert process_tomography(R).result.method == "DualNewton"
    assert process_tomography(R, method=AugmentedLagrangian()).result.method == "AugmentedLagrangian"
    low = process_tomography(R, geometry=FlatQuotient(8, 2), max_iterations=20)
    assert low.factor.shape[1] <= 4
    assert "DualNewton" not in low.result.method


def test_the_nearest_channel_agrees_with_a_dense_solver_and_with_the_general_form():
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(3)
    R = transfer_matrix(channel(rng, 1, 2)[0]) + 0.3 * rng.standard_normal((4, 4))
    J = cp.Variable((4, 4), hermitian=True)
    letters = all_strings(1)
    measured = [[cp.real(cp.trace(np.kron(pauli(b).T, pauli(a)) @ J)) / 2 for b in letters] for a in letters]
    preserved = [J[0, 0] + J[1, 1] == 1, J[2, 2] + J[3, 3] == 1, J[0, 2] + J[1, 3] == 0]
    program = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(cp.bmat(measured) - R)), [J >> 0, *preserved])
    program.solve(solver=cp.CLARABEL)
    found = process_tomography(R, tol=1e-9)
    assert np.isclose(found.result.value, program.value, rtol=1e-6)
    assert np.allclose(found.matrix, J.value, atol=1e-4)
    assert np.isclose(0.5 * np.sum((transfer_matrix(found.factor) - R) ** 2), program.value, rtol=1e-6)


@pytest.mark.parametrize(
    ("transfer", "text"),
    [
        (np.eye(3), r"transfer must be \(4\^q, 4\^q\) for q qubits, q >= 1; found shape \(3, 3\)"),
        (np.eye(1), "found shape"),
        (np.ones(4), "found shape"),
        (np.full((4, 4), np.nan), "transfer must hold finite numbers, NaN where unknown; found only NaN"),
        (np.full((4, 4), np.inf), "found infinite entries"),
    ],
)
def test_bad_input(transfer, text):
    with pytest.raises(InvalidInputError, match=text):
        process_problem(transfer)
    with pytest.raises(InvalidInputError, match=r"factor must be \(4\^q, k\)"):
        transfer_matrix(np.ones((3, 1)))
