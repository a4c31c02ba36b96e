"""Conjugate gradient and L-BFGS: rules and formulas of the literature, options on every geometry, refused steps."""

from dataclasses import dataclass, field, replace

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import AutogradProblem, FixedTrace, FlatQuotient, LowRankPSD, QuadraticSDP, Status, solve
from psdopt.linalg.arrays import inner, norm
from psdopt.linalg.tolerances import EPS
from psdopt.methods import LBFGS, ConjugateGradient
from psdopt.methods.conjugate_gradient import RULES
from psdopt.methods.searches.paths import Carried
from tests.methods.searched import N, problem

from .quadratics import N as ORDER
from .quadratics import dense_quadratic, exact_step, quadratic_gradient, quadratic_value, residual_after

PLAIN = [
    LBFGS(preconditioner="none"),
    *(ConjugateGradient(r, preconditioner="none") for r in sorted(RULES) if r != "none"),
]


@pytest.mark.parametrize("method", PLAIN, ids=str)
def test_finite_termination_on_a_quadratic(method):
    """In exact arithmetic ORDER steps suffice; a textbook loop leaves 2e-13 here, and loses it at condition 100 too."""
    assert residual_after(method, ORDER) <= 1e4 * ORDER * EPS
    assert residual_after(method, ORDER // 2) > 1e-6


@pytest.mark.parametrize("rank", [1, 2])
def test_a_rank_limited_optimum_of_fixed_trace_is_stationary(rank):
    result = solve(problem(), FixedTrace(N, rank, 2.0), ConjugateGradient(), tol=1e-6)
    assert result.status is Status.STATIONARY, result.message
    assert f"at rank {rank} of {N} the relative duality gap is" in result.message
    SY, Y = result.state.evaluation.factor_gradient(), result.state.evaluation.factor
    assert norm(SY - inner(SY, Y) / inner(Y, Y) * Y) <= 1e-5 * norm(SY)


def test_a_nan_beyond_the_step_does_not_end_a_run_that_decreases():
    """F has a barrier at M₁₁ = 0.9, and is NaN beyond: trials there are rejected, and the run goes on."""

    def value(M):
        return -M[0, 0] - 1e-3 * anp.log(0.9 - M[0, 0])

    f = AutogradProblem(value, 3, convex=True)
    start = LowRankPSD(np.array([[1.0, 0.2], [0.3, 1.0], [0.1, 0.4]]) / np.sqrt(2.3))
    with np.errstate(invalid="ignore", divide="ignore"):
        result = solve(f, FixedTrace(3, 2), ConjugateGradient(), start=start, max_iterations=300)
    assert result.status is not Status.NON_FINITE, result.message
    assert result.matrix.to_dense()[0, 0] == pytest.approx(0.9 - 1e-3, abs=1e-4)


@pytest.mark.parametrize(
    ("update", "arguments", "beta"),
    [
        ("PR+", (5.0, 2.0, 4.0, 8.0), 0.75), ("PR+", (2.0, 5.0, 4.0, 8.0), 0.0), ("FR", (5.0, 2.0, 4.0, 8.0), 1.25),
        ("HS", (5.0, 2.0, 4.0, 8.0), 0.375), ("HS", (2.0, 5.0, 4.0, 8.0), -0.375), ("HS", (5.0, 2.0, 4.0, 0.0), 0.0),
        ("DY", (5.0, 2.0, 4.0, 8.0), 0.625), ("DY", (5.0, 2.0, 4.0, 0.0), 0.0),
    ],
)  # fmt: skip
def test_the_rules_are_those_of_the_literature(update, arguments, beta):
    """From ⟨g⁺, g⁺⟩, ⟨g, g⁺⟩, ⟨g, g⟩ and ⟨g⁺ − g, d⟩."""
    assert RULES[update](*arguments) == beta


@pytest.mark.parametrize("update", ["PR+", "FR", "HS", "DY"])
def test_steps_are_those_of_the_textbook(update):
    rng = np.random.default_rng(11)
    data = dense_quadratic(rng, 7)
    f = QuadraticSDP(*data)
    method, geometry = ConjugateGradient(update, preconditioner="none"), FlatQuotient(7, 2)
    Y = rng.standard_normal((7, 2))
    state = method.init(f, geometry, Y)
    last = None
    for _ in range(6):
        G = quadratic_gradient(data, Y)
        beta = 0.0
        if last is not None:
            g, d = last
            new, mixed, along = np.sum(G * G), np.sum(g * G), np.sum(G * d)
            beta = {
                "PR+": max(0.0, (new - mixed) / np.sum(g * g)), "FR": new / np.sum(g * g),
                "HS": (new - mixed) / np.sum((G - g) * d), "DY": new / np.sum((G - g) * d),
            }[update]  # fmt: skip
            beta = beta if beta * along < new else 0.0
        D = -G if last is None else beta * d - G
        mu = exact_step(lambda X: quadratic_value(data, X), Y, D)
        Y, last = Y + mu * D, (G, D)
        state = method.step(state)
        np.testing.assert_allclose(state.point, Y, atol=1e-6)
        assert state.extras["beta"] == pytest.approx(beta, abs=1e-5)
        assert state.step == pytest.approx(mu, rel=1e-5)
        assert state.gradient_norm == pytest.approx(norm(quadratic_gradient(data, state.point)), rel=1e-9)


class Refuses:
    """Takes no step along the first direction."""

    def _search(self, state, *given):
        self.asked.append(given)
        path, mu = super()._search(state, *given)
        return path, (mu if len(self.asked) > 1 else 0.0)


@dataclass(frozen=True)
class Refusing(Refuses, ConjugateGradient):
    asked: list = field(default_factory=list)


@dataclass(frozen=True)
class RefusingLBFGS(Refuses, LBFGS):
    asked: list = field(default_factory=list)


def test_a_direction_without_a_step_is_replaced_by_the_steepest():
    data = dense_quadratic(np.random.default_rng(12), 6)
    f, geometry = QuadraticSDP(*data), FlatQuotient(6, 2)
    first = ConjugateGradient(preconditioner="none").step(
        ConjugateGradient(preconditioner="none").init(f, geometry, np.random.default_rng(0).standard_normal((6, 2)))
    )
    G = quadratic_gradient(data, first.point)
    assert ConjugateGradient(preconditioner="none").step(first).extras["beta"] > 0.0
    method = Refusing(preconditioner="none")
    after = method.step(first)
    mu = exact_step(lambda X: quadratic_value(data, X), first.point, -G)
    np.testing.assert_allclose(after.point, first.point - mu * G, atol=1e-6)
    assert after.extras["beta"] == 0.0
    assert len(method.asked) == 2
    assert after.last.slope == pytest.approx(-np.sum(G * G), rel=1e-9)


def turned(f, geometry, Y, *, direction, decrement):
    """A state whose last direction and decrement are these."""
    state = ConjugateGradient("FR", preconditioner="none").init(f, geometry, Y)
    last = Carried(direction, state.gradient, -1.0)
    return replace(state, last=last, decrement=decrement)


@pytest.mark.parametrize(("share", "kept"), [(0.0, True), (0.99, True), (1.01, False), (3.0, False)])
def test_directions_that_do_not_descend_are_replaced_by_the_steepest(share, kept):
    """Fletcher and Reeves, ⟨g, d⟩ = share ⟨g, g⟩, kept below one; and beta = 1 is one as any other."""
    data = dense_quadratic(np.random.default_rng(12), 6)
    f, geometry = QuadraticSDP(*data), FlatQuotient(6, 2)
    Y = np.random.default_rng(0).standard_normal((6, 2))
    G = quadratic_gradient(data, Y)
    new = float(np.sum(G * G))
    other = np.random.default_rng(1).standard_normal((6, 2))
    across = other - np.sum(other * G) / new * G
    d, beta = share * G + 0.1 * across, 1.0
    state = turned(f, geometry, Y, direction=d, decrement=new)
    after = ConjugateGradient("FR", preconditioner="none").step(state)
    D = beta * d - G if kept else -G
    assert after.extras["beta"] == pytest.approx(beta if kept else 0.0, rel=1e-12)
    np.testing.assert_allclose(after.point, Y + exact_step(lambda X: quadratic_value(data, X), Y, D) * D, atol=1e-6)
    if kept:
        refused = Refusing("FR", preconditioner="none").step(state)
        assert refused.extras["beta"] == 0.0


@pytest.mark.parametrize("memory", [1, 2, 20])
def test_steps_are_those_of_the_dense_formula(memory):
    """H ← (I − s yᵀ/⟨s, y⟩) H (I − y sᵀ/⟨s, y⟩) + s sᵀ/⟨s, y⟩ over the pairs kept, from ⟨s, y⟩/⟨y, y⟩ I."""
    rng = np.random.default_rng(13)
    data = dense_quadratic(rng, 6)
    method, Y = LBFGS(memory, preconditioner="none"), rng.standard_normal((6, 2))
    state, pairs = method.init(QuadraticSDP(*data), FlatQuotient(6, 2), Y), []
    for _ in range(5):
        G = quadratic_gradient(data, Y).ravel()
        H = np.eye(12) if not pairs else pairs[-1][0] @ pairs[-1][1] / (pairs[-1][1] @ pairs[-1][1]) * np.eye(12)
        for s, y in pairs:
            left = np.eye(12) - np.outer(s, y) / (s @ y)
            H = left @ H @ left.T + np.outer(s, s) / (s @ y)
        D = -(H @ G).reshape(6, 2)
        mu = exact_step(lambda X: quadratic_value(data, X), Y, D)
        new = Y + mu * D
        s, y = (new - Y).ravel(), quadratic_gradient(data, new).ravel() - G
        if s @ y > 0.0:
            pairs = [*pairs, (s, y)][-memory:]
        Y, state = new, method.step(state)
        np.testing.assert_allclose(state.point, Y, atol=1e-6)
        assert state.step == pytest.approx(mu, rel=1e-5)
        assert state.extras["pairs"] == len(state.pairs) == len(pairs)
        assert state.gradient_norm == pytest.approx(np.linalg.norm(quadratic_gradient(data, Y)), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-9, 1.0])
