"""What depends on distances alone does not depend on an offset that all samples share."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from psdopt.linalg.tolerances import EPS
from psdopt_plugins.estimators import centred
from psdopt_plugins.kernel_learning.distance_kernel import DistanceKernel
from psdopt_plugins.kernel_learning.estimator import QuadraticKernel
from psdopt_plugins.manifold_learning.mvu import MaximumVarianceUnfolding
from psdopt_plugins.manifold_learning.sstress import SSTRESS
from psdopt_plugins.metric_learning.distance_regression import DistanceRegression
from psdopt_plugins.metric_learning.lmnn import LMNN
from psdopt_plugins.metric_learning.psdboost import PSDBoost

OFFSET = 2.0**21
ESTIMATORS = [
    DistanceKernel(rank=3, random_state=0),
    DistanceKernel(rank=3, kernel="rbf", random_state=0),
    QuadraticKernel(),
    SSTRESS(),
    MaximumVarianceUnfolding(n_neighbors=12),
    DistanceRegression(random_state=0),
    LMNN(),
    PSDBoost(),
]


def data():
    """Distinct irises of two classes, rounded so that the offset changes no digit of them."""
    X, y = load_iris(return_X_y=True)
    X, first = np.unique(X[50:], axis=0, return_index=True)
    return np.round(X * 64.0) / 64.0, y[50:][first]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_the_value_is_the_same_far_from_the_origin(estimator):
    X, y = data()
    labels = None if isinstance(estimator, (DistanceKernel, SSTRESS, MaximumVarianceUnfolding)) else y
    near, far = (type(estimator)(**estimator.get_params()).fit(Z, labels).result_ for Z in (X, X + OFFSET))
    assert far.status is near.status
    # inner products far from the origin would be off by this share of a distance, and eigenvalues with them
    lost = EPS * OFFSET**2
    assert lost > 1e-4
    assert far.value == pytest.approx(
        near.value, rel=1e-2 * lost, abs=1e-2 * lost * abs(near.certificate.value_at_zero)
    )


def test_new_samples_are_embedded_the_same_far_from_the_origin():
    X, y = data()
    near, far = (QuadraticKernel().fit(Z[:-5], y[:-5]).transform(Z[-5:]) for Z in (X, X + OFFSET))
    np.testing.assert_allclose(far @ far.T, near @ near.T, rtol=0, atol=1e-6 * np.abs(near @ near.T).max())


def test_sparse_data_stay_sparse():
    X = sp.csr_array(np.eye(3))
    assert centred(X) is X
    np.testing.assert_allclose(centred(np.eye(3)).mean(axis=0), 0.0, atol=EPS)
