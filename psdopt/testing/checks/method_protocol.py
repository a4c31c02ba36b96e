"""Method checks: frozen parameters, pure steps, states that pickle, budgets; what runs are given and leave behind."""

from __future__ import annotations

import copy
import dataclasses
import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, State
from psdopt.contracts.problem import LineModel, PlaneModel, Problem
from psdopt.linalg.operators import LinearMap
from psdopt.linalg.tolerances import EPS
from psdopt.running.result import Status
from psdopt.running.solve import solve
from psdopt.testing import quotient
from psdopt.testing.checks.common import PASSED, failed, value_unit
from psdopt.testing.gallery import Instance
from psdopt.testing.poisoned import poisoned
from psdopt.testing.registry import Case, Deviation, Deviations, Trivial, check
from psdopt.testing.subjects import MethodSubject
from psdopt.testing.untouched import changes, snapshot

PLAIN = ("full-rank",)
#: Steps looked at one by one.
STEPS = 6
#: Evaluations that one step may cost; a method that needs more declares `evaluations_per_step`.
EVALUATIONS_PER_STEP = 100
#: Objects that a state refers to but does not hold, and which may count their work. Parts that an object does not
#: pickle are not state either.
NOT_STATE = (Problem, Geometry, Method, LinearMap, LineModel, PlaneModel, np.random.Generator)
#: A tolerance that no run reaches, so that runs end by their budget.
NEVER = 1e-15
#: A tolerance that a certificate may meet some steps before the run computes one.
COARSE = 0.1
#: Values of `memory` for methods that have it: a few pairs, and more than any of these runs could fill.
FEW_PAIRS, ENDLESS = 2, 1000
claim = partial(check, "method", regimes=PLAIN)


def start_of(instance: Instance, case: Case) -> Any:
    """A valid start: the instance's own, or a random point."""
    geometry = instance.geometry
    if instance.start is not None:
        return geometry.from_matrix(instance.start)
    return geometry.random_point(np.random.default_rng(case.seed))


@contextmanager
def named(where: str) -> Iterator[None]:
    """Add `where` to an exception that is raised within: the report names the instance on which a method failed."""
    try:
        yield
    except Exception as error:
        error.add_note(where)
        raise


def trajectory(subject: MethodSubject, instance: Instance, start: Any, steps: int = STEPS) -> list[State]:
    """States from `start`, until the method says that it has ended."""
    with named(f"in init on {instance.name}"):
        first = subject.method.init(instance.problem, instance.geometry, start)
    return _extended(subject, instance, [first], steps)


def first_states(subject: MethodSubject, instance: Instance, case: Case, steps: int = STEPS) -> list[State]:
    """The trajectory from the case's own start, at which several checks look: computed once."""
    key = instance.name, case.seed
    if key not in subject.paths:
        subject.paths[key] = trajectory(subject, instance, start_of(instance, case), 0)
    return _extended(subject, instance, subject.paths[key], steps)[: steps + 1]


def _extended(subject: MethodSubject, instance: Instance, states: list[State], steps: int) -> list[State]:
    while len(states) <= steps and states[-1].outcome is Outcome.RUNNING:
        with named(f"in step {len(states)} on {instance.name}"):
            states.append(subject.method.step(states[-1]))
    return states


def _each(subject: MethodSubject) -> tuple[Instance, ...]:
    if not subject.instances:
        raise Trivial("no instance fits what the method requires; pass instances=[(problem, geometry), ...]")
    return subject.instances


@claim("0.1", repeats=False)
def hyperparameters_frozen(subject: MethodSubject, case: Case) -> Deviation:
    """A method is a frozen dataclass, so that one object serves any number of runs, and `requires` is a mapping."""
    method = subject.method
    if not dataclasses.is_dataclass(method) or not type(method).__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return failed("the method is no frozen dataclass: its parameters can change during a run")
    unknown = set(method.requires) - {"problem", "geometry"}
    return failed(f"requires has unknown roles {sorted(unknown)}") if unknown else PASSED


@claim("0.1")
def state_is_true(subject: MethodSubject, case: Case) -> Deviations:
    """In every state, evaluation is F at the state's point: the same matrix, and a value that is not stale."""
    for instance in _each(subject):
        for k, state in enumerate(first_states(subject, instance, case)):
            fresh = instance.problem.at(instance.geometry.factor(state.point))
            unit = value_unit(instance.problem, fresh)
            M = state.evaluation.matrix.to_dense()
            apart = float(np.linalg.norm(M - fresh.matrix.to_dense()))
            where = f"in state {k} on {instance.name}"
            allowed = 1e5 * EPS
            size = max(fresh.matrix.norm(), float(np.finfo(float).tiny))
            yield Deviation(apart / size, allowed, f"point and evaluation disagree {where}")
            words = f"the value is stale {where}: {state.evaluation.value:.10g}, F = {fresh.value:.10g}"
            yield Deviation(abs(state.evaluation.value - fresh.value), allowed * unit, words)