def test_pairs_that_point_uphill_are_forgotten(scale):
    """With pairs of negative product the direction is no descent: the step is the gradient's, and they are gone."""
    data = [scale * each for each in dense_quadratic(np.random.default_rng(14), 5)]
    data[0] = data[0] / np.sqrt(scale)  # ⟨A M A, M⟩ is of degree two in A
    method = LBFGS(preconditioner="none")
    first = method.init(QuadraticSDP(*data), FlatQuotient(5, 2), np.random.default_rng(1).standard_normal((5, 2)))
    G = first.gradient
    uphill = replace(first, pairs=[(G, -G, -float(np.sum(G * G)))])
    after = method.step(uphill)
    np.testing.assert_array_equal(after.point, method.step(first).point)
    assert len(after.pairs) <= 1
    assert after.pairs == [] or after.pairs[0][0] is not G


def test_a_direction_without_a_step_is_replaced_by_the_gradient():
    data = dense_quadratic(np.random.default_rng(15), 5)
    method = LBFGS(preconditioner="none")
    state = method.init(QuadraticSDP(*data), FlatQuotient(5, 2), np.random.default_rng(1).standard_normal((5, 2)))
    for _ in range(3):
        state = method.step(state)
    refused = RefusingLBFGS(preconditioner="none")
    after = refused.step(state)
    fresh = method.step(replace(state, pairs=[]))
    np.testing.assert_array_equal(after.point, fresh.point)
    assert len(refused.asked) == 2
    assert after.extras == fresh.extras
