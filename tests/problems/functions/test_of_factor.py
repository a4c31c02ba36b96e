"""Functions of the factor: the Hessian of F from one product, and weights of new columns from few gradients."""

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import FunctionProblem, solve
from psdopt.contracts.gradient import dense_gradient
from psdopt.problems.functions.of_factor import width

from .backends import BACKENDS, N, problem, reference

Y, D = np.random.default_rng(0).standard_normal((2, N, 2))
V = np.random.default_rng(1).standard_normal(N)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_hessian_without_its_part_S_D_takes_one_product(backend, monkeypatch):
    here = problem(backend, "factor").at(Y)
    np.testing.assert_allclose(here.curvature_product(D), reference().at(Y).curvature_product(D), rtol=1e-11)
    traced = here._beside[1]
    products = []
    here._beside = here._beside[0], traced._replace(product=lambda E: products.append(E.shape) or traced.product(E))
    monkeypatch.setattr(here.problem.backend, "second_order", None)
    here.curvature_product(D)
    assert products == [(N, 4)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("rows", [1.0, np.logspace(-6.0, 3.0, N)[:, None]])
def test_S_as_an_array_takes_one_gradient_and_serves_products_and_certificates(backend, rows):
    """To rounding, where the diagonal of M spans many orders of magnitude or is 0 somewhere as well."""
    case, exact = problem(backend, "factor"), reference()
    for at in (rows * Y, Y * (np.arange(N) > 0)[:, None]):
        here = case.at(at)
        gradients, first_order = [], case.backend.first_order
        case.backend.first_order = lambda x, inside=first_order, seen=gradients: seen.append(x.shape) or inside(x)
        S = dense_gradient(here)
        case.backend.first_order = first_order
        assert len(gradients) == 1
        np.testing.assert_allclose(S, dense_gradient(exact.at(at)), rtol=1e-12, atol=1e-13)
        assert here.refresh() is here
        here._beside_product = None
        np.testing.assert_array_equal(here.gradient @ D, S @ D)
        S[:] = 0.0  # an array of the caller's
        assert np.any(dense_gradient(here))


def test_S_of_a_function_that_mixes_columns_and_S_at_0_come_from_products():
    """Short columns lose their digits in the singular values of Y; at 0 no column is short."""

    def loss(Y):
        u = anp.linalg.svd(Y, full_matrices=False)[1]
        return anp.sum(u**4 + u**2)

    case = FunctionProblem(loss, N, of="factor")
    full = np.random.default_rng(5).standard_normal((N, N))
    np.testing.assert_allclose(dense_gradient(case.at(full)), np.eye(N) + 2.0 * full @ full.T, rtol=1e-9, atol=1e-9)
    squares = FunctionProblem(lambda Y: anp.sum((Y @ Y.T - np.eye(N)) ** 2), N, of="factor")
    np.testing.assert_allclose(dense_gradient(squares.at(0.0 * Y)), -2.0 * np.eye(N), atol=1e-14)


@pytest.mark.parametrize("convex", [True, False])
def test_the_weight_of_a_new_column_takes_few_gradients_and_most_of_the_decrease(convex):
    """Of Σ log(1 + (x_tᵀM x_t − y_t)²) and of squares, from a multiple of Y at which S has negative eigenvalues."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((20, N))
    y = np.sum((X @ rng.standard_normal((N, 3))) ** 2, axis=1)

    def loss(Y):
        missed = (anp.sum((X @ Y) ** 2, axis=1) - y) ** 2
        return anp.sum(missed if convex else anp.log1p(missed))

    case = FunctionProblem(loss, N, of="factor", convex=convex)
    here = case.at(0.3 * Y)
    values, vectors = np.linalg.eigh(here.gradient @ np.eye(N))
    assert values[0] < 0.0
    plane, v = here.along_atom(vectors[:, 0]), vectors[:, 0]
    assert v @ (here.gradient @ v[:, None])[:, 0] == pytest.approx(values[0], rel=1e-9)
    traces = []
    original = case.backend.second_order
    case.backend.second_order = lambda x: traces.append(1) or original(x)
    nearly = plane.nearly_best_beta(values[0])
    few = len(traces)
    best = plane.minimize(alpha=(1.0, 1.0))[1]
    assert few <= len(traces) - few
    gains = [here.value - plane.value(1.0, beta) for beta in (nearly, best)]
    assert gains[0] >= 0.8 * gains[1] > 0.0


def test_the_weight_is_exact_where_no_gradient_is_wanted():
    """Of a function of the matrix, whose planes are searched with exact derivatives."""
    plane = reference().at(Y).along_atom(V)
    assert plane.nearly_best_beta(-1.0) == plane.minimize(alpha=(1.0, 1.0))[1]


def test_compiled_functions_see_few_widths_and_few_needless_columns():
    widths = {k: width(k) for k in range(1, 500)}
    assert all(k <= wide <= (1.5 if k <= 16 else 1.25) * k for k, wide in widths.items())
    assert [len({widths[k] for k in range(1, most + 1)}) for most in (16, 64, 256)] == [8, 16, 24]


def test_measurements_in_tiny_units_are_fitted():
    """M is of the size 1e54, and cubes of the steps from a start of size 1 overflow."""
    X = 1e-27 * np.random.default_rng(0).standard_normal((20, 3))

    def loss(Y):
        return anp.sum((anp.sum((X @ Y) ** 2, axis=1) - 1.0) ** 2)

    assert solve(FunctionProblem(loss, 3, of="factor", convex=True)).optimal
