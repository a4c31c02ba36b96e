"""What solve() uses when geometry or method are left out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from psdopt.capability import Ability
from psdopt.checks import instance
from psdopt.compatibility import fits
from psdopt.constraints import Constrained, constrained_of
from psdopt.constraints.preconditioner import is_diagonal
from psdopt.geometries import FlatQuotient, PositiveDefinite, PSDCone, Spectraplex
from psdopt.geometry import Geometry
from psdopt.method import Method
from psdopt.methods import (
    BILGO,
    AugmentedLagrangian,
    BlockConjugateGradient,
    BoundaryPoint,
    ClosedForm,
    ColumnGeneration,
    ConjugateGradient,
    DualNewton,
    FrankWolfe,
    InteriorPoint,
    LagrangeNewton,
    OnlineRiemannianGradient,
    ProjectedGradient,
    RiemannianGradient,
)
from psdopt.problem import Problem

#: Beyond this order conjugate gradient has no complete decomposition of A to precondition with, and the method
#: that needs none and makes the most of each product is ahead (docs/experiments/lro.md).
LARGE_ORDER = 2000
#: Methods for a geometry that was named, in the order in which they are tried after the usual one.
PARTNERS: tuple[Method, ...] = (
    ConjugateGradient(),
    BILGO(),
    ProjectedGradient(),
    FrankWolfe(),
    RiemannianGradient(),
    ColumnGeneration(),
    OnlineRiemannianGradient(),
)
#: Columns that a run under constraints begins with: at least, and at most. More are added where they do not suffice,
#: short ones are dropped: tori of order 2,000 began with 22 and ended with 8.
FEWEST, MOST = 8, 30
#: Of √(2 m) columns a third, where the diagonal alone is constrained: solutions had a quarter of them on random graphs,
#: an eighth on toruses.
SPARE = 3
#: Flops of a step of an interior point method (thetaG11 of SDPLIB takes 2.5e10), and constraints, a system of which is
#: 0.3 GB.
AFFORDABLE, MOST_CONSTRAINTS = 6e10, 6000
#: Beyond this order constraints on the diagonal alone are the augmented Lagrangian's: it is level with an interior
#: point at 124, twice as slow on a torus of 200, and two to three times ahead at 250 (SDPLIB's mcp).
DIAGONAL_ORDER = 200
#: Beyond this order Newton on factor and multipliers is level with an interior point on a face (balanced partitions),
#: whose steps cost n³; below it the interior point is ahead, and surer.
FACE_ORDER = 1000
#: Up to this order Newton steps on factor and multipliers are affordable: one took 0.35 s at order 2,000.
MOST_NEWTON = 1500
#: Up to this order an eigendecomposition in every step, 9 n³ flops, is affordable: 2e11, some seconds.
MOST_DECOMPOSED = 3000
#: From so many constraints per row of a block on, splitting the dual is cheaper than Newton's systems of order m: at
#: 7.4 (theta3) it took 2.6 times an interior point's time, at 12.1 (theta5) half of it.
MANY = 9.0
#: Flops of a factorisation that is cheap whatever the blocks, a twentieth of a second (m = 1,442): an interior point
#: method is then the surest.
CHEAP = 1e9


def choose(
    problem: Problem, geometry: Geometry | None, method: Method | None
) -> tuple[Geometry, Method, tuple[str, ...]]:
    """Fill in geometry and method; the third item names what was chosen.

    With neither given: the closed form where the problem has one; column generation over the spectraplex for
    margins (without a fixed trace they can be scaled without end); else conjugate gradient on a factor whose rank
    grows until the certificate holds, which ends in Newton steps for quadratic fits of few measurements, and is taken
    beyond order 2000 in its block form, for problems that can be restricted to a span. With one of them given: the
    first partner that fits.
    """
    instance(problem, "problem", Problem)
    if geometry is not None:
        instance(geometry, "geometry", Geometry)
    if method is not None:
        instance(method, "method", Method)
    if geometry is not None and method is not None:
        return geometry, method, ()
    chosen = tuple(name for name, piece in (("geometry", geometry), ("method", method)) if piece is None)
    asked = problem.abilities if method is None else problem.abilities & set(method.requires.get("problem", ()))
    if len(chosen) == 2 and _has_closed_form(problem):
        return PSDCone(problem.n), ClosedForm(), chosen
    if Ability.MARGINS in asked:
        return geometry or Spectraplex(problem.n), method or ColumnGeneration(), chosen
    if Ability.CONSTRAINTS in asked:
        return *_constrained(constrained_of(problem), geometry, method), chosen
    if method is None:
        closed = geometry is not None and Ability.FULL_CONE in geometry.abilities
        method = ClosedForm() if closed and _has_closed_form(problem) else _iteration(problem, geometry)
        if geometry is not None:
            method = _first_fit(problem, [geometry], [method, *PARTNERS])[1]
    if geometry is None:
        n = problem.n
        places = [PSDCone(n), FlatQuotient(n, first_rank(n)), Spectraplex(n), PositiveDefinite(n)]
        geometry = _first_fit(problem, places, [method])[0]
    return geometry, method, chosen


def _first_fit(problem: Problem, geometries: Sequence[Geometry], methods: Sequence[Method]) -> tuple[Geometry, Method]:
    """The first pair that works together; the first of each where none does, for the refusal to name."""
    for geometry in geometries:
        for method in methods:
            if fits(problem, geometry, method):
                return geometry, method
    return geometries[0], methods[0]


def _constrained(problem: Constrained, geometry: Geometry | None, method: Method | None) -> tuple[Geometry, Method]:
    """Newton on the dual for a distance; splitting for very many equations, interior point where that is affordable;
    else an augmented Lagrangian, and so for very many inequalities.

    The last one begins with up to √(2 m) columns. With more columns than that no stationary point misleads.

    Where the diagonal alone is constrained, the augmented Lagrangian is ahead from order 200 on. On a face of the cone
    Newton's method on factor and multipliers runs alone: from order 400 on for a linear F (balanced partitions), at any
    order for a curved F, which no interior point method here takes.
    """
    if method is None:
        full = geometry is None or Ability.FULL_CONE in geometry.abilities
        if full and Ability.NEAREST in problem.abilities and problem.n <= MOST_DECOMPOSED:
            method = DualNewton()
        else:
            splits, newton = full and _splits(problem), full and _decomposable(problem)
            method = BoundaryPoint() if splits else InteriorPoint() if newton else _on_factors(problem)
    if geometry is None and Ability.FULL_CONE in method.requires.get("geometry", ()):
        geometry = PSDCone(problem.n)
    if geometry is None:
        share = SPARE if isinstance(method, AugmentedLagrangian) and _diagonal_beside_face(problem) else 1
        few = min(problem.n, max(math.isqrt(2 * problem.m) // share + 1, FEWEST), MOST)
        # a curved F may have solutions of any rank
        geometry = FlatQuotient(problem.n, few if Ability.CONIC in problem.abilities else first_rank(problem.n))
    return geometry, method


def _splits(problem: Constrained) -> bool:
    """Whether m³/3 flops, in each of a dozen Newton steps, are more than some hundred decompositions of the blocks."""
    if problem.conic is None or problem.n > MOST_DECOMPOSED:
        return False
    if float(problem.m) ** 3 / 3.0 <= CHEAP or _mostly_inequalities(problem):
        return False
    cubes = sum(float(len(rows)) ** 3 for rows in problem.conic.blocks)
    return float(problem.m) ** 3 > MANY**3 * cubes


def _mostly_inequalities(problem: Constrained) -> bool:
    """Whether most are inequalities: few of many hold with equality, and splitting is slow to tell which."""
    return 2 * int(np.count_nonzero(problem.lower < problem.upper)) > problem.m


def _decomposable(problem: Constrained) -> bool:
    """Whether a step of an interior point method, 40 Σ s³ + m³/3 flops for blocks of order s, is affordable."""
    if problem.conic is None or problem.m > MOST_CONSTRAINTS:
        return False
    if problem.n > (FACE_ORDER if _has_face(problem) else DIAGONAL_ORDER) and _diagonal_beside_face(problem):
        return False
    if problem.m**3 / 3.0 > CHEAP and _mostly_inequalities(problem):
        return False
    cubes = sum(float(len(rows)) ** 3 for rows in problem.conic.blocks)
    return 40.0 * cubes + problem.m**3 / 3.0 <= AFFORDABLE


def _on_factors(problem: Constrained) -> Method:
    """An augmented Lagrangian; on a face Newton on factor and multipliers where a step, n³ + m³/3 flops, pays.

    On a face the multipliers need not be bounded, and the augmented Lagrangian is slow. With a curved F both run in
    the coordinates of the face (:class:`~psdopt.methods.on_face.OnFace`).
    """
    affordable = problem.n <= MOST_NEWTON and problem.m <= MOST_CONSTRAINTS
    if affordable and _has_face(problem) and Ability.CONSTRAINED_FIT in problem.abilities:
        return LagrangeNewton(steps=0)
    return AugmentedLagrangian()


def _has_face(problem: Constrained) -> bool:
    return problem.face is not None


def _diagonal_beside_face(problem: Constrained) -> bool:
    """Whether all constraints but those of a face are on single diagonal entries, and bound the trace."""
    if problem.conic is None or problem.trace_limit is None:
        return False
    forms, face = problem.conic.forms, problem.face
    if face is None:
        return is_diagonal(forms)
    rest = forms.B[np.setdiff1d(np.arange(problem.m), face.rows)]
    return bool(np.all(np.diff(rest.indptr) <= 1) and np.all(forms.i[rest.indices] == forms.j[rest.indices]))


def _iteration(problem: Problem, geometry: Geometry | None) -> Method:
    straight = geometry is None or {Ability.FACTOR, Ability.STRAIGHT} <= geometry.abilities
    large = problem.n > LARGE_ORDER and Ability.RESTRICTION in problem.abilities
    if straight and LagrangeNewton.is_efficient_for(problem, (geometry and geometry.rank) or first_rank(problem.n)):
        return LagrangeNewton()
    return BlockConjugateGradient() if large and straight else ConjugateGradient()


def first_rank(n: int) -> int:
    """Rank at which a run without a rank limit begins: n itself up to 128, else max(40, √n).

    Columns too many cost little and never mislead (a rank-deficient second-order point is a global
    optimum); columns too few cost a round of escape each time.
    """
    return n if n <= 128 else max(40, math.isqrt(n))


def _has_closed_form(problem: Problem) -> bool:
    return Ability.CLOSED_FORM in problem.abilities and problem.solve_in_closed_form() is not None
