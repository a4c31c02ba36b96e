"""Splitting on the dual: agreement with interior points and a conic solver, invariants of a step, resumption."""

from __future__ import annotations

import numpy as np
import pytest

from psdopt import BoundaryPoint, Constrained, InteriorPoint, PSDCone, QuadraticSDP, Status, constraints, solve
from psdopt.choose import choose
from psdopt.errors import IncompatibleError, InvalidInputError
from psdopt.methods.boundary_point import _normal_factor, _split
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
    assert split.certificate.primal_infeasibility <= 1e-6


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
    assert np.allclose(gram @ _normal_factor(form).solve(right), right, atol=1e-10)


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
