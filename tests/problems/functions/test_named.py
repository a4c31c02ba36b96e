"""Parameters by name, and derivatives of minimisers by them."""

from importlib import import_module

import numpy as np
import pytest

from psdopt import Adjoint, FunctionProblem, solve
from psdopt.problems.functions.named import by_name, in_structure

N = 6


def test_names_follow_the_structure():
    found = dict(by_name({"a": 1.0, "b": [np.ones(2), {"c": np.eye(2)}]}))
    assert sorted(found) == ["a", "b[0]", "b[1].c"]
    assert list(dict(by_name(np.eye(2)))) == ["parameters"]
    assert dict(by_name(None)) == {}
    tree = {"a": 1.0, "b": [2.0, (3.0, None)]}
    assert in_structure(tree, lambda name, each: (name, each)) == {
        "a": ("a", 1.0), "b": [("b[0]", 2.0), (("b[1][0]", 3.0), None)]
    }  # fmt: skip


@pytest.mark.parametrize("of", ["matrix", "factor"])
@pytest.mark.parametrize("backend", ["autograd", "jax"])
def test_results_are_differentiated_by_parameters(backend, of):
    pytest.importorskip(backend)
    xp = import_module(f"{backend}.numpy")
    rng = np.random.default_rng(0)
    T, K, G = (A + A.T for A in rng.standard_normal((3, N, N)))

    def f(X, p):
        M = X if of == "matrix" else X @ X.T
        return xp.sum((M - p["T"]) ** 2) / 2.0 + xp.sum(xp.log(xp.cosh(M * p["s"][0])))

    def made(step):
        parameters = {"T": T + step * K, "s": [np.array(0.7 + 0.3 * step)]}
        return FunctionProblem(f, N, backend=backend, of=of, convex=True, parameters=parameters)

    result = solve(made(0.0), tol=1e-8)
    found = result.vjp(G)
    M = {k: Adjoint(made(k * 1e-4), result.matrix).matrix.to_dense() for k in (-2, -1, 1, 2)}
    slope = np.sum(G * (8.0 * (M[1] - M[-1]) - (M[2] - M[-2]))) / (12.0 * 1e-4)
    assert np.sum(found["T"] * K) + 0.3 * found["s[0]"] == pytest.approx(slope, rel=1e-6)
    dM, dF = result.jvp({"T": K, "s[0]": np.array(0.3)})
    assert np.sum(G * dM) == pytest.approx(slope, rel=1e-6)
    by_value = result.vjp(value=1.0)
    assert dF == pytest.approx(np.sum(by_value["T"] * K) + 0.3 * by_value["s[0]"], rel=1e-9)
    alone, _ = result.jvp({"T": K})
    assert np.sum(G * alone) == pytest.approx(np.sum(found["T"] * K), rel=1e-6)  # the other stays