@claim("0.1")
def step_is_pure(subject: MethodSubject, case: Case) -> Deviations:
    """step(state) leaves all of `state` as it was, lists and arrays within it too, and gives the same answer twice."""
    for instance in _each(subject):
        states = trajectory(subject, instance, start_of(instance, case), 3)
        for k, state in enumerate(states[:-1]):
            before = instance.geometry.factor(state.point).copy(), state.evaluation.value
            held = snapshot(state, skip=NOT_STATE)
            with named(f"in a second step from state {k} on {instance.name}"):
                again = subject.method.step(state)
            after = instance.geometry.factor(state.point), state.evaluation.value
            if not (np.array_equal(before[0], after[0]) and before[1] == after[1]):
                return failed(f"step changed state {k} that it was given, on {instance.name}")
            changed = changes(held, snapshot(state, skip=NOT_STATE), caches=True)
            if changed:
                return failed(f"step changed {', '.join(changed[:3])} in state {k}, on {instance.name}")
            moved = states[k + 1].evaluation.value
            words = f"two steps from state {k} on {instance.name} give {again.evaluation.value:.12g} and {moved:.12g}"
            yield Deviation(abs(again.evaluation.value - moved), 0.0, words)


@claim("0.1")
def resume_repeats(subject: MethodSubject, case: Case) -> Deviations:
    """A run cut by a checkpoint and resumed gives the values of the uninterrupted run, to their last bits.

    Also at a coarse tolerance: what is proven when the run is cut must not end the resumed run any earlier.
    """
    with tempfile.TemporaryDirectory() as folder:
        for (number, instance), (cut, tol) in product(enumerate(_each(subject)), ((2, NEVER), (1, COARSE))):
            file = Path(folder) / f"{number}.ckpt"
            common: dict[str, Any] = {"start": start_of(instance, case), "tol": tol}
            arguments = instance.problem, instance.geometry, subject.method
            # the uninterrupted run comes in between, so that anything kept outside the state is lost
            with named(f"on {instance.name}"):
                solve(*arguments, max_iterations=cut, checkpoint=file, **common)
                whole = solve(*arguments, max_iterations=8, **common)
                resumed = solve(*arguments, max_iterations=8, resume=file, tol=tol)
            expected, found = whole.history["value"], resumed.history["value"]
            if whole.iterations <= cut and whole.status is not Status.ITERATION_LIMIT:
                continue  # over before it was cut
            if len(found) != len(expected):
                return failed(f"the resumed run has {len(found)} records, {len(expected)} were expected")
            k = int(np.argmax(np.abs(found - expected)))
            words = f"value {k} on {instance.name} is {found[k]:.17g} after resuming, {expected[k]:.17g} without"
            # solvers of other libraries restart cold, so their answers may differ in the last bits
            last_bits = 16.0 * EPS * float(np.max(np.abs(expected)))
            yield Deviation(float(abs(found[k] - expected[k])), last_bits, words)
    return "every run ends before it is cut"


@claim("0.1")
def budgets(subject: MethodSubject, case: Case) -> Deviation:
    """max_iterations and max_time are respected, and one step costs a bounded number of evaluations."""
    method = subject.method
    allowed = int(getattr(method, "evaluations_per_step", EVALUATIONS_PER_STEP))
    for instance in _each(subject)[:3]:
        start = start_of(instance, case)
        for limit in (0, 1, 3):
            result = solve(instance.problem, instance.geometry, method, start=start, tol=NEVER, max_iterations=limit)
            if result.iterations > limit or len(result.history) != result.iterations + 1:
                return failed(
                    f"{result.iterations} iterations, {len(result.history)} records at max_iterations={limit}"
                )
        late = solve(instance.problem, instance.geometry, method, start=start, tol=NEVER, max_time=0.0)
        if late.iterations > 0:
            return failed(f"{late.iterations} iterations were done in a budget of 0 seconds")
        spent = _evaluations_in_one_step(subject, instance, start)
        if spent > allowed:
            return Deviation(spent, allowed, f"one step made {spent} evaluations: the method owns a loop")
    return PASSED


def _evaluations_in_one_step(subject: MethodSubject, instance: Instance, start: Any) -> int:
    watched = poisoned(instance.problem, -math.inf)  # healthy, with a count of the evaluations it hands out
    state = subject.method.init(watched, instance.geometry, start)
    before = watched.poison.made
    subject.method.step(state)
    return int(watched.poison.made - before)


@claim("0.1")
def representative_independent(subject: MethodSubject, case: Case) -> Deviations:
    """Started at YQ instead of Y (Q orthogonal), the values are the same."""
    for instance in _each(subject):
        if not quotient.has_fibre_action(instance.geometry):
            continue
        start = start_of(instance, case)
        r = quotient.fibre_rank(instance.geometry, start)
        turned = quotient.moved(instance.geometry, start, case.orthogonal(r) if r > 1 else -np.ones((1, 1)))
        here = [state.evaluation.value for state in first_states(subject, instance, case)]
        there = [state.evaluation.value for state in trajectory(subject, instance, turned)]
        common = min(len(here), len(there))
        error = max(abs(a - b) for a, b in zip(here[:common], there[:common], strict=True))
        unit = float(value_unit(instance.problem, instance.problem.at(instance.geometry.factor(start))))
        words = f"after {common - 1} steps on {instance.name} the values differ by {error:.3g}"
        yield Deviation(error, math.sqrt(EPS) * max(unit, abs(here[0] - min(here))), words)
    return "no instance has more than one representative of a point"


