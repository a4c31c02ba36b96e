"""New samples of DistanceKernel: fitted ones stay, a linear kernel extends linearly, labels reach what is near."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from psdopt.errors import InvalidInputError
from psdopt_plugins.kernel_learning import DistanceKernel
from psdopt_plugins.kernel_learning.distance_kernel import MINOR, KernelExtension

X, Y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
OLD, NEW = slice(0, None, 2), slice(1, None, 2)


def test_ridge_regression_by_its_normal_equations():
    rng = np.random.default_rng(0)
    samples, new, G = (
        rng.standard_normal((20, 3)) + 5.0,
        rng.standard_normal((4, 3)) + 5.0,
        rng.standard_normal((20, 2)),
    )
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
    near = KNeighborsClassifier(3).fit(model.embedding_, Y[OLD])
    assert near.score(model.transform(X[NEW]), Y[NEW]) > 0.95
    sparse = DistanceKernel(5, alpha=0.5, kernel="rbf", random_state=0).fit(sp.csr_array(X[OLD]), Y[OLD])
    np.testing.assert_allclose(sparse.transform(sp.csr_array(X[NEW])), model.transform(X[NEW]), atol=1e-6)
