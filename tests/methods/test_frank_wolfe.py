"""Frank–Wolfe on the spectraplex: the gap bounds, the O(1/k) rate, linear convergence where it is due."""

import dataclasses
import pickle

import numpy as np
import pytest

import psdopt
from psdopt import LowRankPSD, QuadraticSDP, Spectraplex, TermSum
from psdopt.methods import frank_wolfe
from psdopt.methods.factor_moves import share_toward
from psdopt.methods.frank_wolfe import VARIANTS, FrankWolfe
from psdopt.terms import MeasuredTerm, QuadraticForms, SquaredHinge
from tests.methods.planted import planted


def spread(n=20, trace=1.0):
    """A problem whose minimiser over tr M = trace has two equal eigenvalues, and S ⪰ 0 there; F* and L."""
    problem, best, _ = planted(n, 2, values=np.full(2, trace / 2.0))
    return problem, best, 2 * np.linalg.norm(problem.A.to_dense(), 2) ** 2 + 0.2


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("trace", [1.0, 5.0])
def test_gap_bounds_the_error_and_the_rate_holds(variant, trace):
    """F(M_k) − F* <= 2 C/(k + 2), C = L diam² with diam² = 2 trace²; and <= gap at every step."""
    problem, best, lipschitz = spread(trace=trace)
    result = psdopt.solve(problem, Spectraplex(20, trace), FrankWolfe(variant=variant), max_iterations=40)
    errors, gaps = result.history["value"] - best, result.history["gap"]
    rounding = 1e-12 * abs(best)
    k = np.arange(1, len(errors))
    assert np.all(errors <= gaps + rounding)
    assert np.all(errors[1:] <= 2 * lipschitz * 2 * trace**2 / (k + 2) + rounding)
    assert result.matrix.trace() == pytest.approx(trace)


def test_fully_corrective_converges_linearly_and_vanilla_does_not():
    problem, best, _ = spread()
    fast = psdopt.solve(problem, Spectraplex(20), FrankWolfe(), tol=1e-6, max_iterations=60)
    slow = psdopt.solve(problem, Spectraplex(20), FrankWolfe(variant="vanilla"), tol=1e-6, max_iterations=60)
    assert (FrankWolfe().sublinear_order, FrankWolfe("vanilla").sublinear_order) == (None, 1.0)
    assert fast.optimal
    assert not slow.optimal
    assert fast.certificate.gap_relative <= 1e-6
    assert fast.value == pytest.approx(best, abs=1e-6 * abs(best))


def nearest(eigenvalues, outside=0.2):
    """(|M − T|², its least value): T has M* = Q diag(eigenvalues) Qᵀ for its projection, `outside` below its face."""
    n = len(eigenvalues)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    off = np.where(eigenvalues > 0.0, 0.0, -outside)
    M, T = (Q * eigenvalues) @ Q.T, (Q * (eigenvalues + off)) @ Q.T
    return QuadraticSDP(B=1.0, C=-T), float(np.sum(M * M) - 2.0 * np.sum(M * T))


def test_linear_rate_towards_an_interior_optimum():
    """h_{k+1} <= (1 − r²/diam²) h_k, with M* at distance r from the boundary and a condition number of 1
    (Guélat and Marcotte, 1986): r = λ_min √(n/(n−1)), diam² = 2. Vanilla steps obey it one by one."""
    eigenvalues = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    problem, best = nearest(eigenvalues)
    result = psdopt.solve(problem, Spectraplex(5), FrankWolfe(variant="vanilla"), tol=1e-14, max_iterations=200)
    h = result.history["value"] - best
    rate = 1.0 - 0.1**2 * 1.25 / 2.0
    assert np.all(h[1:] <= rate * h[:-1] + 1e-13 * abs(best))
    assert h[200] <= 1e-2 * h[100] <= 1e-3 * h[50]


