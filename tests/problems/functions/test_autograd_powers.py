"""Powers and sums: autograd's own derivatives of every order, without its powers and copies."""

import math

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import elementwise_grad, grad, make_hvp
from autograd.core import make_vjp
from autograd.test_util import check_grads

from psdopt.problems.functions import autograd_powers

autograd_powers.register()
RNG = np.random.default_rng(0)
POWERS = [0, 1, 2, 3, 2.0, 0.5, -1, -1.5, True, np.float64(2.0), np.int64(3), np.array(2.0), np.array([1.0, 2.0, 3.0])]
SUMS = {
    "all": {},
    "rows": {"axis": 1},
    "last": {"axis": -1},
    "two": {"axis": (0, -1)},
    "list of all": {"axis": (0, 1, 2)},
    "none of them": {"axis": ()},
    "kept": {"axis": 1, "keepdims": True},
    "all kept": {"keepdims": True},
    "typed": {"axis": 0, "dtype": np.float64},
}


@pytest.mark.parametrize("p", POWERS, ids=repr)
def test_derivatives_of_powers_of_every_order(p):
    x = RNG.uniform(0.5, 2.0, (2, 3))
    check_grads(lambda x: x**p, modes=["rev"], order=3)(x)
    check_grads(lambda x: anp.power(x, p), modes=["fwd", "rev"], order=2)(x)
    check_grads(lambda x: x**p, modes=["rev"], order=2)(1.5)


@pytest.mark.parametrize("x", [0.0, -1.5, np.inf, 1e200])
@pytest.mark.parametrize("p", [0, 1, 2, 3, 2.0, -2])
def test_at_the_ends_of_the_numbers(x, p):
    with np.errstate(all="ignore"):
        found, expected = grad(lambda x: x**p)(x), p * np.float64(x) ** (p - 1) if p else 0.0
    assert found == expected


def test_exponents_that_are_differentiated():
    x, p = RNG.uniform(0.5, 2.0, 3), RNG.uniform(0.5, 2.0, 3)
    check_grads(lambda p: x**p, modes=["rev"], order=2)(p)
    check_grads(lambda x, p: anp.power(x, p), modes=["rev"], order=2)(x, p)
    check_grads(lambda p: 3.0**p, modes=["rev"], order=2)(1.7)
    check_grads(lambda x: x**x, modes=["rev"], order=2)(1.3)


@pytest.mark.parametrize("named", SUMS.values(), ids=SUMS.keys())
@pytest.mark.parametrize("shape", [(4, 3, 2), (1, 1, 1), (0, 2, 3)])
def test_derivatives_of_sums_of_every_order(shape, named):
    A = RNG.standard_normal(shape)
    check_grads(lambda A: anp.sum(anp.sin(A), **named) ** 2, modes=["fwd", "rev"], order=2)(A)


def test_sums_of_numbers_lists_axes_by_place_and_complex_arrays():
    check_grads(lambda x: anp.sum(x) ** 2, modes=["rev"], order=2)(1.5)
    A = RNG.standard_normal((3, 4))
    for of in (lambda A: anp.sum(A**2, 1), lambda A: (A**2).sum(0), lambda A: sum(A**2), lambda A: np.sum(A**2, -1)):
        check_grads(of, modes=["rev"], order=2)(A)
    check_grads(lambda A: anp.real(anp.sum(A * (1.0 + 2.0j))), modes=["rev"], order=2)(A)
    check_grads(lambda A: anp.abs(anp.sum(A**2)), modes=["rev"], order=2)(A + 1j)
    check_grads(lambda A: anp.abs(A) ** 2, modes=["rev"], order=2)(A + 1j)


def test_a_gradient_that_is_a_view_is_not_changed_by_sums_of_gradients():
    A = RNG.standard_normal((3, 4))
    found = grad(lambda A: anp.sum(A) + anp.sum(A[1:]) + 2.0 * anp.sum(A[:, 0]) + anp.sum(A))(A)
    expected = np.full((3, 4), 2.0)
    expected[1:] += 1.0
    expected[:, 0] += 2.0
    assert np.array_equal(found, expected)
    assert np.array_equal(elementwise_grad(lambda A: A**2)(A), 2.0 * A)


def test_a_product_with_the_hessian_takes_no_power(monkeypatch):
    """f = Σ_t |x_tᵀY|⁴ / 4: one square of each array in f, and none in a product."""
    X, Y, D = RNG.standard_normal((9, 4)), RNG.standard_normal((4, 2)), RNG.standard_normal((4, 2))
    taken = []
    power = anp.power.fun
    monkeypatch.setattr(anp.power, "fun", lambda *given: taken.append(1) or power(*given))

    def f(Y):
        return 0.25 * anp.sum(anp.sum((X @ Y) ** 2, axis=1) ** 2)

    product, _ = make_vjp(grad(f), Y)
    before = len(taken)
    found = product(D)
    assert len(taken) == before
    Z, V = X @ Y, X @ D
    expected = X.T @ ((Z * Z).sum(1)[:, None] * V + 2.0 * (Z * V).sum(1)[:, None] * Z)
    assert math.isclose(float(np.abs(found - expected).max()), 0.0, abs_tol=1e-12 * float(np.abs(expected).max()))
    assert np.allclose(found, make_hvp(f)(Y)[0](D))
