"""Method checks: descent, honest statuses, and agreement with a conic solver."""

from __future__ import annotations

import math
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np

from psdopt.certificates.bounds import falls_without_end
from psdopt.contracts.abilities import Ability
from psdopt.contracts.method import Outcome
from psdopt.contracts.problem import Problem
from psdopt.geometries import FixedTrace, FlatQuotient, PSDCone
from psdopt.linalg.tolerances import EPS
from psdopt.problems import QuadraticSDP
from psdopt.running.compatibility import fits
from psdopt.running.result import Result, Status
from psdopt.running.solve import solve
from psdopt.testing.checks.common import failed, rounding_of, value_unit
from psdopt.testing.checks.method_protocol import _each, claim, first_states, named, start_of
from psdopt.testing.constrained import conic_optimum
from psdopt.testing.gallery import Instance, with_spectrum
from psdopt.testing.poisoned import poisoned
from psdopt.testing.reference import dense_certificate
from psdopt.testing.registry import Case, Deviation, Deviations, Trivial, worst
from psdopt.testing.subjects import MethodSubject
from psdopt.testing.vectors import symmetric

#: Certificate asked for, and iterations allowed.
TOL = 1e-5
BUDGET = 1500
#: Accuracy of the value that a claim is compared with.
REFERENCE_TOL = 1e-10
#: Iterations on the hostile set, where nothing has to be reached: only claims must hold.
HOSTILE_BUDGET = 150
#: By the end of its budget, a method of order p must have gained the factor BUDGET^p / HEADSTART; never less than a
#: tenth.
HEADSTART = 10.0


def tol_of(subject: MethodSubject) -> float:
    """TOL, or what the declared `sublinear_order` makes of the budget (`method.sublinear_order` measures it)."""
    order = subject.method.sublinear_order
    return TOL if order is None else min(max(TOL, HEADSTART * BUDGET**-order), 0.1)


def _run(subject: MethodSubject, instance: Instance, case: Case, problem: Problem, **options: Any) -> Result:
    arguments = {"tol": tol_of(subject), "max_iterations": BUDGET, **options}
    with named(f"on {instance.name}"):
        return solve(problem, instance.geometry, subject.method, start=start_of(instance, case), **arguments)


def plain_run(subject: MethodSubject, instance: Instance, case: Case) -> Result:
    """The run to the required certificate, done once for several checks."""
    key = instance.name, case.seed
    if key not in subject.runs:
        budget = HOSTILE_BUDGET if instance in subject.hostile else BUDGET
        subject.runs[key] = _run(subject, instance, case, instance.problem, max_iterations=budget)
    return subject.runs[key]  # type: ignore[no-any-return]


@claim("0.1", when=lambda s: s.method.descends, reason="claims no descent")
def descent(subject: MethodSubject, case: Case) -> Deviation:
    """The value never increases from step to step, beyond its own rounding."""
    results = []
    for instance in (*_each(subject), *subject.hostile):
        if not subject.method.on(instance.problem).descends:
            continue  # the method's form for this instance does not claim it
        broken: Exception | None = None
        try:
            states = first_states(subject, instance, case, 20)
        except Exception as error:
            broken, states = error, subject.paths.get((instance.name, case.seed), [])
        for k, (old, new) in enumerate(pairwise(states)):
            unit = value_unit(instance.problem, old.evaluation)
            rise = new.evaluation.value - old.evaluation.value
            words = f"step {k + 1} on {instance.name} raises the value by {rise:.3g}"
            results.append(Deviation(rise, rounding_of(unit, instance.problem.n), words))
        if broken is not None and all(result.ok for result in results):
            raise broken  # the value never rose before the exception, so report that
        if broken is not None:
            break
    return worst(results)


def _honest(subject: MethodSubject, case: Case, instances: tuple[Instance, ...]) -> Deviations:
    for instance in instances:
        result = plain_run(subject, instance, case)
        if result.status is not Status.OPTIMAL:
            continue
        certificate = dense_certificate(
            instance.problem, result.matrix, instance.geometry.trace, getattr(result.state, "dual", None)
        )
        allowed = 2.0 * tol_of(subject) + rounding_of(certificate.condition, instance.problem.n)
        gap, words = certificate.relative, f"optimal is claimed on {instance.name}, but {certificate.words}"
        if not gap <= allowed:  # the promise is about values: residuals may be larger if F is known to be flat
            value = float(instance.problem.at(result.matrix.factor).value)
            gap = min(gap, (value - _least(instance)) / certificate.unit)
            words += f", and F lies {gap:.3g} units above the least value that is known"
        yield Deviation(gap, allowed, words)
    return "optimal is never claimed here"


def _least(instance: Instance) -> float:
    """The least value over the set that two runs of the default method from random starts reach."""
    problem, geometry = instance.problem, instance.geometry
    whole: Any = FlatQuotient(problem.n, problem.n)
    if geometry.trace is not None:
        whole = FixedTrace(problem.n, problem.n, geometry.trace)
    runs = [solve(problem, whole, tol=REFERENCE_TOL, max_iterations=BUDGET, rng=seed) for seed in range(2)]
    return min(run.value for run in runs)


