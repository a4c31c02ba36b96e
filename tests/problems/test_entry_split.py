"""The bi-convex split of a fit to entries against the plain formula."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from psdopt.linalg.operators import symmetric_map
from psdopt.problems.entry_fit import EntryFit
from psdopt.problems.entry_split import coupling_bound
from tests.instances import symmetric


def drawn_fit(with_l=True, constant=2.5):
    """Entries of which one is on the diagonal and each has a weight and a target of its own."""
    rng = np.random.default_rng(3)
    i, j = np.array([0, 1, 2, 4, 3, 5]), np.array([1, 3, 2, 5, 0, 2])
    t, w = rng.standard_normal(6), rng.uniform(0.5, 3.0, 6)
    L = symmetric(rng, 6) if with_l else None
    return EntryFit(L, i, j, t, w, n=6, constant=constant), L, rng


def split_by_hand(fit, L, V, U):
    """tr(VᵀL U) + ½ Σ_t w_t ((v_i·u_j − t)² + (v_j·u_i − t)²): a square for each order of i and j."""
    total = fit.constant if L is None else fit.constant + np.sum(V * (L @ U))
    for i, j, t, w in zip(fit.i, fit.j, fit.targets, fit.weights, strict=True):
        total += 0.5 * w * ((V[i] @ U[j] - t) ** 2 + (V[j] @ U[i] - t) ** 2)
    return total


@pytest.mark.parametrize("with_l", [True, False])
def test_the_split_by_hand_and_where_both_blocks_agree(with_l):
    fit, L, rng = drawn_fit(with_l)
    split = fit.split()
    V, U = rng.standard_normal((2, 6, 2))
    assert split.value(V, U, split.image(U)) == pytest.approx(split_by_hand(fit, L, V, U), rel=1e-12)
    assert split.value(U, V, split.image(V)) == pytest.approx(split_by_hand(fit, L, V, U), rel=1e-12)
    assert split.value(U, U, split.image(U)) == pytest.approx(fit.at(U).value, rel=1e-12)
    np.testing.assert_allclose(split.image(U), 0.0 * U if L is None else L @ U, rtol=1e-12)
    before = fit.counts()
    at = split.evaluation(U, split.image(U) if L is None else L @ U)
    assert at.value == pytest.approx(fit.at(U).value, rel=1e-12)
    assert with_l is False or fit.counts()["operator_applications"] == before["operator_applications"] + 1  # fit.at


@pytest.mark.parametrize("with_l", [True, False])
@pytest.mark.parametrize("rho", [0.1, 5.0])
def test_an_update_is_the_proximal_minimum_of_the_split(with_l, rho):
    fit, L, rng = drawn_fit(with_l)
    split = fit.split()
    U, anchor = rng.standard_normal((2, 6, 2))
    V = split.update(U, split.image(U), anchor, rho)
    step = 1e-6
    for E in np.eye(12).reshape(12, 6, 2):
        left, right = (
            split_by_hand(fit, L, V + s * E, U) + 0.5 * rho * np.sum((V + s * E - anchor) ** 2) for s in (-step, step)
        )
        assert abs(right - left) / (2.0 * step) <= 1e-6 * (1.0 + rho)


def test_the_scale_of_a_split_is_that_of_the_weights_and_targets():
    """rho |V|² is about as large as F: both grow with the weights, and with the square of what is fitted."""
    fit, _, _ = drawn_fit()
    base = fit.split().scale
    ordered = np.concatenate([fit.targets[fit.i != fit.j], fit.targets])
    doubled = np.concatenate([fit.weights[fit.i != fit.j], np.where(fit.i == fit.j, 2.0, 1.0) * fit.weights])
    assert base == pytest.approx(np.mean(np.abs(ordered)) * np.mean(doubled))
    assert EntryFit(None, fit.i, fit.j, 4.0 * fit.targets, fit.weights, n=6).split().scale == pytest.approx(4.0 * base)
    assert EntryFit(None, fit.i, fit.j, fit.targets, 4.0 * fit.weights, n=6).split().scale == pytest.approx(4.0 * base)
    assert EntryFit(None, fit.i, fit.j, 0.0, fit.weights, n=6).split().scale == pytest.approx(np.mean(doubled))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda L: aslinearoperator(np.asarray(L))])
def test_bounds_of_couplings(form):
    """Above λ_max(L) by a few percent of |L|, never negative, and 0 without L."""
    assert coupling_bound(None) == 0.0
    for L in (
        0.5 * np.array([[1.0, -1.0], [-1.0, 1.0]]),  # entries that sum to 0, of norm 1
        np.array([[0.0, 1.0], [1.0, 0.0]]),
        np.diag([3.0, -1.0]),
        np.diag([-3.0, -1.0]),
        np.zeros((2, 2)),
        1e-9 * np.diag([3.0, -1.0]),
    ):
        largest = max(np.linalg.eigvalsh(L)[-1], 0.0)
        bound = coupling_bound(symmetric_map(form(L), "L"))
        assert largest * (1.0 - 1e-12) <= bound <= largest + 0.03 * np.linalg.norm(L, 2) + 1e-300
    assert coupling_bound(symmetric_map(form(np.zeros((2, 2))), "L")) == 0.0
