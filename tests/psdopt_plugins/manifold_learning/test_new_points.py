"""New samples in an embedding: exact where they can be, near the truth where the manifold is smooth."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_s_curve

from psdopt_plugins.manifold_learning import SSTRESS, MaximumVarianceUnfolding
from psdopt_plugins.manifold_learning.new_points import landmark_placement, local_placement
from tests.psdopt_plugins.instances import distances

RNG = np.random.default_rng(0)


def test_landmarks_place_points_of_their_space_exactly():
    G, new = RNG.standard_normal((12, 3)) + 5.0, RNG.standard_normal((4, 3))
    squared = ((new[:, None] - G) ** 2).sum(axis=2)
    np.testing.assert_allclose(landmark_placement(G, squared), new, atol=1e-10)
    squared[0, 3:8] = squared[2, :5] = np.nan
    np.testing.assert_allclose(landmark_placement(G, squared), new, atol=1e-10)
    noisy = squared[[1, 3]] + 0.1 * RNG.standard_normal((2, 12))
    C = G - G.mean(axis=0)  # the formula of the documentation, for centred landmarks
    formula = 0.5 * np.linalg.solve(C.T @ C, C.T @ (np.sum(C**2, axis=1) - noisy).T).T
    np.testing.assert_allclose(landmark_placement(C, noisy), formula, atol=1e-10)


def test_local_weights_are_right_on_a_linear_map():
    X, A = RNG.random((200, 2)), RNG.standard_normal((2, 3))
    new = 0.25 + 0.5 * RNG.random((9, 2))
    found = local_placement(X, X @ A, new, 8)
    assert np.abs(found - new @ A).max() < 0.05 * np.ptp(X @ A)
    np.testing.assert_allclose(local_placement(sp.csr_array(X), X @ A, sp.csr_array(new), 8), found)
    copies = np.ones((5, 2))
    np.testing.assert_array_equal(local_placement(copies, copies, copies[:1], 3), copies[:1])


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_sstress_places_new_samples(offset):
    X = RNG.standard_normal((40, 2)) + offset
    model = SSTRESS(2, solver_options={"tol": 1e-10}).fit(X[:30])
    np.testing.assert_array_equal(model.transform(X[:30]), model.embedding_)
    both = np.vstack([model.embedding_, model.transform(X[30:])])
    np.testing.assert_allclose(distances(both), distances(X), atol=1e-3)


def test_sstress_places_objects_from_their_dissimilarities():
    D = distances(RNG.standard_normal((25, 2)))
    model = SSTRESS(2, dissimilarity="precomputed", solver_options={"tol": 1e-10}).fit(D[:20, :20])
    rows = D[20:, :20].copy()
    whole = model.transform(rows)
    np.testing.assert_allclose(np.linalg.norm(whole[:, None] - model.embedding_, axis=2), rows, atol=1e-3)
    rows[:, ::3] = np.nan
    np.testing.assert_allclose(model.transform(rows), whole, atol=1e-3)
    with pytest.raises(ValueError, match="features"):
        model.transform(D[:, :7])


def test_unfolding_places_new_samples_between_their_neighbours():
    X, along = make_s_curve(300, random_state=0)
    model = MaximumVarianceUnfolding(n_neighbors=6).fit(X[:250])
    np.testing.assert_array_equal(model.transform(X[:250]), model.embedding_)
    fit = np.linalg.lstsq(np.column_stack([np.ones(250), model.embedding_]), along[:250])[0]
    error = [along[rows] - np.column_stack([np.ones(len(X[rows])), model.transform(X[rows])]) @ fit
             for rows in (slice(250), slice(250, None))]  # fmt: skip
    assert np.sqrt(np.mean(error[1] ** 2)) < 1.5 * np.sqrt(np.mean(error[0] ** 2)) + 0.05
