"""triplet_margin_problem and PSDBoost: the loss against brute force, its smoothing, agreement of methods, errors."""

import autograd
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from psdopt import solve
from psdopt.errors import InvalidInputError, UnknownNameError
from psdopt.geometries import FlatQuotient
from psdopt.geometries.fixed_trace import FixedTrace
from psdopt.geometries.spectraplex import Spectraplex
from psdopt.margins.column_generation import ColumnGeneration
from psdopt.margins.loss import CappedMargin
from psdopt.methods import ConjugateGradient, TrustRegions
from psdopt.methods.frank_wolfe import FrankWolfe
from psdopt.running.smoothing import solve_smoothed
from psdopt_plugins.metric_learning.psdboost import PSDBoost
from psdopt_plugins.metric_learning.triplet_problem import triplet_margin_problem
from psdopt_plugins.pair_sampling import nearest_triplets

EPS = np.finfo(float).eps


def data(seed=0, N=20, d=4, m=30):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, d)), np.array([rng.choice(N, 3, replace=False) for _ in range(m)])


def distances(X, M, i, j):
    return np.einsum("ri,ij,rj->r", X[i] - X[j], M, X[i] - X[j])


def brute_value(a, C):
    """−max_ρ: the best ρ is one of the margins."""
    return -max(rho - C * np.maximum(rho - a, 0.0).sum() for rho in a)


@pytest.mark.parametrize("C", [None, 1.0, 0.3, 1 / 7.0, 1 / 30.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, aslinearoperator], ids=["dense", "sparse", "operator"])
def test_value_is_the_soft_margin(C, form):
    X, t = data()
    problem = triplet_margin_problem(form(X), t, C)
    Y = np.random.default_rng(1).standard_normal((4, 2))
    a = distances(X, Y @ Y.T, t[:, 0], t[:, 2]) - distances(X, Y @ Y.T, t[:, 0], t[:, 1])
    expected = -a.min() if C is None else brute_value(a, C)
    evaluation = problem.at(Y)
    assert np.isclose(evaluation.value, expected, rtol=64 * EPS * len(a))
    w = problem.dual_weights(evaluation)
    assert w.min() >= 0.0
    assert w.max() <= problem.loss.cap * (1 + 8 * EPS)
    assert np.isclose(w.sum(), 1.0)
    assert np.isclose(-w @ a, expected)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("cap", [0.05, 0.0731, 0.3, 1.0])
def test_smoothing_stays_within_its_excess_and_has_the_stated_derivatives(cap, ties):
    rng = np.random.default_rng(3)
    a = np.round(rng.standard_normal(20), 0 if ties else 8)
    exact = CappedMargin(20, cap)
    for mu in (1.0, 1e-2, 1e-5):
        loss = CappedMargin(20, cap, mu)
        slack = 64 * EPS * 20
        assert exact.value(a) - loss.excess - slack <= loss.value(a) <= exact.value(a) + slack
        w, direction = loss.weights(a), rng.standard_normal(20)
        assert np.isclose(w.sum(), 1.0)
        if mu < 1e-2:  # differences of values have no digits left
            continue
        step = 1e-4 * mu
        slope = (loss.value(a + step * direction) - loss.value(a - step * direction)) / (2 * step)
        assert np.isclose(slope, -w @ direction, rtol=1e-3, atol=1e-3)
        step = 1e-7 * mu
        change = (loss.weights(a) - loss.weights(a + step * direction)) / step
        if not ties and np.count_nonzero((w > 1e-6) & (w < cap - 1e-6)) > 1:
            assert np.allclose(loss.curvature(a, direction), change, rtol=1e-3, atol=1e-3 / mu)


