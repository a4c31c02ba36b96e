"""Splitting on the dual: agreement with interior points and a conic solver, invariants of a step, resumption."""

from dataclasses import replace

import numpy as np
import pytest

from psdopt import BoundaryPoint, InteriorPoint, Outcome, PSDCone
from psdopt.methods.primal_dual.boundary_point import _split
from psdopt.running.choose import choose
from tests.methods.constrained import random_program, theta


def test_it_is_chosen_for_very_many_constraints() -> None:
    many, few = theta(70, 0.8, 5), theta(30, 0.2, 5)
    assert isinstance(choose(many, None, None)[1], BoundaryPoint)
    assert isinstance(choose(few, None, None)[1], InteriorPoint)


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
