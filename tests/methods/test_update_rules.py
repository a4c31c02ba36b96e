# ruff: noqa: E501 (tables of exact texts)
"""Conjugate gradient and L-BFGS as rules: finite termination, restarts, states that can be kept, bad parameters."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from psdopt import LBFGS, ConjugateGradient, FlatQuotient, Outcome, QuadraticSDP
from psdopt.errors import InvalidInputError
from psdopt.linalg.tolerances import EPS
from psdopt.methods import conjugate_gradient
from psdopt.methods.conjugate_gradient import RULES

from ..instances import psd

N = 12


def residual_after(method, steps, condition=10.0):
    """|gradient| / |first gradient| on F = tr(Yᵀ C Y), a pure quadratic in Y."""
    rng = np.random.default_rng(0)
    problem = QuadraticSDP(C=psd(rng, N, condition=condition))
    geometry = FlatQuotient(N, 1)
    state = method.init(problem, geometry, rng.standard_normal((N, 1)))
    first = state.gradient_norm
    for _ in range(steps):
        if state.outcome is not Outcome.RUNNING:
            break
        state = method.step(state)
    return state.gradient_norm / first


@pytest.mark.parametrize(
    "method", [*(ConjugateGradient(rule, preconditioner="none") for rule in sorted(RULES)), LBFGS(preconditioner="none")], ids=str
)  # fmt: skip
def test_finite_termination_on_a_quadratic(method):
    """In exact arithmetic N steps suffice; a textbook loop leaves 2e-13 here, and loses it at condition 100 too."""
    assert residual_after(method, N) <= 1e4 * N * EPS
    assert residual_after(method, N // 2) > 1e-6


def test_the_printed_denominator_loses_finite_termination(monkeypatch):
    """E-L4: dividing by ⟨g_t, g_t⟩ instead of ⟨g_{t−1}, g_{t−1}⟩."""
    monkeypatch.setitem(
        conjugate_gradient.RULES, "PR+", lambda new, mixed, old, curvature: max(0.0, (new - mixed) / new)
    )
    assert residual_after(ConjugateGradient("PR+", preconditioner="none"), N) > 1e-6


def problem_and_start(r=3):
    rng = np.random.default_rng(1)
    problem = QuadraticSDP(psd(rng, N, condition=10.0), psd(rng, N), -psd(rng, N))
    return problem, FlatQuotient(N, r), 0.5 * rng.standard_normal((N, r))


@pytest.mark.parametrize("method", [ConjugateGradient(), ConjugateGradient("HS", "armijo"), LBFGS(memory=2)], ids=str)
def test_a_step_leaves_the_old_state_as_it_was(method):
    problem, geometry, start = problem_and_start()
    state = method.init(problem, geometry, start)
    for _ in range(4):
        state = method.step(state)
    copy = {key: np.array(v, copy=True) for key, v in vars(state).items() if isinstance(v, np.ndarray)}
    one, two = method.step(state), method.step(state)
    np.testing.assert_array_equal(one.evaluation.factor, two.evaluation.factor)
    for key, value in copy.items():
        np.testing.assert_array_equal(value, getattr(state, key))


@pytest.mark.parametrize("method", [ConjugateGradient(), LBFGS(memory=2)], ids=str)
def test_states_and_methods_can_be_pickled(method):
    problem, geometry, start = problem_and_start()
    state = method.step(method.step(method.init(problem, geometry, start)))
    again = pickle.loads(pickle.dumps(state))
    np.testing.assert_array_equal(method.step(again).evaluation.factor, method.step(state).evaluation.factor)
    assert pickle.loads(pickle.dumps(method)) == method
    with pytest.raises(AttributeError):
        method.search = "armijo"


@pytest.mark.parametrize("method", [ConjugateGradient(), LBFGS()], ids=str)
def test_at_a_stationary_point_nothing_moves(method):
    problem, geometry, _ = problem_and_start()
    state = method.step(method.init(problem, geometry, np.zeros((N, 3))))
    assert state.outcome is Outcome.STALLED
    assert state.step == 0.0
    np.testing.assert_array_equal(state.evaluation.factor, np.zeros((N, 3)))


def test_armijo_and_exact_steps_both_decrease():
    problem, geometry, start = problem_and_start()
    for search in ("exact", "armijo"):
        method = ConjugateGradient(search=search)
        state = method.init(problem, geometry, start)
        for _ in range(10):
            new = method.step(state)
            assert new.evaluation.value <= state.evaluation.value
            state = new


def test_memory_is_bounded():
    problem, geometry, start = problem_and_start()
    state = LBFGS(memory=3).init(problem, geometry, start)
    sizes = []
    for _ in range(7):
        state = LBFGS(memory=3).step(state)
        sizes.append(len(state.pairs))
    assert max(sizes) == 3


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ConjugateGradient("PR"), r"unknown update 'PR'; known: DY, FR, HS, PR\+"),
        (lambda: ConjugateGradient(search="wolfe"), "unknown search 'wolfe'; known: armijo, exact"),
        (
            lambda: ConjugateGradient(preconditioner="x"),
            "unknown preconditioner 'x'; known: auto, diagonal, gram, none, problem",
        ),
        (lambda: LBFGS(memory=0), "memory must be an integer of at least 1; found 0"),
        (lambda: LBFGS(search="wolfe"), "unknown search 'wolfe'; known: armijo, exact"),
    ],
)
def test_bad_parameters(make, text):
    with pytest.raises(InvalidInputError, match=text):
        make()