@claim("0.1")
def optimal_is_true(subject: MethodSubject, case: Case) -> Deviations:
    """When the status is optimal, the optimality conditions hold at Result.matrix, recomputed with dense arrays."""
    return _honest(subject, case, _each(subject))


@claim("0.1")
def optimal_is_true_on_hostile(subject: MethodSubject, case: Case) -> Deviations:
    """The same on traps: loose eigenvalues, clustered spectra, scales 1e±8, starts at stationary points."""
    if not subject.hostile:
        raise Trivial("no hostile instance fits what the method requires")
    return _honest(subject, case, subject.hostile)


@claim("0.2")
def unbounded_is_true(subject: MethodSubject, case: Case) -> Deviations:
    """Where a state says that F is unbounded, F evaluated far out falls along its ray, along M or along an eigenvector.

    Looked at on the instances and on ⟨C, M⟩ with an indefinite C, which has no minimum on the cone.
    """
    linear = QuadraticSDP(C=with_spectrum([-2.0, -1.0, 0.5, 1.0], 5))
    fitting = [g for g in (FlatQuotient(4, 4), PSDCone(4)) if fits(linear, g, subject.method)]
    endless = [Instance("a linear F without a minimum", linear, geometry) for geometry in fitting]
    for instance in (*_each(subject), *endless):
        if Ability.CONSTRAINTS in instance.problem.abilities:
            continue  # rays are proofs here, which constrained.dual_proof checks
        state = first_states(subject, instance, case)[-1]
        if state.outcome is not Outcome.UNBOUNDED:
            continue
        Y = state.evaluation.factor
        least = np.linalg.eigh(symmetric(state.evaluation.gradient, len(Y)))[1][:, :1]
        rays = [state.ray, Y, np.hstack([np.zeros_like(Y), least])]
        if not any(ray is not None and falls_without_end(instance.problem, Y, ray) for ray in rays):
            return failed(f"F is called unbounded on {instance.name}, but falls along no ray that the state shows")
        yield Deviation(0.0, 0.0)
    return "unbounded is never said here"


@claim("0.1")
def solves_instances(subject: MethodSubject, case: Case) -> Deviations:
    """Small instances are solved: optimal, stationary where rank is a limit, or with a certificate of the tolerance.

    A certificate of the tolerance is no proof where min F = 0 at a fixed trace: no gap is small beside F then.
    """
    for instance in _each(subject):
        result = plain_run(subject, instance, case)
        residual = result.certificate.relative if result.certificate is not None else math.inf
        words = f"{instance.name}: {result.status.label}, {result.iterations} iterations, certificate {residual:.2g}"
        if not result.converged:
            yield Deviation(residual, tol_of(subject), words)
        else:
            yield Deviation(0.0, tol_of(subject))


@claim("0.1")
def nan_is_non_finite(subject: MethodSubject, case: Case) -> Deviation:
    """A problem that turns NaN, in value or in gradient, on the way or at the start, ends in the status non-finite."""
    tried = 0
    for instance in _each(subject):
        start = start_of(instance, case)
        # also below F(0), since the driver may evaluate M = 0, where the problem must be healthy
        first = min(instance.problem.at(instance.geometry.factor(start)).value, instance.problem.value_at_zero())
        last = plain_run(subject, instance, case).value
        if not last < first - 1e-6 * abs(first):
            continue
        tried += 1
        levels = {"on the way": 0.5 * (first + last), "at the start": math.inf}
        for where, level in levels.items():
            for gradient_only in (False, True) if Ability.GRADIENT in instance.problem.abilities else (False,):
                what = "gradient" if gradient_only else "value"
                problem = poisoned(instance.problem, level, gradient_only)
                try:
                    status = _run(subject, instance, case, problem, max_iterations=200).status
                except Exception as error:
                    return failed(f"NaN in the {what} {where} raises {type(error).__name__}: {error}")
                if status is not Status.NON_FINITE:
                    return failed(f"NaN in the {what} {where} on {instance.name} ends in {status.label}")
    if not tried:
        raise Trivial("the method does not descend on these instances")
    return Deviation(0.0, 0.0)


@claim("0.1", when=lambda s: find_spec("cvxpy") is not None, reason="cvxpy is not installed")
def conic_agreement(subject: MethodSubject, case: Case) -> Deviations:
    """The value at an optimal answer is that of a conic interior point solver (Clarabel)."""
    for instance in _each(subject):
        problem, result = instance.problem, plain_run(subject, instance, case)
        found = conic_optimum(problem, instance.geometry.trace) if result.optimal else None
        if found is not None:
            decrease = max(abs(problem.value_at_zero() - found.value), EPS)
            words = f"{instance.name}: value {result.value:.10g}, conic solver {found.value:.10g}"
            error = abs(result.value - found.value) / decrease
            yield Deviation(error, 10.0 * problem.n * tol_of(subject), words)
    return "no instance that has a conic form was solved to optimality"
