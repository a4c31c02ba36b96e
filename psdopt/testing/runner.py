"""Running checks: choose by kind and declared abilities, sample, measure, report."""

from __future__ import annotations

import math
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import psdopt.testing.checks  # noqa: F401  (registers them)
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.problem import Problem
from psdopt.errors import InvalidInputError, unknown_name
from psdopt.testing.record import CheckStatus, Deviation, Record, Trivial
from psdopt.testing.regimes import REGIMES, Case
from psdopt.testing.registry import Check, check_named, checks_of, pinned
from psdopt.testing.subjects import kind_of, name_of_subject, source_of, subject_of
from psdopt.testing.waivers import Waivers, waivers_of

#: Seeds per regime.
PROFILES: dict[str, int] = {"ci": 1, "thorough": 12}
#: Number of frames of a traceback in a record, counted from where the exception was raised.
FRAMES = 8


@dataclass(frozen=True)
class BoundCheck:
    """A check with the object that it is about. Call it to run it."""

    check: Check
    obj: Any
    subject: Any
    profile: str = "ci"
    source: str = ""
    #: Regime -> reason why this check need not pass there.
    waived: Mapping[str, str] = field(default_factory=dict)
    #: The version up to which checks are to run; None for all.
    up_to: str | None = None

    @property
    def name(self) -> str:
        return self.check.name

    @property
    def inapplicable(self) -> str:
        """Why the check does not apply to the object, known without running it; empty if it applies."""
        if self.check.newer_than(self.up_to):
            return f"is new in {self.check.since}, after up_to={self.up_to!r}"
        return self.check.applies(self.subject)

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
    waivers: Waivers | None = None,
    up_to: str | None = None,
) -> Iterator[BoundCheck]:
    """The checks of the kind of `obj` (problem, term, loss, measurement, geometry, method, estimator, builder).

    profile : "ci" (one sample per regime) or "thorough" (twelve). instances : pairs (problem, geometry) to
    try a method on, beside the gallery's. data : (X, y) to try an estimator on. source : Python text that
    makes the object under the name ``obj``, for the examples that failures print. waivers : checks that need not
    pass, {name: reason} or {name: {regime: reason}}, beside the object's own ``conformance_waivers``. up_to : a version
    of psdopt such as "0.3": checks that later versions add do not run, so that an upgrade of psdopt fails nothing new.

    Raises UnknownNameError, InvalidTypeError or InvalidInputError for invalid options.
    """
    if profile not in PROFILES:
        raise unknown_name("profile", profile, PROFILES)
    kind = kind_of(obj)
    subject = subject_of(obj, instances, data)
    if up_to is not None:
        pinned(up_to)
    waived = waivers_of(obj, waivers, up_to)
    for one in checks_of(kind):
        yield BoundCheck(one, obj, subject, profile, source, waived.get(one.name, {}), up_to)


def run_checks(
    obj: Any,
    *,
    only: Iterable[str] | None = None,
    profile: str = "ci",
    instances: Iterable[tuple[Problem, Geometry]] = (),
    data: Sequence[Any] | None = None,
    source: str = "",
    waivers: Waivers | None = None,
    up_to: str | None = None,
) -> list[Record]:
    """Run every check of the object's kind; one :class:`Record` each, skipped ones with the reason.

    Arguments as for :func:`yield_checks`; `only` names the checks to run. Exceptions of `obj` become failures.
    """
    wanted = None if only is None else {check_named(name).name for name in only}
    options: dict[str, Any] = {"profile": profile, "instances": instances, "data": data, "source": source}
    bound = yield_checks(obj, **options, waivers=waivers, up_to=up_to)
    return [one() for one in bound if wanted is None or one.name in wanted]


def replay(name: str, obj: Any, regime: str = "full-rank", seed: int = 0, **options: Any) -> Record:
    """Repeat one sample of one check, print the record and return it. Options as for :func:`yield_checks`."""
    one = check_named(name)
    if regime not in REGIMES:
        raise unknown_name("regime", regime, REGIMES)
    if kind_of(obj) != one.kind:
        raise InvalidInputError(f"{name} is about a {one.kind}; found a {kind_of(obj)}")
    bound = BoundCheck(one, obj, subject_of(obj, options.get("instances", ()), options.get("data")))
    record = _record(bound, _sample(bound, Case(regime, seed)), Case(regime, seed), 1, 0.0)
    print(record)
    return record


def _run(bound: BoundCheck) -> Record:
    check, started = bound.check, time.perf_counter()
    if bound.inapplicable:
        return _skipped(bound, bound.inapplicable)
    seeds = PROFILES[bound.profile] if check.repeats else 1
    closest: tuple[Deviation, Case] | None = None
    needed: dict[str, bool] = {}
    samples, why = 0, "every sample is trivial"
    for seed in range(seeds):
        for regime in check.regimes:
            case = Case(regime, seed, bound.up_to)
            answer = _sample(bound, case)
            if isinstance(answer, str):
                why = answer
                continue
            samples += 1
            if regime in bound.waived:
                needed[regime] = needed.get(regime, False) or not answer.ok
                continue
            if not answer.ok:
                return _record(bound, answer, case, samples, time.perf_counter() - started)
            if closest is None or answer.ratio > closest[0].ratio:
                closest = answer, case
    for regime, used in needed.items():
        if not used:
            words = f"the check passes in the regime {regime}, for which it is waived: remove the waiver"
            return _record(bound, Deviation(1.0, 0.0, words), Case(regime), samples, time.perf_counter() - started)
    reasons = tuple(f"{regime}: {bound.waived[regime]}" for regime in needed)
    if closest is not None:
        record = _record(bound, closest[0], closest[1], samples, time.perf_counter() - started)
        return replace(record, waived=reasons)
    if reasons:
        return replace(_skipped(bound, ""), verdict=CheckStatus.WAIVED, waived=reasons, samples=samples)
    return _skipped(bound, why)


def _sample(bound: BoundCheck, case: Case) -> Deviation | str:
    """The measurement, or why the sample does not count. What the object raises is a failure, not an error here."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return bound.check.function(bound.subject, case)
    except Trivial as trivial:
        return str(trivial)
    except Exception as error:
        where = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
        return Deviation(math.inf, 0.0, f"raises {type(error).__name__}: {error}{where}", _traceback(error))


def _traceback(error: BaseException) -> str:
    """The last frames of the traceback, those of the runner left out."""
    inside = error.__traceback__.tb_next if error.__traceback__ is not None else None
    return "".join(traceback.format_tb(inside, limit=-FRAMES)).rstrip()


def _skipped(bound: BoundCheck, reason: str) -> Record:
    return Record(bound.name, name_of_subject(bound.obj), CheckStatus.SKIPPED, 0.0, 0.0, bound.check.statement, reason)


def _record(bound: BoundCheck, answer: Deviation | str, case: Case, samples: int, seconds: float) -> Record:
    if isinstance(answer, str):
        return _skipped(bound, answer)
    example = ""
    if not answer.ok:
        source = bound.source or source_of(bound.obj)
        call = f'replay("{bound.name}", obj, regime="{case.regime}", seed={case.seed})'
        example = f"from psdopt.testing import replay\n{source}\n{call}"
    return Record(
        bound.name,
        name_of_subject(bound.obj),
        CheckStatus.PASSED if answer.ok else CheckStatus.FAILED,
        answer.error,
        answer.tolerance,
        bound.check.statement,
        "" if answer.ok else answer.diagnosis,
        example,
        samples,
        seconds,
        answer.traceback,
    )