@claim("0.2")
def given_evaluation(subject: MethodSubject, case: Case) -> Deviations:
    """init with F at the start already known gives the same state, and does not ask the problem for F there again."""
    for instance in _each(subject):
        start, method = start_of(instance, case), subject.method
        problem: Any = copy.copy(instance.problem)
        known = problem.at(instance.geometry.factor(start))
        asked: list[Any] = []

        def at(Y: Any, asked: list[Any] = asked, healthy: Any = instance.problem.at) -> Any:
            asked.append(Y)
            return healthy(Y)

        problem.at = at
        with named(f"in init on {instance.name}"):
            plain = method.init(instance.problem, instance.geometry, start)
            given = method.init(problem, instance.geometry, start, known)
        frame = instance.geometry.frame(start)  # methods evaluate F there as well, and the frame may be the factor
        if frame is None and any(np.array_equal(Y, known.factor) for Y in asked):
            return failed(f"F at the start is given to init on {instance.name}, and computed again")
        values = [float(state.evaluation.value) for state in (plain, given)]
        words = f"init on {instance.name} has value {values[0]:.12g}, and {values[1]:.12g} if F at the start is given"
        allowed = 1e5 * EPS * value_unit(instance.problem, instance.problem.at(instance.geometry.factor(start)))
        yield Deviation(abs(values[1] - values[0]), allowed, words)


def _values(subject: MethodSubject, method: Any, instance: Instance, start: Any, steps: int) -> list[float]:
    other = dataclasses.replace(subject, method=method, paths={})
    return [float(state.evaluation.value) for state in trajectory(other, instance, start, steps)]


def _has_memory(subject: MethodSubject) -> bool:
    method: Any = subject.method
    names = {one.name for one in dataclasses.fields(method)} if dataclasses.is_dataclass(method) else set()
    return "memory" in names and type(method.memory) is int


@claim("0.2", when=_has_memory, reason="has no parameter memory, a number of pairs")
def memory_kept(subject: MethodSubject, case: Case) -> Deviation:
    """With memory k a run is the run of endless memory as long as k pairs are all there are, and no longer."""
    few: Any = dataclasses.replace(subject.method, memory=FEW_PAIRS)  # type: ignore[type-var]
    endless: Any = dataclasses.replace(subject.method, memory=ENDLESS)  # type: ignore[type-var]
    steps, tried, parted = FEW_PAIRS + 2, 0, False
    for instance in _each(subject):
        start = start_of(instance, case)
        short, long = (_values(subject, method, instance, start, steps) for method in (few, endless))
        if min(len(short), len(long)) <= steps:
            continue  # over before the memory is full
        tried += 1
        apart = np.abs(np.subtract(short, long))
        unit = float(value_unit(instance.problem, instance.problem.at(instance.geometry.factor(start))))
        early = int(np.argmax(apart[:steps]))
        if apart[early] > 1e5 * EPS * unit:
            return failed(f"memory = {FEW_PAIRS} changes step {early} on {instance.name}: fewer pairs are kept")
        parted = parted or bool(apart[steps] > 1e5 * EPS * unit)
    if not tried:
        raise Trivial("every run ends before its memory is full")
    return PASSED if parted else failed(f"memory = {FEW_PAIRS} does not change step {steps}: more pairs are kept")


def _fresh(instance: Instance) -> Instance | None:
    """The instance with a copy of its problem that keeps nothing of earlier runs; None if copying fails."""
    try:
        problem: Any = copy.deepcopy(instance.problem)
    except TypeError:  # for example of a generator, as a stream may be read only once
        return None
    vars(problem).pop("_made", None)  # what Problem.once keeps
    return dataclasses.replace(instance, problem=problem)


@claim("0.2")
def leaves_nothing_behind(subject: MethodSubject, case: Case) -> Deviations:
    """A run on a problem that another run has used is the run on a fresh copy of that problem."""
    for instance in _each(subject):
        geometry = instance.geometry
        start = geometry.random_point(np.random.default_rng([case.seed, 1]))
        used, fresh = _fresh(instance), _fresh(instance)
        if used is None or fresh is None:
            continue
        trajectory(subject, used, start_of(instance, case))
        second, expected = (
            [float(state.evaluation.value) for state in trajectory(subject, one, start)] for one in (used, fresh)
        )
        if len(second) != len(expected):
            return failed(f"after another run on {instance.name} a run has {len(second)} states, not {len(expected)}")
        unit = value_unit(instance.problem, instance.problem.at(geometry.factor(start)))
        error = float(np.max(np.abs(np.subtract(second, expected))))
        words = f"after another run on {instance.name} the values of a run change by {error:.3g}"
        yield Deviation(error, math.sqrt(EPS) * unit, words)
    return "no problem can be copied"
