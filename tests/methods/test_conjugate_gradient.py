"""Conjugate gradient: its rules, its options on every geometry, and any Riemannian geometry will do."""

from __future__ import annotations

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import (
    AutogradProblem,
    ConjugateGradient,
    FixedTrace,
    LowRankPSD,
    Status,
    solve,
)
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import inner, norm
from psdopt.linalg.tolerances import EPS
from psdopt.methods import conjugate_gradient
from tests.methods.searched import GEOMETRIES, N, problem, regression, values

from .quadratics import N as ORDER
from .quadratics import problem_and_start, residual_after


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("f", [problem(), regression()], ids=["quadratic", "measured"])
def test_both_searches_decrease_and_differ(name, f):
    exact, armijo = (values(ConjugateGradient(search=s), GEOMETRIES[name], f) for s in ("exact", "armijo"))
    for run in (exact, armijo):
        assert np.all(np.diff(run) <= 8.0 * EPS * abs(run[0]))
        assert run[-1] < run[0]
    k = min(len(exact), len(armijo))
    assert np.any(np.abs(exact[:k] - armijo[:k]) > 1e-6 * abs(exact[0]))


@pytest.mark.parametrize("rank", [1, 2])
def test_a_rank_limited_optimum_of_fixed_trace_is_stationary(rank):
    result = solve(problem(), FixedTrace(N, rank, 2.0), ConjugateGradient(), tol=1e-6)
    assert result.status is Status.STATIONARY, result.message
    assert f"at rank {rank} of {N} the relative duality gap is" in result.message
    SY, Y = result.state.evaluation.factor_gradient(), result.state.evaluation.factor
    assert norm(SY - inner(SY, Y) / inner(Y, Y) * Y) <= 1e-5 * norm(SY)


def test_the_printed_denominator_loses_finite_termination(monkeypatch):
    """E-L4: dividing by ⟨g_t, g_t⟩ instead of ⟨g_{t−1}, g_{t−1}⟩."""
    monkeypatch.setitem(
        conjugate_gradient.RULES, "PR+", lambda new, mixed, old, curvature: max(0.0, (new - mixed) / new)
    )
    assert residual_after(ConjugateGradient("PR+", preconditioner="none"), ORDER) > 1e-6


def test_armijo_and_exact_steps_both_decrease():
    problem, geometry, start = problem_and_start()
    for search in ("exact", "armijo"):
        method = ConjugateGradient(search=search)
        state = method.init(problem, geometry, start)
        for _ in range(10):
            new = method.step(state)
            assert new.evaluation.value <= state.evaluation.value
            state = new


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ConjugateGradient("PR"), r"unknown update 'PR'; known: DY, FR, HS, PR\+"),
        (lambda: ConjugateGradient(search="wolfe"), "unknown search 'wolfe'; known: armijo, exact"),
        (
            lambda: ConjugateGradient(preconditioner="x"),
            "unknown preconditioner 'x'; known: auto, diagonal, gram, none, problem",
        ),
    ],
)
def test_bad_parameters(make, text):
    with pytest.raises(InvalidInputError, match=text):
        make()


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
