"""Estimators of states, channels and signals: tables of measurements mean what the functions' arguments do."""

import numpy as np
import pytest

from psdopt import FlatQuotient
from psdopt.errors import InvalidInputError
from psdopt_plugins.hermitian.estimators import PhaseRetrieval, ProcessTomography, StateFromCounts, StateTomography
from psdopt_plugins.hermitian.pauli import PauliStrings
from psdopt_plugins.hermitian.processes import process_tomography, transfer_matrix
from psdopt_plugins.hermitian.states import state_from_counts, state_tomography
from tests.psdopt_plugins.hermitian.dense import random_state


def test_states_from_letters_and_weights():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (20, 2)).astype(float)
    strings = ["".join("IXYZ"[int(k)] for k in row) for row in X]
    y, weights = 0.5 * rng.standard_normal(20), rng.random(20)
    model = StateTomography().fit(X, y, weights=weights)
    direct = state_tomography(strings, y, weights=weights)
    assert model.result_.optimal
    assert np.allclose(model.factor_ @ model.factor_.conj().T, direct.matrix)
    assert not np.allclose(StateTomography().fit(X, y).predict(X), model.predict(X), atol=1e-3)
    assert np.allclose(model.predict(X), PauliStrings(strings).of(direct.factor))
    assert StateTomography(1).fit(X, y).factor_.shape[1] == 1


def test_states_from_counts_of_rows_or_of_single_shots():
    rng = np.random.default_rng(0)
    shots = np.hstack([rng.integers(1, 4, (200, 2)), rng.integers(0, 2, (200, 2)) * [[0, 1]]]).astype(float)
    single = StateFromCounts().fit(shots, np.ones(200))
    rows, times = np.unique(shots, axis=0, return_counts=True)
    summed = StateFromCounts().fit(rows, times)
    assert np.allclose(single.predict(rows), summed.predict(rows), atol=1e-3)
    assert np.isclose(single.result_.value, summed.result_.value, rtol=1e-9)
    counts = np.zeros((9, 4))
    for row, count in zip(rows.astype(int), times, strict=True):
        counts[3 * row[0] + row[1] - 4, 2 * row[2] + row[3]] += count
    direct = state_from_counts([a + b for a in "XYZ" for b in "XYZ"], counts)
    assert np.isclose(direct.result.value, summed.result_.value, rtol=1e-9)
    every = np.hstack([np.repeat([[1.0, 3.0]], 4, axis=0), [[0, 0], [0, 1], [1, 0], [1, 1]]])
    assert np.isclose(summed.predict(every).sum(), 1.0)
    assert np.allclose(summed.measured(rows[:2], [3.0, 1.0]).sum(), 1.0 if np.all(rows[0, :2] == rows[1, :2]) else 2.0)


def test_channels_from_some_entries_and_repeated_ones():
    R = transfer_matrix(np.linalg.qr(random_state(np.random.default_rng(0), 4, 2))[0][:, :1] * np.sqrt(2.0))
    R = 0.5 * R + 0.5 * np.diag([1.0, 0.7, 0.6, 0.8])
    at = np.argwhere(np.ones((4, 4)))
    model = ProcessTomography().fit(at, R.ravel())
    assert np.allclose(model.predict(at), transfer_matrix(process_tomography(R).factor).ravel(), atol=1e-6)
    first, second = R.ravel() + 0.1 * (np.arange(16) < 5), R.ravel()[:5] - 0.1
    twice = ProcessTomography().fit(np.vstack([at, at[:5]]), np.append(first, second))
    assert np.allclose(twice.predict(at), model.predict(at), atol=1e-5)
    known = np.append(at[:9], at[12:], axis=0)
    some = ProcessTomography(solver_options={"tol": 1e-8}).fit(known, R[known[:, 0], known[:, 1]])
    assert some.result_.converged


def test_signals_from_real_parts_and_imaginary_parts():
    rng = np.random.default_rng(0)
    X, z = rng.standard_normal((60, 16)), random_state(rng, 8, 1)[:, 0]
    rows = X[:, :8] + 1j * X[:, 8:]
    model = PhaseRetrieval().fit(X, np.abs(rows @ z) ** 2)
    assert model.certificate_.gap_relative < 1e-6
    assert np.isclose(abs(np.vdot(model.signal_, z)), 1.0)
    assert np.allclose(model.predict(X[:7]), np.abs(rows[:7] @ z) ** 2)
    assert PhaseRetrieval(0.1).fit(X, np.abs(rows @ z) ** 2).certificate_ is not None


@pytest.mark.parametrize(
    ("estimator", "X", "y", "text"),
    [
        (StateTomography(solver_options={"geometry": FlatQuotient(4, 1)}), [[1]], [1], "must have the trace 1"),
        (StateTomography(), [[0, 4]], [0.5], "X must hold 0 to 3 for I, X, Y, Z; found 4"),
        (StateTomography(), [[0, 0.5]], [0.5], "found 0.5"),
        (StateTomography(), np.zeros((1, 14)), [0.5], "X must be of at most 13 letters a row; found 14"),
        (StateFromCounts(), [[0, 0]], [1], "X must hold 1 to 3 for X, Y, Z; found 0"),
        (StateFromCounts(), [[1, 2]], [1], "the second half of X must hold bits of outcomes, 0 or 1; found 2"),
        (StateFromCounts(), [[1, 0, 1]], [1], "an even number of columns; found 3"),
        (StateFromCounts(), [[1, 0]], [-1], "y must hold counts of at least 0; found -1"),
        (ProcessTomography(), [[1, 0, 1]], [1], "an even number of columns; found 3"),
        (ProcessTomography(), np.zeros((1, 14)), [1], "at most 13 letters"),
        (PhaseRetrieval(), [[1.0, 0.0, 1.0]], [1], "an even number of columns; found 3"),
        (PhaseRetrieval(), [[1.0, 0.0]], [-1], "y must hold squares; found -1"),
        (PhaseRetrieval(penalty=-1.0), [[1.0, 0.0]], [1], "penalty must"),
    ],
)
def test_bad_input(estimator, X, y, text):
    with pytest.raises(InvalidInputError, match=text):
        estimator.fit(X, y)
