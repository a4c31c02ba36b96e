"""Abilities: what a method requires and what problems and geometries offer, compared before the run."""

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
    SOFT_BOUNDS = "soft-bounds"  # linear terms and squares of what measurements miss their bounds by, in memory
    PRECONDITIONER = "preconditioner"
    CLOSED_FORM = "closed-form"
    DIAGONAL_FORM = "diagonal-form"  # quadratic, with a diagonal Hessian in coordinates that keep M ⪰ 0
    RESTRICTION = "restriction"  # F on the matrices with range in a given span is a problem of that small order
    MARGINS = "margins"  # linear measurements under a piecewise linear loss: a master LP exists
    SPLIT = "biconvex-split"
    CONSTRAINTS = "constraints"  # lower <= A(M) <= upper, or A(M) in cones, beside M ⪰ 0
    EQUATIONS = "equations"  # linear equations by entries under a quadratic F that is not linear
    NEAREST = "nearest"  # linear equations under (rho/2) |M|² + ⟨C, M⟩
    CONIC = "conic"  # constraints under a linear objective, all given by entries
    LOG_DETS = "log-dets"  # constraints under ⟨C, M⟩ − Σ ν log det of diagonal blocks, all given by entries
    FIXED_DIAGONAL = "fixed-diagonal"  # conic, with M_ii = d_i > 0 for all i as the only constraints
    CONSTRAINED_FIT = "constrained-fit"  # bounds by entries, F linear or with a Hessian: systems in (Y, y)
    STREAM = "stream"  # its data come in batches
    SAMPLE = "sample"  # a sum over rows, of which a share can be drawn
    # of a geometry
    FACTOR = "factor"  # points have a factor Y, and a rank
    STRAIGHT = "straight-lines"  # retraction is addition, vectors of different points may be added
    RIEMANNIAN = "riemannian"
    FULL_CONE = "full-cone"  # no rank limit
    LINEAR_ORACLE = "linear-oracle"
    PROJECTION = "projection"


#: Ability -> the members that an object declaring it must have: methods ask for the member, never for a class.
#: Other abilities concern members that every problem or geometry has.
MEMBERS: Mapping[str, tuple[str, ...]] = {
    Ability.QUADRATIC_FIT: ("quadratic_fit",),
    Ability.SOFT_BOUNDS: ("soft_bounds",),
    Ability.CONSTRAINTS: ("constrained",),
    Ability.CONIC: ("constrained",),
    Ability.LOG_DETS: ("constrained",),
    Ability.FIXED_DIAGONAL: ("constrained",),
    Ability.EQUATIONS: ("constrained",),
    Ability.NEAREST: ("constrained",),
    Ability.CONSTRAINED_FIT: ("constrained_fit", "constrained"),
    Ability.CLOSED_FORM: ("solve_in_closed_form",),
    Ability.DIAGONAL_FORM: ("diagonal_form",),
    Ability.MARGINS: ("margins",),
    Ability.SPLIT: ("split",),
    Ability.STREAM: ("stream", "batch_gradient"),
    Ability.SAMPLE: ("sample",),
    Ability.RIEMANNIAN: ("check_vector", "inner", "horizontal", "gradient", "retract"),
    Ability.LINEAR_ORACLE: ("minimize_linear",),
    Ability.PROJECTION: ("project",),
}

#: One need: an ability, or a group of abilities, any one of which suffices.
Need = str | tuple[str, ...]
#: Needs of a method: {"problem": (need, ...), "geometry": (need, ...)}.
Requires = Mapping[str, tuple[Need, ...]]


def on_factors(*needs: Need) -> Requires:
    """The needs of a method that moves a factor along straight lines, with these `needs` of the problem."""
    return {"problem": needs, "geometry": (Ability.FACTOR, Ability.STRAIGHT)}


@dataclass(frozen=True)
class Verdict:
    """Answer of :func:`psdopt.compatible`: `ok`, the `missing` needs ("problem: exact-line", ...), a `hint`."""

    ok: bool
    missing: tuple[str, ...] = ()
    hint: str = ""
    subject: str = ""

    def __bool__(self) -> bool:
        return self.ok

    @property
    def message(self) -> str:
        """The verdict in one sentence."""
        if self.ok:
            return f"{self.subject} work together"
        return f"{self.subject} do not work together; missing: {'; '.join(self.missing)}. {self.hint}"

    def require(self) -> None:
        """Raise :class:`IncompatibleError` unless ok."""
        if not self.ok:
            raise IncompatibleError(self.message)


def missing_needs(requires: Requires, role: str, offered: Iterable[str]) -> list[str]:
    """Needs of `role` that `offered` lacks, as text."""
    have = set(offered)
    needs = requires.get(role, ())
    return [as_text(need) for need in needs if have.isdisjoint((need,) if isinstance(need, str) else need)]


def require_inner(argument: str, method: Any, problem: Any, geometry: Any) -> None:
    """Raise IncompatibleError, naming the `argument`, if an inner method does not fit the problem and the geometry."""
    needs = [
        *missing_needs(method.requires, "problem", problem.abilities),
        *missing_needs(method.requires, "geometry", geometry.abilities),
    ]
    if problem.device is not None and not method.takes_device_arrays:
        text = f"{argument}={name_of(method)} takes NumPy arrays only, and the data are on a device ({problem.device})"
        raise IncompatibleError(f"{text}; pass another method as {argument}")
    if needs:
        text = f"{argument}={name_of(method)} lacks {', '.join(needs)} here"
        raise IncompatibleError(f"{text}; pass another method as {argument}")


def offered(problem: Any, ability: str, where: str) -> Any:
    """The result of the first member in :data:`MEMBERS` of `ability`; `where` is the class that describes the member.

    Raises IncompatibleError if there is no such member. Methods call this in every step.
    """
    name = MEMBERS[ability][0]
    make = getattr(problem, name, None)
    if not callable(make):
        kind = type(problem).__name__
        text = f"{kind} offers no {ability}: a problem with this ability must have {name}(), which returns a {where}"
        raise IncompatibleError(text)
    return make()


def as_text(need: Need) -> str:
    return str(need) if isinstance(need, str) else " or ".join(map(str, need))


def name_of(piece: Any) -> str:
    """Name of a piece for messages, by default that of its class."""
    return str(getattr(piece, "name", None) or type(piece).__name__)