def test_smoothed_problem_against_automatic_differentiation():
    X, t = data(2)
    problem = triplet_margin_problem(X, t, 0.2, smoothing=0.5)
    rng = np.random.default_rng(0)
    Y, D = rng.standard_normal((4, 2)), rng.standard_normal((4, 2))
    w = problem.dual_weights(problem.at(Y))
    far, near = X[t[:, 0]] - X[t[:, 2]], X[t[:, 0]] - X[t[:, 1]]

    def linear(Z):  # w is the maximiser, so its own change does not enter the gradient
        np_ = autograd.numpy
        return -np_.sum(w * (np_.sum(np_.dot(far, Z) ** 2, axis=1) - np_.sum(np_.dot(near, Z) ** 2, axis=1)))

    evaluation = problem.at(Y)
    assert np.allclose(evaluation.factor_gradient(), autograd.grad(linear)(Y))
    h = 1e-6
    gradients = [problem.at(Y + s * h * D).factor_gradient() for s in (1, -1)]
    assert np.allclose(evaluation.hessian_vector(D), (gradients[0] - gradients[1]) / (2 * h), rtol=1e-4, atol=1e-4)
    line = evaluation.along(D)
    mu = 0.3
    assert np.isclose(line.value(mu), problem.at(Y + mu * D).value)
    first, _ = line.derivatives(mu)
    assert np.isclose(first, np.sum(problem.at(Y + mu * D).factor_gradient() * D))
    plane = evaluation.along_atom(D[:, 0])
    grown = problem.at(np.column_stack([np.sqrt(0.4) * Y, np.sqrt(1.7) * D[:, 0]]))
    assert np.isclose(plane.value(0.4, 1.7), grown.value)
    g, H = plane.derivatives(0.4, 1.7)
    by_alpha = plane.value(0.4 + h, 1.7) - plane.value(0.4 - h, 1.7)
    by_beta = plane.value(0.4, 1.7 + h) - plane.value(0.4, 1.7 - h)
    assert np.allclose(g, np.array([by_alpha, by_beta]) / (2 * h), rtol=1e-5)
    assert np.linalg.eigvalsh(H)[0] >= -1e-9


def test_methods_agree_to_their_gaps():
    X, t = data(4, d=3)
    problem, geometry = triplet_margin_problem(X, t, 0.2), Spectraplex(3)
    exact = solve(problem, geometry, ColumnGeneration(), tol=1e-8, max_iterations=60)
    smooth = solve_smoothed(problem, geometry, FrankWolfe(variant="fully-corrective"), tol=1e-2, max_iterations=60)
    assert exact.optimal
    assert smooth.optimal
    assert exact.value - 1e-7 <= smooth.value <= exact.value + smooth.certificate.gap + 1e-7
    assert smooth.certificate.gap <= 1e-2 * abs(smooth.value) + 1e-9
    for method in (ConjugateGradient(), TrustRegions()):
        factored = solve_smoothed(problem, FixedTrace(3, 3), method, tol=1e-2, max_iterations=200)
        assert factored.optimal
        assert exact.value - 1e-7 <= factored.value <= exact.value + factored.certificate.gap + 1e-7
        assert factored.value == pytest.approx(problem.at(factored.matrix.factor).value)  # not the smoothed one
    with pytest.raises(InvalidInputError, match="smoothed already"):
        solve_smoothed(problem.smoothed(1.0), geometry, FrankWolfe())
    with pytest.raises(InvalidInputError, match="fixed trace"):
        solve_smoothed(problem, FlatQuotient(3, 3), ConjugateGradient())


def test_left_to_itself_solve_takes_column_generation_over_the_spectraplex():
    X, t = data(4, d=3)
    problem = triplet_margin_problem(X, t, 0.2)
    result = solve(problem, tol=1e-6)
    assert result.optimal
    assert result.chosen == ("geometry", "method")
    assert (result.method, result.geometry) == ("ColumnGeneration", "Spectraplex(n=3, trace=1)")
    assert solve(problem, Spectraplex(3, 2.0), tol=1e-6).value == pytest.approx(2.0 * result.value, rel=1e-5)
    assert solve(problem, method=ColumnGeneration(columns=2), tol=1e-2).chosen == ("geometry",)


def test_duplicated_samples_do_not_keep_a_run_from_a_fine_tolerance():
    X, y = load_iris(return_X_y=True)  # with duplicates
    assert len(np.unique(X, axis=0)) < len(X)
    model = PSDBoost(solver_options={"tol": 1e-6}).fit(X, y)
    assert model.result_.optimal
    assert model.result_.certificate.relative <= 1e-6


def test_the_hard_margin_is_the_least_margin():
    X, t = data(5, d=3, m=15)
    result = solve(triplet_margin_problem(X, t), tol=1e-7)
    M = result.matrix.to_dense()
    a = distances(X, M, t[:, 0], t[:, 2]) - distances(X, M, t[:, 0], t[:, 1])
    assert result.optimal
    assert -result.value == pytest.approx(a.min(), abs=1e-12)


def test_the_metric_does_not_depend_on_units_or_origin():
    X, t = data(6)
    base = solve(triplet_margin_problem(X, t, 0.2), Spectraplex(4), ColumnGeneration(), tol=1e-6)
    for scale, offset in ((1e-4, 0.0), (1e5, 0.0), (1.0, 50.0)):
        other = solve(triplet_margin_problem(scale * X + offset, t, 0.2), Spectraplex(4), ColumnGeneration(), tol=1e-6)
        assert other.optimal
        assert np.isclose(other.value, scale**2 * base.value, rtol=1e-5)


