"""The oracle of the cone: steepest extreme ray, with a bound that holds for every PSD matrix."""

import pickle

import numpy as np
import pytest

from psdopt import Ability, PositiveDefinite, PSDCone
from psdopt.geometries.psd_cone import CONIC_ORACLE


@pytest.mark.parametrize("n", [1, 5, 230])
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_bound_holds_and_value_is_near_least(n, shift):
    rng = np.random.default_rng(n)
    S = rng.standard_normal((n, n))
    S = S + S.T + shift * np.eye(n)
    tol = 1e-6 * np.linalg.norm(S, 2)
    atom = PSDCone(n).minimize_linear(S, tol, rng.standard_normal(n))
    least = np.linalg.eigvalsh(S)[0]
    assert np.linalg.norm(atom.vector) == pytest.approx(1.0)
    assert atom.value == pytest.approx(atom.vector @ S @ atom.vector, rel=1e-9)
    assert atom.value - atom.gap_bound <= least + 1e-12 * np.linalg.norm(S)
    assert atom.value <= least + 2 * tol
    Y = rng.standard_normal((n, 2))
    assert np.vdot(Y, S @ Y) >= (atom.value - atom.gap_bound) * np.sum(Y**2) * (1 - 1e-12) - 1e-9


def test_the_cone_does_not_promise_a_minimiser():
    abilities = PSDCone(3).abilities
    assert CONIC_ORACLE in abilities
    assert Ability.LINEAR_ORACLE not in abilities


def test_cone_with_a_metric_is_its_interior():
    with pytest.warns(DeprecationWarning, match=r"now called PositiveDefinite\(n, metric='log-euclidean'\)"):
        assert repr(PSDCone(3, "log-euclidean")) == "PositiveDefinite(n=3, metric='log-euclidean')"
    assert isinstance(PSDCone(3), PSDCone)
    assert pickle.loads(pickle.dumps(PSDCone(3))).n == 3
    assert repr(PositiveDefinite(3, metric="log-euclidean")) == "PositiveDefinite(n=3, metric='log-euclidean')"
    with pytest.raises(ValueError, match="unknown metric 'flat'"):
        PositiveDefinite(3, metric="flat")
