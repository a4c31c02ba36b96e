"""The objective from pairs: against the plain formula, an independent lower bound, and bad input."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import BILGO, LBFGS, ConjugateGradient, FlatQuotient, PSDCone, solve
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.tolerances import EPS
from psdopt.methods.admm import ADMM
from psdopt_plugins.kernel_learning.graphs import graph_laplacian, heat_kernel_width, knn_laplacian
from psdopt_plugins.kernel_learning.pairwise_problem import PRODUCTS, ROUNDS, pairwise_kernel_problem
from psdopt_plugins.pair_sampling import check_consistent, sampled_pairs


def two_clouds(n=30, seed=0, distance=3.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.standard_normal((n, 2)) + distance * y[:, None], y


def instance(n=30, seed=0, gamma=5.0):
    X, y = two_clouds(n, seed)
    must, cannot = sampled_pairs(y, 0.6, np.random.default_rng(seed))
    pairs = np.concatenate([must, cannot])
    targets = np.concatenate([np.ones(len(must)), np.zeros(len(cannot))])
    return knn_laplacian(X, 4), pairs, targets, gamma


def test_methods_agree_and_a_dual_point_proves_it():
    L, pairs, targets, gamma = instance()
    problem = pairwise_kernel_problem(L, pairs, targets, gamma)
    results = [solve(problem, FlatQuotient(30, 10), m) for m in (ADMM(), ConjugateGradient(), LBFGS())]
    results.append(solve(problem, PSDCone(30), BILGO()))  # the hybrid of the paper
    assert all(result.optimal for result in results)
    (i, j), P, T = pairs.T, np.eye(30), np.eye(30)
    P[i, j] = P[j, i] = 1.0
    T[i, j] = T[j, i] = targets
    for result in results:
        # max −⟨Z, T⟩ − |Z|²/(2γ) over Z on the pattern with L + Z ⪰ 0; a multiple of I makes any Z feasible
        Z = gamma * P * (result.matrix.to_dense() - T)
        Z += max(0.0, -np.linalg.eigvalsh(L.toarray() + Z)[0]) * np.eye(30)
        dual = -np.sum(Z * T) - np.sum(Z * Z) / (2 * gamma)
        assert dual <= result.value + 1e-9 * abs(result.value)
        assert result.value - dual < 1e-5 * (problem.value_at_zero() - result.value)


def test_order_and_repetition_of_pairs_do_not_matter():
    L, pairs, targets, gamma = instance(14)
    Y = np.random.default_rng(0).standard_normal((14, 3))
    value = pairwise_kernel_problem(L, pairs, targets, gamma).at(Y).value
    turned = pairs.copy()
    turned[::2] = turned[::2, ::-1]
    twice = pairwise_kernel_problem(L, np.concatenate([pairs, turned]), np.concatenate([targets, targets]), gamma)
    assert twice.at(Y).value == pytest.approx(value, rel=1e3 * EPS)


def test_no_pairs_leave_graph_and_diagonal():
    L = graph_laplacian(np.ones((4, 4)), normalized=False)
    result = solve(pairwise_kernel_problem(L, np.empty((0, 2), dtype=int), []))
    assert result.optimal
    # K = e eᵀ costs nothing: L e = 0 and the diagonal is one
    assert result.value == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"gamma": 0.0}, InvalidInputError, "gamma must be a finite number above 0; found 0.0"),
        ({"gamma": np.nan}, InvalidInputError, "gamma must be"),
        ({"pairs": [[0, 1, 2]]}, InvalidInputError, r"pairs must have shape \(m, 2\)"),
        ({"pairs": [[0, 9]]}, InvalidInputError, "pairs must hold indices between 0 and 3; found 9"),
        ({"pairs": [[-1, 2]]}, InvalidInputError, "between 0 and 3; found -1"),
        ({"pairs": [[2, 2]]}, InvalidInputError, r"two different samples; found \(2, 2\)"),
        ({"pairs": [[0.5, 1.0]]}, InvalidTypeError, "pairs must hold integers"),
        ({"pairs": [[0, 1], [1, 0]], "targets": [1, 0]}, InvalidInputError, r"contradictory targets for \(0, 1\)"),
        ({"targets": [1, 0]}, InvalidInputError, r"targets must have shape \(1,\)"),
        ({"targets": [np.inf]}, InvalidInputError, "targets must be finite"),
        ({"L": np.ones((2, 3))}, InvalidInputError, "L must be square"),
        ({"L": np.triu(np.ones((4, 4)))}, InvalidInputError, "L must be symmetric"),
        ({"L": -np.eye(4)}, InvalidInputError, "L must be positive semidefinite"),
        ({"L": np.full((4, 4), np.nan)}, InvalidInputError, "L must be finite"),
    ],
)
def test_bad_input(change, error, text):
    arguments = {"L": np.eye(4), "pairs": [[0, 1]], "targets": [1], "gamma": 1.0, **change}
    with pytest.raises(error, match=text):
        pairwise_kernel_problem(**arguments)


# graphs


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_laplacian_is_that_of_a_loop(normalized, sparse):
    X = np.random.default_rng(0).random((25, 3))
    L = knn_laplacian(sp.csr_array(X) if sparse else X, 3, normalized=normalized).toarray()
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    order = np.argsort(distances, axis=1)
    sigma = 0.5 * np.mean([distances[i, order[i, 1:11]].mean() for i in range(25)])
    W = np.zeros((25, 25))
    for i in range(25):
        for j in order[i, 1:4]:
            W[i, j] = W[j, i] = np.exp(-(distances[i, j] ** 2) / (2 * sigma**2))
    D = W.sum(axis=1)
    expected = np.eye(25) - W / np.sqrt(np.outer(D, D)) if normalized else np.diag(D) - W
    np.testing.assert_allclose(L, expected, atol=1e-9)
    assert np.array_equal(L, L.T)
    assert heat_kernel_width(X) == pytest.approx(sigma)
    assert np.linalg.eigvalsh(L)[0] > -1e-12
    if normalized:
        assert np.linalg.eigvalsh(L)[-1] <= 2.0 + 1e-12


def test_a_vertex_without_edges_has_a_zero_row():
    W = np.zeros((3, 3))
    W[0, 1] = W[1, 0] = 2.0
    np.testing.assert_allclose(graph_laplacian(W).toarray(), [[1, -1, 0], [-1, 1, 0], [0, 0, 0]])
    W = np.array([[1, 1e-17, 0], [1e-17, 1, 0], [0, 0, 1]])  # weights that are lost in sums with the diagonal
    np.testing.assert_allclose(graph_laplacian(W).toarray(), [[1, -1, 0], [-1, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("build", "arguments", "text"),
    [
        (knn_laplacian, {"X": np.eye(6), "n_neighbors": 0}, "n_neighbors must be"),
        (knn_laplacian, {"X": np.eye(6), "sigma": 0.0}, "sigma .* must be"),
        (knn_laplacian, {"X": np.eye(6), "sigma": "wide"}, "sigma .* must be"),
        (knn_laplacian, {"X": np.ones((6, 2))}, "all samples coincide"),
        (knn_laplacian, {"X": np.full((6, 2), np.nan)}, "X must be finite"),
        (knn_laplacian, {"X": np.ones((1, 2))}, "at least two rows"),
        (graph_laplacian, {"W": -np.ones((2, 2))}, "weights of at least 0"),
        (graph_laplacian, {"W": np.triu(np.ones((3, 3)))}, "W must be symmetric"),
        (sampled_pairs, {"y": [0, 1], "fraction": -1.0, "rng": np.random.default_rng(0)}, "n_pairs must be"),
    ],
)
def test_bad_graphs_and_numbers_of_pairs(build, arguments, text):
    with pytest.raises(InvalidInputError, match=text):
        build(**arguments)


# pairs


@pytest.mark.parametrize("n", [9, 400, 5000])
def test_sampled_pairs_are_of_their_kind_and_stop_at_what_there_is(n):
    y = np.random.default_rng(0).integers(3, size=n)
    must, cannot = sampled_pairs(y, 0.6, np.random.default_rng(1))
    assert len(must) == len(cannot) == round(0.6 * n)
    assert np.all(y[must[:, 0]] == y[must[:, 1]])
    assert np.all(y[cannot[:, 0]] != y[cannot[:, 1]])
    must, cannot = sampled_pairs([0, 0, 1], 5.0, np.random.default_rng(0))
    assert must.tolist() == [[0, 1]]
    assert cannot.tolist() == [[0, 2], [1, 2]]


def test_contradictions_through_others_are_named():
    must, cannot = np.array([[0, 1], [1, 2]]), np.array([[3, 4]])
    check_consistent(must, cannot, 5)
    with pytest.raises(InvalidInputError, match=r"join through others: \(0, 2\)$"):
        check_consistent(must, np.array([[0, 2]]), 5)


def test_proposed_start_is_smooth_over_the_graph_and_across_must_links():
    L, pairs, targets, gamma = instance(60)
    problem = pairwise_kernel_problem(L, pairs, targets, gamma)
    Y = np.linalg.qr(np.random.default_rng(0).standard_normal((60, 12)))[0]
    applied = problem.counts()["operator_applications"]
    Z = problem.starts.proposed_start(Y)
    assert problem.counts()["operator_applications"] == applied + ROUNDS * PRODUCTS
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1.0, rtol=4 * EPS)
    unit = Y / np.linalg.norm(Y, axis=1)[:, None]
    i, j = pairs[targets == 1.0].T
    assert np.vdot(Z, L @ Z) < 0.5 * np.vdot(unit, L @ unit)
    assert np.mean(np.sum(Z[i] * Z[j], axis=1)) > 0.8 > 0.2 > np.mean(np.sum(unit[i] * unit[j], axis=1))
    dense = pairwise_kernel_problem(L.toarray(), pairs, targets, gamma).starts.proposed_start(Y)
    np.testing.assert_allclose(dense, Z, atol=1e4 * EPS)


def test_cliques_of_must_links_cost_no_rank():
    """Equal rows in every class would leave a start of rank 2, and no gradient step leaves its span."""
    X, y = two_clouds(30, distance=0.0)
    i, j = np.triu_indices(30, 1)
    must = y[i] == y[j]
    problem = pairwise_kernel_problem(knn_laplacian(X, 4), np.column_stack([i, j])[must], np.ones(must.sum()), 0.3)
    Y = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 8)))[0]
    sizes = np.linalg.svd(problem.starts.proposed_start(Y), compute_uv=False)
    assert sizes[-1] > 1e-3 * sizes[0]
    assert all(solve(problem, FlatQuotient(30, 8), method).optimal for method in (ADMM(), ConjugateGradient()))
