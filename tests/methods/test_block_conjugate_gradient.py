"""Block conjugate gradient: optima, counts, restriction to a span, and when solve() takes it."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import BlockConjugateGradient, ConjugateGradient, FlatQuotient, QuadraticSDP, Status, TermSum, solve
from psdopt.errors import IncompatibleError
from psdopt.linalg.arrays import norm
from psdopt.methods.block_conjugate_gradient import _whitening
from psdopt.running.choose import SECOND_ORDER, THRESHOLDS, choose
from psdopt.terms import IdentityForm, LinearTerm
from psdopt_plugins.metric_learning import kta_problem
from tests.running.problems import planted

from ..instances import psd


def samples(rng, m=80, d=30):
    """Sparse (m, d) data whose columns differ in scale, and labels of four classes."""
    X = rng.standard_normal((m, d)) * (rng.random((m, d)) < 0.3) * np.logspace(0, -2, d)
    return sp.csr_array(X), np.arange(m) % 4


def test_fewer_products_are_needed_than_by_lines():
    X, y = samples(np.random.default_rng(0))
    counts = {}
    for method in (BlockConjugateGradient(), ConjugateGradient(preconditioner="diagonal")):
        problem = kta_problem(X, y, 1.0, gram=False)
        result = solve(problem, FlatQuotient(problem.n, 4), method, tol=1e-7)
        assert result.status in (Status.STATIONARY, Status.OPTIMAL)
        counts[method.name] = result.iterations
    assert 5 * counts["BlockConjugateGradient"] < 4 * counts["ConjugateGradient"]


def test_an_iteration_is_one_product_with_X_and_one_with_its_transpose():
    X, y = samples(np.random.default_rng(1))
    problem, method = kta_problem(X, y, 1.0, gram=False), BlockConjugateGradient()
    shared, means = problem.maps  # X, and the sums of its rows in each class, formed once
    assert (shared.shape, means.shape) == (X.shape, (len(set(y)), X.shape[1]))
    geometry = FlatQuotient(problem.n, 3)
    state = method.init(problem, geometry, geometry.random_point(np.random.default_rng(0)))
    assert shared.applications == 2
    state = method.step(state)  # once, and never again, tr C costs a product more
    before = shared.applications, shared.columns
    for iteration in range(1, 6):
        state = method.step(state)
        assert shared.applications == before[0] + 2 * iteration
        assert shared.columns == before[1] + 2 * 3 * iteration


def test_a_rank_deficient_start_and_an_optimum_of_lower_rank():
    problem, best = planted(np.random.default_rng(5), rank=2)
    start = np.zeros((problem.n, 5))
    start[:, 0] = 1.0
    result = solve(problem, FlatQuotient(problem.n, 5), BlockConjugateGradient(), start=start, tol=1e-7, escape=True)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("most", [1, 3])
def test_a_search_within_the_span_takes_no_more_steps_than_allowed(most):
    """Far from the optimum each search within the span takes all of them."""
    problem = kta_problem(*samples(np.random.default_rng(0)), 0.01)
    result = solve(
        problem, FlatQuotient(problem.n, 4), BlockConjugateGradient(inner_iterations=most), max_iterations=2, rng=0
    )
    assert result.history["inner_steps"][1:].max() == most


def test_it_is_the_choice_for_large_problems_that_can_be_restricted():
    n = THRESHOLDS.large_order + 1
    large = QuadraticSDP(sp.eye_array(n, format="csr"), 1.0, -sp.eye_array(n, format="csr"))
    assert isinstance(choose(large, FlatQuotient(n, 2), None)[1], BlockConjugateGradient)
    small, _ = planted(np.random.default_rng(0))
    assert choose(small, FlatQuotient(small.n, 2), None)[1] == SECOND_ORDER
    linear = TermSum([LinearTerm(IdentityForm(n))])
    assert isinstance(choose(linear, FlatQuotient(n, 9), None)[1], ConjugateGradient)
    with pytest.raises(IncompatibleError, match="restriction"):
        solve(linear, FlatQuotient(n, 2), BlockConjugateGradient())


@pytest.mark.parametrize("n", [5, 12])
def test_a_factor_of_too_low_a_rank_takes_the_exact_step_along_the_gradient(n):
    """The span of Y and G has fewer directions than Y has columns: the step is conjugate gradient's first."""
    rng = np.random.default_rng(7)
    problem, geometry = QuadraticSDP(psd(rng, n), psd(rng, n), -psd(rng, n)), FlatQuotient(n, 4)
    start = np.outer(rng.standard_normal(n), [1.0, 0.5, -2.0, 0.0])
    block, line = BlockConjugateGradient("none"), ConjugateGradient(preconditioner="none")
    after = block.step(block.init(problem, geometry, start))
    reference = line.step(line.init(problem, geometry, start))
    np.testing.assert_allclose(after.point, reference.point, atol=1e-10)
    assert after.extras == {"inner_steps": 0.0}
    assert after.step == pytest.approx(np.linalg.norm(after.point - start), rel=1e-9)
    assert after.gradient_norm == pytest.approx(reference.gradient_norm, rel=1e-9)
    assert after.direction is None


def test_the_step_is_the_length_of_the_move():
    """Within the span Y K₁ + Z K₂ + D K₃ the last two blocks are the move, and the next direction."""
    rng = np.random.default_rng(8)
    problem, geometry = QuadraticSDP(psd(rng, 9), psd(rng, 9), -psd(rng, 9)), FlatQuotient(9, 2)
    method = BlockConjugateGradient("none")
    state = method.init(problem, geometry, rng.standard_normal((9, 2)))
    G = state.evaluation.factor_gradient()
    after = method.step(state)
    assert after.step == pytest.approx(np.linalg.norm(after.direction.factor), rel=1e-12)
    # of the first step the direction has its columns in the span of G
    D = after.direction.factor
    np.testing.assert_allclose(G @ np.linalg.lstsq(G, D, rcond=None)[0], D, atol=1e-9)
    Y = np.column_stack([state.point, D])
    np.testing.assert_allclose(Y @ np.linalg.lstsq(Y, after.point, rcond=None)[0], after.point, atol=1e-9)


@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0), (1e-8, 1.0, 1e8)])
def test_the_span_is_known_by_its_independent_columns_whatever_their_lengths(scales):
    rng = np.random.default_rng(9)
    V = rng.standard_normal((8, 3)) * scales
    for columns, rank in ((V, 3), (np.column_stack([V, V[:, :2]]), 3), (np.column_stack([V, np.zeros(8)]), 3)):
        gram = columns.T @ columns
        T = _whitening(gram)
        assert T.shape == (columns.shape[1], rank)
        np.testing.assert_allclose(T.T @ gram @ T, np.eye(rank), atol=1e-9)
    for apart, rank in ((1e-4, 3), (1e-6, 2)):  # squared lengths outside the span of the others: 1e-8 and 1e-12
        close = np.column_stack([V[:, :2], V[:, 1] + apart * norm(V[:, 1]) * np.eye(8)[0]])
        assert _whitening(close.T @ close).shape == (3, rank)
