"""Which geometry and method solve() uses if they are omitted."""

from __future__ import annotations

import math
from collections.abc import Sequence

from psdopt.checks import instance
from psdopt.constraints import Constrained, constrained_of
from psdopt.constraints.explicit import linear_objective
from psdopt.constraints.soft import SoftSize, soft_size
from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method
from psdopt.contracts.problem import Problem
from psdopt.contracts.quadratic_fit import quadratic_fit_of
from psdopt.geometries import FlatQuotient, PositiveDefinite, PSDCone, Spectraplex
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import MINOR
from psdopt.methods import (
    BILGO,
    Alternating,
    AugmentedLagrangian,
    BlockConjugateGradient,
    BoundaryPoint,
    ColumnGeneration,
    ConjugateGradient,
    DualNewton,
    EigenSplitting,
    FrankWolfe,
    InteriorPoint,
    LagrangeNewton,
    OnlineRiemannianGradient,
    ProjectedGradient,
    SphereGradient,
    TruncatedNewton,
    TrustRegions,
)
from psdopt.methods.alternating import AfterProducts, AfterSteps, Confined, Settled
from psdopt.running import kinds
from psdopt.running.compatibility import fits, piece
from psdopt.running.thresholds import PRICES, THRESHOLDS

#: Methods that are tried, in this order, if the usual method does not fit a given geometry.
PARTNERS: tuple[Method, ...] = (
    ConjugateGradient(),
    BILGO(),
    ProjectedGradient(),
    FrankWolfe(),
    TrustRegions(),
    ColumnGeneration(),
    OnlineRiemannianGradient(),
)


#: Newton's method on the factor once conjugate gradient has settled; where its model holds only nearby, as for hinges
#: of which many switch in a step, the two take turns of growing length.
SECOND_ORDER = Alternating(ConjugateGradient(), TruncatedNewton(), Settled(MINOR, 200, again=25), Confined(3))
#: The same for large factors, of which a Newton step costs as much as ten or twenty others: a hundred of these come
#: first, and end most runs. Hinges of order 500 took a seventh of the time of conjugate gradient alone.
LARGE = Alternating(ConjugateGradient(), TruncatedNewton(), AfterSteps(100), Confined(3))
#: For hinges Newton's method comes first: most of its steps hold. Where many switch in a step, it is confined, and a
#: hundred steps of conjugate gradient gain more.
FOR_HINGES = Alternating(TruncatedNewton(), ConjugateGradient(), Confined(10), AfterSteps(100))
#: For squares under a limit of the rank that hardly binds: Newton's method on Lagrange's conditions then takes ten to
#: eighty steps, each at half the price of one on the factor. Where the limit binds S is indefinite, and it gains less.
LIMITED = Alternating(LagrangeNewton(), SECOND_ORDER, AfterSteps(100))


def choose(
    problem: Problem, geometry: Geometry | None, method: Method | None, most: int | None = None
) -> tuple[Geometry, Method, tuple[str, ...]]:
    """Fill in geometry and method; the third item names what was chosen. `most` : the limit of the rank, if any.

    With neither given, and any rank allowed: the closed form if the problem has one, else splitting in coordinates in
    which its Hessian is diagonal, if it has these; for margins, which scale with the trace, column
    generation over the spectraplex; else conjugate gradient on a factor whose rank grows until the certificate holds.
    Where interior point steps are affordable, squares and hinges of measurements are left to these once methods on a
    factor have cost as much (:class:`~psdopt.running.thresholds.Prices`), stiff ones of entries at once.
    Conjugate gradient is followed by Newton steps unless F is linear: those of `LagrangeNewton` for quadratic fits of
    fewer measurements than M has entries, a hundred under a limit of the rank that hardly binds, truncated ones where
    the Hessian is known, after a hundred steps for n r > 16384.
    Beyond order 2000 its block form is chosen for problems that can be restricted to a span. With one of geometry
    and method given: the first partner that fits.
    """
    instance(problem, "problem", Problem)
    if geometry is not None:
        piece(geometry, "geometry", Geometry)
    if method is not None:
        piece(method, "method", Method)
    if geometry is not None and method is not None:
        return geometry, method, ()
    chosen = tuple(name for name, piece in (("geometry", geometry), ("method", method)) if piece is None)
    asked = problem.abilities if method is None else problem.abilities & set(method.requires.get("problem", ()))
    limited = most is not None and most < problem.n
    whole = method is None and not limited and (geometry is None or Ability.FULL_CONE in geometry.abilities)
    dense = _on_the_whole_cone(problem) if whole else None
    if len(chosen) == 2 and dense is not None:
        return PSDCone(problem.n), dense, chosen
    if Ability.MARGINS in asked:
        return geometry or Spectraplex(problem.n), method or ColumnGeneration(), chosen
    if Ability.CONSTRAINTS in asked:
        return *_constrained(constrained_of(problem), geometry, method, most), chosen
    if method is None:
        method = dense or _iteration(problem, geometry, most)
        if geometry is not None:
            method = _first_fit(problem, [geometry], [method, *PARTNERS])[1]
    if geometry is None:
        n = problem.n
        atoms = None if limited or len(chosen) < 2 else wide_atoms(problem)
        all_columns = isinstance(method, Alternating) and isinstance(method.second, InteriorPoint)
        columns = n if all_columns else first_rank(n) if atoms is None else atoms.shape[1]
        on_a_factor = FlatQuotient(n, min(columns, most or n))
        first = [on_a_factor, PSDCone(n)] if limited else [PSDCone(n), on_a_factor]
        places = [*first, Spectraplex(n), PositiveDefinite(n)]
        geometry = _first_fit(problem, places, [method])[0]
    return geometry, method, chosen


