"""Multipliers of PhaseLift: S ⪰ 0 and S z = 0 by dense arithmetic, or None."""

import numpy as np
import pytest

from psdopt_plugins.hermitian import multipliers as module
from psdopt_plugins.hermitian.multipliers import phase_multipliers
from tests.psdopt_plugins.hermitian.test_phases import gaussian


def slack(X, y):
    return np.eye(X.shape[1]) - (X.conj().T * y) @ X


@pytest.mark.parametrize(("m", "n", "seed"), [(30, 4, 0), (60, 8, 1), (240, 40, 2), (600, 100, 3)])
def test_the_slack_is_semidefinite_and_singular_at_the_signal(m, n, seed):
    X, z, b = gaussian(seed, m, n)
    y = phase_multipliers(X, z)
    S = slack(X, y)
    values = np.linalg.eigvalsh(S)
    assert np.linalg.norm(S @ z) <= 1e-8 * np.linalg.norm(z) * values[-1]
    assert values[0] >= -1e-9 * values[-1]
    assert values[1] > 1e-4 * values[-1]
    assert np.isclose(b @ y, np.vdot(z, z).real, rtol=1e-8)


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**27])
def test_the_unit_of_the_signal_does_not_count(unit):
    X, z, _ = gaussian(0, 130, 30)
    np.testing.assert_allclose(phase_multipliers(X, unit * z), phase_multipliers(X, z), rtol=1e-6, atol=1e-9)


def test_the_shortest_multipliers_would_not_do():
    """At m = 6 n the least-norm y with S z = 0 leaves S indefinite, which is why another one is chosen."""
    X, z, _ = gaussian(0, 600, 100)
    A = X.conj().T * (X @ z)
    A = np.concatenate([A.real, A.imag])
    y = np.linalg.lstsq(A, np.concatenate([z.real, z.imag]), rcond=None)[0]
    assert np.linalg.eigvalsh(slack(X, y))[0] < -0.5


def test_there_are_none_with_too_few_squares(monkeypatch):
    X, z, _ = gaussian(0, 17, 8)
    assert phase_multipliers(X, z) is None
    assert not np.any(phase_multipliers(X, np.zeros(8)))  # tr H >= 0 proves the zero signal
    X, z, _ = gaussian(0, 60, 8)
    monkeypatch.setattr(module, "MOST_STEPS", 1)
    assert phase_multipliers(X, z) is None


def test_rows_of_unequal_lengths_are_no_harder():
    rng = np.random.default_rng(0)
    X, z = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for shape in ((144, 24), 24))
    X *= np.exp(rng.standard_normal(144))[:, None]
    y = phase_multipliers(X, z)
    assert y is not None
    S = np.eye(24) - (X.conj().T * y) @ X
    assert np.linalg.eigvalsh(S)[0] >= -1e-9
    assert np.linalg.norm(S @ z) <= 1e-8 * np.linalg.norm(z)
