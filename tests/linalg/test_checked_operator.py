"""An operator as eigensolvers see it: counted, checked, formed from its entries."""

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

from psdopt.linalg.extreme import smallest_eigenpair
from tests.linalg.spectra import matrix


class Assembled(LinearOperator):
    """An operator whose entries are at hand; its products are counted."""

    def __init__(self, S, entries):
        super().__init__(float, S.shape)
        self.S, self.entries, self.calls = S, entries, 0

    def _matmat(self, V):
        self.calls += 1
        return self.S @ V


@pytest.mark.parametrize("threshold", [None, -3.0])
def test_entries_take_the_place_of_products(threshold):
    S = matrix(np.linspace(-1.0, 2.0, 150), 3)
    operators = Assembled(S, lambda: S.copy()), Assembled(S, lambda: None), S
    options = {"threshold": threshold, "backend": "dense"}
    own, product, plain = (smallest_eigenpair(operator, **options) for operator in operators)
    assert operators[0].calls == 0
    assert operators[1].calls > 0
    assert own.products == product.products == plain.products == 150
    slack = 64 * 150**0.5 * np.finfo(float).eps * 2.0
    for other in (product, plain):
        assert abs(own.value - other.value) <= slack
        assert abs(own.lower_bound - other.lower_bound) <= slack
        assert abs(own.vector @ other.vector) >= 1.0 - slack / 0.02  # distance of the eigenvalues
    assert own.lower_bound <= np.linalg.eigvalsh(S)[0] + slack


def test_entries_that_are_not_finite_raise():
    S = matrix(np.linspace(-1.0, 2.0, 80), 4)
    spoilt = S.copy()
    spoilt[3, 5] = spoilt[5, 3] = np.nan
    with pytest.raises(FloatingPointError, match="not finite"):
        smallest_eigenpair(Assembled(S, lambda: spoilt), backend="dense")


@pytest.mark.parametrize("budget", [8, 12, 20, 40])
def test_rounding_is_relative_to_the_largest_product_that_was_seen(budget):
    """The norm of S is estimated from below by every product; to forget one would make the proven bound too tight."""
    n = 200
    S = matrix(np.random.default_rng(0).choice([-1.0, 1.0], n) * np.linspace(0.5, 1.0, n))
    seen = []

    class Recorded:
        shape = (n, n)

        def __matmul__(self, X):
            image = S @ X
            seen.append(np.max(np.linalg.norm(image, axis=0) / np.linalg.norm(X, axis=0)))
            return image

    pair = smallest_eigenpair(Recorded(), backend="lanczos", max_products=budget)
    assert pair.norm >= max(seen) * (1.0 - 1e-12)
    assert pair.lower_bound <= pair.value - 4.0 * n**0.5 * np.finfo(float).eps * max(seen) * (1.0 - 1e-12)
