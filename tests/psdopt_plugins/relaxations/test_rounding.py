"""Rounding: values against the definition, and local search that ends in a local maximum."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt.errors import InvalidInputError
from psdopt_plugins.relaxations.rounding import cut_value, hyperplane_cut, improved


def graph(n: int = 30) -> sp.csr_array:
    rng = np.random.default_rng(4)
    W = np.triu(rng.integers(0, 4, (n, n)), 1).astype(float)
    return sp.csr_array(W + W.T)


def test_values_follow_the_definition():
    W, rng = graph(), np.random.default_rng(0)
    s = np.where(rng.random(30) < 0.5, 1.0, -1.0)
    dense = W.toarray()
    assert cut_value(W, s) == pytest.approx(dense[s > 0][:, s < 0].sum())
    assert cut_value(W, np.ones(30)) == 0.0


def test_no_single_move_improves_an_improved_cut():
    W, rng = graph(), np.random.default_rng(1)
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


def test_the_same_generator_gives_the_same_cut():
    W, V = graph(), np.random.default_rng(3).standard_normal((30, 4))
    cuts = [hyperplane_cut(W, V, np.random.default_rng(7), 5) for _ in range(2)]
    np.testing.assert_array_equal(cuts[0].signs, cuts[1].signs)


def test_bad_arguments_are_refused():
    with pytest.raises(InvalidInputError, match="trials"):
        hyperplane_cut(graph(), np.ones((30, 2)), np.random.default_rng(0), 0)
    with pytest.raises(InvalidInputError, match="30 vertices"):
        hyperplane_cut(graph(), np.ones((4, 2)), np.random.default_rng(0))
