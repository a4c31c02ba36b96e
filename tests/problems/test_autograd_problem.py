"""Problems from a function of a dense M: order one, refusals, derivatives."""

import copy
import pickle

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import LBFGS, Ability, AutogradProblem, ConjugateGradient, FlatQuotient, Status, solve
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.testing import run_checks


def test_order_one_is_a_problem_of_one_number():
    problem = AutogradProblem(lambda M: (M[0, 0] - 4.0) ** 2, 1, convex=True)
    here = problem.at(np.array([[3.0]]))
    assert here.value == 25.0
    np.testing.assert_allclose(here.factor_gradient(), [[60.0]])  # 2 S y, S = 2 (9 - 4)
    result = solve(problem, FlatQuotient(1, 1), rng=0)
    assert result.optimal
    assert result.matrix.to_dense()[0, 0] == pytest.approx(4.0, rel=1e-4)


def test_what_is_no_function_and_lower_orders_are_refused():
    for n in (0, -1):
        with pytest.raises(InvalidInputError, match=f"n must be .*at least 1; found {n}"):
            AutogradProblem(anp.sum, n)
    with pytest.raises(InvalidTypeError, match="function must be callable; found int"):
        AutogradProblem(3, 2)


def test_derivatives_are_symmetric_and_convexity_is_what_the_caller_says():
    problem = AutogradProblem(lambda M: anp.sum(M[0] * M[1]), 2)
    M, D = np.array([[1.0, 2.0], [2.0, 5.0]]), np.array([[0.0, 1.0], [1.0, 3.0]])
    for matrix in (problem.dense_gradient(M), problem.dense_hessian(M, D)):
        np.testing.assert_array_equal(matrix, matrix.T)
    assert set(problem.counts().values()) == {0}
    assert problem.at(np.eye(2)).value == 0.0
    assert max(problem.counts().values()) == 1
    assert Ability.CONVEX not in problem.abilities
    assert Ability.CONVEX in AutogradProblem(anp.sum, 2, convex=True).abilities


def barrier(M):
    """⟨A, M⟩ − log det M for A = diag(1, 2, 3, 4), by a factor that raises where M is singular."""
    return anp.sum(anp.arange(1, 5) * anp.diag(M)) - 2.0 * anp.sum(anp.log(anp.diag(anp.linalg.cholesky(M))))


@pytest.mark.parametrize("start", [None, np.eye(4)[:, :1] @ np.ones((1, 4))])
def test_where_a_factorisation_fails_the_function_is_infinite(start):
    problem = AutogradProblem(barrier, 4, convex=True)
    assert problem.evaluate(np.zeros((4, 4))) == problem.value_at_zero() == np.inf
    result = solve(problem, start=start)
    assert result.optimal
    assert result.value == pytest.approx(4.0 + np.log(24.0), rel=1e-6)
    assert start is not None or all(record.ok for record in run_checks(problem))


def quartic(M):
    """A function that a pickle can name."""
    return anp.sum((anp.dot(M, M) - anp.eye(len(M))) ** 2)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_problems_and_results_are_copied_and_pickled(again):
    problem = AutogradProblem(quartic, 3)
    result = solve(problem, FlatQuotient(3, 2), max_iterations=30)
    other = again(problem)
    Y, D = result.matrix.factor, np.ones((3, 2))
    for name in ("value", "dense_gradient"):
        np.testing.assert_array_equal(getattr(other.at(Y), name), getattr(problem.at(Y), name))
    np.testing.assert_array_equal(other.at(Y).hessian_vector(D), problem.at(Y).hessian_vector(D))
    assert (other.n, other.abilities) == (problem.n, problem.abilities)
    restored = again(result)
    assert restored.value == result.value
    np.testing.assert_array_equal(restored.matrix.factor, Y)
    assert restored.state.evaluation.refresh().value == result.state.evaluation.refresh().value
    nameless = AutogradProblem(lambda M: anp.trace(M), 3)
    if again in (copy.copy, copy.deepcopy):
        assert again(nameless).at(np.eye(3)).value == 3.0
    else:
        with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
            again(nameless)


