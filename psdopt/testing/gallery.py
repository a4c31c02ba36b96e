"""Small problems and geometries on which methods are tried."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from psdopt.contracts.abilities import Ability, missing_needs
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array, norm, orthonormal_columns, row_dots
from psdopt.problems import AutogradProblem, QuadraticSDP
from psdopt.running.compatibility import fits as fit_together

ORDER = 6


@dataclass(frozen=True)
class Instance:
    """A problem over a geometry, small enough for dense verification; `start` None means random."""

    name: str
    problem: Problem
    geometry: Geometry
    start: Any = None


def with_spectrum(values: Any, seed: int = 0) -> Array:
    """A dense symmetric matrix with these eigenvalues in a random frame."""
    values = np.asarray(values, dtype=float)
    frame = orthonormal_columns(np.random.default_rng(seed), len(values), len(values))
    M = (frame * values) @ frame.T
    return np.asarray(0.5 * (M + M.T))


# The problems are made once: methods do not change them, as a check of the kit verifies.
@cache
def problems(n: int = ORDER, definite: bool = False) -> Mapping[str, Problem]:
    """Convex problems with a bounded minimum, at a matrix of intermediate rank or, if `definite`, of full rank.

    A set that is not closed (:attr:`Geometry.closed`) does not contain the former, so that methods there can only
    converge to the latter.
    """
    import autograd.numpy as anp

    A = with_spectrum(np.linspace(0.5, 2.0, n), 1)
    target = with_spectrum(np.linspace(0.5, 2.0, n), 3)
    C = with_spectrum(np.linspace(-2.0, 1.0, n), 2)

    def softened(M: Any) -> Any:
        return anp.sum(anp.sqrt(1.0 + (M - target) ** 2))

    return {
        # definite: the gradient 2AMA + M + 2C, or 2M + 2C, vanishes at the target
        "quadratic": QuadraticSDP(A, 0.5, -A @ target @ A - 0.5 * target if definite else C),
        "projection": QuadraticSDP(None, 1.0, -target if definite else C),
        "smooth": AutogradProblem(softened, n, convex=True),
    }


@cache
def special_problems(n: int = ORDER, rank: int = ORDER, trace: float | None = None) -> Mapping[str, Problem]:
    """A bi-convex fit to entries, soft margins (a master program), exact measurements (a stream), linear constraints.

    `rank` and `trace` are those of the matrix that the stream measures, so that no noise is left at the solution.
    """
    from psdopt.data.streams import ArrayStream
    from psdopt.margins.problem import MarginProblem
    from psdopt.problems import TermSum
    from psdopt.problems.entry_fit import EntryFit
    from psdopt.problems.streamed import Streamed
    from psdopt.terms.losses import LeastSquares
    from psdopt.terms.measured import MeasuredTerm
    from psdopt.terms.measurements import PairDistances, QuadraticForms

    rng = np.random.default_rng(11)
    i, j = np.triu_indices(n)
    T = with_spectrum(np.linspace(-1.0, 2.0, n), 4)
    entries = EntryFit(with_spectrum(np.linspace(0.05, 0.5, n), 5), i, j, T[i, j], rng.uniform(0.5, 2.0, len(i)))
    X = rng.standard_normal((3 * n, n))
    margins = MarginProblem(PairDistances(np.arange(2 * n), np.arange(n, 3 * n), X), C=0.2)
    rows = rng.standard_normal((16 * n, n))
    W = with_spectrum([*np.linspace(0.5, 1.0, rank), *np.zeros(n - rank)], 6)
    W *= 1.0 if trace is None else trace / np.trace(W)
    y = row_dots(rows @ W, rows)
    held_out = TermSum([MeasuredTerm(QuadraticForms(rows), LeastSquares(y), 0.5 / len(y))])
    stream = Streamed(ArrayStream(rows, y, seed=1), held_out, forms_gradient)
    return {"entries": entries, "margins": margins, "stream": stream, **constrained_problems(n), **cone_problems(n)}


@cache
def constrained_problems(n: int = ORDER, c: float = 1.0, s: float = 1.0) -> Mapping[str, Problem]:
    """Objectives c F(M / s), linear, quadratic and a distance, under constraints, with a known solution of rank two.

    The solution M, multipliers y and S ⪰ 0 with S M = 0 come first, the linear part of F follows from
    S = ∇F(M) + A*(y). An upper bound is active, a lower one is not.
    """
    from psdopt.constraints import Constrained, diagonal, distances, entries, trace
    from psdopt.testing.constrained import DenseConstraints

    rng, width = np.random.default_rng(13), min(2, n)
    frame = orthonormal_columns(rng, n, n)
    M = (frame[:, :width] * np.linspace(1.0, 2.0, width)) @ frame[:, :width].T
    S = (frame[:, width:] * np.linspace(0.5, 1.5, n - width)) @ frame[:, width:].T
    length = M[0, 0] + M[n - 1, n - 1] - 2.0 * M[0, n - 1]
    equations = [trace(n, s * float(np.trace(M))), distances([0], [n - 1], s * length, n=n)]
    bounds = [entries([0], [1], n, upper=s * M[0, 1]), entries([1], [2], n, lower=s * (M[1, 2] - 1.0))]
    A = with_spectrum(np.linspace(0.5, 1.0, n), 14)

    def made(A: Array | None, B: float | None, groups: list[Any]) -> Problem:
        y = np.resize([-0.5, 0.4, 0.7, 0.0], sum(group.size for group in groups))
        dense = DenseConstraints(Constrained(QuadraticSDP(C=np.eye(n)), groups))
        slope = 2.0 * (0.0 if B is None else B) * M + (0.0 if A is None else 2.0 * A @ M @ A)
        C = (c / s) * 0.5 * (S - dense.adjoint(y) - slope)
        A = None if A is None else math.sqrt(c) / s * A
        return Constrained(QuadraticSDP(A, None if B is None else c / s**2 * B, C), groups)

    return {
        "linear under constraints": made(None, None, equations + bounds),
        "quadratic under constraints": made(A, 0.2, equations + bounds),
        "nearest under equations": made(None, 0.5, equations),
        "linear at a fixed diagonal": made(None, None, [diagonal(n, s * np.diag(M))]),
    }


@cache
def cone_problems(n: int = ORDER, c: float = 1.0, s: float = 1.0) -> Mapping[str, Problem]:
    """c ⟨C, M / s⟩ with all entries of M in a ball, and their norm below a multiple of tr M; the solution is known.

    The values of both cones at the solution are orthogonal to its multipliers, so that both are active.
    """
    from psdopt.constraints import Constrained, Constraint, SecondOrder, Stacked, Trace, norm_bound
    from psdopt.terms.measurements import Entries
    from psdopt.testing.constrained import DenseConstraints

    rng, width = np.random.default_rng(17), min(2, n)
    frame = orthonormal_columns(rng, n, n)
    M = s * (frame[:, :width] * np.linspace(1.0, 2.0, width)) @ frame[:, :width].T
    S = (frame[:, width:] * np.linspace(0.5, 1.5, n - width)) @ frame[:, width:].T
    i, j = np.triu_indices(n)
    a, u = M[i, j], rng.standard_normal(len(i))
    u /= norm(u)
    ball = norm_bound(Entries(i, j, n), a - 0.5 * s * u, 0.5 * s)
    both = Stacked([Trace(n), Entries(i, j, n)])
    # the offset of the first value is what is missing to the norm
    cone = Constraint(both, SecondOrder([np.trace(M) - norm(a), *np.zeros(len(i))]), name="cone")
    y = np.concatenate([0.7 * np.append(-1.0, u), 0.4 * np.append(-1.0, a / norm(a))])
    dense = DenseConstraints(Constrained(QuadraticSDP(C=np.eye(n)), [ball, cone]))
    return {"linear under norms": Constrained(QuadraticSDP(C=0.5 * c / s * (S - dense.adjoint(y))), [ball, cone])}


def forms_gradient(batch: tuple[Any, Array, Array | None], Y: Array) -> tuple[Array, float]:
    """S Y and F for F = 1/(2p) Σ (xᵀY Yᵀx − y)² over the rows (p, n)."""
    rows, targets, _ = batch
    Z = rows @ Y
    residual = row_dots(Z, Z) - targets
    return np.asarray(rows.T @ (residual[:, None] * Z)) / len(targets), 0.5 * float(np.mean(residual**2))


def geometries(n: int = ORDER) -> list[Geometry]:
    """Every shipped geometry that is made from an order alone, or from an order and a rank (n, and 2)."""
    import psdopt.geometries as shipped

    found: list[Geometry] = []
    for name in shipped.__all__:
        cls = getattr(shipped, name)
        if not (isinstance(cls, type) and issubclass(cls, Geometry)):
            continue
        parameters = inspect.signature(cls).parameters
        found += [cls(n, n), cls(n, min(2, n))] if "r" in parameters else [cls(n)]  # type: ignore[call-arg,arg-type]
    return found


def instances_for(method: Method, extra: Iterable[tuple[Problem, Geometry]] = ()) -> list[Instance]:
    """`extra`, the method's own ``conformance_instances()``, the gallery unless ``conformance_gallery = False``."""
    pairs = [*extra, *getattr(method, "conformance_instances", tuple)()]
    found = [Instance(f"instance {k}", problem, geometry) for k, (problem, geometry) in enumerate(pairs)]
    if not getattr(method, "conformance_gallery", True):
        return found
    for name in ("quadratic", "projection", "smooth"):
        order = ORDER - 2 if name == "smooth" else ORDER  # automatic differentiation is slow
        for geometry in geometries(order):
            problem = problems(order, definite=not geometry.closed)[name]
            if fits(problem, geometry, method):
                found.append(Instance(f"{name} over {geometry!r}", problem, geometry))
    ordinary = frozenset().union(*(problem.abilities for problem in problems().values()))
    for name, special in special_problems().items():
        # only for methods that need an ability that ordinary problems lack
        wanted = any(needs_ability(method, ability) for ability in special.abilities - ordinary)
        for geometry in geometries() if wanted else ():
            width = geometry.factor(geometry.random_point(np.random.default_rng(0))).shape[1]
            problem = special_problems(geometry.n, width, geometry.trace)[name]
            if fits(problem, geometry, method):
                found.append(Instance(f"{name} over {geometry!r}", problem, geometry))
    return found


def needs_ability(method: Method, ability: str) -> bool:
    """Whether the method requires `ability` of a problem."""
    needs = method.requires.get("problem", ())
    return any(ability == need if isinstance(need, str) else ability in need for need in needs)


def fits(problem: Problem, geometry: Geometry, method: Method) -> bool:
    """Compatible, and with data that do admit a closed form where the method lives on it."""
    by_formula = missing_needs(method.requires, "problem", problem.abilities - {Ability.CLOSED_FORM})
    if by_formula and Ability.CLOSED_FORM in problem.abilities and problem.solve_in_closed_form() is None:
        return False
    return fit_together(problem, geometry, method)