def _first_fit(problem: Problem, geometries: Sequence[Geometry], methods: Sequence[Method]) -> tuple[Geometry, Method]:
    """The first pair that works together; if none does, the first of each, for the error message."""
    for geometry in geometries:
        for method in methods:
            if fits(problem, geometry, method):
                return geometry, method
    return geometries[0], methods[0]


def _constrained(
    problem: Constrained, geometry: Geometry | None, method: Method | None, most: int | None = None
) -> tuple[Geometry, Method]:
    """Geometry and method under constraints, by the form of F and the number of constraints m.

    With a limit `most` of the rank the choice is among methods on factors.
    SphereGradient for a linear F on matrices of a fixed diagonal; DualNewton for a distance, unless equations leave a
    face, on which its dual has no minimiser; for a distance of weighted entries its gradient steps, and the method
    below if they do not suffice; BoundaryPoint for very many equations, of nuclear norms only where no matrix of few
    columns nearly meets them, and then InteriorPoint; that alone if a step is affordable; else, for nuclear norms, for
    very sparse equations and very many inequalities, AugmentedLagrangian.

    The augmented Lagrangian begins with up to √(2 m) columns: with more columns than that, generically every
    second-order stationary point is optimal. For nuclear norms it begins with log m, as solutions have few. It is also
    chosen for a curved F, except that InteriorPoint takes log dets of blocks.
    """
    if method is None:
        limited = most is not None and most < problem.n
        full = not limited and (geometry is None or Ability.FULL_CONE in geometry.abilities)
        straight = geometry is None or {Ability.FACTOR, Ability.STRAIGHT} <= geometry.abilities
        d = problem.fixed_diagonal
        even = d is not None and (
            float(d.max()) <= THRESHOLDS.spread * float(d.min()) or not kinds.decomposable(problem)
        )
        if straight and even and Ability.FIXED_DIAGONAL in problem.abilities:
            method = SphereGradient()
        elif full and kinds.near(problem) and (geometry is not None or problem.face is None):
            method = DualNewton()  # methods on a face need a geometry of factors
        elif full and kinds.even(problem) and (geometry is not None or problem.face is None):
            method = Alternating(DualNewton(), AugmentedLagrangian(), AfterSteps(THRESHOLDS.gradient_steps))
            geometry = geometry or FlatQuotient(problem.n, problem.n)
            method = method if fits(problem, geometry, method) else method.first
        elif full and kinds.of_high_rank(problem):
            method = BoundaryPoint()
        else:
            on_factor = kinds.light(problem) or kinds.sparse(problem)
            full = full and not (on_factor and (geometry is not None or problem.face is None))
            splits, newton = full and kinds.splits(problem), full and kinds.decomposable(problem)
            method = InteriorPoint() if newton else AugmentedLagrangian()
            if splits and newton:
                method = Alternating(BoundaryPoint(), method, AfterSteps(kinds.splitting_steps(problem)))
            elif splits:
                method = BoundaryPoint()
    if geometry is None and Ability.FULL_CONE in method.requires.get("geometry", ()):
        geometry = PSDCone(problem.n)
    if geometry is None:
        on_spheres = isinstance(method, SphereGradient)
        share = THRESHOLDS.spare if on_spheres or kinds.diagonal_beside_face(problem) else 1
        count = kinds.few(problem) if kinds.light(problem) else math.isqrt(2 * problem.m) // share + 1
        count = max(count, THRESHOLDS.fewest, min(THRESHOLDS.on_spheres, math.isqrt(2 * problem.m) + 1) * on_spheres)
        few = min(problem.n, count)
        few = min(few, THRESHOLDS.most) if few > THRESHOLDS.most and not kinds.sparse(problem) else few
        first = few if Ability.CONIC in problem.abilities else first_rank(problem.n)  # curved F: any rank
        geometry = FlatQuotient(problem.n, min(first, most or problem.n))
    return geometry, method


