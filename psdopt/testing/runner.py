"""Running checks: choose by kind and declared abilities, sample, measure, report."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import psdopt.testing.checks  # noqa: F401  (registers them)
from psdopt.errors import InvalidInputError, unknown_name
from psdopt.geometry import Geometry
from psdopt.problem import Problem
from psdopt.testing.record import Measurement, Record, Trivial, Verdict
from psdopt.testing.regimes import REGIMES, Case
from psdopt.testing.registry import CHECKS, Check
from psdopt.testing.subjects import kind_of, name_of_subject, source_of, subject_of

#: Seeds per regime.
PROFILES: dict[str, int] = {"ci": 1, "thorough": 12}


@dataclass(frozen=True)
class BoundCheck:
    """A check with the object that it is about. Call it to run it."""

    check: Check
    obj: Any
    subject: Any
    profile: str = "ci"
    source: str = ""

    @property
    def name(self) -> str:
        return self.check.name

    def __call__(self) -> Record:
        return _run(self)

    def __repr__(self) -> str:
        return f"{self.check.name} on {name_of_subject(self.obj)}"


def yield_checks(
    obj: Any,
    *,
    profile: str = "ci",
    instances: Iterable[tuple[Problem, Geometry]] = (),
    data: Sequence[Any] | None = None,
    source: str = "",
) -> Iterator[BoundCheck]:
    """The checks that apply to `obj`: by its kind (problem, geometry, method, estimator) and its abilities.

    profile : "ci" (one sample per regime) or "thorough" (twelve). instances : pairs (problem, geometry) to
    try a method on, beside the gallery's. data : (X, y) to try an estimator on. source : Python text that
    makes the object under the name ``obj``, for the examples that failures print.
    """
    if profile not in PROFILES:
        raise unknown_name("profile", profile, PROFILES)
    kind = kind_of(obj)
    subject = subject_of(obj, instances, data)
    for one in CHECKS.values():
        if one.kind == kind:
            yield BoundCheck(one, obj, subject, profile, source)


def run_checks(
    obj: Any,
    *,
    only: Iterable[str] | None = None,
    profile: str = "ci",
    instances: Iterable[tuple[Problem, Geometry]] = (),
    data: Sequence[Any] | None = None,
    source: str = "",
) -> list[Record]:
    """Run every check of the object's kind; one :class:`Record` each, skipped ones with the reason.

    Arguments as for :func:`yield_checks`; `only` names the checks to run. Never raises for what `obj` does.
    """
    wanted = None if only is None else set(only)
    for name in wanted or ():
        if name not in CHECKS:
            raise unknown_name("check", name, CHECKS)
    bound = yield_checks(obj, profile=profile, instances=instances, data=data, source=source)
    return [one() for one in bound if wanted is None or one.name in wanted]


def replay(name: str, obj: Any, regime: str = "full-rank", seed: int = 0, **options: Any) -> Record:
    """Repeat one sample of one check, print the record and return it. Options as for :func:`yield_checks`."""
    if name not in CHECKS:
        raise unknown_name("check", name, CHECKS)
    if regime not in REGIMES:
        raise unknown_name("regime", regime, REGIMES)
    one = CHECKS[name]
    if kind_of(obj) != one.kind:
        raise InvalidInputError(f"{name} is about a {one.kind}; found a {kind_of(obj)}")
    subject = subject_of(obj, options.get("instances", ()), options.get("data"))
    bound = BoundCheck(one, obj, subject)
    answer = _sample(bound, Case(regime, seed))
    record = _record(bound, answer, Case(regime, seed), 1, 0.0)
    print(record)
    return record


def _run(bound: BoundCheck) -> Record:
    check, started = bound.check, time.perf_counter()
    reason = check.applies(bound.subject)
    if reason:
        return _skipped(bound, reason)
    seeds = PROFILES[bound.profile] if check.repeats else 1
    closest: tuple[Measurement, Case] | None = None
    samples, why = 0, "every sample is trivial"
    for seed in range(seeds):
        for regime in check.regimes:
            case = Case(regime, seed)
            answer = _sample(bound, case)
            if isinstance(answer, str):
                why = answer
                continue
            samples += 1
            if not answer.ok:
                return _record(bound, answer, case, samples, time.perf_counter() - started)
            if closest is None or answer.ratio > closest[0].ratio:
                closest = answer, case
    if closest is None:
        return _skipped(bound, why)
    return _record(bound, closest[0], closest[1], samples, time.perf_counter() - started)


def _sample(bound: BoundCheck, case: Case) -> Measurement | str:
    """The measurement, or why the sample does not count. What the object raises is a failure, not an error here."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return bound.check.function(bound.subject, case)
    except Trivial as trivial:
        return str(trivial)
    except Exception as error:
        return Measurement(math.inf, 0.0, f"raises {type(error).__name__}: {error}")


def _skipped(bound: BoundCheck, reason: str) -> Record:
    return Record(bound.name, name_of_subject(bound.obj), Verdict.SKIPPED, 0.0, 0.0, bound.check.statement, reason)


def _record(bound: BoundCheck, answer: Measurement | str, case: Case, samples: int, seconds: float) -> Record:
    if isinstance(answer, str):
        return _skipped(bound, answer)
    example = ""
    if not answer.ok:
        source = bound.source or source_of(bound.obj)
        call = f'replay("{bound.name}", obj, regime="{case.regime}", seed={case.seed})'
        example = f"from psdopt.testing import replay\n{source}\n{call}"
    return Record(
        bound.name, name_of_subject(bound.obj), Verdict.PASSED if answer.ok else Verdict.FAILED, answer.error,
        answer.tolerance, bound.check.statement, "" if answer.ok else answer.diagnosis, example, samples, seconds,
    )  # fmt: skip
