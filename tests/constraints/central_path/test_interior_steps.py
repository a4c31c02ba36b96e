"""One step of the path: the linearised equations hold for it, and what it costs in factors."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints
from psdopt.constraints.central_path import interior_steps
from psdopt.constraints.central_path.interior_steps import Iterate, definite_move, missing, newton_step
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.linalg.arrays import norm


def form_of(n: int = 12) -> StandardForm:
    """Diagonal entries equal to one, some others between bounds, so that there is a block and a linear part."""
    rng = np.random.default_rng(0)
    C = rng.standard_normal((n, n))
    group = [constraints.diagonal(n, 1.0), constraints.entries([0, 2], [1, 3], n, lower=-0.5, upper=0.4)]
    conic = Constrained(QuadraticSDP(C=0.25 * (C + C.T)), group).conic
    assert conic is not None
    return StandardForm(conic)


def iterate(form: StandardForm, feasible: bool = False) -> Iterate:
    rng = np.random.default_rng(1)
    X, Z = [], []
    v = 0.1 * rng.standard_normal(form.m)
    z = rng.random(len(form.c)) + 0.5
    for block in form.blocks:
        G, H = 0.3 * rng.standard_normal((2, block.size, block.size))
        X.append(np.eye(block.size) + G @ G.T)
        Z.append(np.eye(block.size) + H @ H.T)
    if feasible:
        v = np.r_[np.full(form.m - 4, -8.0), 0.1, 0.1, -0.1, -0.1]
        Z = [block.C - block.adjoint(v) for block in form.blocks]
    return Iterate.of(X, Z, rng.random(len(form.c)) + 0.5, z, v)


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("corrected", [False, True])
def test_directions_solve_the_linearised_equations(careful, corrected) -> None:
    form = form_of()
    at = iterate(form)
    step = interior_steps._Step(form, at, careful)
    target, T, t = 0.3, None, 0.0
    if corrected:
        dX, dZ, dx, dz, _ = step.direction(0.0)
        step.correct(dX, dx, dz)
        T, t = dX[0] @ dZ[0] @ np.linalg.inv(at.Z[0]), dx * dz / at.z
    dX, dZ, dx, dz, dv = step.direction(target)
    block, X, Z = form.blocks[0], at.X[0], at.Z[0]
    left = missing(form, [X + dX[0]], at.x + dx)
    assert norm(left) <= 1e-12 * norm(form.b)
    assert norm(block.C - block.adjoint(at.v + dv) - Z - dZ[0]) <= 1e-12
    assert norm(form.c - form.At @ (at.v + dv) - at.z - dz) <= 1e-12
    Zi = np.linalg.inv(Z)
    whole = target * Zi - X - X @ dZ[0] @ Zi - (0.0 if T is None else T)
    assert np.allclose(dX[0], 0.5 * (whole + whole.T), rtol=0, atol=1e-11)
    assert np.allclose(at.z * (at.x + dx + t) + at.x * dz, target, rtol=0, atol=1e-11)


@pytest.mark.parametrize("careful", [False, True])
def test_a_step_goes_on_in_the_cone_with_its_factors(careful) -> None:
    form = form_of()
    new, length, was = newton_step(form, iterate(form), 0.9, careful)
    assert was is careful
    assert 0.0 < length <= 1.0
    for P, L in [*zip(new.X, new.Lx, strict=True), *zip(new.Z, new.Lz, strict=True)]:
        assert np.allclose(L @ L.T, P, rtol=0, atol=1e-13 * norm(P))
    assert min(new.x.min(), new.z.min()) > 0.0


def test_a_step_that_leaves_the_cone_is_shortened_for_all_blocks() -> None:
    (P, Q), (L, _), step = definite_move([np.eye(2), np.eye(1)], [np.diag([-1.1, 0.0]), np.ones((1, 1))], 1.0)
    assert 0.1 < step < 1.0 / 1.1
    assert np.allclose(P, np.diag([1.0 - step * 1.1, 1.0]), rtol=0, atol=1e-15)
    assert Q[0, 0] == 1.0 + step
    assert np.allclose(L @ L.T, P, rtol=0, atol=1e-15)
    with pytest.raises(np.linalg.LinAlgError, match="definite"):
        definite_move([np.zeros((2, 2))], [-np.eye(2)], 1.0)
