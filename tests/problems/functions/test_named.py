"""Parameters by name, and derivatives of minimisers by them."""

from importlib import import_module

import numpy as np
import pytest

from psdopt import Adjoint, FunctionProblem, solve
from psdopt.errors import InvalidTypeError
from psdopt.problems.functions.named import by_name

N = 6


def test_names_follow_the_structure():
    found = dict(by_name({"a": 1.0, "b": [np.ones(2), {"c": np.eye(2)}]}))
    assert sorted(found) == ["a", "b[0]", "b[1].c"]
    assert list(dict(by_name(np.eye(2)))) == ["parameters"]
    assert dict(by_name(None)) == {}


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
    with pytest.raises(InvalidTypeError, match="use vjp, not jvp"):
        result.jvp({"T": K})
