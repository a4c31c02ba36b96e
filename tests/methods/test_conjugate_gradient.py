"""Conjugate gradient: its rules, its options on every geometry, and any Riemannian geometry will do."""

from __future__ import annotations

import itertools
import pickle

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import (
    Ability,
    AutogradProblem,
    ConjugateGradient,
    Defect,
    FixedTrace,
    FlatQuotient,
    Geometry,
    LowRankPSD,
    Outcome,
    Polar,
    PositiveDefinite,
    QuadraticSDP,
    Status,
    TermSum,
    compatible,
    solve,
)
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import inner, norm
from psdopt.linalg.tolerances import EPS
from psdopt.methods import conjugate_gradient
from psdopt.methods.conjugate_gradient import RULES
from psdopt.searches.preconditioning import PRECONDITIONERS
from psdopt.terms import LeastSquares, MeasuredTerm, QuadraticForms

from ..instances import psd
from .quadratics import N as ORDER
from .quadratics import problem_and_start, residual_after

N, R = 8, 3


def problem():
    """Quadratic with a preconditioner of its own, whose optimum has full rank."""
    rng = np.random.default_rng(0)
    return QuadraticSDP(psd(rng, N, condition=30.0), psd(rng, N, condition=30.0), -psd(rng, N))


def regression():
    rng = np.random.default_rng(1)
    X, W = rng.standard_normal((60, N)), rng.standard_normal((N, R))
    return TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(((X @ W) ** 2).sum(axis=1)), 0.01)])


def start():
    return LowRankPSD(np.random.default_rng(2).standard_normal((N, R)) * [1.0, 0.5, 0.2])


GEOMETRIES = {
    "flat": FlatQuotient(N, R),
    "trace": FixedTrace(N, R, 2.0),
    "polar": Polar(N, R),
    "range kept": Polar(N, R, 0.0),
    "matrix kept": Polar(N, R, 1.0),
    "definite": PositiveDefinite(N),
    "log-Euclidean": PositiveDefinite(N, "log-euclidean"),
}
NO_LIFT = ("definite", "log-Euclidean")


def values(method, geometry, f=None, steps=6):
    return solve(f or problem(), geometry, method, start=start(), tol=1e-14, max_iterations=steps).history["value"]


@pytest.mark.parametrize("name", GEOMETRIES)
@pytest.mark.parametrize("f", [problem(), regression()], ids=["quadratic", "measured"])
def test_both_searches_decrease_and_differ(name, f):
    exact, armijo = (values(ConjugateGradient(search=s), GEOMETRIES[name], f) for s in ("exact", "armijo"))
    for run in (exact, armijo):
        assert np.all(np.diff(run) <= 8.0 * EPS * abs(run[0]))
        assert run[-1] < run[0]
    k = min(len(exact), len(armijo))
    assert np.any(np.abs(exact[:k] - armijo[:k]) > 1e-6 * abs(exact[0]))


@pytest.mark.parametrize("name", [name for name in GEOMETRIES if name not in NO_LIFT])
def test_every_preconditioner_is_honoured(name):
    """Four of them are four methods; "auto" is the problem's own, or none with a fixed trace."""
    runs = {kind: values(ConjugateGradient(preconditioner=kind), GEOMETRIES[name], steps=4) for kind in PRECONDITIONERS}
    for one, other in itertools.combinations(("problem", "diagonal", "gram", "none"), 2):
        k = min(len(runs[one]), len(runs[other]))
        assert np.any(np.abs(runs[one][:k] - runs[other][:k]) > 1e-9 * abs(runs[one][0])), (one, other)
    np.testing.assert_array_equal(runs["auto"], runs["none" if name == "trace" else "problem"])


@pytest.mark.parametrize("name", NO_LIFT)
@pytest.mark.parametrize("kind", ["problem", "diagonal", "gram"])
def test_a_preconditioner_that_cannot_be_lifted_is_refused(name, kind):
    with pytest.raises(InvalidInputError, match=f"preconditioner '{kind}' acts on factors, and PositiveDefinite"):
        values(ConjugateGradient(preconditioner=kind), GEOMETRIES[name])


@pytest.mark.parametrize("name", ["flat", "polar"])
def test_the_preconditioner_of_a_problem_that_has_none_is_refused(name):
    with pytest.raises(InvalidInputError, match="'problem' needs a problem that has one; TermSum has none"):
        values(ConjugateGradient(preconditioner="problem"), GEOMETRIES[name], regression())


@pytest.mark.parametrize("rank", [1, 2])
def test_a_rank_limited_optimum_of_fixed_trace_is_stationary(rank):
    result = solve(problem(), FixedTrace(N, rank, 2.0), ConjugateGradient(), tol=1e-6)
    assert result.status is Status.STATIONARY, result.message
    assert f"at rank {rank} of {N} the relative duality gap is" in result.message
    SY, Y = result.state.evaluation.factor_gradient(), result.state.evaluation.factor
    assert norm(SY - inner(SY, Y) / inner(Y, Y) * Y) <= 1e-5 * norm(SY)


