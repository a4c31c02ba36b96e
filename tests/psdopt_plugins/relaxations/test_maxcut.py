"""MaxCut: bounds hold for the heaviest cut, which is found by enumeration; the cut is what its labels say."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from psdopt_plugins.relaxations.maxcut import MaxCut
from psdopt_plugins.relaxations.rounding import cut_value, hyperplane_cut, improved
from tests.psdopt_plugins.relaxations.graphs import graph


def heaviest(W: np.ndarray) -> float:
    n = len(W)
    signs = np.array([(1, *rest) for rest in itertools.product((-1, 1), repeat=n - 1)])
    return float(np.max(0.25 * (W.sum() - np.einsum("ki,ij,kj->k", signs, W, signs))))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_holds_and_the_cut_is_near_it(seed, signed):
    W = graph(10, seed, signed)
    best = heaviest(W)
    cut = MaxCut(random_state=0).fit(W)
    side = cut.labels_.astype(bool)
    assert cut.cut_value_ == pytest.approx(W[side][:, ~side].sum())
    assert cut.cut_value_ <= best * (1 + 1e-12)
    assert best <= cut.upper_bound_ + 1e-9
    assert cut.ratio_ == pytest.approx(cut.cut_value_ / cut.upper_bound_)
    assert cut.cut_value_ >= 0.878 * best
    assert cut.labels_[0] == 0
    if not signed:
        assert cut.expected_cut_ >= 0.87 * cut.upper_bound_


def test_a_bipartite_graph_is_cut_whole():
    W = np.zeros((9, 9))
    W[:4, 4:] = np.arange(1, 21).reshape(4, 5)
    W += W.T
    cut = MaxCut(random_state=0).fit(W)
    assert cut.cut_value_ == 210.0
    assert cut.ratio_ == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_array_equal(cut.labels_, [0] * 4 + [1] * 5)


def test_the_pentagon_has_its_known_bound():
    shift = np.roll(np.eye(5), 1, axis=1)
    cut = MaxCut(random_state=0).fit(shift + shift.T)
    assert cut.cut_value_ == 4.0
    assert cut.upper_bound_ == pytest.approx(5 * (1 - np.cos(4 * np.pi / 5)) / 2, rel=1e-5)


def test_the_bound_of_a_run_cut_short_holds():
    W = graph(12, 5)
    with pytest.warns(ConvergenceWarning):
        cut = MaxCut(solver_options={"max_iterations": 2, "tol": 1e-10}, random_state=0).fit(W)
    assert cut.upper_bound_ >= heaviest(W) - 1e-9


def test_negative_weights_alone_leave_all_on_one_side():
    cut = MaxCut(random_state=0).fit(-graph(6, 1))
    assert (cut.cut_value_, cut.ratio_ <= 1.0) == (0.0, True)
    assert np.all(cut.labels_ == 0)


def test_sparse_and_dense_loops_and_scale_agree():
    W = graph(15, 2)
    plain = MaxCut(random_state=0).fit(W)
    loops = MaxCut(random_state=0).fit(sp.csr_array(W + np.diag(np.arange(15.0))))
    scaled = MaxCut(random_state=0).fit(1e6 * W)
    np.testing.assert_array_equal(plain.labels_, loops.labels_)
    assert loops.cut_value_ == pytest.approx(plain.cut_value_)
    assert scaled.upper_bound_ == pytest.approx(1e6 * plain.upper_bound_, rel=1e-5)


def test_values_follow_the_definition():
    W, rng = sp.csr_array(graph(30, 4)), np.random.default_rng(0)
    s = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    dense = W.toarray()
    assert cut_value(W, s) == pytest.approx(dense[s > 0][:, s < 0].sum())
    assert cut_value(W, np.ones(30)) == 0.0


def test_no_single_move_improves_an_improved_cut():
    W, rng = sp.csr_array(graph(30, 4)), np.random.default_rng(1)
    s = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    better = improved(W, s)
    value = cut_value(W, better)
    assert value >= cut_value(W, s)
    for i in range(30):
        moved = better.copy()
        moved[i] = -moved[i]
        assert cut_value(W, moved) <= value


def test_the_mean_over_hyperplanes_is_that_of_the_angles():
    """Two vertices at the angle a are divided with probability a / pi."""
    W = sp.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    angle = 2.0
    V = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
    cut = hyperplane_cut(W, V, np.random.default_rng(0), trials=20_000, improve=False)
    assert cut.mean == pytest.approx(angle / np.pi, abs=0.02)
