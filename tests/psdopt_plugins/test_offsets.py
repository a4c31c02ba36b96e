"""What depends on distances alone does not depend on an offset that all samples share."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from psdopt import Status, solve
from psdopt.linalg.tolerances import EPS
from psdopt_plugins.estimators import centred
from psdopt_plugins.kernel_learning.distance_kernel import DistanceKernel
from psdopt_plugins.kernel_learning.estimator import QuadraticKernel
from psdopt_plugins.manifold_learning.mvu import MaximumVarianceUnfolding
from psdopt_plugins.manifold_learning.sstress import SSTRESS
from psdopt_plugins.metric_learning.distance_regression import DistanceRegression, pair_distance_problem
from psdopt_plugins.metric_learning.kta_problem import kta_problem
from psdopt_plugins.metric_learning.linearity import Linearity, linearity_problem
from psdopt_plugins.metric_learning.lmnn import LMNN
from psdopt_plugins.metric_learning.lmnn_problem import lmnn_problem
from psdopt_plugins.metric_learning.nca import NCA
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
    NCA(),
    Linearity(),
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
    allowed = 1e-2 * lost * max(abs(near.value), abs(near.certificate.value_at_zero))
    assert far.value == pytest.approx(near.value, abs=allowed)


@pytest.mark.parametrize(("gram", "sparse"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("offset", [2.0**10, OFFSET, 2.0**27])
def test_problems_of_differences_lose_no_digits_far_from_the_origin(offset, gram, sparse):
    """The offset changes no digit of the data; products far from the origin are off by eps · offset, not its square."""
    X, y = data()
    rng = np.random.default_rng(0)
    pairs = np.array([rng.permutation(len(X))[:2] for _ in range(60)])
    signed = np.column_stack([pairs, np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)])
    triplets = np.array([rng.permutation(len(X))[:3] for _ in range(60)])
    Y = rng.standard_normal((X.shape[1], 2))

    def problems(Z):
        Z = sp.csr_array(Z) if sparse else Z
        yield linearity_problem(Z, signed, 0.1, gram=gram)
        if not gram:
            yield lmnn_problem(Z, pairs, triplets, 0.5)
            yield pair_distance_problem(Z, signed, upper=1.0, lower=4.0)

    for near, far in zip(problems(X), problems(X + offset), strict=True):
        (one, gradient), (other, moved) = ((each.at(Y), each.at(Y).factor_gradient()) for each in (near, far))
        lost = 64.0 * EPS * offset
        assert other.value == pytest.approx(one.value, rel=lost)
        np.testing.assert_allclose(moved, gradient, rtol=0, atol=lost * np.abs(gradient).max())


@pytest.mark.parametrize("gram", [False, True])
def test_rounding_of_gradients_far_from_the_origin_is_no_proof(gram):
    """KTA depends on the offset. At 6e7 eigenvalues of S up to 1e5 are rounding; |M − I|² bounds what they hide."""
    X, y = load_iris(return_X_y=True)
    X = np.round(X * 64.0) / 64.0
    near = solve(kta_problem(X, y, 1.0))
    assert near.status is Status.OPTIMAL
    far = solve(kta_problem(X + 6e7, y, 1.0, gram=gram), max_iterations=1000)
    assert far.status is not Status.OPTIMAL or far.value <= 1.1 * near.value


def test_no_answer_is_worse_than_the_zero_matrix():
    """At 1e8 the splitting of KTA ended ten orders above F(0)."""
    X = np.random.default_rng(0).standard_normal((100, 8))
    problem = kta_problem(X + 1e8, X[:, 0] > 0.0, 1.0)
    result = solve(problem, rng=0)
    assert result.value <= problem.at(np.zeros((8, 1))).value * (1.0 + 1e-12)
    assert result.certificate.value == result.value
    assert not result.certificate.above_zero


def test_partial_fits_and_new_samples_are_the_same_far_from_the_origin():
    X, y = data()
    near, far = (Linearity().partial_fit(Z, y).result_.value for Z in (X, X + 2.0**27))
    assert far == pytest.approx(near, rel=1e-6)
    near, far = (QuadraticKernel().fit(Z[:-5], y[:-5]).transform(Z[-5:]) for Z in (X, X + OFFSET))
    np.testing.assert_allclose(far @ far.T, near @ near.T, rtol=0, atol=1e-6 * np.abs(near @ near.T).max())


def test_sparse_data_stay_sparse():
    X = sp.csr_array(np.eye(3))
    assert centred(X) is X
    np.testing.assert_allclose(centred(np.eye(3)).mean(axis=0), 0.0, atol=EPS)
