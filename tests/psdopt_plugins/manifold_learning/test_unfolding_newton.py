"""Newton steps for unfolding: block matrices, inertia, the dual bound, the certificate, growth of the rank."""

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

import psdopt
from psdopt import ConjugateGradient, FlatQuotient, Problem, PSDCone
from psdopt.errors import IncompatibleError, InvalidInputError
from psdopt_plugins.manifold_learning import mvu_problem
from psdopt_plugins.manifold_learning.graph import Edges, nearest_neighbour_edges
from psdopt_plugins.manifold_learning.graph_matrices import GraphMatrices, base_weights
from psdopt_plugins.manifold_learning.mvu_problem import GRAPH_HESSIAN, UnfoldingProblem
from psdopt_plugins.manifold_learning.new_points import geodesic_axes
from psdopt_plugins.manifold_learning.newton_systems import ColumnwiseSystem, FactorisedSystem, factorises
from psdopt_plugins.manifold_learning.unfolding import unfold
from psdopt_plugins.manifold_learning.unfolding_newton import UnfoldingNewton

RNG = np.random.default_rng(0)
ROLL = make_swiss_roll(120, random_state=0)[0]
EDGES = nearest_neighbour_edges(ROLL, 5)
GRAPH = GraphMatrices(EDGES)
M = len(EDGES.i)
CENTRING = np.eye(120) - 1.0 / 120


def dense_laplacian(weights):
    E = GRAPH.E.toarray()
    return E.T @ (weights[:, None] * E)


def test_inertia_counts_negative_eigenvalues():
    for shift in (0.1, 1.0, 5.0):
        weights = RNG.standard_normal(M) + 1.0
        spectrum = np.linalg.eigvalsh(dense_laplacian(weights) - shift * np.eye(120))
        assert np.abs(spectrum).min() > 1e-10  # else the count means nothing
        assert GRAPH.negatives(weights, shift) == np.sum(spectrum < 0.0)


def test_feasible_multiple_is_feasible_and_nearly_least():
    weights, level = RNG.standard_normal(M), 0.05
    base = base_weights(weights)
    theta = GRAPH.feasible_multiple(weights, base, level, 0.3)
    second = [np.linalg.eigvalsh(dense_laplacian(weights + t * base))[:2] for t in (theta, theta / 1.3)]
    assert second[0][1] >= level * (1 - 1e-10)
    assert second[1].min() < 0.0 or second[1][1] < level
    assert GRAPH.feasible_multiple(base_weights(weights), base, 1e-9, 0.3) == 0.0


def start(columns=8):
    axes = geodesic_axes(EDGES, 2)
    return np.concatenate([axes, 0.1 * np.random.default_rng(1).standard_normal((120, columns - 2))], axis=1)


def test_newton_meets_its_dual_bound_agrees_with_conjugate_gradient_and_takes_few_steps():
    problem = mvu_problem(EDGES.matrix(), 0.5)
    newton = psdopt.solve(problem, PSDCone(120), UnfoldingNewton(), start=start(), tol=1e-8)
    assert newton.optimal
    assert newton.iterations <= 60
    best = newton.certificate.dual_value
    assert best <= newton.value <= best + 1e-8 * (problem.value_at_zero() - best)
    assert np.all(newton.history["gap"] >= newton.history["value"] - newton.value)
    wide = np.pad(start(), ((0, 0), (0, 4))) + 1e-3
    slow = psdopt.solve(problem, FlatQuotient(120, 12), ConjugateGradient(), start=wide, max_iterations=400)
    assert newton.value <= slow.value + 1e-9 * abs(slow.value)


def test_columns_grow_where_the_gap_stops_falling():
    rng = np.random.default_rng(3)  # a cloud in five dimensions: the unfolding needs more than two
    edges = nearest_neighbour_edges(rng.standard_normal((60, 5)), 6)
    problem = mvu_problem(edges.matrix(), 0.5)
    result = psdopt.solve(problem, PSDCone(60), UnfoldingNewton(), start=geodesic_axes(edges, 2), tol=1e-5)
    assert result.optimal
    assert result.history["columns"][0] == 2
    assert result.matrix.rank > 2
    limited = psdopt.solve(problem, PSDCone(60), UnfoldingNewton(2), start=geodesic_axes(edges, 2), max_iterations=30)
    assert limited.matrix.rank == 2
    assert not limited.optimal


def test_tight_edges_are_certified_in_tens_of_steps():
    """Median edge error 2 %: where conjugate gradient takes thousands."""
    edges = nearest_neighbour_edges(make_swiss_roll(300, random_state=0)[0], 5)
    found = unfold(edges, None, 0.02)
    assert found.result.optimal
    assert found.iterations <= 80
    assert 0.005 <= np.median(found.errors) <= 0.02