def test_nearest_triplets_are_what_they_say():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.integers(0, 3, 30)
    y[0] = 9  # a class of one sample
    for k in (1, 3):
        t = nearest_triplets(X, y, k)
        assert len(t) == 29 * k * k
        assert not np.any(t[:, 0] == 0)
        assert np.all(y[t[:, 0]] == y[t[:, 1]])
        assert np.all(y[t[:, 0]] != y[t[:, 2]])
        assert len(np.unique(t, axis=0)) == len(t)
    i, j, k = nearest_triplets(X, y, 1)[7]
    d = np.linalg.norm(X - X[i], axis=1)
    same, other = (y == y[i]) & (np.arange(30) != i), y != y[i]
    assert d[j] == d[same].min()
    assert d[k] == d[other].min()


@pytest.mark.parametrize(
    ("triplets", "C", "text"),
    [
        ([], None, "at least one row of 3 indices"),
        ([(0, 1)], None, "shape"),
        ([(0.0, 1.0, 2.0)], None, "integers"),
        ([(0, 1, 99)], None, "between 0 and"),
        ([(0, 1, -1)], None, "between 0 and"),
        ([(0, 0, 2)], None, "three different samples"),
        ([(0, 2, 0)], None, "three different samples"),
        ([(0, 1, 1)], None, "three different samples"),
        ([(0, 1, 2), (1, 0, 2)], 0.49, "C must be at least 1/m"),
        ([(0, 1, 2)], 0.0, "C must be"),
        ([(0, 1, 2)], -1.0, "C must be"),
        ([(0, 1, 2)], np.nan, "C must be"),
        ([(0, 1, 2)], True, "C must be"),
    ],
)
def test_bad_triplets_and_costs_are_named(triplets, C, text):
    with pytest.raises((InvalidInputError, TypeError), match=text):
        triplet_margin_problem(data()[0], triplets, C)


def test_bad_data_are_named():
    X, t = data()
    with pytest.raises(InvalidInputError, match="X must be finite"):
        triplet_margin_problem(np.where(np.arange(80).reshape(20, 4) == 7, np.nan, X), t)
    with pytest.raises(InvalidInputError, match="must be an integer of at least 1"):
        triplet_margin_problem(None, t)
    with pytest.raises(InvalidInputError, match="smoothing"):
        triplet_margin_problem(X, t, smoothing=-1.0)


def test_estimator_learns_a_certified_metric():
    X, y = load_iris(return_X_y=True)
    model = PSDBoost(n_neighbors=2).fit(X, y)
    M = model.get_mahalanobis_matrix()
    assert model.result_.optimal
    assert model.result_.state is None
    assert np.isclose(np.trace(M), 1.0)
    assert model.margin_ == -model.result_.value
    assert np.allclose(model.transform(X), X @ model.components_.T)
    again = PSDBoost().fit(X, triplets=model.triplets_)
    assert np.isclose(again.margin_, model.margin_, rtol=1e-3)
    hard = PSDBoost(nu=1e-9).fit(X, y)
    assert hard.margin_ <= PSDBoost(nu=0.2).fit(X, y).margin_
    costed = PSDBoost(C=1.0 / (0.1 * len(model.triplets_)), n_neighbors=2).fit(X, y)
    assert np.isclose(costed.margin_, model.margin_, rtol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"nu": 0.0}, InvalidInputError, "nu must be"),
        ({"nu": 1.5}, InvalidInputError, "nu must be"),
        ({"C": 1e-6}, InvalidInputError, "C must be at least"),
        ({"n_neighbors": 0}, InvalidInputError, "n_neighbors must be"),
        ({"solver_options": {"tolerance": 1.0}}, UnknownNameError, "solver option"),
        ({"solver_options": 3}, TypeError, "solver_options must be"),
    ],
)
def test_bad_parameters_are_named(arguments, error, text):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(error, match=text):
        PSDBoost(**arguments).fit(X, y)


def test_labels_without_triplets_are_refused():
    X = np.random.default_rng(0).random((4, 2))
    with pytest.raises(InvalidInputError, match="2 classes"):
        PSDBoost().fit(X, [1, 1, 1, 1])
    with pytest.raises(InvalidInputError, match="2 samples"):
        PSDBoost().fit(X, [0, 1, 2, 3])


def test_an_unfinished_run_says_so():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="before convergence"):
        PSDBoost(solver_options={"max_iterations": 1, "tol": 1e-9}).fit(X, y)
