"""Units of values: what they are, what leaves them as they are, and that none is infinite."""

import math

import autograd.numpy as anp
import numpy as np
import pytest

from psdopt import Ability, AutogradProblem, QuadraticSDP, TermSum, stationarity_scale
from psdopt.certificates import scales
from psdopt.linalg.arrays import norm
from psdopt.linalg.complex_arrays import turned
from psdopt.linalg.limits import SMALL_ORDER
from psdopt.terms import LinearTerm, hermitian_form


def barrier(floor=0.0):
    return AutogradProblem(lambda M: anp.sum(1.0 / (anp.diag(M) + floor)) + anp.trace(M), 3, convex=True)


def test_references_are_values_of_f():
    problem = QuadraticSDP(None, 1.0, -np.eye(4))
    assert scales.reference_value(problem, 0.0) == 0.0
    assert scales.reference_value(problem, 2.0) == pytest.approx(problem.at(np.eye(4) / math.sqrt(2.0)).value)
    assert scales.reference_value(barrier(), 0.0) == math.inf


def test_a_reference_is_evaluated_once():
    calls = []
    problem = AutogradProblem(lambda M: calls.append(1) or anp.trace(M), 3, convex=True)
    problem.at(np.eye(3))  # the test at the first factor
    calls.clear()
    assert [scales.reference_value(problem, 1.0) for _ in range(3)] == [pytest.approx(1.0)] * 3
    assert len(calls) == 1


def test_an_infinite_value_at_zero_makes_no_unit():
    problem = barrier()
    evaluation = problem.at(np.eye(3))
    assert scales.unit_on_the_cone(problem, evaluation) == pytest.approx(4.0 * (12.75 - 6.0))


def test_values_on_the_ray_are_those_of_f_and_a_quadratic_is_not_evaluated_there():
    rng = np.random.default_rng(0)
    A, C, Y = rng.standard_normal((3, 3)), rng.standard_normal((3, 3)), rng.standard_normal((3, 2))
    quadratic = QuadraticSDP(A @ A.T, 0.5, C + C.T, constant=3.0)
    for problem in (quadratic, barrier(0.5)):
        evaluation, shares = problem.at(Y), (0.25, 0.5, 1.0)
        expected = [problem.at(math.sqrt(s) * Y).value for s in shares]
        assert scales.values_on_ray(problem, evaluation, shares) == pytest.approx(expected, rel=1e-12)
    before = quadratic.counts()
    evaluation = quadratic.at(Y)
    evaluation.mix = None  # type: ignore[assignment]
    scales.values_on_ray(quadratic, evaluation, shares)
    assert quadratic.counts()["operator_applications"] == before["operator_applications"] + 2  # A and C, to Y


def test_the_size_of_the_gradient_at_zero():
    problem = QuadraticSDP(None, 1.0, np.diag([1.0, -5.0, 2.0]))
    assert scales.gradient_size_at_zero(problem) == pytest.approx(10.0, rel=0.2)  # ∇F(0) = 2 C
    assert scales.gradient_size_at_zero(barrier()) == math.inf


def test_no_amount_is_nothing_in_any_unit():
    assert scales.ratio(0.0, 0.0) == 0.0
    assert scales.ratio(1.0, 0.0) == math.inf
    assert scales.ratio(1.0, 4.0) == 0.25


@pytest.mark.parametrize("n", [3, SMALL_ORDER, SMALL_ORDER + 1, SMALL_ORDER + 30])
@pytest.mark.parametrize("trace", [0.5, 7.0])
def test_the_reference_of_a_fixed_trace_has_that_trace(n, trace):
    """(t/n) I up to some order; beyond it a matrix of that rank, whose tr M is t."""
    problem = QuadraticSDP(None, None, 0.5 * np.eye(n))
    assert scales.reference_value(problem, trace) == pytest.approx(trace, rel=1e-12)
    curved = QuadraticSDP(None, 1.0, np.zeros((n, n)))
    least = trace**2 / n  # |M|² of the centre
    found = scales.reference_value(curved, trace)
    assert found == pytest.approx(least, rel=1e-9) if n <= SMALL_ORDER else least < found < 4.0 * least


