"""Waivers: claims that an object is known not to keep, each with a reason, for one regime or for all.

An object says so itself, in an attribute that ``psdopt check`` honours and prints::

    class LogDetFit(TermSum):
        conformance_waivers = {"problem.hessian_slope": {"scale-up": "Psi has a scale of its own"}}

or the caller of :func:`~psdopt.testing.run_checks` says it, ``waivers={"geometry.transport": "not needed here"}``.
A waived sample is run all the same. Where it passes, the waiver is out of date, and the check fails for that reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psdopt.errors import InvalidInputError, unknown_name
from psdopt.testing.registry import CHECKS

#: Check name -> a reason for every regime, or {regime: reason}.
Waivers = Mapping[str, str | Mapping[str, str]]
#: The attribute of an object that holds its own waivers.
ATTRIBUTE = "conformance_waivers"


def waivers_of(obj: Any, given: Waivers | None = None) -> dict[str, dict[str, str]]:
    """The object's own waivers and the `given` ones, as {check: {regime: reason}}.

    Raises UnknownNameError for a name that is no check or no regime, InvalidInputError for an empty reason.
    """
    found: dict[str, dict[str, str]] = {}
    for source in (getattr(obj, ATTRIBUTE, None) or {}, given or {}):
        for name, reasons in source.items():
            if name not in CHECKS:
                raise unknown_name("check", name, CHECKS)
            by_regime = dict.fromkeys(CHECKS[name].regimes, reasons) if isinstance(reasons, str) else dict(reasons)
            for regime, reason in by_regime.items():
                if regime not in CHECKS[name].regimes:
                    raise unknown_name(f"regime of {name}", regime, CHECKS[name].regimes)
                if not isinstance(reason, str) or not reason.strip():
                    raise InvalidInputError(f"the waiver of {name} in {regime} needs a reason; found {reason!r}")
            found.setdefault(name, {}).update(by_regime)
    return found
