"""Waivers: claims that an object is known not to keep, each with a reason, for one regime or for all.

An object says so itself, in an attribute that ``psdopt check`` honours and prints::

    class Sampled(TermSum):
        conformance_waivers = {"problem.hessian_slope": {"scale-up": "the Hessian is an estimate from samples"}}

or the caller of :func:`~psdopt.testing.run_checks` says it, ``waivers={"geometry.transport": "not needed here"}``.
A waived sample is run all the same. Where it passes, the waiver is out of date, and the check fails for that reason.
A name may be a pattern such as ``"problem.split_*"``. If it matches more than one check, a warning names them: the next
version might add one that nobody meant to waive.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from psdopt.errors import InvalidInputError, unknown_name
from psdopt.testing.registry import CHECKS, Check

#: Check name or pattern -> a reason for every regime, or {regime: reason}.
Waivers = Mapping[str, str | Mapping[str, str]]
#: The attribute of an object that holds its own waivers.
ATTRIBUTE = "conformance_waivers"


def waivers_of(obj: Any, given: Waivers | None = None, up_to: str | None = None) -> dict[str, dict[str, str]]:
    """The object's own waivers and the `given` ones, as {check: {regime: reason}}.

    Warns of a name that matches more than one check that runs (`up_to`). Raises UnknownNameError for a name that
    matches no check, or is no regime, InvalidInputError for an empty reason.
    """
    found: dict[str, dict[str, str]] = {}
    for source in (getattr(obj, ATTRIBUTE, None) or {}, given or {}):
        for name, reasons in source.items():
            for check in _matched(name, up_to):
                by_regime = dict.fromkeys(check.regimes, reasons) if isinstance(reasons, str) else dict(reasons)
                for regime, reason in by_regime.items():
                    if regime not in check.regimes:
                        raise unknown_name(f"regime of {check.name}", regime, check.regimes)
                    if not isinstance(reason, str) or not reason.strip():
                        raise InvalidInputError(f"the waiver of {name} in {regime} needs a reason; found {reason!r}")
                found.setdefault(check.name, {}).update(by_regime)
    return found


def _matched(pattern: str, up_to: str | None) -> list[Check]:
    matched = [check for check in CHECKS.values() if fnmatchcase(check.name, pattern)]
    if not matched:
        raise unknown_name("check", pattern, CHECKS)
    run = [check.name for check in matched if not check.newer_than(up_to)]
    if len(run) > 1:
        text = f"the waiver {pattern!r} matches {len(run)} checks: {', '.join(run)}; write one waiver for each"
        warnings.warn(text, UserWarning, stacklevel=4)
    return matched
