"""Newton's method on W = X − Z: its derivative, its convergence, and the rule that ends it."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Constrained, InteriorPoint, QuadraticSDP, constraints, solve
from psdopt.constraints.central_path.interior_steps import Iterate, LinearisedEquations, newton_step
from psdopt.constraints.central_path.smoothing import Pair
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.linalg.arrays import length_of, norm
from psdopt.terms.measurements import Entries


def program(moved: float = 0.0, n: int = 8) -> Constrained:
    """A block, a second-order cone and slacks of inequalities; C depends on `moved`."""
    rng = np.random.default_rng(0)
    C, D = (G + G.T for G in rng.standard_normal((2, n, n)))
    cone = constraints.norm_bound(Entries([0, 1, 2], [2, 4, 6], n), 0.0, 0.6)
    held = [constraints.diagonal(n, 1.0), constraints.entries([0, 1], [3, 5], n, lower=-0.1, upper=0.2), cone]
    return Constrained(QuadraticSDP(C=0.5 * (C + moved * D)), held)


def pair_of(problem: Constrained, near: Constrained) -> tuple[StandardForm, Pair]:
    """That of `problem` at the solution of `near`."""
    form, result = StandardForm(problem.conic), solve(near, method=InteriorPoint(), tol=1e-8)
    v = form.dual(result.certificate.constraints.multipliers)
    X, S = form.primal(result.matrix.factor), form.slacks(v)
    return form, Pair(form, X, S, v, math.sqrt(length_of(X) / length_of(S)))


def test_the_pair_of_a_solution_meets_all_equations() -> None:
    form, pair = pair_of(program(), program())
    assert pair.off < 1e-4
    X, Z = pair.at(0.0)
    assert sum(float(np.vdot(P, S)) for P, S in zip(X, Z, strict=True)) == pytest.approx(0.0, abs=1e-12)
    assert form.mean_product(*pair.at(pair.mu)) == pytest.approx(pair.mu, rel=1e-6)


def test_the_direction_is_that_of_newtons_method_on_the_smoothed_equations() -> None:
    """Along it the equations at a fixed mu fall by the length of the step, but for its square."""
    form, pair = pair_of(program(0.3), program())
    mu = pair.mu
    X, Z = pair.at(mu)
    dX, dZ, dv = LinearisedEquations(form, Iterate.of(form, X, Z, pair.v), careful=False).direction(mu)

    def left(h: float) -> list[np.ndarray]:
        P, S = ([A + h * D for A, D in zip(*each, strict=True)] for each in ((X, dX), (Z, dZ)))
        moved = Pair(form, P, S, pair.v + h * dv, pair.unit)
        P, S = moved.at(mu)
        return [form.missed(P, moved.v), *(A - D for A, D in zip(form.slacks(moved.v), S, strict=True))]

    first = left(0.0)
    errors = [length_of(A - (1.0 - h) * B for A, B in zip(left(h), first, strict=True)) for h in (1e-3, 1e-4)]
    assert errors[0] < 1e-2 * length_of(first)
    assert errors[1] < 0.02 * errors[0]


def test_errors_fall_to_nearly_their_squares_with_x_and_z_outside_of_their_cones() -> None:
    form, pair = pair_of(program(0.02), program())
    errors, at = [pair.off], Iterate.near(form, pair)
    outside = False
    while at.pair is not None:
        step = LinearisedEquations(form, at, careful=False)
        dX, _, _ = step.direction(0.0)
        outside |= any(np.linalg.eigvalsh(P + D)[..., 0].min() < 0.0 for P, D in zip(at.X[:1], dX[:1], strict=True))
        at, length, _ = newton_step(form, at, 0.9)
        assert length > 0.99
        errors.append(max(at.primal, at.dual))
    assert outside
    assert errors[3] < 1e-3 * errors[2] < 1e-4 * errors[1]
    assert len(errors) <= 6


def test_an_error_that_does_not_halve_in_two_steps_ends_them() -> None:
    form, pair = pair_of(program(0.3), program())
    assert pair.allowed == 1.0
    at = Iterate.near(form, pair)
    new, _, _ = newton_step(form, at, 0.9)
    assert new.pair is not None
    assert new.pair.allowed == 0.5 * max(pair.off, new.pair.off)
    at.pair.allowed = 0.0
    inner, length, _ = newton_step(form, at, 0.9)
    assert inner.pair is None
    assert length < 1.0
    for P, start, other in zip(inner.X, at.X, new.X, strict=True):  # the same direction, shortened
        assert 0.0 < norm(P - start) < norm(other - start) + norm(start)


def test_inequalities_that_m_violates_have_negative_slacks() -> None:
    n = 3
    group = [constraints.trace(n, 1.0), constraints.sparse_forms([sp.eye_array(n, format="csr")], upper=2.0)]
    tight = [constraints.diagonal(n, 1.0), constraints.entries([0], [1], n, lower=0.5)]
    for held, slack in ((group, 1.0), (tight, -0.5)):
        problem = Constrained(QuadraticSDP(C=np.diag([1.0, 2.0, 3.0])), held)
        form = StandardForm(problem.conic)
        M = np.eye(n) / n if held is group else np.eye(n)
        found = form.primal(np.linalg.cholesky(M))[-1][-1] * form.beta / form.row_scale[-1]
        assert found == pytest.approx(slack, rel=1e-12)
