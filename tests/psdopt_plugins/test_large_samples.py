"""Fits to more samples than max_samples: those drawn, the result that is theirs, the others placed; refusals."""

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from psdopt.errors import InvalidInputError
from psdopt_plugins.kernel_learning import DistanceKernel, PairwiseKernel
from psdopt_plugins.manifold_learning import SSTRESS, MaximumVarianceUnfolding
from psdopt_plugins.metric_learning import LMNN, Linearity, PSDBoost
from psdopt_plugins.pair_sampling import drawn_samples

RNG = np.random.default_rng(0)
Y = RNG.integers(3, size=200)
X = RNG.standard_normal((200, 4)) + 3.0 * np.eye(3, 4)[Y]
DRAWN = drawn_samples(200, 60)


def test_samples_are_drawn_once_ascending_with_those_kept_first():
    assert drawn_samples(60, 60) is None
    assert len(DRAWN) == len(np.unique(DRAWN)) == 60
    np.testing.assert_array_equal(DRAWN, np.sort(DRAWN))
    np.testing.assert_array_equal(DRAWN, drawn_samples(200, 60))
    kept = np.arange(100, 140)
    assert np.isin(kept, drawn_samples(200, 60, kept)).all()
    assert np.isin(drawn_samples(200, 20, kept), kept).all()
    with pytest.raises(InvalidInputError, match="max_samples"):
        drawn_samples(200, 0)


@pytest.mark.parametrize("learner", [Linearity, PSDBoost, LMNN])
def test_a_metric_of_many_samples_is_that_of_the_samples_drawn(learner):
    sampled = learner(max_samples=60).fit(X, Y)
    alone = learner().fit(X[DRAWN], Y[DRAWN])
    assert sampled.result_.converged
    M = alone.get_mahalanobis_matrix()
    np.testing.assert_allclose(sampled.get_mahalanobis_matrix(), M, atol=1e-6 * np.abs(M).max())
    tuples = getattr(sampled, "targets_", getattr(sampled, "triplets_", DRAWN))
    assert np.isin(tuples, DRAWN).all()
    assert np.all(Y[tuples[:, 0]] == Y[tuples[:, 1]]) if tuples.ndim == 2 else True


@pytest.mark.parametrize(("learner", "most"), [(Linearity, 1), (PSDBoost, 1), (PSDBoost, 2), (LMNN, 1)])
def test_a_sample_without_two_classes_is_laid_to_its_size(learner, most):
    wanted = rf"max_samples must be large enough .*; found {most} of 200 samples, and for these y must hold"
    with pytest.raises(InvalidInputError, match=wanted):
        learner(max_samples=most).fit(X, Y)
    with pytest.raises(InvalidInputError, match=r"^n_neighbors"):
        learner(n_neighbors=0, max_samples=60).fit(X, Y)


@pytest.mark.parametrize("learner", [PSDBoost, LMNN])
def test_labels_without_pairs_are_not_laid_to_the_sample(learner):
    with pytest.raises(InvalidInputError, match=r"^y must hold"):
        learner(max_samples=10).fit(X[:20], np.arange(20))


def test_given_tuples_are_all_used():
    pairs = (np.array([[0, 1], [2, 3]]), np.array([[198, 199], [5, 150]]))
    few, many = (Linearity(max_samples=most).fit(X, pairs=pairs) for most in (3, 200))
    np.testing.assert_array_equal(few.components_, many.components_)


def test_an_unfolding_of_many_samples_places_the_others_between_those_drawn():
    roll, position = make_swiss_roll(900, random_state=0)
    model = MaximumVarianceUnfolding(max_samples=600).fit(roll)
    assert model.embedding_.shape == (900, 2)
    assert model.kernel_.n == model.result_.matrix.n == len(model.samples_) == 600
    others = np.setdiff1d(np.arange(900), model.samples_)
    order = abs(np.corrcoef(model.embedding_[:, 0], position)[0, 1])
    assert order > 0.97
    assert abs(np.corrcoef(model.embedding_[others, 0], position[others])[0, 1]) > 0.97
    np.testing.assert_array_equal(model.transform(roll), model.embedding_)


def test_clusters_of_many_samples_come_from_those_drawn_with_the_pairs_among_them():
    must, cannot = (
        np.array([[0, 1], [2, 3]])[:0],
        np.column_stack([np.flatnonzero(Y == 0)[:9], np.flatnonzero(Y == 1)[:9]]),
    )
    model = PairwiseKernel(3, max_samples=60, random_state=0).fit(X, must_link=must, cannot_link=cannot)
    assert np.isin(cannot, model.samples_).all()
    np.testing.assert_array_equal(model.cannot_link_, cannot)
    assert model.labels_.shape == (200,)
    assert model.embedding_.shape[0] == 200
    sampled = PairwiseKernel(max_samples=60, random_state=0).fit(X, Y)
    assert np.isin(np.concatenate([sampled.must_link_, sampled.cannot_link_]), sampled.samples_).all()
    assert np.all(Y[sampled.must_link_[:, 0]] == Y[sampled.must_link_[:, 1]])
    agree = (sampled.labels_[:, None] == sampled.labels_) == (Y[:, None] == Y)
    assert agree.mean() > 0.85


@pytest.mark.parametrize(("estimator", "memory"), [(SSTRESS(), 596), (DistanceKernel(), 447)])
def test_all_pairs_of_very_many_samples_are_refused_with_their_memory(estimator, memory):
    with pytest.raises(
        InvalidInputError, match=rf"100000 samples would take {memory} GiB .* fit at most 1\d{{4}} of them"
    ):
        estimator.fit(np.zeros((100_000, 2)))
