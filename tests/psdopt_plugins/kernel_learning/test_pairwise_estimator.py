"""PairwiseKernel, and kernels of new samples."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from psdopt import ConjugateGradient, LowRankPSD
from psdopt.errors import InvalidInputError
from psdopt_plugins.kernel_learning import DistanceKernel
from psdopt_plugins.kernel_learning.distance_kernel import MINOR, KernelExtension
from psdopt_plugins.kernel_learning.graphs import knn_laplacian
from psdopt_plugins.kernel_learning.pairwise_estimator import PairwiseKernel, constraint_rank
from psdopt_plugins.pair_sampling import sampled_pairs


def chessboard(n=60, seed=0):
    """Two squares of each colour: not separable by distance alone."""
    rng = np.random.default_rng(seed)
    X = 2.0 * rng.random((n, 2))
    return X, (X[:, 0].astype(int) + X[:, 1].astype(int)) % 2


def chains(y):
    """Consistent pairs: each class a chain of must-links, two cannot-links."""
    zero, one = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
    must = np.concatenate([np.column_stack([c[:-1], c[1:]]) for c in (zero, one)])
    return must, np.array([[zero[0], one[0]], [zero[-1], one[-1]]])


def test_pairs_recover_clusters_that_the_graph_does_not_show():
    X, y = chessboard(100)
    must, cannot = sampled_pairs(y, 1.0, np.random.default_rng(0))
    with_pairs = PairwiseKernel(2, random_state=0).fit(X, must_link=must, cannot_link=cannot)
    with pytest.warns(UserWarning, match="PairwiseKernel was given no links"):
        without = PairwiseKernel(2, random_state=0).fit(X)
    assert adjusted_rand_score(y, with_pairs.labels_) > 0.9
    assert adjusted_rand_score(y, without.labels_) < 0.5
    assert with_pairs.result_.optimal
    assert isinstance(with_pairs.kernel_, LowRankPSD)
    K, E = with_pairs.kernel_.to_dense(), with_pairs.embedding_
    np.testing.assert_allclose(E @ E.T, K, atol=1e-9)
    assert K[must[:, 0], must[:, 1]].mean() > 0.8
    assert K[cannot[:, 0], cannot[:, 1]].mean() < 0.2


def test_labels_stand_for_sampled_pairs():
    X, y = chessboard()
    first = PairwiseKernel(random_state=3).fit(X, y)
    assert len(first.must_link_) == len(first.cannot_link_) == 36
    assert np.all(y[first.must_link_[:, 0]] == y[first.must_link_[:, 1]])
    np.testing.assert_array_equal(first.fit_predict(X, y), first.labels_)
    # pairs that are given are used, and labels then only count the clusters
    given = PairwiseKernel(random_state=0).fit(X, y, must_link=[[0, 1]])
    assert given.must_link_.tolist() == [[0, 1]]
    assert len(given.cannot_link_) == 0


def test_rank_rules():
    # table 1 of the paper: m = n + 2 (0.6 n + 0.6 n)
    for n, m, r in ((100, 340, 25), (214, 728, 37), (47, 161, 17), (1605, 5457, 103), (11220, 38148, 275)):
        assert constraint_rank(m, n) == r
    assert constraint_rank(0, 5) == 1
    assert constraint_rank(100, 3) == 3
    X, y = chessboard(40)
    auto = PairwiseKernel(random_state=0).fit(X, y)
    adaptive = PairwiseKernel(rank="adaptive", random_state=0).fit(X, y)
    assert auto.result_.optimal
    assert adaptive.result_.optimal
    assert adaptive.result_.value == pytest.approx(auto.result_.value, rel=1e-4)
    assert adaptive.result_.matrix.factor.shape[1] < auto.result_.matrix.factor.shape[1]


def test_an_adaptive_rank_widens_only_where_the_rank_is_what_is_wrong():
    """A widening restarts the method: one each time that the certificate failed was 75 of them in this run."""
    X, y = load_wine(return_X_y=True)
    result = PairwiseKernel(rank="adaptive", random_state=3).fit(X, y).result_
    assert result.optimal
    widened, asked = result.history["widened_to"], result.history["certificate"]
    assert 1 <= np.count_nonzero(np.isfinite(widened)) <= 5
    assert np.count_nonzero(np.isfinite(asked)) <= 10


def test_ready_laplacian_and_other_methods():
    X, y = chessboard(40)
    must, cannot = chains(y)
    options = {"must_link": must, "cannot_link": cannot}
    L = knn_laplacian(X)
    graph = PairwiseKernel(2, random_state=0).fit(X, **options)
    for given, method in ((L.toarray(), None), (sp.csr_array(L), ConjugateGradient())):
        ready = PairwiseKernel(2, laplacian="precomputed", method=method, random_state=0).fit(given, **options)
        assert ready.result_.value == pytest.approx(graph.result_.value, rel=1e-5)
        with pytest.raises(InvalidInputError, match="precomputed Laplacian"):
            ready.embed(X)


def test_samples_outside_the_kernel():
    X, y = chessboard(80)
    must, cannot = chains(y)
    fitted = PairwiseKernel(2, random_state=0).fit(X, must_link=must, cannot_link=cannot)
    rows = fitted.embed(X)
    assert rows.shape == fitted.embedding_.shape
    # convex combinations of learned rows, so never longer than the longest
    assert np.linalg.norm(rows, axis=1).max() <= np.linalg.norm(fitted.embedding_, axis=1).max() * (1 + 1e-12)
    assert adjusted_rand_score(fitted.labels_, fitted.predict(X)) > 0.7
    assert np.all(np.isfinite(fitted.embed(X + 1e3)))
    single = PairwiseKernel(2, n_neighbors=1, random_state=0).fit(X, must_link=must, cannot_link=cannot)
    np.testing.assert_allclose(single.embed(X), single.embedding_, atol=1e-12)


def test_bad_input():
    X, y = chessboard(20)
    for arguments, text in (
        ({"must_link": [[0, 1]], "cannot_link": [[1, 0]]}, r"contradict each other; found in both: \(0, 1\)$"),
        ({"cannot_link": [[0, 20]]}, "cannot_link must hold indices between 0 and 19; found 20"),
        ({"y": y[:5]}, "one label per sample"),
    ):
        with pytest.raises(InvalidInputError, match=text):
            PairwiseKernel().fit(X, **arguments)
    with pytest.raises(NotFittedError):
        PairwiseKernel().embed(X)


def test_coinciding_samples_and_no_pairs():
    X = np.repeat(np.random.default_rng(0).random((6, 2)), 2, axis=0)
    with pytest.warns(UserWarning, match="given no links") as warned:
        fitted = PairwiseKernel(2, random_state=0).fit(X, must_link=[], cannot_link=[])
    assert len(warned) == 1
    assert fitted.labels_.shape == (12,)
    assert np.all(fitted.labels_[::2] == fitted.labels_[1::2])


X, Y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
OLD, NEW = slice(0, None, 2), slice(1, None, 2)


def test_ridge_regression_by_its_normal_equations():
    rng = np.random.default_rng(0)
    samples, new = (rng.standard_normal((size, 3)) + 5.0 for size in (20, 4))
    G = rng.standard_normal((20, 2))
    centred = samples - samples.mean(axis=0)
    gram = samples @ samples.T
    means = gram.mean(axis=0)
    K = gram - means[:, None] - means + means.mean()
    np.testing.assert_allclose(K, centred @ centred.T, atol=1e-12)
    ridge = MINOR * np.trace(K) / 20
    linear = np.linalg.solve(centred.T @ centred + ridge * np.eye(3), centred.T @ G)
    found = KernelExtension.of(K, means, G).places(new @ samples.T)
    np.testing.assert_allclose(found, (new - samples.mean(axis=0)) @ linear, atol=1e-10)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_fitted_samples_keep_their_places(kernel):
    data = rbf_kernel(X[OLD]) if kernel == "precomputed" else X[OLD]
    model = DistanceKernel(3, kernel=kernel, random_state=0, solver_options={"max_iterations": 30})
    embedding = model.fit_transform(data, Y[OLD])
    np.testing.assert_array_equal(model.transform(data), embedding)
    np.testing.assert_array_equal(model.transform(data[3:5]), embedding[3:5])
    if kernel == "precomputed":
        assert model.transform(rbf_kernel(X[NEW], X[OLD])).shape == (89, 3)
        with pytest.raises(InvalidInputError, match="must be square"):
            model.fit(data[:5])


def test_new_samples_are_classified_by_the_learned_places():
    model = DistanceKernel(5, alpha=0.5, kernel="rbf", random_state=0).fit(X[OLD], Y[OLD])
    sparse = DistanceKernel(5, alpha=0.5, kernel="rbf", random_state=0).fit(sp.csr_array(X[OLD]), Y[OLD])
    near = KNeighborsClassifier(3).fit(model.embedding_, Y[OLD])
    assert near.score(model.transform(X[NEW]), Y[NEW]) > 0.95
    np.testing.assert_allclose(sparse.transform(sp.csr_array(X[NEW])), model.transform(X[NEW]), atol=1e-6)
