"""Reports of states, channels and signals: what is measured is what is said."""

import numpy as np
import pytest

from psdopt.data.datasets import Dataset
from psdopt.plugins import RunOptions, plugin_manager
from psdopt_plugins.hermitian import report
from psdopt_plugins.hermitian.estimators import StateTomography
from tests.psdopt_plugins.hermitian.dense import random_state

NAMES = ("state-tomography", "state-counts", "process-tomography", "phase-lift")


@pytest.mark.parametrize("name", NAMES)
def test_each_run_is_proven_and_near_the_truth(name):
    spec = plugin_manager().get("application", name)
    data = plugin_manager().get("dataset", spec.default_data).factory()
    estimator = spec.factory()
    found = spec.report(estimator, data, RunOptions())
    rows = dict(found.rows)
    assert found.success
    assert "proof" in rows["tolerance"]
    assert float(rows["fidelity with what was measured"]) > 0.8
    off = estimator.predict(data.X) - estimator.measured(data.X, data.y)
    assert rows["found − measured"].startswith(f"{np.sqrt(np.mean(off**2)):.4g} root mean square")
    assert ("proof of H = z z*" in rows) == (name == "phase-lift")
    entries, scatter, *_ = found.figure().axes
    assert entries.images[0].get_array().shape == (len(estimator.factor_),) * 2
    assert np.array_equal(scatter.lines[1].get_ydata(), estimator.predict(data.X))


def test_a_rank_is_that_of_the_state_and_data_without_a_truth_have_no_fidelity():
    data = report.pauli_expectations()
    estimator = StateTomography()
    rows = dict(report.measured_report(estimator, Dataset("mine", data.X, data.y), RunOptions(rank=1)).rows)
    assert estimator.factor_.shape == (16, 1)
    assert np.isclose(np.linalg.norm(estimator.factor_), 1.0)
    assert "fidelity with what was measured" not in rows


def test_fidelity_against_its_definition():
    rng = np.random.default_rng(0)
    A, B = random_state(rng, 6, 3), random_state(rng, 6, 2)
    values, vectors = np.linalg.eigh(A @ A.conj().T)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.conj().T
    inner = np.linalg.eigvalsh(root @ B @ B.conj().T @ root)
    assert np.isclose(report.fidelity(A, B), np.sum(np.sqrt(np.maximum(inner, 0.0))) ** 2, rtol=1e-6)
    assert np.isclose(report.fidelity(3.0 * A, A @ np.linalg.qr(random_state(rng, 3, 3))[0]), 1.0)
    assert report.fidelity(A, 0.0 * B) == 0.0
