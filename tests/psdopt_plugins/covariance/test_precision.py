"""SparsePrecision: scikit-learn's checks, its GraphicalLasso as the peer, data and covariances, warnings, refusals."""

import numpy as np
import pytest
from sklearn.covariance import GraphicalLasso
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from psdopt.errors import InvalidInputError, UnknownNameError
from psdopt_plugins.covariance import SparsePrecision


@parametrize_with_checks([SparsePrecision(), SparsePrecision(alpha=0.5, assume_centered=True)])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def samples(m=120, n=10, seed=0):
    rng = np.random.default_rng(seed)
    M = np.eye(n) + 0.45 * (np.eye(n, k=1) + np.eye(n, k=-1))
    return 3.0 + rng.standard_normal((m, n)) @ np.linalg.inv(np.linalg.cholesky(M)).T


@pytest.mark.parametrize("alpha", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("centred", [False, True])
def test_agrees_with_graphical_lasso(alpha, centred):
    X = samples() - 2.8  # far from zero the peer does not converge without centring
    ours = SparsePrecision(alpha, assume_centered=centred, tol=1e-9).fit(X)
    peer = GraphicalLasso(alpha, assume_centered=centred, tol=1e-9, enet_tol=1e-9, max_iter=500).fit(X)
    np.testing.assert_allclose(ours.precision_, peer.precision_, atol=1e-4)
    np.testing.assert_allclose(ours.covariance_, peer.covariance_, atol=1e-3)
    np.testing.assert_array_equal(ours.location_, peer.location_)
    assert ours.score(X) == pytest.approx(peer.score(X), abs=1e-4)
    assert ours.bound_ <= ours.objective_
    assert ours.gap_ <= 1e-9 * X.shape[1]
    assert len(X.T) + np.linalg.slogdet(ours.dual_)[1] == pytest.approx(ours.bound_, abs=1e-10)


def test_samples_and_their_covariance_give_the_same():
    X = samples()
    S = np.cov(X.T, bias=True)
    one, two = SparsePrecision(0.1).fit(X), SparsePrecision(0.1, covariance="precomputed").fit(S)
    np.testing.assert_allclose(one.precision_, two.precision_, atol=1e-8)
    assert one.get_precision() is one.precision_


def test_the_chain_is_found():
    model = SparsePrecision(alpha=0.12).fit(samples(2000))
    links = np.triu(np.abs(model.precision_) > 0.05, 1)
    np.testing.assert_array_equal(links, np.eye(10, k=1, dtype=bool))


def test_a_search_over_alpha_uses_the_likelihood():
    search = GridSearchCV(SparsePrecision(), {"alpha": [0.01, 0.05, 2.0]}, cv=3).fit(samples(60))
    assert search.best_params_["alpha"] < 2.0


def test_a_run_that_is_cut_warns_and_keeps_its_bound():
    X = samples(15, 30)
    with pytest.warns(ConvergenceWarning, match="above tol"):
        rough = SparsePrecision(0.05, max_iter=1, tol=1e-15).fit(X)
    assert rough.bound_ <= SparsePrecision(0.05).fit(X).objective_


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"alpha": -1.0}, InvalidInputError, "alpha"),
        ({"tol": 0.0}, InvalidInputError, "tol"),
        ({"max_iter": 0}, InvalidInputError, "max_iter"),
        ({"covariance": "given"}, UnknownNameError, "covariance"),
        ({"assume_centered": 1}, TypeError, "assume_centered"),
    ],
)
def test_bad_parameters_are_named(options, error, words):
    with pytest.raises(error, match=words):
        SparsePrecision(**options).fit(samples())


def test_a_matrix_that_is_no_covariance_is_refused():
    S = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(InvalidInputError, match="eigenvalue -1"):
        SparsePrecision(covariance="precomputed").fit(S)
    with pytest.raises(InvalidInputError, match="covariance"):
        SparsePrecision(covariance="precomputed").fit(np.array([[1.0, 0.5], [0.0, 1.0]]))
    constant = samples()
    constant[:, 3] = 1.0
    with pytest.raises(InvalidInputError, match="variable 3"):
        SparsePrecision().fit(constant)