def test_a_graph_that_fills_in_is_left_to_conjugate_gradient(monkeypatch):
    by_newton = unfold(EDGES, 20.0, 0.05)
    monkeypatch.setattr("psdopt_plugins.manifold_learning.newton_systems.MOST_FILL", 0)
    by_gradient = unfold(EDGES, 20.0, 0.05)
    assert "UnfoldingNewton" in by_newton.result.method
    assert "ConjugateGradient" in by_gradient.result.method
    assert by_newton.result.optimal
    assert by_gradient.result.optimal
    assert by_newton.result.value == pytest.approx(by_gradient.result.value, rel=1e-3)


def dense_hessian(nu, Y, weights, delta):
    """Column by column from the definition, Y (n, r) row after row."""
    n, r = Y.shape
    tension = dense_laplacian(weights + delta * base_weights(weights)) - nu * CENTRING
    H = 2.0 * np.kron(tension, np.eye(r))
    for i, j in zip(EDGES.i, EDGES.j, strict=True):
        pull = np.zeros((n, r))
        pull[i], pull[j] = Y[i] - Y[j], Y[j] - Y[i]
        H += 16.0 * np.outer(pull, pull)
    return H


@pytest.mark.parametrize("kind", [FactorisedSystem, ColumnwiseSystem])
def test_newton_systems_are_the_hessian_and_its_inverse(kind, monkeypatch):
    monkeypatch.setattr("psdopt_plugins.manifold_learning.newton_systems.SLIGHT", 1e-9)
    Y, nu = start(4), 0.5
    weights = np.abs(RNG.standard_normal(M))
    delta = 1.05 * GRAPH.feasible_multiple(weights, base_weights(weights), nu, 0.3) + 0.01
    system, H = kind(GRAPH, nu, Y, weights, delta), dense_hessian(nu, Y, weights, delta)
    X = CENTRING @ RNG.standard_normal(Y.shape)
    image = (H @ X.ravel()).reshape(X.shape)
    np.testing.assert_allclose(system.apply(X), image, atol=1e-10 * np.abs(image).max())
    np.testing.assert_allclose(system.solve(image), X, atol=1e-5 * np.abs(X).max())


def test_the_preconditioner_is_exact_where_edges_lie_along_axes():
    """Then the system has no entries between columns: one iteration, whatever the stiffness of the edges."""
    n = 20
    path = Edges(np.arange(n - 1), np.arange(1, n), np.ones(n - 1), n)
    Y = np.cumsum(np.eye(2)[np.arange(n) % 2], axis=0)
    system = ColumnwiseSystem(GraphMatrices(path), 1e-3, Y - Y.mean(axis=0), np.ones(n - 1), 0.0)
    R = RNG.standard_normal(Y.shape)
    R -= R.mean(axis=0)
    np.testing.assert_allclose(system.apply(system.preconditioned(R)), R, atol=1e-9)


def test_graphs_that_fill_in_are_unfolded_column_by_column():
    """A cloud in ten dimensions: many columns, and proven."""
    cloud = np.random.default_rng(5).standard_normal((300, 10))
    edges = nearest_neighbour_edges(cloud, 6)
    assert not factorises(GraphMatrices(edges), 8)
    assert factorises(GraphMatrices(nearest_neighbour_edges(make_swiss_roll(1000, random_state=0)[0], 5)), 8)
    found = unfold(edges, 10.0, 0.05)
    assert found.result.optimal
    assert found.result.matrix.rank > 3


def test_bad_parameters_and_problems():
    with pytest.raises(InvalidInputError, match="columns"):
        UnfoldingNewton(-1)
    with pytest.raises(IncompatibleError, match="UnfoldingNewton"):
        psdopt.solve(psdopt.QuadraticSDP(None, 1.0, -np.eye(4)), PSDCone(4), UnfoldingNewton())


class Tensioned(Problem):
    """An unfolding problem of another hand: the interface of a problem and the members of a GraphDual, no more."""

    def __init__(self, inner):
        self.inner, self.n, self.nu, self.graph = inner, inner.n, inner.nu, inner.graph
        self.abilities = frozenset({"gradient", "convex", GRAPH_HESSIAN})
        self.tensions, self.dual_value = inner.tensions, inner.dual_value

    def at(self, Y):
        return self.inner.at(Y)


def test_any_problem_with_the_members_of_a_graph_dual_will_do():
    inner = UnfoldingProblem(EDGES, 0.1)
    options = {"geometry": PSDCone(120), "method": UnfoldingNewton(), "start": geodesic_axes(EDGES, 2)}
    foreign, own = (psdopt.solve(p, tol=1e-6, max_iterations=30, **options) for p in (Tensioned(inner), inner))
    assert foreign.value == pytest.approx(own.value, rel=1e-9)
    lacking = Tensioned(inner)
    del lacking.nu
    with pytest.raises(IncompatibleError, match=r"declares the ability .* and lacks nu"):
        psdopt.solve(lacking, **options)
