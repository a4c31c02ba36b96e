"""Method checks: what a run is given and what it leaves behind: evaluations, memory, and nothing in the problem."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any

import numpy as np

from psdopt.linalg.tolerances import EPS
from psdopt.testing.checks.common import PASSED, failed, value_unit
from psdopt.testing.checks.method_protocol import _each, claim, named, start_of, trajectory
from psdopt.testing.gallery import Instance
from psdopt.testing.registry import Case, Deviation, Deviations, Trivial, worst
from psdopt.testing.subjects import MethodSubject

#: Pairs that a method with a `memory` is told to keep, and more than any of these runs could fill.
FEW_PAIRS, ENDLESS = 2, 1000


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
        frame = instance.geometry.frame(start)  # methods look at F there as well, and it may be the factor
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
    """The instance with a copy of its problem that has kept nothing of earlier runs; None if it cannot be copied."""
    try:
        problem: Any = copy.deepcopy(instance.problem)
    except TypeError:  # as of a generator: a stream may be read once
        return None
    vars(problem).pop("_made", None)  # what Problem.once keeps
    return dataclasses.replace(instance, problem=problem)


@claim("0.2")
def leaves_nothing_behind(subject: MethodSubject, case: Case) -> Deviation:
    """A run on a problem that another run has used is the run on a fresh copy of that problem."""
    results = []
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
        results.append(Deviation(error, math.sqrt(EPS) * unit, words))
    return worst(results, "no problem can be copied")
