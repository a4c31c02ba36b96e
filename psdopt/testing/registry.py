"""The checks: named theorems about an object of one kind, with the abilities they presuppose."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

from psdopt.errors import InvalidInputError, InvalidTypeError, unknown_name
from psdopt.running.compatibility import missing_members
from psdopt.testing.record import Deviation as Deviation
from psdopt.testing.record import Trivial as Trivial
from psdopt.testing.record import worst as worst
from psdopt.testing.regimes import FEW as FEW
from psdopt.testing.regimes import REGIMES as REGIMES
from psdopt.testing.regimes import Case as Case

#: The deviations that a check yields if it measures several things; one that it returns is the answer.
Deviations = Generator[Deviation, None, Any]
CheckFunction = Callable[[Any, Case], Deviation | Deviations]


def _always(obj: Any) -> bool:
    return True


@dataclass(frozen=True)
class Check:
    """A theorem about objects of one `kind`, tried on samples from `regimes`.

    since : the version of psdopt that added it; empty for a check of another package, which every `up_to` lets run.
    needs : abilities the object must declare. when : further condition on the object, `reason` in words.
    repeats : whether more seeds are of use.
    """

    name: str
    kind: str
    function: Callable[[Any, Case], Deviation]
    statement: str
    since: str
    needs: frozenset[str] = frozenset()
    regimes: tuple[str, ...] = tuple(REGIMES)
    when: Callable[[Any], bool] = _always
    reason: str = ""
    repeats: bool = True

    def newer_than(self, up_to: str | None) -> bool:
        """Whether a version later than `up_to` added the check; False for None."""
        return bool(self.since) and up_to is not None and _numbers(self.since) > _numbers(up_to)

    def applies(self, obj: Any) -> str:
        """Empty if the check applies to `obj`, else why not."""
        missing = sorted(self.needs - set(getattr(obj, "abilities", ())))
        if missing:
            return f"does not declare {', '.join(map(str, missing))}"
        absent = missing_members(obj, self.needs) if self.needs else []
        if absent:
            return f"declares {absent[0]}, which is not there: abilities_kept says so"
        return "" if self.when(obj) else self.reason


#: All checks by name, in the order of definition.
CHECKS: dict[str, Check] = {}
#: Checks that run before the others of their kind, because their failures explain failures of the others.
FIRST = (
    "problem.abilities_kept",
    "problem.refuses_bad_factors",
    "problem.terms",
    "problem.gradient_slope",
    "problem.gradient_operator",
    "term.gradient_slope",
    "loss.slope",
    "geometry.abilities_kept",
    "geometry.points_valid",
    "geometry.vectors_valid",
    "method.hyperparameters_frozen",
    "method.state_is_true",
)


def check_named(name: str) -> Check:
    """The check of this name. Raises UnknownNameError."""
    if name not in CHECKS:
        raise unknown_name("check", name, CHECKS)
    return CHECKS[name]


def checks_of(kind: str) -> list[Check]:
    """The checks of one kind, in the order in which they are run: those named in `FIRST`, then by definition."""
    chosen = [one for one in CHECKS.values() if one.kind == kind]
    return sorted(chosen, key=lambda one: FIRST.index(one.name) if one.name in FIRST else len(FIRST))


def pinned(up_to: Any, name: str = "up_to") -> str:
    """A version such as "0.3", up to which checks are to run.

    Raises InvalidTypeError for anything but text, InvalidInputError for text that is no version, or older than every
    check.
    """
    oldest = min((one.since for one in CHECKS.values() if one.since), key=_numbers)
    allowed = f"{name} must be a version such as '0.3', from {oldest!r} on, which has the first checks"
    if not isinstance(up_to, str):
        raise InvalidTypeError(f"{allowed}; found {up_to!r}")
    if not re.fullmatch(r"[0-9]+(\.[0-9]+){1,2}", up_to) or _numbers(up_to) < _numbers(oldest):
        raise InvalidInputError(f"{allowed}; found {up_to!r}")
    return up_to


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _measured(function: CheckFunction, obj: Any, case: Case) -> Deviation:
    answer = function(obj, case)
    if isinstance(answer, Deviation):
        return answer
    found: list[Deviation] = []
    with closing(answer):
        while not found or found[-1].ok:
            try:
                found.append(next(answer))
            except StopIteration as end:
                return end.value if isinstance(end.value, Deviation) else worst(found, end.value)
    return found[-1]


def check(
    kind: str,
    since: str = "",
    *,
    needs: Iterable[str] = (),
    regimes: Iterable[str] = tuple(REGIMES),
    when: Callable[[Any], bool] = _always,
    reason: str = "",
    repeats: bool = True,
) -> Callable[[CheckFunction], CheckFunction]:
    """Register a function (object, case) -> Deviation as the check ``kind.function_name``.

    The function may yield deviations instead, the simplest first: the first that fails is the answer, else the one that
    comes closest to failing, or what the function returns. A text that it returns says why it has yielded nothing.

    since : the version of psdopt that adds it; other packages leave it out. The rest as for :class:`Check`.
    The first line of its docstring is the statement. Raise :class:`Trivial` where the claim is empty.
    """

    def register(function: CheckFunction) -> CheckFunction:
        statement = " ".join((function.__doc__ or "").strip().split("\n\n")[0].split())
        if not statement:
            raise ValueError(f"check {function.__name__} needs a docstring that states its theorem")
        name = f"{kind}.{function.__name__}"
        if name in CHECKS:
            raise ValueError(f"there is a check {name} already")
        measured, abilities = partial(_measured, function), frozenset(map(str, needs))
        CHECKS[name] = Check(name, kind, measured, statement, since, abilities, tuple(regimes), when, reason, repeats)
        return function

    return register
