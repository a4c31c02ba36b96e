"""What a method needs, what a problem and a geometry offer: data, compared before any work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from psdopt.errors import IncompatibleError


class Ability(StrEnum):
    """Abilities that shipped pieces declare. A plugin may add strings of its own."""

    # of a problem
    GRADIENT = "gradient"
    EXACT_LINE = "exact-line"  # along(D) is exact and minimised without applying a map again
    EXACT_PLANE = "exact-plane"  # along_atom(v) likewise
    HESSIAN = "hessian"
    CONVEX = "convex"
    QUADRATIC = "quadratic"
    QUADRATIC_FIT = "quadratic-fit"  # linear terms and one quadratic loss of measurements
    PRECONDITIONER = "preconditioner"
    CLOSED_FORM = "closed-form"
    RESTRICTION = "restriction"  # F on the matrices with range in a given span is a problem of that small order
    MARGINS = "margins"  # linear measurements under a piecewise linear loss: a master LP exists
    SPLIT = "biconvex-split"
    STREAM = "stream"  # batches of its data can be had one by one
    # of a geometry
    FACTOR = "factor"  # points have a factor Y, and a rank
    STRAIGHT = "straight-lines"  # retraction is addition, vectors of different points may be added
    RIEMANNIAN = "riemannian"
    FULL_CONE = "full-cone"  # no rank limit
    LINEAR_ORACLE = "linear-oracle"
    PROJECTION = "projection"


#: One need: an ability, or a group of which any one is enough.
Need = str | tuple[str, ...]
#: Needs of a method: {"problem": (need, ...), "geometry": (need, ...)}.
Requires = Mapping[str, tuple[Need, ...]]


@dataclass(frozen=True)
class Verdict:
    """Answer of :func:`compatible`: `ok`, what is `missing` ("problem: exact-line", ...), a `hint`."""

    ok: bool
    missing: tuple[str, ...] = ()
    hint: str = ""
    subject: str = ""

    def __bool__(self) -> bool:
        return self.ok

    @property
    def message(self) -> str:
        """One sentence for a person."""
        if self.ok:
            return f"{self.subject} work together"
        return f"{self.subject} do not work together; missing: {'; '.join(self.missing)}. {self.hint}"

    def require(self) -> None:
        """Raise :class:`IncompatibleError` unless ok."""
        if not self.ok:
            raise IncompatibleError(self.message)


def missing_needs(requires: Requires, role: str, offered: Iterable[str]) -> list[str]:
    """Needs of `role` that `offered` does not meet, as text."""
    have = set(offered)
    missing = []
    for need in requires.get(role, ()):
        if have.isdisjoint((need,) if isinstance(need, str) else need):
            missing.append(_as_text(need))
    return missing


def require_inner(argument: str, method: Any, problem: Any, geometry: Any) -> None:
    """Raise IncompatibleError, naming the `argument`, where a method that another one uses lacks something here."""
    needs = [*missing_needs(method.requires, "problem", problem.abilities),
             *missing_needs(method.requires, "geometry", geometry.abilities)]  # fmt: skip
    if needs:
        text = f"{argument}={name_of(method)} lacks {', '.join(needs)} here"
        raise IncompatibleError(f"{text}; pass another method as {argument}")


def _as_text(need: Need) -> str:
    return str(need) if isinstance(need, str) else " or ".join(map(str, need))


def compatible(problem: Any, geometry: Any, method: Any) -> Verdict:
    """Whether `method` can run on `problem` over `geometry`, before any work. O(1).

    A negative verdict names the objects, what is missing, and which shipped methods would work.
    """
    subject = f"{name_of(problem)}, {name_of(geometry)} and {name_of(method)}"
    missing = _missing(problem, geometry, method)
    if not missing:
        return Verdict(True, subject=subject)
    return Verdict(False, tuple(missing), _hint(problem, geometry, method), subject)


def _missing(problem: Any, geometry: Any, method: Any) -> list[str]:
    missing = []
    for role, piece in (("problem", problem), ("geometry", geometry)):
        for need in missing_needs(method.requires, role, piece.abilities):
            missing.append(f"the {role} {name_of(piece)} lacks {need}")
    if problem.n != geometry.n:
        missing.append(f"problem and geometry differ in order, {problem.n} and {geometry.n}")
    return missing


def _hint(problem: Any, geometry: Any, method: Any) -> str:
    from psdopt.methods import shipped_methods  # methods know capabilities, so this comes late

    if problem.n != geometry.n:
        return f"Give the geometry order n={problem.n}"
    works = [name_of(other) for other in shipped_methods() if not _missing(problem, geometry, other)]
    if works:
        return f"With this problem and geometry these work: {', '.join(works)}"
    needed = ", ".join(_as_text(need) for need in method.requires.get("geometry", ()))
    return f"{name_of(method)} needs a geometry with: {needed or 'nothing special'}"


def name_of(piece: Any) -> str:
    """Class name of a piece, as shown to people."""
    return str(getattr(piece, "name", None) or type(piece).__name__)
