"""BILGO: global optimum and rank found, the awkward points of the paper, rules of comparison."""

import autograd.numpy as anp
import numpy as np
import pytest
from sklearn import datasets

import psdopt
from psdopt import BILGO, LBFGS, AutogradProblem, ConjugateGradient, PSDCone, QuadraticSDP, Status, solve
from psdopt_plugins.metric_learning.kta_problem import kta_problem
from tests.methods.planted import planted, zero


@pytest.mark.parametrize("search", ["default", LBFGS(), ConjugateGradient("FR")])
@pytest.mark.parametrize("eigenvectors", [0, 1, 3])
def test_reaches_the_certificate_and_finds_the_rank(search, eigenvectors):
    problem, best, M = planted()
    result = psdopt.solve(problem, method=BILGO(search, eigenvectors=eigenvectors), start=zero(problem))
    assert result.optimal
    assert result.certificate.relative <= 1e-6
    assert result.value == pytest.approx(best, rel=1e-8)
    assert result.matrix.compress(1e-5).rank == 4
    assert np.linalg.norm(result.matrix.to_dense() - M) <= 1e-4 * np.linalg.norm(M)


def test_singular_plane_after_the_first_step():
    """v parallel to the only column of Y: M and v v' are dependent (E-B11)."""
    problem = QuadraticSDP(None, 1.0, -np.diag([2.0, 1.0]))
    result = psdopt.solve(problem, method=BILGO(None), start=np.array([[0.3], [0.0]]))
    assert result.optimal
    assert result.value == pytest.approx(-5.0)


def test_rate_of_the_plain_method_under_the_conditions_that_make_it_true():
    """F(M_k) − F* <= 2 C/(k + 2) with C = L diam², diam² <= 2 tau², if tau >= tr M* and tr M_k in all steps (E-B9).

    A bilateral step is at least as good as the Frank–Wolfe step to tau v v' or to 0.
    """
    problem, best, M = planted(20, 3)
    traces = []
    result = psdopt.solve(
        problem, method=BILGO(None, eigenvectors=1, backend="dense"), start=zero(problem), max_iterations=50,
        callback=lambda snapshot: traces.append(np.sum(snapshot.state.evaluation.factor ** 2)),
    )  # fmt: skip
    tau = max(np.trace(M), *traces)
    A = problem.A.to_dense()
    lipschitz = 2 * np.linalg.norm(A, 2) ** 2 + 0.2
    errors = result.history["value"][1:] - best
    assert np.all(errors <= 2 * lipschitz * 2 * tau**2 / (np.arange(1, len(errors) + 1) + 2))


def alignment(name):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
    return kta_problem(X, y, 1e-3)


@pytest.mark.parametrize("name", ["digits", "breast_cancer", "wine"])
def test_alignment_of_nearly_full_rank_costs_no_more_than_from_a_random_start_at_full_rank(name):
    """Steps and columns of products to certificate 1e-6, against conjugate gradient that is given the rank."""
    problem = alignment(name)
    found = psdopt.solve(problem, method=BILGO(), start=zero(problem))
    given = psdopt.solve(problem, psdopt.FlatQuotient(problem.n, problem.n), ConjugateGradient())
    assert found.optimal
    assert given.optimal
    assert found.value <= given.value + 1e-6 * abs(given.value)
    assert found.iterations <= given.iterations
    # each look at S takes n columns, which is a step where n is 30
    assert found.counts["operator_columns"] <= 1.1 * given.counts["operator_columns"]


@pytest.mark.parametrize("n", [100, 320])
def test_a_low_rank_is_found_for_a_fraction_of_the_products_of_full_rank(n):
    problem, best, _ = planted(n, 5)
    found = psdopt.solve(problem, method=BILGO(), start=zero(problem))
    full = psdopt.solve(problem, psdopt.FlatQuotient(n, n), ConjugateGradient())
    assert found.optimal
    assert found.rank == 5
    assert found.value == pytest.approx(best, rel=1e-7)
    # a proven gap ends the run at full rank before its residuals would
    assert 1.75 * found.counts["operator_columns"] <= full.counts["operator_columns"]


@pytest.mark.parametrize("convex", [False, True])
@pytest.mark.parametrize("search", [None, "default"])
def test_zero_is_left_where_an_eigenvalue_is_negative_whatever_is_known_of_convexity(convex, search):
    """At M = 0 the factor gradient vanishes for every F: the eigenvalue alone tells whether F falls."""
    rng = np.random.default_rng(0)
    C = rng.standard_normal((6, 6))
    C = C + C.T
    problem = AutogradProblem(lambda M: anp.sum((M - C) ** 2), 6, convex=convex)
    method = BILGO(local_search=search)
    assert method.init(problem, PSDCone(6), np.zeros((6, 1))).gradient_norm > 0.0
    result = solve(problem, PSDCone(6), method, tol=1e-7)
    expected = np.sum(np.minimum(np.linalg.eigvalsh(C), 0.0) ** 2)
    assert result.value == pytest.approx(expected, rel=1e-6)
    assert result.status is (Status.OPTIMAL if convex else Status.STATIONARY)


@pytest.mark.parametrize("convex", [False, True])
def test_zero_is_kept_where_no_eigenvalue_is_negative_and_found_from_elsewhere(convex):
    problem = AutogradProblem(lambda M: anp.sum((M + np.eye(4)) ** 2), 4, convex=convex)
    method = BILGO()
    assert method.init(problem, PSDCone(4), np.zeros((4, 1))).gradient_norm == 0.0
    kept, found = (solve(problem, PSDCone(4), method, start=start) for start in (None, np.eye(4)))
    assert kept.value == 4.0
    assert kept.converged
    assert found.matrix.trace() <= 1e-6
    assert found.status is kept.status is (Status.OPTIMAL if convex else Status.STATIONARY)


def test_a_former_backend_is_the_default():
    with pytest.warns(DeprecationWarning, match="lobpcg"):
        assert BILGO(backend="lobpcg") == BILGO()
