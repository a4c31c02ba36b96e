"""Maximum variance unfolding: the objective against its definition, coordinates, certificate, refusals, estimator."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_s_curve, make_swiss_roll
from sklearn.exceptions import ConvergenceWarning

import psdopt
from psdopt import ConjugateGradient
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt_plugins.manifold_learning import MaximumVarianceUnfolding, mvu_problem
from psdopt_plugins.manifold_learning import graph as graphs
from psdopt_plugins.manifold_learning.coordinates import LaplacianCoordinates
from psdopt_plugins.manifold_learning.graph import Edges, nearest_neighbour_edges
from psdopt_plugins.manifold_learning.graph_matrices import GraphMatrices
from psdopt_plugins.manifold_learning.mvu_problem import scaled_mvu_problem
from psdopt_plugins.manifold_learning.unfolding import unfold
from psdopt_plugins.manifold_learning.unfolding_newton import UnfoldingNewton
from tests.psdopt_plugins.instances import share_within

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3))
EDGES = nearest_neighbour_edges(X, 5)
LABELS = RNG.integers(0, 3, 30)
BLOBS = make_blobs(60, centers=3, cluster_std=0.3, random_state=0)[0]
WEIGHTS = RNG.uniform(0.1, 3.0, len(EDGES.i))


def by_definition(Y, nu, labels=None):
    """(F, S) of eq. 11 with dense arrays, every edge in both orders."""
    n = len(Y)
    U, D = np.zeros((n, n)), EDGES.matrix().toarray()
    U[EDGES.i, EDGES.j] = U[EDGES.j, EDGES.i] = 1.0
    H = np.eye(n) - 1.0 / n
    one_hot = None if labels is None else np.eye(3)[labels]
    W = H if labels is None else H @ one_hot @ one_hot.T @ H
    M = Y @ Y.T
    m = np.diag(M)[:, None]
    E = U * (m + m.T - 2 * M - D)
    return float(np.sum(E**2) - nu * np.trace(W @ M)), 4 * (np.diag(E.sum(1)) - E) - nu * W


@pytest.mark.parametrize("labels", [None, LABELS])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_objective_and_gradient_match_the_definition(labels, weights):
    Y = RNG.standard_normal((30, 4)) + 5.0  # not centred
    value, S = by_definition(Y, 0.7, labels)
    plain = mvu_problem(EDGES.matrix(), 0.7, labels)
    V = RNG.standard_normal((30, 3))
    assert plain.at(Y).value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(plain.at(Y).gradient @ V, S @ V, atol=1e-11 * np.linalg.norm(S) * np.linalg.norm(V))
    B = LaplacianCoordinates(EDGES, weights)
    scaled = scaled_mvu_problem(EDGES, 0.7, B, labels)
    Z = B.inverse(Y)
    assert scaled.at(Z).value == pytest.approx(value, rel=1e-11)
    congruent = B.adjoint(S @ B.apply(B.inverse(V)))
    np.testing.assert_allclose(scaled.at(Z).gradient @ B.inverse(V), congruent, atol=1e-9 * np.linalg.norm(congruent))


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_coordinates_whiten_the_laplacian(weights):
    B = LaplacianCoordinates(EDGES, weights)
    Z, W = RNG.standard_normal((29, 4)), RNG.standard_normal((30, 4))
    Y = B.apply(Z)
    assert np.abs(Y.mean(axis=0)).max() <= 1e-13 * np.abs(Y).max()
    lengths = np.sum((Y[EDGES.i] - Y[EDGES.j]) ** 2, axis=1)
    assert np.sum(lengths * (1.0 if weights is None else weights)) == pytest.approx(np.sum(Z**2), rel=1e-12)
    assert np.vdot(Y, W) == pytest.approx(np.vdot(Z, B.adjoint(W)), rel=1e-10)
    np.testing.assert_allclose(B.inverse(Y), Z, atol=1e-11 * np.abs(Z).max())


def test_translation_costs_nothing_and_the_laplacian_preconditions():
    problem = mvu_problem(EDGES.matrix(), 0.5)
    Y = RNG.standard_normal((30, 2))
    assert problem.at(Y + 100.0).value == pytest.approx(problem.at(Y).value, rel=1e-9)
    data, _ = make_s_curve(200, random_state=0)
    strip = mvu_problem(nearest_neighbour_edges(data, 6).matrix(), 0.05)
    Y = data[:, :3] - data.mean(axis=0)
    methods = (ConjugateGradient(preconditioner=kind) for kind in ("problem", "none"))
    with_it, without = (
        psdopt.solve(strip, psdopt.FlatQuotient(200, 3), m, start=Y, max_iterations=40) for m in methods
    )
    assert with_it.value < without.value


def test_certified_and_equal_in_both_coordinates():
    found = unfold(EDGES, 0.3, 0.05, None, {"tol": 1e-8})
    assert found.result.optimal
    assert found.nu == 0.3
    value, S = by_definition(found.factor, 0.3)
    assert found.result.value == pytest.approx(value, rel=1e-9)
    direct = psdopt.solve(mvu_problem(EDGES.matrix(), 0.3), psdopt.FlatQuotient(30, 12), tol=1e-7, max_iterations=3000)
    assert direct.value == pytest.approx(value, rel=1e-5)
    smallest, vectors = np.linalg.eigh(S)
    v = vectors[:, 0]
    curvature = 4.0 * np.sum((v[EDGES.i] - v[EDGES.j]) ** 4)
    # at M + t v vᵀ, t = −λ/curvature, F would be λ²/(2 curvature) lower
    assert min(smallest[0], 0.0) ** 2 <= 2.0 * curvature * found.result.certificate.gap


def test_s_curve_is_unrolled():
    data, t = make_s_curve(150, random_state=0)
    model = MaximumVarianceUnfolding(n_neighbors=6).fit(data)
    assert model.result_.optimal
    assert model.edge_error_median_ <= 0.05 <= model.edge_error_max_ + 0.05
    assert abs(np.corrcoef(model.embedding_[:, 0], t)[0, 1]) > 0.95
    assert model.embedding_.shape == (150, 2)
    assert model.kernel_.n == 150
    assert np.all(np.diff(model.eigenvalues_) <= 0)
    assert model.eigenvalues_[:2].sum() > 0.9 * model.eigenvalues_.sum()
    np.testing.assert_allclose(model.embedding_.mean(axis=0), 0.0, atol=1e-10)


def strip_of(position, height):
    """The variances of the strip of which :func:`make_swiss_roll` rolls up the samples, by the length of its spiral."""
    along = 0.5 * (position * np.sqrt(1.0 + position**2) + np.arcsinh(position))
    return np.sort(np.linalg.eigvalsh(np.cov(along, height)))


@pytest.mark.parametrize("seed", [0, 2])
def test_a_small_swiss_roll_keeps_the_width_of_its_strip(seed):
    data, position = make_swiss_roll(300, random_state=seed)
    least, largest = strip_of(position, data[:, 1])
    model = MaximumVarianceUnfolding().fit(data)
    length, width = model.embedding_.var(axis=0)
    assert model.result_.optimal
    assert width / length == pytest.approx(least / largest, rel=0.25)
    assert length == pytest.approx(largest, rel=0.1)
    # without short cuts left out, other sheets are joined; with more tension the strip is pulled narrower
    with pytest.warns(UserWarning, match=r"edges changed their lengths by more than half the median length"):
        loose = MaximumVarianceUnfolding(edge_error=0.1).fit(data).embedding_.var(axis=0)
    assert loose[1] / loose[0] < 0.75 * width / length


def test_short_cuts_are_the_edges_whose_ends_are_far_apart_on_the_surface():
    data, position = make_swiss_roll(300, random_state=0)
    every, kept = nearest_neighbour_edges(data, 12), graphs.surface_edges(data, 12)
    turns = np.abs(position[every.i] - position[every.j]) > np.pi
    remain = {*zip(kept.i.tolist(), kept.j.tolist(), strict=True)}
    left = np.array([pair in remain for pair in zip(every.i.tolist(), every.j.tolist(), strict=True)])
    assert turns.sum() > 20
    assert not np.any(left & turns)
    assert left[~turns].mean() > 0.95
    # by definition: paths along the edges of the nearest four
    paths = dijkstra(nearest_neighbour_edges(data, 4).path_graph(), directed=False)
    np.testing.assert_array_equal(left, paths[every.i, every.j] <= graphs.DETOUR * np.sqrt(every.squared))


def test_samples_fewer_than_neighbours_are_all_joined():
    def furthest(**settings):
        Y = MaximumVarianceUnfolding(nu=1e-3, **settings).fit(X[:6]).kernel_.factor
        found, wanted = (np.linalg.norm(Z[:, None] - Z, axis=2) for Z in (Y, X[:6]))
        return np.abs(found - wanted).max() / wanted.max()

    assert furthest() < 0.02
    assert furthest(n_neighbors=2) > 0.1


def test_disconnected_graph_is_refused_with_the_remedy():
    with pytest.raises(InvalidInputError, match=r"3 components.*n_neighbors=(\d+) is the smallest") as error:
        MaximumVarianceUnfolding(n_neighbors=4, disconnected="refuse").fit(BLOBS)
    k = int(str(error.value).split("n_neighbors=")[2].split()[0])
    assert k == graphs.smallest_connecting(BLOBS, 4)
    assert nearest_neighbour_edges(BLOBS, k).components()[0] == 1
    assert nearest_neighbour_edges(BLOBS, k - 1).components()[0] > 1
    with pytest.raises(InvalidInputError, match="3 components"):
        mvu_problem(nearest_neighbour_edges(BLOBS, 4).matrix(), 1.0)
    separate = MaximumVarianceUnfolding(n_neighbors=4, disconnected="separate").fit(BLOBS)
    assert separate.embedding_.shape == (60, 2)
    assert np.isfinite(separate.embedding_).all()


def test_an_interrupt_of_one_component_ends_the_fit(monkeypatch):
    steps, step = [], UnfoldingNewton.step

    def interrupted(*args):
        steps.append(1)
        if len(steps) == 3:
            raise KeyboardInterrupt
        return step(*args)

    monkeypatch.setattr(UnfoldingNewton, "step", interrupted)
    with pytest.warns(ConvergenceWarning) as told:
        model = MaximumVarianceUnfolding(n_neighbors=4, disconnected="separate").fit(BLOBS)
    assert len(steps) == 3
    assert len(told) == 1
    assert model.result_.status is psdopt.Status.INTERRUPTED
    assert model.embedding_.shape == (60, 2)
    assert np.isfinite(model.embedding_).all()
    assert np.ptp(model.embedding_) > 0.0


def test_a_graph_in_pieces_is_connected_by_its_shortest_edges():
    data = load_iris().data
    with pytest.warns(UserWarning, match=r"2 components; the 4 shortest edges between them were added"):
        model = MaximumVarianceUnfolding(n_neighbors=4).fit(data)
    assert model.result_.optimal
    assert model.edges_added_ == 4
    setosa, others = model.embedding_[:50], model.embedding_[50:]
    assert np.ptp(setosa[:, 0]) < np.abs(setosa[:, 0].mean() - others[:, 0].mean())  # a gap stays one
    assert MaximumVarianceUnfolding().fit(make_s_curve(80, random_state=0)[0]).edges_added_ == 0


@pytest.mark.parametrize("count", [1, 3])
def test_each_component_gets_its_shortest_edges_until_there_is_one(count):
    data, blob = make_blobs(60, centers=4, cluster_std=0.3, random_state=0)
    before = nearest_neighbour_edges(data, 4)
    assert before.components()[0] == 4
    after = graphs.connecting_edges(data, before, count)
    assert after.components()[0] == 1
    old, new = ({*zip(e.i.tolist(), e.j.tolist(), strict=True)} for e in (before, after))
    assert old < new
    assert len(new) == len(after.i)
    assert len(new - old) <= 6 * count  # 4 components, then 2 at most
    np.testing.assert_allclose(after.squared, np.sum((data[after.i] - data[after.j]) ** 2, axis=1))
    distances = np.where(blob[:, None] != blob, np.linalg.norm(data[:, None] - data, axis=2), np.inf)
    for b in range(4):
        nearest = np.argsort(np.where(blob[:, None] == b, distances, np.inf), axis=None)[:count]
        i, j = np.unravel_index(nearest, (60, 60))
        assert {(min(pair), max(pair)) for pair in zip(i.tolist(), j.tolist(), strict=True)} <= new


def test_a_few_samples_with_long_edges_between_them_get_the_edge_error_asked():
    """F is mostly the long edges: at its tolerance less tension left the short ones as they were, without end."""
    data = np.kron(np.eye(2) * 30.0, np.ones((6, 1))) + np.random.default_rng(0).random((12, 2))
    with pytest.warns(UserWarning, match="2 components"):
        model = MaximumVarianceUnfolding(n_neighbors=4, edge_error=0.05).fit(data)
    assert model.result_.optimal
    assert 0.0 < model.edge_error_median_ <= 0.05
    assert model.nu_ > 1e-6
    assert model.n_iter_ < 60


def test_a_tension_below_rounding_is_still_dominated():
    edges = Edges(np.arange(9), np.arange(1, 10), np.ones(9), 10)
    graph, ones = GraphMatrices(edges), np.ones(9)
    assert graph.feasible_multiple(ones, ones, 1e-300, 1.0) == 0.0
    theta = graph.feasible_multiple(-ones, ones, 1e-300, 1.0)
    assert 1.0 < theta <= 1.25 * (1.0 + 1e-9)
    assert not graph.dominates(-ones, 1e-300)
    with pytest.raises(FloatingPointError, match="no multiple"):
        graph.feasible_multiple(-ones, np.zeros(9), 1e-3, 1.0)


def test_coloured_separates_labels_more_than_plain():
    plain = MaximumVarianceUnfolding(n_neighbors=5, nu=0.5).fit(X)
    coloured = MaximumVarianceUnfolding(n_neighbors=5, nu=0.5, coloured=True).fit(X, LABELS)
    assert share_within(coloured.embedding_, LABELS) < share_within(plain.embedding_, LABELS)
    with pytest.raises(InvalidInputError, match="coloured"):
        clone(coloured).fit(X)


D = EDGES.matrix()


@pytest.mark.parametrize(
    ("distances", "nu", "error", "text"),
    [
        (D.toarray(), 1.0, InvalidTypeError, "sparse"),
        (D[:10], 1.0, InvalidInputError, "square"),
        (sp.triu(D), 1.0, InvalidInputError, "symmetric"),
        (-D, 1.0, InvalidInputError, "non-negative"),
        (D * np.nan, 1.0, InvalidInputError, "finite"),
        (D + sp.eye_array(30), 1.0, InvalidInputError, "diagonal"),
        (D, 0.0, InvalidInputError, "nu"),
        (sp.csr_array((30, 30)), 1.0, InvalidInputError, "at least one"),
    ],
)
def test_bad_input(distances, nu, error, text):
    with pytest.raises(error, match=text):
        mvu_problem(distances, nu)


def test_zero_distances_are_edges():
    edges = graphs.read_edges(nearest_neighbour_edges(np.vstack([X, X[:1]]), 4).matrix())
    assert edges.n == 31
    assert np.sum(edges.squared == 0.0) == 1
