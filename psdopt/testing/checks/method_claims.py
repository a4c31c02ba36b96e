"""Method checks: what a method claims of itself, its residual, its order of convergence, its independence of scale."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from psdopt.certificates.scales import stationarity_scale
from psdopt.constraints import Constrained
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Residual, factor_residual
from psdopt.contracts.problem import Problem
from psdopt.geometries import FixedTrace, FlatQuotient, PSDCone, Spectraplex
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.tolerances import EPS
from psdopt.methods import ConjugateGradient
from psdopt.problems import EntryFit, QuadraticSDP
from psdopt.running.compatibility import fits
from psdopt.running.result import Status
from psdopt.running.solve import solve
from psdopt.testing.checks.common import rounding_of, value_unit
from psdopt.testing.checks.method_answers import plain_run
from psdopt.testing.checks.method_protocol import NEVER, _each, claim, first_states, named, start_of, trajectory
from psdopt.testing.constrained import DenseConstraints
from psdopt.testing.gallery import ORDER, Instance, with_spectrum
from psdopt.testing.registry import Case, Deviation, Deviations, Trivial
from psdopt.testing.subjects import MethodSubject

#: Steps over which an order of convergence is measured; first steps, which set the constant; step from which the order
#: must hold, since after a lucky start it shows only later.
ORDER_STEPS, ORDER_FIRST, ORDER_LATE = 300, 8, 50
#: The least order that may be declared: slower methods reach no certificate.
LEAST_ORDER = 0.25
#: k^p · residual may exceed its largest value over the first steps by this factor: at half the order it passes 6.
ORDER_SLACK = 2.0


@claim("0.1")
def residual_is_true(subject: MethodSubject, case: Case) -> Deviations:
    """In every state gradient_norm, if known, is what `residual` says: |2SY|, no less than it, or a proven gap.

    A gap, 2 gap / |Y|, must bound F(M) − F(N) for the best N that any run has found. Under constraints the relative
    error that is reported must be no less than the relative infeasibility.
    """
    for instance in _each(subject):
        kind = subject.method.on(instance.problem).residual
        states = first_states(subject, instance, case)
        best = min([plain_run(subject, instance, case).value, *(s.evaluation.value for s in states)])
        for k, state in enumerate(states):
            if not math.isfinite(state.gradient_norm):
                continue
            where = f"in state {k} on {instance.name}"
            fresh = instance.problem.at(instance.geometry.factor(state.point))
            unit, size = value_unit(instance.problem, fresh), max(norm(fresh.factor), 1e-300)
            if kind == Residual.CERTIFICATE:
                assert isinstance(instance.problem, Constrained)
                scale = stationarity_scale(instance.problem, fresh.value, size)
                told = 0.5 * state.gradient_norm / scale
                true = DenseConstraints(instance.problem).relative_violation(fresh.matrix.to_dense())
                words = f"the relative error is {told:.3g}, but M is infeasible by {true:.3g} {where}"
                yield Deviation((true - told) / (true + math.sqrt(EPS)), math.sqrt(EPS), words)
                continue
            if kind == Residual.GAP:
                gap = 0.5 * state.gradient_norm * norm(state.evaluation.factor)
                words = f"the gap is {gap:.6g}, but F can fall by {fresh.value - best:.6g} {where}"
                yield Deviation(fresh.value - best - gap, rounding_of(unit, instance.problem.n, 64.0), words)
                continue
            true = factor_residual(instance.geometry, fresh)
            error = true - state.gradient_norm
            words = f"gradient_norm is {state.gradient_norm:.6g}, |2SY| = {true:.6g} {where}"
            error = abs(error) if kind == Residual.GRADIENT else error
            yield Deviation(error, 1e5 * EPS * (true + unit / size), words)
    return "gradient_norm is never known"


@claim("0.1", when=lambda s: s.method.sublinear_order is not None, reason="claims linear convergence (sublinear_order)")
def sublinear_order(subject: MethodSubject, case: Case) -> Deviations:
    """For the declared order p, at least 1/4, k^p · residual stays within twice what the first steps have shown."""
    order = float(subject.method.sublinear_order or 0.0)
    if not order >= LEAST_ORDER:
        return Deviation(LEAST_ORDER - order, 0.0, f"order {order:g} is declared, at least {LEAST_ORDER:g} is due")
    for instance in _each(subject):
        start, arguments = start_of(instance, case), (instance.problem, instance.geometry, subject.method)
        result = solve(*arguments, start=start, tol=NEVER, max_iterations=ORDER_STEPS)
        best = np.minimum.accumulate(result.history["stationarity"])[1:]
        if result.status is not Status.ITERATION_LIMIT:
            continue  # over before an order could show
        weighted = np.arange(1.0, len(best) + 1.0) ** order * best
        k = int(np.argmax(weighted[ORDER_LATE:])) + ORDER_LATE
        words = f"residual {best[k]:.3g} after {k + 1} steps on {instance.name}: slower than k^-{order:g}"
        yield Deviation(weighted[k] / np.max(weighted[:ORDER_FIRST]), ORDER_SLACK, words)
    return "every run ends before an order shows"


@claim("0.1", when=lambda s: s.method.scale_invariant, reason="claims no independence of scaling (scale_invariant)")
def scaling_independent(subject: MethodSubject, case: Case) -> Deviations:
    """On c F the iterates are those on F, for c = 1e8 and 1e-8."""
    return _agreement(subject, case, [(1e8, 1.0), (1e-8, 1.0)])


@claim("0.2", when=lambda s: s.method.unit_invariant, reason="claims no independence of units (unit_invariant)")
def units_independent(subject: MethodSubject, case: Case) -> Deviations:
    """On M ↦ F(M / s), from s times the start, the iterates are s times those on F, for s = 2^40 and 2^-40."""
    return _agreement(subject, case, [(1.0, 2.0**40), (1.0, 2.0**-40)])


#: If no number of steps is declared: SLOWER times that of steepest descent, plus EXTRA_STEPS.
SLOWER, EXTRA_STEPS = 1.5, 10
STEEPEST = ConjugateGradient("none", preconditioner="none")
#: Condition number of the quadratic on which steps are counted, and the accuracy that is asked for.
CONDITION, COUNTED_TOL = 10.0, 1e-5


def _counted_on(method: Method) -> tuple[Problem, Geometry] | None:
    """The quadratic on which steps are counted, and the first geometry that the method runs it over."""
    target = with_spectrum(np.linspace(0.5, 2.0, ORDER), 3)
    A = with_spectrum(np.geomspace(1.0, math.sqrt(CONDITION), ORDER), 1)
    problem = QuadraticSDP(A, None, -A @ target @ A)
    for geometry in (FlatQuotient(ORDER, ORDER), PSDCone(ORDER), Spectraplex(ORDER)):
        if fits(problem, geometry, method):
            return problem, geometry
    return None


@claim(
    "0.2",
    repeats=False,
    when=lambda s: s.method.sublinear_order is None and _counted_on(s.method) is not None,
    reason="claims sublinear convergence only (sublinear_order), or does not run a quadratic over the cone",
)
def steps_counted(subject: MethodSubject, case: Case) -> Deviation:
    """On a fixed quadratic no more steps than `conformance_steps`, or about as many as steepest descent takes."""
    found = _counted_on(subject.method)
    if found is None:
        raise Trivial("the quadratic over the cone is not compatible")
    problem, geometry = found

    def steps(method: Method, where: Geometry, most: int) -> int:
        start = where.random_point(np.random.default_rng(0))
        result = solve(problem, where, method, start=start, tol=COUNTED_TOL, max_iterations=most)
        return result.iterations if result.converged else most

    declared = getattr(subject.method, "conformance_steps", None)
    if declared is None:
        reference = FlatQuotient(ORDER, ORDER) if geometry.trace is None else FixedTrace(ORDER, ORDER)
        allowed = int(SLOWER * steps(STEEPEST, reference, 1000)) + EXTRA_STEPS
        source = "steepest descent, and half as many again,"
    else:
        allowed, source = int(declared), "conformance_steps"
    taken = steps(subject.method, geometry, 4 * allowed)
    words = f"{taken} steps to a certificate of {COUNTED_TOL:g} over {geometry!r}; {source} allows {allowed}"
    return Deviation(float(taken), float(allowed), words)


def _agreement(subject: MethodSubject, case: Case, variants: Sequence[tuple[float, float]]) -> Deviations:
    """How far the values on c F(M / s) are from c times those on F, for each (c, s).

    F is a quadratic, and a fit to entries without a linear term: only their data set a scale.
    """
    for geometry in {repr(instance.geometry): instance.geometry for instance in _each(subject)}.values():
        if geometry.n != ORDER or (geometry.trace is not None and any(s != 1.0 for _, s in variants)):
            continue
        Y = geometry.factor(geometry.random_point(np.random.default_rng(case.seed)))
        for name, made in (("a quadratic", _quadratic), ("a fit to entries", _entries)):
            if not fits(made(1.0, 1.0), geometry, subject.method):
                continue
            plain = _values(subject, made(1.0, 1.0), geometry, Y)
            for c, s in variants:
                with named(f"on {c:g} F(M / {s:g}) over {geometry!r}, F {name}, where F itself makes no trouble"):
                    other = _values(subject, made(c, s), geometry, math.sqrt(s) * Y) / c
                common = min(len(plain), len(other))
                error = float(np.max(np.abs(plain[:common] - other[:common]))) / float(np.max(np.abs(plain)))
                words = f"{c:g} F(M / {s:g}) has another run than F on {geometry!r}, F {name}"
                yield Deviation(error, math.sqrt(EPS), words)
    return "neither a quadratic nor a fit to entries is compatible"


def _values(subject: MethodSubject, problem: Problem, geometry: Geometry, Y: Array) -> Array:
    """F in the first states from Y."""
    states = trajectory(subject, Instance("", problem, geometry), geometry.from_factor(Y))
    return np.array([state.evaluation.value for state in states])


def _quadratic(c: float, s: float) -> Problem:
    return QuadraticSDP(None, c / s**2, (c / s) * with_spectrum(np.linspace(-2.0, 1.0, ORDER), 2))


def _entries(c: float, s: float) -> Problem:
    target = with_spectrum(np.linspace(-0.5, 2.0, ORDER), 3)
    i, j = np.triu_indices(ORDER)
    known = np.arange(len(i)) % 3 > 0
    return EntryFit(None, i[known], j[known], s * target[i, j][known], c / s**2, n=ORDER)
