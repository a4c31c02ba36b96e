"""Linearised equations where parts of vectors, second-order cones among them, and of matrices come together."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import block_diag

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints.central_path import interior_steps
from psdopt.constraints.central_path.coupled_systems import RootedSystem, schur_solver
from psdopt.constraints.central_path.interior_steps import Iterate, newton_step
from psdopt.constraints.central_path.orthant import Orthant
from psdopt.constraints.central_path.second_order import SecondOrder
from psdopt.constraints.central_path.semidefinite import Semidefinite
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.linalg.arrays import norm

ORDERS = ("arrow", 4), ("matrix", 3), ("arrow", 4), ("arrow", 6), ("single", 1)


def mixed_form(seed: int = 0) -> StandardForm:
    """Arrows of orders 4, 4 and 6, a block of order 3 and a row; bounds that M = I meets; C ≻ 0."""
    rng = np.random.default_rng(seed)

    def blocks() -> sp.csr_array:
        parts = []
        for kind, s in ORDERS:
            G = rng.standard_normal((s, s))
            if kind == "arrow":
                A = rng.standard_normal() * np.eye(s)
                A[0, 1:] = A[1:, 0] = G[0, 1:]
            parts.append(A if kind == "arrow" else G + G.T)
        return sp.csr_array(block_diag(*parts))

    forms = [blocks() for _ in range(5)]
    at = np.array([A.trace() for A in forms])
    lower, upper = at + np.array([0.0, -0.5, -np.inf, -1.0, 0.0]), at + np.array([0.0, np.inf, 2.0, 1.0, 0.0])
    group = constraints.sparse_forms(forms, lower=lower, upper=upper)
    C = blocks() + 20.0 * sp.eye_array(forms[0].shape[0])
    return StandardForm(Constrained(QuadraticSDP(C=0.5 * C), group).conic)


def iterate(form: StandardForm, depth: float = 0.3) -> Iterate:
    """Vectors with x_0 − |x_1| = `depth` x_0."""
    rng = np.random.default_rng(1)
    X, Z = [], []
    for part in form.parts:
        for P in (X, Z):
            if isinstance(part, Orthant):
                P.append(rng.random(part.degree) + 0.5)
            elif isinstance(part, SecondOrder):
                x = rng.standard_normal(part.C.shape)
                x[:, 0] = np.linalg.norm(x[:, 1:], axis=1) / (1.0 - depth)
                P.append(x)
            else:
                G = 0.3 * rng.standard_normal(part.C.shape)
                P.append(np.eye(part.size) + G @ G.mT)
    return Iterate.of(form, X, Z, 0.1 * rng.standard_normal(form.m))


def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x ∘ y by cones, (K, d)."""
    rest = x[:, :1] * y[:, 1:] + y[:, :1] * x[:, 1:]
    return np.concatenate([np.sum(x * y, axis=1, keepdims=True), rest], axis=1)