def _iteration(problem: Problem, geometry: Geometry | None, most: int | None) -> Method:
    if geometry is not None and not {Ability.FACTOR, Ability.STRAIGHT} <= geometry.abilities:
        return ConjugateGradient()
    unlimited = most is None or most >= problem.n
    whole = unlimited and (geometry is None or Ability.FULL_CONE in geometry.abilities)
    rank = (geometry and geometry.rank) or min(first_rank(problem.n), most or problem.n)
    if whole and Ability.SOFT_BOUNDS in problem.abilities:
        found = _interior(problem, soft_size(problem), rank)
        if found is not None:
            return found
    if LagrangeNewton.is_efficient_for(problem, rank):
        most_of_solutions = math.isqrt(2 * quadratic_fit_of(problem).size)
        if most_of_solutions <= (problem.n if unlimited else THRESHOLDS.binding * rank):
            return LagrangeNewton() if unlimited else LIMITED
    if problem.n > THRESHOLDS.large_order and Ability.RESTRICTION in problem.abilities:
        return BlockConjugateGradient()
    curved = linear_objective(problem) is None  # steps for a linear F, which has no minimum but 0, need not be Newton's
    if not curved or Ability.HESSIAN not in problem.abilities or problem.device is not None:
        return ConjugateGradient()
    return SECOND_ORDER if problem.n * rank <= THRESHOLDS.second_order else LARGE


def _interior(problem: Problem, size: SoftSize, rank: int) -> Method | None:
    """InteriorPoint, at once or after methods on a factor (n, `rank`) have cost as much; None if it is too dear.

    At once for squares of entries with unlike weights, on which methods on a factor were hardly ever faster, and for
    hinges of entries of orders at which these do not begin with all n columns, as it needs them to after other methods.
    """
    kinks = Ability.QUADRATIC not in problem.abilities
    stiff = rank < problem.n if kinks else size.spread > THRESHOLDS.unlike
    if stiff and size.sparse and size.flops <= THRESHOLDS.affordable:
        return InteriorPoint()
    few = min(rank, math.isqrt(2 * size.measurements))  # columns are dropped
    products = AfterProducts(PRICES.interior(size, kinks) / PRICES.product(size, few))
    if kinks and size.flops <= (THRESHOLDS.affordable if rank == problem.n else THRESHOLDS.cheap):
        return Alternating(FOR_HINGES, InteriorPoint(), products)
    if not kinks and size.flops <= THRESHOLDS.cheap and LagrangeNewton.is_efficient_for(problem, rank):
        return Alternating(LagrangeNewton(), InteriorPoint(), products)
    return None


def first_rank(n: int) -> int:
    """Rank at which a run without a rank limit begins: n itself up to 128, else max(40, √n).

    Too many columns cost little and do no harm, since a rank-deficient second-order point is a global optimum. With too
    few columns the run has to add columns, once or repeatedly.
    """
    return n if n <= 128 else max(40, math.isqrt(n))


def wide_atoms(problem: Problem) -> Array | None:
    """The problem's :meth:`~psdopt.contracts.roles.Starts.first_atoms` if these are more columns than the first rank.

    Random quadratics of order 200, 300 and 500 took an eighth, half and a quarter of the time from these. Made once.
    """
    if Ability.QUADRATIC not in problem.abilities or Ability.CONSTRAINTS in problem.abilities or problem.device:
        return None
    atoms = problem.once("first atoms", problem.starts.first_atoms)
    return atoms if atoms is not None and atoms.shape[1] > first_rank(problem.n) else None


def _on_the_whole_cone(problem: Problem) -> Method | None:
    """The method for a quadratic F that its eigenvectors solve, at once or by splitting; None for others."""
    known = Ability.CLOSED_FORM in problem.abilities and problem.solve_in_closed_form() is not None
    return EigenSplitting() if known or Ability.DIAGONAL_FORM in problem.abilities else None