@pytest.mark.parametrize("method", [None, LBFGS(), ConjugateGradient()])
def test_an_inverse_that_raises_at_singular_matrices_is_an_infinite_value(method):
    """min tr M⁻¹ + tr M = 2 n, at M = I; the start looks at F along a ray from M = 0."""
    problem = AutogradProblem(lambda M: anp.trace(anp.linalg.inv(M)) + anp.trace(M), 4, convex=True)
    result = solve(problem, FlatQuotient(4, 4), method, rng=0)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(8.0)
    plane = problem.at(np.eye(4)).along_atom(np.ones(4))
    assert plane.value(0.0, 0.0) == np.inf
    assert all(np.isnan(part).all() for part in plane.derivatives(0.0, 0.0))
    line = problem.at(np.eye(4)).along(-np.eye(4))
    assert line.value(1.0) == np.inf
    assert np.isnan(line.derivatives(1.0)).all()


def test_all_second_derivatives_at_a_matrix_share_one_trace():
    """F is entered once for the slope and the bend of a line, and once for all products of the Hessian at a matrix."""
    entered = []
    problem = AutogradProblem(lambda M: entered.append(1) or anp.sum(anp.dot(M, M) ** 2), 3)
    rng = np.random.default_rng(0)
    Y, D = rng.standard_normal((2, 3, 2))
    here = problem.at(Y)
    entered.clear()  # of the test at the first factor
    slope, bend = here.along(D).derivatives(0.5)
    assert len(entered) == 1
    here.along_atom(D[:, 0]).derivatives(1.0, 0.5)
    assert len(entered) == 2
    moved = problem.at(Y + 0.5 * D)
    image = moved.hessian_vector(D)
    moved.hessian_vector(Y)
    assert len(entered) == 3
    assert slope == pytest.approx(np.sum(moved.factor_gradient() * D))
    assert bend == pytest.approx(np.sum(image * D))
    again = pickle.loads(pickle.dumps(moved.__getstate__() | {"problem": None}))
    assert "local" not in again


def test_an_answer_is_of_the_function_as_it_is_now():
    """Nothing outlives an evaluation: the function may read what the caller changes between two runs."""
    weight = [1.0]
    problem = AutogradProblem(lambda M: weight[0] * anp.sum(M**2), 2, convex=True)
    Y = np.array([[1.0], [2.0]])
    before = problem.at(Y).hessian_vector(Y)
    weight[0] = 3.0
    np.testing.assert_allclose(problem.at(Y).hessian_vector(Y), 3.0 * before)
    np.testing.assert_allclose(problem.at(Y).factor_gradient(), 3.0 * 4.0 * Y @ (Y.T @ Y))


@pytest.mark.parametrize("overridden", ["dense_gradient", "dense_hessian"])
def test_derivatives_by_hand_are_used_everywhere(overridden):
    """Told from autograd's by a factor of three: ⟨S, D⟩ and ⟨∇²F[D], D⟩ are where they belong, on lines and planes."""
    true = AutogradProblem(lambda M: anp.sum(M**3), 3)
    by_hand = type("ByHand", (AutogradProblem,), {overridden: lambda self, *at: 3.0 * getattr(true, overridden)(*at)})
    one, two = (3.0, 1.0) if overridden == "dense_gradient" else (1.0, 3.0)
    Y, D = np.random.default_rng(0).standard_normal((2, 3, 2))
    here, own = true.at(Y), by_hand(true.function, 3).at(Y)
    S, N = true.dense_gradient(Y @ Y.T), Y @ D.T + D @ Y.T
    H = true.dense_hessian(Y @ Y.T, N)
    np.testing.assert_allclose(own.hessian_vector(D), 2.0 * (one * S @ D + two * H @ Y))
    slope, bend = own.along(D).derivatives(0.0)
    assert slope == pytest.approx(one * np.sum(S * N))
    assert bend == pytest.approx(two * np.sum(H * N) + 2.0 * one * np.sum(S * (D @ D.T)))
    planes = (each.along_atom(D[:, 0]).derivatives(1.0, 0.5) for each in (own, here))
    for found, expected, factor in zip(*planes, (one, two), strict=True):
        np.testing.assert_allclose(found, factor * expected)
