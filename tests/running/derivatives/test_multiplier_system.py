"""The system of the multipliers against the general one, and its inverse against the map itself."""

from dataclasses import replace

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import Adjoint, Constrained, FunctionProblem, LowRankPSD, QuadraticSDP, constraints, solve
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
    assert len(used) <= 12


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
    stepped, pairs = inverse.stepped()
    A = symmetric(rng)
    moved = stepped(A @ at.Y, np.zeros(0))[0] @ at.Y.T
    assert np.allclose(moved, sum(Q @ A @ P for P, Q in pairs), atol=1e-10 * np.abs(moved).max())
    assert np.allclose(sum(P for P, _ in pairs), at.Y @ at.Y.T)
    near = stepped(at.product(X), np.zeros(0))[0]
    assert np.linalg.norm(near - X) <= 0.3 * np.linalg.norm(X)  # √2 at most, of one part of the scale


@pytest.mark.parametrize("bend", [1e-3, 0.3, 3.0, 30.0])
def test_a_curvature_that_differs_from_that_of_the_probe_is_found_by_the_residual(bend):
    """½ |M|² + ⟨c, M⟩ + ½ bend ⟨W, M − M₀⟩² with ⟨W, ·⟩ = 0 along the only direction that is looked at."""
    C = symmetric(np.random.default_rng(0))
    seen = solve(Constrained(QuadraticSDP(B=0.5, C=0.5 * C), constraints.diagonal(N, 1.0)), tol=1e-9).adjoint._at
    Y, probe = seen.Y, seen.horizontal(seen.probe)
    along, W = probe @ Y.T + Y @ probe.T, symmetric(np.random.default_rng(1))
    W = W - np.sum(W * along) / np.sum(along**2) * along
    W = W / np.linalg.norm(W)
    level = float(np.sum(W * (Y @ Y.T)))

    def bent(M, c):
        return 0.5 * anp.sum(M * M) + anp.sum(c * M) + 0.5 * bend * (anp.sum(W * M) - level) ** 2

    made = Constrained(FunctionProblem(bent, N, convex=True, parameters=C), constraints.diagonal(N, 1.0))
    at = replace(seen, problem=made, evaluation=made.at(Y))
    system, rng = system_at(at), np.random.default_rng(2)
    assert isinstance(system, MultiplierSystem)
    R, q = rng.standard_normal(Y.shape), rng.standard_normal(N)
    X, v = system.solve(R, q)
    U, u = AdjointSystem(at, tied).solve(R, q)
    assert np.linalg.norm(X - U) <= 1e-7 * np.linalg.norm(U)
    assert np.linalg.norm(v - u) <= 1e-7 * np.linalg.norm(u)


@pytest.mark.parametrize("rank", [1, 2, 5, 6])
def test_the_multipliers_agree_with_the_dense_system(rank):
    """Any rank of M, up to a definite one; as many constraints as determine M of rank 1."""
    rng = np.random.default_rng(rank)
    n, k = 6, 3
    Y = rng.standard_normal((n, rank))
    forms = [symmetric(rng, n) for _ in range(k)]
    beyond = np.linalg.qr(Y, mode="complete")[0][:, rank:]
    y, S = rng.standard_normal(k), (beyond * np.linspace(0.2, 1.0, n - rank)) @ beyond.T
    C = S - Y @ Y.T - sum(a * A for a, A in zip(y, forms, strict=True))
    bounds = [float(np.sum(A * (Y @ Y.T))) for A in forms]
    made = Constrained(QuadraticSDP(B=0.5, C=0.5 * C), constraints.sparse_forms(forms, equals=bounds))
    system = Adjoint(made, LowRankPSD(Y), y)._system
    assert isinstance(system, MultiplierSystem)
    at, R, q = system.at, rng.standard_normal((n, rank)), rng.standard_normal(k)
    columns = []
    for unit in np.eye(n * rank + k):
        X, v = unit[: n * rank].reshape(n, rank), unit[n * rank :]
        level = at.horizontal(X)
        upper = at.slack @ level + (level @ at.Y.T + at.Y @ level.T) @ at.Y + (X - level)
        upper += sum((a * A for a, A in zip(v, forms, strict=True)), np.zeros((n, n))) @ at.Y
        columns.append(np.concatenate([upper.ravel(), [-2.0 * np.sum(A * (at.Y @ X.T)) for A in forms]]))
    found = np.linalg.solve(np.array(columns).T, np.concatenate([at.horizontal(R).ravel(), q]))
    X, v = system.solve(R, q)
    assert np.linalg.norm(X.ravel() - found[: n * rank]) <= 1e-8 * np.linalg.norm(X)
    assert np.linalg.norm(v - found[n * rank :]) <= 1e-8 * np.linalg.norm(v)
