"""F plus the augmented Lagrangian: slopes, products with the Hessian, lines and planes against direct evaluation."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from psdopt import AutogradProblem, Constrained, QuadraticSDP, TermSum, constraints
from psdopt.constraints.augmented.problem import augmented, squared_distance, weights
from psdopt.contracts.problem import Problem
from psdopt.problems.composite import Composite

N, R = 6, 3


def problem(kind: str, box: bool) -> tuple[Constrained, Problem]:
    """Equations, or bounds on one side and on two, with multipliers and weights of their own."""
    rng = np.random.default_rng(0)
    G = rng.standard_normal((N, N))
    if kind == "autograd":
        F = AutogradProblem(lambda M: ((M - G - G.T) ** 4).sum(), N, convex=True)
    else:
        F = QuadraticSDP(A=G @ G.T if kind == "quadratic" else None, C=G + G.T)
    pairs = {"lower": -0.2, "upper": 0.1} if box else {"equals": 0.1}
    groups = [constraints.trace(N, 3.0), constraints.entries([0, 1, 2], [3, 4, 5], N, **pairs)]
    groups += [constraints.diagonal(N, upper=1.0)] if box else []
    constrained = Constrained(F, groups)
    y, w = rng.standard_normal(constrained.m), rng.uniform(1.0, 20.0, constrained.m)
    return constrained, augmented(constrained, y, w)


def direct(constrained: Constrained, whole: Problem, Y: np.ndarray) -> float:
    """F(Y Yᵀ) + Σ_t (w_t/2) dist²(a_t + y_t/w_t, [lower_t, upper_t]), from M itself."""
    terms = whole.parts[1] if isinstance(whole, Composite) else whole
    assert isinstance(terms, TermSum)
    loss = terms.terms[-1].loss
    M = Y @ Y.T
    a = np.array([np.sum(constrained.forms.matrix(e).toarray() * M) for e in np.eye(constrained.m)])
    z = a + loss.y / loss.w
    off = z - np.clip(z, constrained.lower, constrained.upper)
    return constrained.problem.at(Y).value + 0.5 * float(loss.w @ off**2)


@pytest.mark.parametrize("box", [False, True], ids=["equations", "bounds"])
@pytest.mark.parametrize("kind", ["linear", "quadratic", "autograd"])
def test_slopes_of_value_and_gradient(kind, box) -> None:
    """First and second differences have the order of h², so that no constant hides a wrong factor."""
    constrained, whole = problem(kind, box)
    rng = np.random.default_rng(1)
    Y, D = rng.standard_normal((N, R)), rng.standard_normal((N, R))
    here = whole.at(Y)
    assert here.value == pytest.approx(direct(constrained, whole, Y), rel=1e-12)
    slope, bent = np.vdot(here.factor_gradient(), D), here.hessian_vector(D)
    assert np.allclose(here.gradient @ Y, 0.5 * here.factor_gradient())
    errors = []
    for h in (1e-3, 5e-4):
        up, down = whole.at(Y + h * D), whole.at(Y - h * D)
        errors.append((
            abs((up.value - down.value) / (2.0 * h) - slope),
            np.linalg.norm((up.factor_gradient() - down.factor_gradient()) / (2.0 * h) - bent),
        ))  # fmt: skip
    for coarse, fine in zip(*errors, strict=True):
        assert fine <= 0.3 * coarse + 1e-6 * abs(slope)
        assert fine <= 1e-3 * np.linalg.norm(bent)


@pytest.mark.parametrize("box", [False, True], ids=["equations", "bounds"])
@pytest.mark.parametrize("kind", ["linear", "quadratic", "autograd"])
def test_lines_and_planes_are_the_function_itself(kind, box) -> None:
    constrained, whole = problem(kind, box)
    rng = np.random.default_rng(2)
    Y, D, v = rng.standard_normal((N, R)), rng.standard_normal((N, R)), rng.standard_normal(N)
    line, plane = whole.at(Y).along(D), whole.at(Y).along_atom(v)
    for mu in (0.0, 0.3, 1.7):
        expected = direct(constrained, whole, Y + mu * D)
        assert line.value(mu) == pytest.approx(expected, rel=1e-10)
        assert line.step(mu).value == pytest.approx(expected, rel=1e-10)
        if line.coefficients is not None:
            assert np.polyval(line.coefficients[::-1], mu) == pytest.approx(expected, rel=1e-10)
        alpha, beta = 0.5 + mu, 0.2 * mu
        wide = np.column_stack([np.sqrt(alpha) * Y, np.sqrt(beta) * v])
        assert plane.value(alpha, beta) == pytest.approx(direct(constrained, whole, wide), rel=1e-10)
        assert plane.step(alpha, beta).value == pytest.approx(plane.value(alpha, beta), rel=1e-10)
    mu, h = line.minimize(), 1e-4
    assert line.value(mu) <= min(line.value(mu + h), line.value(max(mu - h, 0.0)))
    first, second = line.derivatives(0.4)
    assert first == pytest.approx((line.value(0.4 + h) - line.value(0.4 - h)) / (2.0 * h), rel=1e-4, abs=1e-4)
    assert np.isfinite(second)


def test_moves_keep_the_function() -> None:
    constrained, whole = problem("autograd", True)
    rng = np.random.default_rng(3)
    Y, v, T = rng.standard_normal((N, R)), rng.standard_normal(N), rng.standard_normal((R, 2))
    here = whole.at(Y)
    assert here.mix(T).value == pytest.approx(direct(constrained, whole, Y @ T), rel=1e-10)
    assert here.append(v).value == pytest.approx(direct(constrained, whole, np.column_stack([Y, v])), rel=1e-10)
    assert here.refresh().value == here.value


def test_the_distance_is_zero_at_feasible_points_alone() -> None:
    constrained, _ = problem("linear", True)
    distance = squared_distance(constrained)
    assert distance.at(np.sqrt(0.5) * np.eye(N)).value <= 1e-28
    far = distance.at(np.eye(N)).value
    assert far == pytest.approx(0.5 * (6.0 - 3.0) ** 2 / 6.0)  # tr M = 6, |I|² = 6


def test_penalties_are_weighed_by_the_squares_of_the_norms() -> None:
    """A constraint without a norm has that of one."""
    found = weights(SimpleNamespace(norms=np.array([2.0, 0.0, 0.5])), 3.0)
    assert found.tolist() == [0.75, 3.0, 12.0]