def test_sublinear_towards_a_face_and_linear_towards_a_vertex():
    """On a face of rank 2 neither the interior nor a polytope's facial distance helps; an atom is reached linearly."""
    face, least = nearest(np.array([0.6, 0.4, 0.0, 0.0, 0.0]))
    result = psdopt.solve(face, Spectraplex(5), FrankWolfe(variant="vanilla"), tol=1e-14, max_iterations=200)
    h = result.history["value"] - least
    assert h[200] >= 0.05 * h[100]
    atom, lowest = nearest(np.array([1.0, 0.0, 0.0, 0.0, 0.0]))
    result = psdopt.solve(atom, Spectraplex(5), FrankWolfe(variant="vanilla"), tol=1e-14, max_iterations=60)
    h = result.history["value"] - lowest
    assert h[20] <= 1e-9 * h[1]


@pytest.mark.parametrize(
    ("former", "text", "now"),
    [
        ({"variant": "away"}, "away", FrankWolfe(variant="fully-corrective")),
        ({"variant": "pairwise"}, "pairwise", FrankWolfe(variant="fully-corrective")),
        ({"step": "hazan"}, r"FrankWolfe\(step=...\) is deprecated: the exact line search", FrankWolfe()),
        ({"rule": "hazan"}, r"FrankWolfe\(rule=...\) is deprecated: the exact line search", FrankWolfe()),
    ],
)
def test_former_words_warn_where_they_are_used(former, text, now):
    with pytest.warns(DeprecationWarning, match=text) as told:
        method = FrankWolfe(**former)
    assert told[0].filename == __file__
    assert method == now == pickle.loads(pickle.dumps(method)) == dataclasses.replace(method)


@pytest.mark.parametrize("apart", [1e-3, 1e-7, 3e-8])
def test_the_basis_of_nearly_parallel_atoms_is_orthonormal(apart):
    """tr(V B Vᵀ) is tr B only then: without it runs left the set, unseen."""
    problem = QuadraticSDP(None, 1.0, -np.diag([2.0, 1.0, 0.5, 0.1]))
    u = np.array([0.6, 0.8, 0.0, 0.0])
    Y = np.column_stack([u, u + apart * np.eye(4)[:, 2], 1e-6 * np.eye(4)[:, 3]])
    basis, W = frank_wolfe._orthonormal(problem.at(Y))
    V = basis.factor
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-13)
    np.testing.assert_allclose(V @ W @ V.T, Y @ Y.T, atol=1e-14)


@pytest.mark.parametrize("trace", [0.5, 3.0])
def test_vanilla_steps_are_those_of_the_textbook(trace):
    """M ← M + gamma (trace v vᵀ − M), v the least eigenvector of S, for the best gamma in [0, 1] of a quadratic F."""
    problem = spread(n=7, trace=trace)[0]
    method, geometry = FrankWolfe("vanilla"), Spectraplex(7, trace)
    state = method.init(problem, geometry, geometry.from_factor(np.sqrt(trace / 7.0) * np.eye(7)))
    M, gamma = trace / 7.0 * np.eye(7), 0.0
    for _ in range(5):
        S = state.evaluation.gradient @ np.eye(7)
        values, vectors = np.linalg.eigh(S)
        gap = np.sum(S * M) - trace * values[0]
        np.testing.assert_allclose(state.evaluation.matrix.to_dense(), M, atol=1e-9)
        assert state.gap == state.extras["gap"] == pytest.approx(gap, rel=1e-9)
        assert state.gradient_norm == pytest.approx(2.0 * gap / np.sqrt(trace), rel=1e-9)
        assert state.step == state.extras.get("gamma", 0.0) == pytest.approx(gamma, rel=1e-6)
        D = trace * np.outer(vectors[:, 0], vectors[:, 0]) - M
        there = problem.at(LowRankPSD.from_dense(M + D).factor).gradient @ np.eye(7)
        gamma = min(-np.sum(S * D) / np.sum((there - S) * D), 1.0)
        M = M + gamma * D
        state = method.step(state)


