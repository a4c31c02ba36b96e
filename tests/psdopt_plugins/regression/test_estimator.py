"""PSDRegressor as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from psdopt_plugins.regression import PSDRegressor

SHORT = {"max_iterations": 30}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([PSDRegressor(solver_options=SHORT), PSDRegressor(1, geometry="polar", solver_options=SHORT)])
def test_scikit_learn(estimator, check):
    check(estimator)


def data(noise=0.05):
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((600, 6)), rng.standard_normal((6, 2))
    return X, ((X @ W) ** 2).sum(axis=1) * (1 + noise * rng.standard_normal(600))


@pytest.mark.parametrize("geometry", ["flat", "polar"])
def test_recovers_the_form(geometry):
    X, y = data()
    model = PSDRegressor(2, geometry=geometry).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.98
    assert model.components_.shape == (2, 6)
    assert model.result_.converged
    sparse = PSDRegressor(2, geometry=geometry).fit(sp.csr_array(X[:300]), y[:300])
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X[300:])), model.predict(X[300:]), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("geometry", ["flat", "polar"])
def test_partial_fit_learns_batch_by_batch(geometry):
    X, y = data()
    model, losses = PSDRegressor(2, geometry=geometry), []
    for _ in range(6):
        for k in range(0, 480, 96):
            model.partial_fit(X[k : k + 96], y[k : k + 96])
        losses.append(model.loss_)
    assert losses[-1] < 0.7 * losses[0]
    assert model.score(X[480:], y[480:]) > 0.9


def test_partial_fit_goes_on_from_fit():
    X, y = data()
    model = PSDRegressor(2).fit(X[:300], y[:300])
    before = model.score(X[300:], y[300:])
    model.partial_fit(X[300:400], y[300:400])
    assert model.score(X[300:], y[300:]) > before - 0.05


def test_bad_geometry():
    X, y = data()
    with pytest.raises(ValueError, match="unknown geometry 'round'; known: flat, polar"):
        PSDRegressor(geometry="round").fit(X, y)