def test_parts_are_matrices_then_cones_by_dimension_then_what_is_nonnegative() -> None:
    form = mixed_form()
    assert [type(part) for part in form.parts] == [Semidefinite, SecondOrder, SecondOrder, Orthant]
    assert [part.C.shape for part in form.parts] == [(1, 3, 3), (2, 4), (1, 6), (1 + 4,)]
    assert form.order == 3 + 3 + 1 + 4


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("corrected", [False, True])
@pytest.mark.parametrize("depth", [0.3, 1e-3])
def test_directions_solve_the_linearised_equations_of_cones(careful, corrected, depth) -> None:
    """In the coordinates in which x and z are one λ: λ ∘ (W⁻¹dx + W dz) = t (1, 0) − λ ∘ λ less the last product."""
    form = mixed_form()
    at, target = iterate(form, depth), 0.3
    step = interior_steps.LinearisedEquations(form, at, careful)
    last = None
    if corrected:
        last = step.direction(0.0)
        for part, dP, dS in zip(step.parts, *last[:2], strict=True):
            part.correct(dP, dS)
    dX, dZ, dv = step.direction(target)
    if careful:
        dX, dZ, dv = step.refined(dX, dZ, dv)
    left = form.b - form.measure([X + D for X, D in zip(at.X, dX, strict=True)])
    assert norm(left) <= 1e-9 * max(norm(form.b), sum(map(norm, at.X)))
    for part, Z, D in zip(form.parts, at.Z, dZ, strict=True):
        assert norm(part.C - part.adjoint(at.v + dv) - Z - D) <= 1e-12 * max(1.0, norm(dv))
    for k, part in enumerate(form.parts):
        if not isinstance(part, SecondOrder):
            continue
        metric = step.parts[k].metric
        scaled = metric.root_times(at.Z[k])
        found = product(scaled, metric.root_times(dX[k], inverse=True) + metric.root_times(dZ[k]) + scaled)
        expected = np.zeros_like(found)
        expected[:, 0] = target
        if last is not None:
            curved = product(metric.root_times(last[0][k], inverse=True), metric.root_times(last[1][k]))
            assert norm(curved) > 1e-3
            expected -= curved
        assert np.allclose(found, expected, rtol=0, atol=1e-10 / depth)


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("depth", [0.3, 1e-4, 1e-9])
def test_a_step_goes_on_in_the_cones_with_its_factors(careful, depth) -> None:
    form = mixed_form(2)
    new, length, _ = newton_step(form, iterate(form, depth), 0.9, careful)
    assert 0.0 < length <= 1.0
    for k, part in enumerate(form.parts):
        if isinstance(part, SecondOrder):
            for P, H in ((new.X[k], new.Lx[k]), (new.Z[k], new.Lz[k])):
                assert np.all(P[:, 0] > np.linalg.norm(P[:, 1:], axis=1))
                assert np.array_equal(H, part.factor(P))


@pytest.mark.parametrize("depth", [0.3, 1e-3])
def test_all_ways_solve_the_system_of_its_definition(depth, monkeypatch) -> None:
    form = mixed_form(3)
    step = interior_steps.LinearisedEquations(form, iterate(form, depth), True)
    maps = [part.metric for part in step.parts]
    M = np.zeros((form.m, form.m))
    for part, metric in zip(form.parts, maps, strict=True):
        A = [part.adjoint(e) for e in np.eye(form.m)]
        M += np.array([[np.sum(a * metric.moved(e)) for e in np.eye(form.m)] for a in A])
    assert np.allclose(M, M.T, rtol=0, atol=1e-12 * norm(M))
    x = np.random.default_rng(4).standard_normal(form.m)
    found = [schur_solver(form, maps)(M @ x), RootedSystem(form, maps).solve(M @ x)]
    monkeypatch.setattr(type(form.conic), "sparse", True)
    found.append(schur_solver(form, maps)(M @ x))
    for w in found:
        assert np.linalg.norm(w - x) <= 1e-7 * np.linalg.norm(x)


def test_paths_of_cones_and_of_the_blocks_that_they_are_end_alike(monkeypatch) -> None:
    """X of the path by matrices has other entries where no A_t sees them, but the same traces and rows."""
    ends = []
    for cones in (True, False):
        if not cones:
            monkeypatch.setattr("psdopt.constraints.conic.Conic.hubs", {})
        form = mixed_form(5)
        assert any(isinstance(part, SecondOrder) for part in form.parts) is cones
        at = Iterate.of(form, *interior_steps.first_iterate(form), np.zeros(form.m))
        for _ in range(30):
            mu = sum(np.vdot(X, Z) for X, Z in zip(at.X, at.Z, strict=True)) / form.order
            if mu < 1e-10:
                break
            at, _, _ = newton_step(form, at, 0.9)
        assert mu < 1e-10
        ends.append((form.b @ at.v, form.multipliers(at.v), form.matrix(at.X)))
    (value, y, M), (same, w, N) = ends
    assert value == pytest.approx(same, rel=1e-8)
    assert np.allclose(y, w, rtol=0, atol=1e-6 * norm(w))
    first = 0
    for kind, s in ORDERS:
        P, Q = (each[first : first + s, first : first + s] for each in (M, N))
        assert np.trace(P) == pytest.approx(np.trace(Q), abs=1e-5 * norm(N))
        if kind == "arrow":
            assert np.allclose(P[0, 1:], Q[0, 1:], rtol=0, atol=1e-5 * norm(N))
        assert np.linalg.eigvalsh(P)[0] > -1e-12 * norm(N)
        first += s
