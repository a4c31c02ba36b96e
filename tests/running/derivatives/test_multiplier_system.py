"""The system of the multipliers against the general one, and its inverse against the map itself."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints, solve
from psdopt.running.derivatives.multiplier_system import MultiplierSystem
from psdopt.running.derivatives.preconditioners import system_at, tied
from psdopt.running.derivatives.spectral import Spectral, curvature
from psdopt.running.derivatives.system import AdjointSystem
from tests.running.derivatives.problems import N, cases, symmetric


def problem(name):
    rng = np.random.default_rng(3)
    C, (i, j) = symmetric(rng), np.triu_indices(N, 1)
    some = rng.random(len(i)) < 0.3
    sets = {
        "diagonal": constraints.diagonal(N, rng.uniform(0.5, 2.0, N)),
        "trace": constraints.trace(N, upper=1.5),
        "bounds": [constraints.diagonal(N, 1.0), constraints.entries(i[some], j[some], N, lower=-0.1, upper=0.3)],
        "forms": constraints.sparse_forms([1e3 * symmetric(rng), np.eye(N), symmetric(rng)], equals=[20.0, 4.0, 0.3]),
    }
    return Constrained(QuadraticSDP(B=0.5, C=C), sets[name])


@pytest.mark.parametrize("name", ["diagonal", "trace", "bounds", "forms"])
def test_it_agrees_with_the_general_system(name):
    system = solve(problem(name), tol=1e-9).adjoint._system
    assert isinstance(system, MultiplierSystem)
    at, rng = system.at, np.random.default_rng(0)
    R, q = rng.standard_normal(at.Y.shape), rng.standard_normal(len(at.rows))
    for right in ((R, q), (R, 0.0 * q), (0.0 * R, q)):
        X, v = system.solve(*right)
        U, u = AdjointSystem(at, tied).solve(*right)
        assert np.linalg.norm(X - U) <= 1e-7 * np.linalg.norm(U)
        assert np.linalg.norm(v - u) <= 1e-7 * np.linalg.norm(u)


def test_it_takes_few_products():
    rng = np.random.default_rng(0)
    n, used = 60, []
    system = solve(Constrained(QuadraticSDP(B=0.5, C=symmetric(rng, n)), constraints.diagonal(n, 1.0))).adjoint._system
    inverse = system.inverse
    system.inverse = lambda R, q: used.append(1) or inverse(R, q)
    system.solve(rng.standard_normal(system.at.Y.shape), np.zeros(n))
    assert len(used) <= 20


def test_only_a_curvature_that_is_the_same_in_all_directions_counts():
    for name, case in cases().items():
        at = case.solved().adjoint._at
        expected = name in ("nearest matrix", "nearest correlation")
        assert curvature(at)[1] == expected, name
        if at.model is not None:
            assert isinstance(system_at(at), MultiplierSystem) == expected


@pytest.mark.parametrize("seed", [0, 1, 3, 6, 7])
def test_an_indefinite_S_beyond_the_curvature_is_left_to_the_general_system(seed):
    """Minimisers of a limited rank: S has negative eigenvalues."""
    A = np.random.default_rng(seed).standard_normal((8, 8))
    made = Constrained(QuadraticSDP(B=0.5, C=A + A.T), constraints.diagonal(8, 1.0))
    system = solve(made, max_rank=2, tol=1e-8).adjoint._system
    at, G = system.at, np.random.default_rng(1).standard_normal((8, 2))
    least = np.linalg.eigvalsh(at.slack)[0] + np.linalg.eigvalsh(at.Y.T @ at.Y)[0]  # κ = 1
    assert isinstance(system, MultiplierSystem) == (least > 0.0)
    X, v = system.solve(G, np.zeros(8))
    left = at.horizontal(G) - at.product(X) - at.force(v, at.Y)
    assert np.linalg.norm(at.horizontal(left)) <= 1e-8 * np.linalg.norm(G)


def test_the_inverse_is_exact_in_the_eigenvectors():
    at = cases()["nearest matrix"].solved().adjoint._at
    inverse, rng = Spectral(at), np.random.default_rng(1)
    X = at.horizontal(rng.standard_normal(at.Y.shape))
    found, _ = inverse(at.product(X), np.zeros(0))
    assert np.linalg.norm(found - X) <= 1e-10 * np.linalg.norm(X)
    d = float(np.exp(np.mean(np.log(np.linalg.eigvalsh(at.Y.T @ at.Y)))))
    S, M = at.slack, at.Y @ at.Y.T  # κ = 1
    assert np.allclose(inverse.middle() @ (S + M + d * np.eye(N)), np.eye(N), atol=1e-10)