def rises(problem, Y, trace, vectors):
    """Values of F at the far ones of the centre and of M/4 + (3/4) t v vᵀ, minus F(M)."""
    M = Y @ Y.T
    n, found = len(M), []
    others = [trace / n * np.eye(n), *(0.25 * M + 0.75 * trace * np.outer(v, v) for v in vectors.T)]
    for N in others:
        if np.linalg.norm(N - M) >= scales.FAR * np.linalg.norm(M):
            values, V = np.linalg.eigh(N)
            found.append(problem.at(V * np.sqrt(np.maximum(values, 0.0))).value - problem.at(Y).value)
    return found


@pytest.mark.parametrize("trace", [0.3, 2.0, 9.0])
@pytest.mark.parametrize("spread", [0.0, 0.7, 5.0])
@pytest.mark.parametrize("exact", [True, False])
def test_at_a_fixed_trace_the_unit_is_the_least_rise_far_away(trace, spread, exact):
    rng = np.random.default_rng(3)
    for _ in range(4):
        Y = np.eye(4) + spread * rng.standard_normal((4, 4))
        Y *= math.sqrt(trace) / np.linalg.norm(Y)
        problem = QuadraticSDP(None, 1.0, -Y @ Y.T)
        if not exact:
            problem.abilities -= {Ability.EXACT_PLANE}
        V = np.linalg.qr(rng.standard_normal((4, 2)))[0]
        V[:, 0] = np.linalg.eigh(Y @ Y.T)[1][:, -1]  # near M where M is nearly of rank one
        expected = min(rises(problem, Y, trace, V), default=0.0)
        found = scales.unit_at_fixed_trace(problem, problem.at(Y), trace, V)
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("share", [0.0, 1e-6, 0.1])
def test_the_unit_of_a_pure_state_is_no_rounding(share):
    """J w stands for the same H as w, so that M/4 + ¾ (J w)(J w)ᵀ is not far from w wᵀ: F is the same there."""
    w = np.random.default_rng(0).standard_normal(8)
    w /= np.linalg.norm(w)
    Z = w[:4] + 1j * w[4:]
    problem = TermSum([LinearTerm(hermitian_form(-np.outer(Z, Z.conj())))])
    evaluation = problem.at(np.column_stack([math.sqrt(1.0 - share) * w, math.sqrt(share) * turned(w)]))
    assert evaluation.value == pytest.approx(-1.0)
    beyond = np.linalg.svd(np.column_stack([w, turned(w)]))[0][:, 2:3]
    for V, rise in ((np.column_stack([w, turned(w)]), 0.75), (np.column_stack([turned(w), beyond]), 0.75)):
        assert scales.unit_at_fixed_trace(problem, evaluation, 1.0, V) == pytest.approx(rise)  # to I/8: −1/4


def test_a_fall_is_no_rise():
    problem = QuadraticSDP(None, None, np.diag([1.0, -1.0]))
    evaluation = problem.at(np.eye(2)[:, :1])
    assert scales.unit_at_fixed_trace(problem, evaluation, 1.0, np.eye(2)[:, 1:]) == 0.0


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_stationarity_is_measured_by_the_decrease_over_the_length(scale):
    problem = QuadraticSDP(None, scale, -2.0 * scale * np.eye(2))
    Y = np.diag([1.0, 2.0])
    value = problem.at(Y).value
    assert stationarity_scale(problem, value, norm(Y)) == pytest.approx(-value / norm(Y), rel=1e-12)
    centre = problem.at(np.sqrt(2.5) * np.eye(2)).value
    assert stationarity_scale(problem, value, norm(Y), 5.0) == pytest.approx(abs(centre - value) / norm(Y), rel=1e-9)
    # above F(0): |∇F(0)| |Y|
    above = stationarity_scale(problem, 3.0 * scale, 2.0)
    assert above == pytest.approx(2.0 * scales.gradient_size_at_zero(problem), rel=1e-12)
    assert stationarity_scale(barrier(), -7.0, 2.0) == 3.5
    assert stationarity_scale(problem, 3.0 * scale, 0.0) == 0.0


