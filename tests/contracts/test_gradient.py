"""S as an array: its own entries where it has them, else products of blocks of unit columns."""

import numpy as np
import pytest

from psdopt import QuadraticSDP
from psdopt.contracts.gradient import GradientOperator, dense_gradient
from psdopt.linalg.extreme import DENSE_LIMIT


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


def test_it_is_the_gradient_of_a_problem():
    C = np.array([[1.0, 0.5], [0.5, -2.0]])
    here = QuadraticSDP(B=1.0, C=C).at(np.array([[1.0], [2.0]]))
    np.testing.assert_allclose(dense_gradient(here), here.gradient @ np.eye(2), rtol=1e-15)