class UnitRows(Geometry):
    """Rows of length one: the group that a Riemannian geometry must have, and nothing else of it."""

    def __init__(self, n, r):
        self.n, self.r = n, r
        self.abilities = frozenset({Ability.FACTOR, Ability.RIEMANNIAN})

    def check_point(self, point):
        off = np.abs(np.linalg.norm(point, axis=1) - 1.0).max()
        return None if off < 1e-12 else Defect("rows must have length one, off by", off, 1e-12)

    def check_vector(self, point, vector):
        return None

    def random_point(self, rng):
        return self.from_factor(rng.standard_normal((self.n, self.r)))

    def random_vector(self, point, rng):
        v = self.horizontal(point, rng.standard_normal(point.shape))
        return v / norm(v)

    def factor(self, point):
        return point

    def from_factor(self, Y):
        return Y / np.linalg.norm(Y, axis=1, keepdims=True)

    def inner(self, point, left, right):
        return inner(left, right)

    def horizontal(self, point, ambient):
        across = ambient - np.sum(ambient * point, axis=1, keepdims=True) * point
        s, Q = np.linalg.eigh(point.T @ point)
        skew = Q.T @ (point.T @ across - across.T @ point) @ Q
        return across - point @ (Q @ (skew / (s[:, None] + s[None, :])) @ Q.T)

    def gradient(self, point, S):
        G = 2.0 * (S @ point)
        return G - np.sum(G * point, axis=1, keepdims=True) * point

    def retract(self, point, vector):
        return self.from_factor(point + vector)


@pytest.mark.parametrize("search", ["exact", "armijo"])
def test_the_minimal_riemannian_group_is_enough(search):
    """No velocity, no transport, no word on what is kept: the run ends where the tangent part of 2 S Y vanishes."""
    geometry, f, method = UnitRows(N, R), problem(), ConjugateGradient(search=search)
    assert compatible(f, geometry, method).ok
    result = solve(f, geometry, method, max_iterations=2000)
    assert result.status is Status.STATIONARY, result.message
    assert "UnitRows" in result.message
    point, S = result.point, result.state.evaluation.gradient
    assert norm(geometry.gradient(point, S)) <= 1e-4 * norm(2.0 * (S @ point))


def test_default_velocity_and_tangent_part_are_those_of_the_retraction():
    rng = np.random.default_rng(0)
    geometry, S = UnitRows(N, R), psd(rng, N) - 0.5 * np.eye(N)
    point = geometry.random_point(rng)
    v = 7.0 * geometry.random_vector(point, rng)
    np.testing.assert_allclose(geometry.velocity(point, v), v, atol=1e-8 * norm(v))
    np.testing.assert_array_equal(geometry.velocity(point, 0.0 * v), 0.0 * v)
    g = geometry.gradient(point, S)
    np.testing.assert_allclose(geometry.tangent_part(point, S), g, atol=1e-8 * norm(g))


def test_old_names_of_members_say_the_new_one():
    with pytest.warns(DeprecationWarning, match=r"Old\.movable is no longer read; its new name is tangent_part"):

        class Old(FlatQuotient):
            def movable(self, Y, G):
                return G


@pytest.mark.parametrize("method", [ConjugateGradient(rule, preconditioner="none") for rule in sorted(RULES)], ids=str)
def test_finite_termination_on_a_quadratic(method):
    """In exact arithmetic ORDER steps suffice; a textbook loop leaves 2e-13 here, and loses it at condition 100 too."""
    assert residual_after(method, ORDER) <= 1e4 * ORDER * EPS
    assert residual_after(method, ORDER // 2) > 1e-6


def test_the_printed_denominator_loses_finite_termination(monkeypatch):
    """E-L4: dividing by ⟨g_t, g_t⟩ instead of ⟨g_{t−1}, g_{t−1}⟩."""
    monkeypatch.setitem(
        conjugate_gradient.RULES, "PR+", lambda new, mixed, old, curvature: max(0.0, (new - mixed) / new)
    )
    assert residual_after(ConjugateGradient("PR+", preconditioner="none"), ORDER) > 1e-6


@pytest.mark.parametrize("method", [ConjugateGradient(), ConjugateGradient("HS", "armijo")], ids=str)
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


@pytest.mark.parametrize("method", [ConjugateGradient()], ids=str)
def test_states_and_methods_can_be_pickled(method):
    problem, geometry, start = problem_and_start()
    state = method.step(method.step(method.init(problem, geometry, start)))
    again = pickle.loads(pickle.dumps(state))
    np.testing.assert_array_equal(method.step(again).evaluation.factor, method.step(state).evaluation.factor)
    assert pickle.loads(pickle.dumps(method)) == method
    with pytest.raises(AttributeError):
        method.search = "armijo"


@pytest.mark.parametrize("method", [ConjugateGradient()], ids=str)
def test_at_a_stationary_point_nothing_moves(method):
    problem, geometry, _ = problem_and_start()
    state = method.step(method.init(problem, geometry, np.zeros((ORDER, 3))))
    assert state.outcome is Outcome.STALLED
    assert state.step == 0.0
    np.testing.assert_array_equal(state.evaluation.factor, np.zeros((ORDER, 3)))


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