def test_values_have_a_scale_of_their_own_at_a_fixed_trace_only():
    assert scales.value_scale(3.0, None) == math.inf
    assert scales.value_scale(-3.0, 1.0) == 3.0
    assert scales.value_scale(0.0, 1.0) == 0.0


@pytest.mark.parametrize("c", [1.0, 1e3, 1e6, 1e9, 1e12, 1e15])
def test_the_rounding_of_f_is_that_of_its_terms(c):
    """F = 1 + c − c: its rounding is that of c, although F is 1; of F without c it is that of 1."""
    rng = np.random.default_rng(0)
    for n in (3, 12):
        Y = rng.standard_normal((n, 2))
        Y /= norm(Y)
        term = 1.0 + c * np.eye(n)
        problem = AutogradProblem(lambda M, term=term: anp.sum(term * M) - c, n, convex=True)
        found = scales.measured_rounding(problem, problem.at(Y))
        assert 0.0 < found <= 1e3 * n * np.finfo(float).eps * c
        assert found >= 0.25 * np.finfo(float).eps * c


def test_a_constant_has_no_rounding() -> None:
    asked = []
    problem = AutogradProblem(lambda M: asked.append(1) or 0.0 * anp.sum(M) + 3.0, 4, convex=True)
    here = problem.at(np.eye(4)[:, :2])
    asked.clear()
    assert scales.measured_rounding(problem, here) == 0.0
    assert 0 < len(asked) <= 1 + 4 * scales.ROTATIONS


def test_rounding_has_no_bound_where_f_is_not_finite():
    with np.errstate(all="ignore"):
        assert scales.measured_rounding(barrier(), barrier().at(np.eye(3)[:, :1])) == math.inf


def test_the_size_of_a_gradient_needs_no_scale():
    for scale in (1e-100, 1.0, 1e100):
        problem = QuadraticSDP(None, None, 0.5 * scale * np.diag([1.0, -3.0, 2.0]))
        assert scales.gradient_size(problem.at(np.zeros((3, 1)))) == pytest.approx(3.0 * scale, rel=0.2)


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_the_natural_trace_is_in_the_units_of_m(unit):
    """F = |M|²/2 − unit · tr M: slope and curvature of a unit atom balance at trace unit."""
    assert scales.natural_trace(QuadraticSDP(None, 1.0, -unit * np.eye(5))) == pytest.approx(unit, rel=1e-12)
    logistic = AutogradProblem(lambda M: anp.log1p(anp.exp(-anp.trace(M) / unit)), 3, convex=True)
    assert scales.natural_trace(logistic) == pytest.approx(2.0 * math.log(2.0) * unit, rel=1e-12)


def test_there_is_no_natural_trace_of_what_is_linear_flat_or_undefined_at_zero():
    assert scales.natural_trace(QuadraticSDP(None, None, -np.eye(5))) == 0.0
    assert scales.natural_trace(QuadraticSDP(None, 1.0, np.zeros((5, 5)))) == 0.0
    assert scales.natural_trace(barrier()) == 0.0


def test_a_gradient_that_is_undefined_has_size_infinity():
    """−log det has a value of inf at a singular M, where its gradient raises; runs ask for the size of both."""
    problem = AutogradProblem(lambda M: -anp.linalg.slogdet(M)[1], 3, convex=True)
    assert scales.gradient_size(problem.at(np.ones((3, 1)))) == math.inf
