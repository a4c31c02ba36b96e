"""Functions of the factor: the Hessian of F from one product, and weights of new columns from few gradients."""

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import FunctionProblem
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
