"""Whether a problem, a geometry and a method fit together, checked before the run."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any

from psdopt.checks import brief, instance
from psdopt.contracts.abilities import MEMBERS, Verdict, as_text, missing_needs, name_of
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method
from psdopt.contracts.problem import Problem
from psdopt.errors import InvalidTypeError

#: At most this many names are listed in a hint; more would bury the first ones.
NAMED = 12


def _nothing(kind: str) -> Iterable[Any]:
    return ()


#: "method" or "geometry" -> an instance of each installed one; set by :mod:`psdopt.plugins`.
known: Callable[[str], Iterable[Any]] = _nothing


def piece(value: Any, role: str, kind: type[Any]) -> None:
    """InvalidTypeError unless `value` is a `kind`; for the name of an installed one it says which class is meant."""
    if not isinstance(value, str):
        instance(value, role, kind)
        return
    spelled = {name_of(each).lower(): name_of(each) for each in known(role)}
    near = difflib.get_close_matches("".join(filter(str.isalnum, value)).lower(), spelled, n=1)
    hint = f"; pass an instance of {spelled[near[0]]}" if near else ""
    raise InvalidTypeError(f"{role} must be a {kind.__name__}; found {brief(value)}{hint}")


def compatible(problem: Any, geometry: Any, method: Any) -> Verdict:
    """Whether `method` can run on `problem` over `geometry`, before any work. O(1).

    An ability stands for members (:data:`psdopt.contracts.abilities.MEMBERS`): an object that declares the ability and
    lacks a member does not have it. A negative verdict names the objects, what is missing, and which other methods, or
    else which other geometries, would work, those of plugins included.
    """
    instance(problem, "problem", Problem)
    piece(geometry, "geometry", Geometry)
    piece(method, "method", Method)
    subject = f"{name_of(problem)}, {name_of(geometry)} and {name_of(method)}"
    missing = _missing(problem, geometry, method)
    if not missing:
        return Verdict(True, subject=subject)
    return Verdict(False, tuple(missing), _hint(problem, geometry, method), subject)


def fits(problem: Any, geometry: Any, method: Any) -> bool:
    """:func:`compatible` as a bool, without the sentence for a negative verdict, for which all plugins are loaded."""
    return not _missing(problem, geometry, method)


def _missing(problem: Any, geometry: Any, method: Any) -> list[str]:
    missing = _lacking(problem, geometry, method)
    if problem.n != geometry.n:
        missing.append(f"problem and geometry differ in order, {problem.n} and {geometry.n}")
    return missing


def _lacking(problem: Any, geometry: Any, method: Any) -> list[str]:
    """What is missing, apart from different orders n."""
    missing, requires = [], method.requires
    for role, piece in (("problem", problem), ("geometry", geometry)):
        named = {name for need in requires.get(role, ()) for name in ((need,) if isinstance(need, str) else need)}
        missing += [
            f"the {role} {name_of(piece)} lacks {need}" for need in missing_needs(requires, role, piece.abilities)
        ]
        missing += [
            f"the {role} {name_of(piece)} declares {m}, which is not there" for m in missing_members(piece, named)
        ]
    return missing + _without_device(problem, geometry, method)


def _without_device(problem: Any, geometry: Any, method: Any) -> list[str]:
    """The pieces that do not accept device arrays, if the problem's arrays are on a device."""
    devices = {linear_map.device for linear_map in problem.maps} | {problem.device}
    device = next((device for device in devices if device is not None), None)
    if device is None:
        return []
    taking = [
        ("problem", problem, problem.device is not None),
        ("geometry", geometry, geometry.takes_device_arrays),
        ("method", method, method.takes_device_arrays),
    ]
    return [
        f"the {role} {name_of(piece)} takes NumPy arrays only, and the data are on a device ({device})"
        for role, piece, takes in taking
        if not takes
    ]


def missing_members(piece: Any, abilities: Iterable[str]) -> list[str]:
    """ "ability (its member 'name')" for each of `abilities` that `piece` declares while the member is not there. O(1).

    A member counts as missing if it is None, or still the interface's own, which only raises.
    """
    return [
        f"{ability} (its member {name!r})"
        for ability in sorted(set(piece.abilities).intersection(abilities, MEMBERS))
        for name in MEMBERS[ability]
        if not _has(piece, name)
    ]


def _has(piece: Any, name: str) -> bool:
    own = vars(piece).get(name, getattr(type(piece), name, None))
    return own is not None and own is not vars(Problem).get(name) and own is not vars(Geometry).get(name)


def _hint(problem: Any, geometry: Any, method: Any) -> str:
    if problem.n != geometry.n:
        return f"Give the geometry order n={problem.n}"
    works = alternatives(problem, geometry, method)
    if works:
        return works
    places = [name_of(other) for other in known("geometry") if not _lacking(problem, other, method)]
    if places:
        return f"{name_of(method)} works with this problem on {_listed(places)}"
    needed = [f"{role} with: {', '.join(map(as_text, needs))}" for role, needs in method.requires.items() if needs]
    text = f"{name_of(method)} needs a {' and a '.join(needed)}, and none that fits is installed"
    pairs = [
        f"{name_of(other)} on {name_of(place)}"
        for place in known("geometry")
        for other in known("method")
        if not _lacking(problem, place, other)
    ]
    return f"{text}. With this problem these work: {_listed(pairs)}" if pairs else text


def alternatives(problem: Any, geometry: Any, method: Any) -> str:
    """A sentence that names the other methods which work with `problem` on `geometry`; "" if there are none."""
    names = [name_of(other) for other in known("method") if not _lacking(problem, geometry, other)]
    names = [name for name in names if name != name_of(method)]
    # a closed form exists for some data only, so it comes last
    names.sort(key=lambda name: name == "EigenSplitting")
    return f"With this problem and geometry these work: {_listed(names)}" if names else ""


def _listed(names: list[str]) -> str:
    names = list(dict.fromkeys(names))
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
