"""Splitting on the dual: agreement with interior points and a conic solver, invariants of a step, resumption."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from psdopt import BoundaryPoint, Constrained, InteriorPoint, Outcome, PSDCone, QuadraticSDP, Status, constraints, solve
from psdopt.errors import IncompatibleError, InvalidInputError
from psdopt.methods import boundary_point
from psdopt.methods.boundary_point import _split
from psdopt.running.choose import choose
from tests.methods.test_interior_point import random_program, reference


def theta(n: int, density: float, seed: int) -> Constrained:
    """min −⟨J, M⟩, tr M = 1, M_ij = 0 on edges: minus the theta number of a random graph."""
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(n, 1)
    edge = rng.random(len(i)) < density
    held = [constraints.trace(n, 1.0), constraints.entries(i[edge], j[edge], n, 0.0)]
    return Constrained(QuadraticSDP(C=-0.5 * np.ones((n, n))), held)


@pytest.mark.parametrize("seed", range(3))
def test_it_agrees_with_a_conic_solver(seed) -> None:
    problem = random_program(8, 6, seed)
    result = solve(problem, PSDCone(8), BoundaryPoint(), max_iterations=20_000)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(reference(problem), rel=1e-5)


def test_theta_numbers_are_certified_and_agree_with_interior_points() -> None:
    problem = theta(40, 0.5, 0)
    split, newton = (solve(problem, PSDCone(40), method) for method in (BoundaryPoint(), InteriorPoint()))
    assert split.status is newton.status is Status.OPTIMAL
    assert split.value == pytest.approx(newton.value, rel=4e-6)
    assert split.certificate.dual_value <= newton.value
    assert split.certificate.constraints.primal_infeasibility <= 1e-6


def test_a_step_keeps_both_cones_and_complementarity() -> None:
    problem, method = theta(15, 0.4, 1), BoundaryPoint()
    geometry = PSDCone(15)
    state = method.init(problem, geometry, geometry.from_factor(np.zeros((15, 1))))
    for _ in range(5):
        state = method.step(state)
        M = state.evaluation.factor @ state.evaluation.factor.T
        assert np.linalg.eigvalsh(state.Z[0])[0] >= -1e-13
        assert abs(np.vdot(M, state.Z[0])) <= 1e-12 * max(np.linalg.norm(M) * np.linalg.norm(state.Z[0]), 1e-300)


def test_a_split_gives_both_parts() -> None:
    rng = np.random.default_rng(2)
    for shift in (-1.0, 0.0, 1.0):  # few negative eigenvalues, some, many
        G = rng.standard_normal((9, 9))
        W = G + G.T + 8.0 * shift * np.eye(9)
        positive, negative, half = _split(W)
        values = np.linalg.eigvalsh(W)
        assert np.allclose(positive - negative, W, atol=1e-12)
        assert np.allclose(np.linalg.eigvalsh(positive), np.maximum(values, 0.0), atol=1e-12)
        assert np.allclose(half @ half.T, negative, atol=1e-12)


def test_the_normal_equations_are_those_of_the_measurements() -> None:
    problem, method = theta(12, 0.4, 3), BoundaryPoint()
    geometry = PSDCone(12)
    form = method.init(problem, geometry, geometry.from_factor(np.zeros((12, 1)))).form
    block = form.blocks[0]
    gram = np.column_stack([block.measure(block.adjoint(e)) for e in np.eye(form.m)])
    right = np.random.default_rng(0).standard_normal(form.m)
    assert np.allclose(gram @ form.normal_factor.solve(right), right, atol=1e-10)


def test_inequalities_are_slacks() -> None:
    rng = np.random.default_rng(7)
    n = 6
    C = rng.standard_normal((n, n))
    i, j = np.triu_indices(n, 1)
    held = [constraints.trace(n, 3.0), constraints.entries(i, j, n, lower=-0.2, upper=0.3)]
    problem = Constrained(QuadraticSDP(C=(C + C.T) / 2), held)
    result = solve(problem, PSDCone(n), BoundaryPoint(), max_iterations=20_000)
    assert result.status is Status.OPTIMAL
    assert result.value == pytest.approx(reference(problem), rel=1e-5)


def test_a_resumed_run_takes_the_same_steps(tmp_path) -> None:
    problem, path = theta(20, 0.5, 4), tmp_path / "run.ckpt"
    whole = solve(problem, PSDCone(20), BoundaryPoint(), max_iterations=60, tol=1e-12)
    solve(problem, PSDCone(20), BoundaryPoint(), max_iterations=30, tol=1e-12, checkpoint=path)
    resumed = solve(problem, PSDCone(20), BoundaryPoint(), max_iterations=60, tol=1e-12, resume=path)
    assert resumed.value == whole.value
    assert resumed.iterations == whole.iterations


def test_it_is_chosen_for_very_many_constraints() -> None:
    many, few = theta(70, 0.8, 5), theta(30, 0.2, 5)
    assert isinstance(choose(many, None, None)[1], BoundaryPoint)
    assert isinstance(choose(few, None, None)[1], InteriorPoint)


def test_what_it_cannot_take_is_refused() -> None:
    with pytest.raises(IncompatibleError):
        solve(QuadraticSDP(B=1.0, C=-np.eye(3)), PSDCone(3), BoundaryPoint())
    with pytest.raises(InvalidInputError, match=r"overshoot must be .* above 0 and below 1\.618.*; found 1\.7"):
        BoundaryPoint(1.7)


@pytest.mark.parametrize("penalty", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("overshoot", [1.0, 1.6])
def test_a_step_is_that_of_the_literature(penalty, overshoot, monkeypatch) -> None:
    """A A*(v) = A(C − Z) + (b − A(X))/s, Z − Z₋ = W = C − A*(v) − X/s, X⁺ = (1 − rho) X + rho s Z₋, and so for x, z."""
    told = []
    balanced = BoundaryPoint._balanced
    monkeypatch.setattr(
        BoundaryPoint, "_balanced", lambda self, new, p, d: told.append((p, d)) or balanced(self, new, p, d)
    )
    problem, method = random_program(6, 5, 1), BoundaryPoint(overshoot)
    state = method.init(problem, PSDCone(6), np.zeros((6, 1)))
    form = state.form
    (block,) = form.blocks
    gram = np.array([form.A @ (form.At @ e) + block.measure(block.adjoint(e)) for e in np.eye(form.m)])
    for _ in range(4):
        s, X, Z, x, z = penalty, state.X[0], state.Z[0], state.x, state.z
        right = block.measure(block.C - Z) + form.A @ (form.c - z) + (form.b - form.A @ x - block.measure(X)) / s
        state = method.step(replace(state, penalty=s))
        v = np.linalg.solve(gram, right)
        np.testing.assert_allclose(state.v, v, rtol=1e-7, atol=1e-9)
        values, V = np.linalg.eigh(block.C - block.adjoint(v) - X / s)
        up, down = (V * np.maximum(values, 0.0)) @ V.T, (V * np.maximum(-values, 0.0)) @ V.T
        w = form.c - form.At @ v - x / s
        np.testing.assert_allclose(state.Z[0], up, atol=1e-7)
        np.testing.assert_allclose(state.X[0], (1.0 - overshoot) * X + overshoot * s * down, atol=1e-7)
        np.testing.assert_allclose(state.z, np.maximum(w, 0.0), atol=1e-8)
        np.testing.assert_allclose(state.x, (1.0 - overshoot) * x + overshoot * s * np.maximum(-w, 0.0), atol=1e-7)
        assert (state.step, state.outcome) == (s, Outcome.RUNNING)
        primal = np.linalg.norm(form.b - form.A @ state.x - block.measure(state.X[0]))
        dual = np.hypot(np.linalg.norm(block.C - block.adjoint(v) - up), np.linalg.norm(form.c - form.At @ v - state.z))
        assert told[-1] == (pytest.approx(primal, rel=1e-5), pytest.approx(0.5 * dual, rel=1e-5))


def test_the_penalty_moves_after_so_many_steps_with_one_residual_the_larger() -> None:
    method = BoundaryPoint()
    state = method.init(random_program(4, 3, 0), PSDCone(4), np.zeros((4, 1)))
    assert (state.penalty, state.steps, state.primal_larger, state.dual_larger) == (1.0, 0, 0, 0)
    for early, limit in ((0, boundary_point.STEPS_EARLY), (boundary_point.EARLY, boundary_point.STEPS_LATE)):
        for primal, dual, factor in ((2.1, 1.0, 1.0 / boundary_point.FACTOR), (2.0, 1.0, boundary_point.FACTOR)):
            at = state
            for k in range(1, limit + 1):
                at = method._balanced(replace(at, steps=early), primal, dual)
                assert at.steps == early + 1
                assert at.penalty == (1.0 if k < limit else pytest.approx(factor, rel=1e-14))
            assert (at.primal_larger, at.dual_larger) == (0, 0)
    at = method._balanced(replace(state, primal_larger=3), 1.0, 1.0)
    assert (at.primal_larger, at.dual_larger) == (0, 1)
    at = method._balanced(replace(state, dual_larger=3), 5.0, 1.0)
    assert (at.primal_larger, at.dual_larger) == (1, 0)


@pytest.mark.parametrize("signs", [(1, 1, 1, 1, 1), (-1, 1, 1, 1, 1), (-1, -1, -1, 1, 1), (-1, -1, -1, -1, -1)])
def test_both_parts_of_a_matrix_and_the_root_of_the_negative_one(signs) -> None:
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    values = np.array(signs) * np.arange(1.0, 6.0)
    W = (Q * values) @ Q.T
    up, down, root = _split(W)
    np.testing.assert_allclose(up, (Q * np.maximum(values, 0.0)) @ Q.T, atol=1e-12)
    np.testing.assert_allclose(down, (Q * np.maximum(-values, 0.0)) @ Q.T, atol=1e-12)
    np.testing.assert_allclose(root @ root.T, down, atol=1e-12)
    assert root.shape == (5, int(np.sum(values < 0.0)))


def test_the_overshoot_is_below_the_golden_ratio() -> None:
    golden = 0.5 * (1.0 + np.sqrt(5.0))
    assert BoundaryPoint(overshoot=golden - 1e-6).overshoot > 1.6
    for bad in (0.0, golden, golden + 1e-6):
        with pytest.raises(InvalidInputError, match="overshoot"):
            BoundaryPoint(overshoot=bad)
