"""The problem's contract beside the theorems of the kit: S as an operator and as an array, refusals, roles, images."""

import pickle

import numpy as np
import pytest

from psdopt import AutogradProblem, QuadraticSDP
from psdopt.contracts.gradient import GradientOperator, dense_gradient
from psdopt.contracts.images import Images
from psdopt.contracts.problem import Problem
from psdopt.contracts.roles import Duality, Preconditioner, Starts
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.operators import LinearMap
from psdopt.terms.measurements import PairDistances


def test_the_gradient_knows_blocks_by_identity():
    rng = np.random.default_rng(0)
    S, Y, calls = rng.standard_normal((5, 5)), rng.standard_normal((5, 2)), []

    def apply(V):
        calls.append(V)
        return S @ V

    product = S @ Y
    operator = GradientOperator(5, apply, lambda V: product if V is Y else None)
    assert operator @ Y is product
    assert not calls
    np.testing.assert_allclose(operator @ Y.copy(), product)
    np.testing.assert_allclose(operator @ Y[:, 0], product[:, 0])
    assert operator.T is operator
    assert len(calls) == 2


def test_what_no_problem_takes_or_offers_is_said():
    problem = AutogradProblem(lambda M: M[0, 0], 3)
    with pytest.raises(InvalidInputError, match=r"Y must have shape \(3, r\); found \(2, 1\)"):
        problem.at(np.ones((2, 1)))
    with pytest.raises(InvalidTypeError, match="AutogradProblem has no closed form"):
        problem.solve_in_closed_form()
    here = problem.at(np.ones((3, 1)))
    for offer in (lambda: here.restricted(np.ones((1, 1))), here.preconditioner, here.diagonal_preconditioner):
        with pytest.raises(InvalidTypeError, match="AutogradProblem offers no"):
            offer()


def test_a_hook_that_moved_is_named_with_its_new_place():
    with pytest.raises(TypeError, match=r"psdopt.Starts and return that from the property 'starts'"):
        type("Old", (Problem,), {"first_atoms": lambda self: None})


def test_what_is_made_from_f_is_made_once_and_goes_with_its_problem():
    first, second = (AutogradProblem(lambda M: 0.0, 2) for _ in range(2))
    made = []
    for _ in range(2):
        assert first.once("number", lambda: made.append(1) or len(made)) == 1
    assert first.once("other", lambda: len(made)) == 1
    assert second.once("number", lambda: made.append(1) or len(made)) == 2


class Foreign:
    """An evaluation whose gradient is `operator`."""

    def __init__(self, operator):
        self.gradient, self.problem = operator, type("Order", (), {"n": operator.shape[0]})


@pytest.mark.parametrize("n", [5, DENSE_LIMIT + 3])
def test_blocks_of_products_make_the_array_and_nothing_known_is_computed(n):
    A, widths = np.random.default_rng(0).standard_normal((n, n)), []

    def product(V):
        widths.append(V.shape[1])
        return A @ V

    S = dense_gradient(Foreign(GradientOperator(n, product, lambda V: None)))
    np.testing.assert_allclose(S, 0.5 * (A + A.T), atol=1e-12 * n)
    assert np.array_equal(S, S.T)
    assert widths == ([n] if n <= DENSE_LIMIT else [DENSE_LIMIT, 3])


def test_entries_cost_no_product_and_are_not_changed():
    own = np.array([[1.0, 2.0], [0.0, 3.0]])
    operator = GradientOperator(2, lambda V: pytest.fail("a product"), lambda V: None, lambda: own)
    assert dense_gradient(Foreign(operator)).tolist() == [[1.0, 1.0], [1.0, 3.0]]
    assert own.tolist() == [[1.0, 2.0], [0.0, 3.0]]


def test_no_start_is_proposed_and_nothing_is_claimed_of_bounds_and_units():
    Y, duality = np.arange(6.0).reshape(3, 2), Duality()
    assert Starts().first_atoms() is None
    assert Starts().proposed_start(Y) is Y
    assert duality.dual_bound(QuadraticSDP(B=1.0, C=np.eye(3)).at(Y)) is None
    assert duality.value_unit(3.0, 1.0) is None


def test_the_coarser_preconditioner_is_the_same_one_unless_there_is_another():
    class Twice(Preconditioner):
        def at(self, evaluation):
            return lambda R: 2.0 * R

    R = np.ones((3, 1))
    assert np.array_equal(Twice().diagonal_at(None)(R), 2.0 * R)


def composed():
    rng = np.random.default_rng(0)
    maps = (LinearMap(rng.standard_normal((9, 5)), "X"),)
    return rng, maps, Images(maps, rng.standard_normal((5, 3)))


def test_drift_bounds_the_rounding_of_many_steps():
    rng, maps, here = composed()
    X = maps[0]
    here.of(X)
    for _ in range(300):
        here = here.step(0.1, Images(maps, rng.standard_normal((5, 3))))
    error = np.linalg.norm(here.of(X) - X.data @ here.factor)
    assert 0.0 < error <= here.drift * np.linalg.norm(X.data, 2) * np.linalg.norm(here.factor)
    assert here.refreshed().drift == 0.0
    np.testing.assert_array_equal(here.refreshed().of(X), X.data @ here.factor)


def test_derived_arrays_are_shared_within_and_not_beyond():
    rng, maps, here = composed()
    calls, double = [], lambda Z: calls.append(1) or 2.0 * Z
    owner, other = object(), object()
    assert here.derived(owner, maps[0], double) is here.derived(owner, maps[0], double)
    here.derived(other, None, double)
    assert len(calls) == 2
    moved = here.step(1.0, Images(maps, rng.standard_normal((5, 3))))
    np.testing.assert_array_equal(moved.derived(owner, maps[0], double), 2.0 * moved.of(maps[0]))
    again = pickle.loads(pickle.dumps(here))
    np.testing.assert_array_equal(again.factor, here.factor)
    assert again._derived == {}


def test_a_factor_changed_in_place_is_not_taken_for_the_old_one():
    """Images belong to one evaluation; nothing is remembered by the identity of the caller's array."""
    measurement = PairDistances([0, 1], [2, 3], n=5)
    Y = np.random.default_rng(0).standard_normal((5, 2))
    first = measurement.pair(Images((), Y), Images((), Y))
    Y *= 2.0
    images = Images((), Y)
    np.testing.assert_allclose(measurement.pair(images, images), 4.0 * first)
