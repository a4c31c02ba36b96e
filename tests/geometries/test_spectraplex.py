"""Spectraplex and cone: oracles within their tolerance, atoms, members, random points."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt import PositiveDefinite, PSDCone, Spectraplex
from psdopt.linalg.tolerances import EPS
from tests.instances import symmetric


def test_iterative_oracle_bounds_its_own_error():
    n, geometry = 700, Spectraplex(700)
    W = np.random.default_rng(3).standard_normal((n, n))
    S = 0.5 * (W + W.T)
    exact, rounding = np.linalg.eigvalsh(S)[0], 64 * EPS * np.linalg.norm(S)
    for tol in (1.0, 1e-3):
        atom = geometry.minimize_linear(aslinearoperator(S), tol)
        assert atom.value - atom.gap_bound <= exact <= atom.value + rounding
        assert atom.gap_bound <= 1.01 * tol
    warm = geometry.minimize_linear(aslinearoperator(S), 1e-3, atom.vector)
    assert warm.products <= atom.products


@pytest.mark.parametrize("trace", [1e-3, 1e4])
def test_the_oracle_keeps_to_its_tolerance_whatever_the_trace(trace):
    """`tol` bounds ⟨S, vvᵀ⟩ − min, which is `trace` times the error of the eigenvalue."""
    n = 700
    S = sp.diags_array(np.linspace(-1.0, 1.0, n) ** 3)
    tol = 1e-4 * trace
    atom = Spectraplex(n, trace).minimize_linear(S, tol)
    assert -trace - 64.0 * EPS * trace <= atom.value <= -trace + tol
    assert 0.0 <= atom.gap_bound <= 1.01 * tol
    assert atom.value - atom.gap_bound <= -trace


@pytest.mark.parametrize("trace", [0.25, 7.0])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_atoms_of_the_spectraplex(trace, count):
    geometry, S = Spectraplex(4, trace), symmetric(np.random.default_rng(2), 4)
    values = np.linalg.eigvalsh(S)
    for guess in (None, np.zeros((4, 1)), np.full((4, 1), np.nan), np.ones((4, 2))):
        atoms = geometry.minimize_linear_many(S, 1e-9, count, guess)
        assert len(atoms) == count
        for k, atom in enumerate(atoms):
            np.testing.assert_allclose(atom.vector @ atom.vector, trace)
            np.testing.assert_allclose(atom.value, trace * values[k], atol=1e-8)
            np.testing.assert_allclose(atom.vector @ S @ atom.vector, atom.value, atol=1e-8)
            assert atom.value - atom.gap_bound <= trace * values[0] <= atom.value - atom.gap_bound + 1e-8 * trace
    assert len(geometry.minimize_linear_many(S, 1e-9, 9)) == 4
    np.testing.assert_allclose(geometry.minimize_linear(S, 1e-9).value, trace * values[0], atol=1e-8)


def test_random_points_are_extreme_and_spread_evenly():
    """v (n, 1) with |v|² = t; the mean of v vᵀ over many is t I / n."""
    rng, geometry = np.random.default_rng(0), Spectraplex(3, 2.0)
    points = [geometry.random_point(rng) for _ in range(2000)]
    assert {point.shape for point in points} == {(3, 1)}
    mean = sum(point @ point.T for point in points) / len(points)
    assert np.abs(mean - 2.0 * np.eye(3) / 3.0).max() <= 5.0 * 2.0 / np.sqrt(2000)
    assert all(np.isclose(np.sum(point**2), 2.0) for point in points)


def test_cone_with_a_metric_is_its_interior():
    with pytest.warns(DeprecationWarning, match=r"now called PositiveDefinite\(n, metric='log-euclidean'\)"):
        assert repr(PSDCone(3, "log-euclidean")) == "PositiveDefinite(n=3, metric='log-euclidean')"
    assert isinstance(PSDCone(3), PSDCone)
    assert pickle.loads(pickle.dumps(PSDCone(3))).n == 3
    assert repr(PositiveDefinite(3, metric="log-euclidean")) == "PositiveDefinite(n=3, metric='log-euclidean')"