def test_the_oracle_is_asked_for_a_share_of_the_gap_and_its_error_counts(monkeypatch):
    problem = spread(n=8, trace=2.0)[0]
    geometry, asked, atoms = Spectraplex(8, 2.0), [], []
    oracle = Spectraplex.minimize_linear

    def minimize_linear(self, S, tol, warm_start=None):
        atom = oracle(self, S, tol, warm_start)
        asked.append((tol, warm_start))
        atoms.append(dataclasses.replace(atom, gap_bound=0.25))
        return atoms[-1]

    monkeypatch.setattr(Spectraplex, "minimize_linear", minimize_linear)
    method = FrankWolfe(variant="vanilla")
    first = method.init(problem, geometry, geometry.from_factor(0.5 * np.eye(8)))
    product = 0.5 * np.sum(first.evaluation.factor_gradient() * first.evaluation.factor)
    share = asked[0][0] / abs(product)
    assert 0.0 < share < 0.5
    assert asked[0][1] is None
    assert first.gap == pytest.approx(product - atoms[0].value + 0.25, rel=1e-12)
    method.step(first)
    assert asked[1][0] == pytest.approx(share * first.gap, rel=1e-12)
    assert asked[1][1] is atoms[0].vector


def test_the_corrective_variant_keeps_principal_axes_and_the_other_the_factor_it_has():
    problem = spread(n=6)[0]
    geometry = Spectraplex(6)
    Y = np.outer(np.arange(1.0, 7.0), [3.0, 4.0])
    Y = np.column_stack([Y, np.eye(6)[:, 0]])
    Y /= np.linalg.norm(Y)
    for variant in VARIANTS:
        state = FrankWolfe(variant=variant).init(problem, geometry, geometry.from_factor(Y), problem.at(Y))
        gram = state.evaluation.factor.T @ state.evaluation.factor
        corrective = variant == "fully-corrective"
        assert state.evaluation.factor.shape == (6, 2 if corrective else 3)
        assert (np.max(np.abs(gram - np.diag(np.diagonal(gram)))) <= 1e-14) == corrective
        np.testing.assert_allclose(state.evaluation.matrix.to_dense(), Y @ Y.T, atol=1e-14)


@pytest.mark.parametrize("start", [1, 3])
def test_a_corrective_step_ends_at_a_small_gap_within_its_span(start):
    """From one atom the span has two directions, which is enough to correct."""
    problem, geometry = spread(n=9)[0], Spectraplex(9)
    method = FrankWolfe()
    Y = np.linalg.qr(np.random.default_rng(3).standard_normal((9, start)))[0] / np.sqrt(start)
    state = method.init(problem, geometry, geometry.from_factor(Y))
    for _ in range(3):
        before, state = state, method.step(state)
        V = np.linalg.qr(np.column_stack([before.evaluation.factor, before.atom.vector]))[0]
        S = state.evaluation.gradient @ np.eye(9)
        within = np.sum(S * state.evaluation.matrix.to_dense()) - np.linalg.eigvalsh(V.T @ S @ V)[0]
        assert within <= 0.3 * before.gap
        assert 0.0 <= state.extras["gamma"] <= 1.0


@pytest.mark.parametrize(("seed", "between"), [(0, False), (1, True), (3, True)])
def test_the_best_point_towards_an_atom(seed, between):
    rng = np.random.default_rng(seed)
    problem = TermSum([MeasuredTerm(QuadraticForms(rng.standard_normal((12, 4))), SquaredHinge(2.0))])
    plane = problem.at(rng.standard_normal((4, 2))).along_atom(rng.standard_normal(4))
    t = share_toward(plane)
    least = min(plane.value(1.0 - s, s) for s in np.linspace(0.0, 1.0, 1001))
    assert plane.value(1.0 - t, t) <= least * (1.0 + 1e-14)
    assert (0.0 < t < 1.0) is between
