"""Small problems and geometries on which methods are tried, and the hostile set on which none may claim too much."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from psdopt.capability import Ability, compatible
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import Array, orthonormal_columns
from psdopt.matrix import LowRankPSD
from psdopt.method import Method
from psdopt.problem import Problem

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


def problems(n: int = ORDER) -> dict[str, Problem]:
    """Convex problems with a bounded minimum and a solution of intermediate rank."""
    import autograd.numpy as anp

    from psdopt.problems import AutogradProblem, QuadraticSDP

    A = with_spectrum(np.linspace(0.5, 2.0, n), 1)
    C = with_spectrum(np.linspace(-2.0, 1.0, n), 2)
    target = with_spectrum(np.linspace(0.5, 2.0, n), 3)

    def softened(M: Any) -> Any:
        return anp.sum(anp.sqrt(1.0 + (M - target) ** 2))

    return {
        "quadratic": QuadraticSDP(A, 0.5, C),
        "projection": QuadraticSDP(None, 1.0, C),
        "smooth": AutogradProblem(softened, n, convex=True),
    }


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
    """`extra` pairs, the method's own ``conformance_instances()``, and what fits of the gallery.

    The gallery is left out for a method with ``conformance_gallery = False``.
    """
    pairs = [*extra, *getattr(method, "conformance_instances", tuple)()]
    found = [Instance(f"instance {k}", problem, geometry) for k, (problem, geometry) in enumerate(pairs)]
    if not getattr(method, "conformance_gallery", True):
        return found
    small = {"smooth": ORDER - 2}  # automatic differentiation is slow
    for name in ("quadratic", "projection", "smooth"):
        order = small.get(name, ORDER)
        for geometry in geometries(order):
            problem = problems(order)[name]
            if _fits(problem, geometry, method):
                found.append(Instance(f"{name} over {geometry!r}", problem, geometry))
    return found


def _fits(problem: Problem, geometry: Geometry, method: Method) -> bool:
    """Compatible, and with data that do admit a closed form where the method lives on it."""
    needs_closed_form = Ability.CLOSED_FORM in method.requires.get("problem", ())
    if needs_closed_form and Ability.CLOSED_FORM in problem.abilities and problem.solve_in_closed_form() is None:
        return False
    return bool(compatible(problem, geometry, method))


def hostile_for(method: Method) -> list[Instance]:
    """Stationary points that are not optimal by a little, clustered spectra, extreme scales.

    A selection for a method with ``conformance_gallery = False``.
    """
    from psdopt.problems import QuadraticSDP

    n = ORDER
    loose = np.array([-1.0, -1.0, -1e-4, 0.5, 1.0, 1.0])
    frame = orthonormal_columns(np.random.default_rng(5), n, n)
    C = (frame * loose) @ frame.T
    # closest point of rank two: stationary, with one eigenvalue of S slightly negative
    start = LowRankPSD(frame[:, :2])
    cases: list[tuple[str, Problem, Any]] = [
        ("loose eigenvalue, started at the trap", QuadraticSDP(None, 1.0, 0.5 * (C + C.T)), start),
        ("clustered spectrum", QuadraticSDP(None, 1.0, with_spectrum(-1.0 + 1e-7 * np.arange(n), 6)), None),
        ("nothing to gain", QuadraticSDP(None, 1.0, with_spectrum(np.linspace(1e-9, 1.0, n), 7)), None),
        ("values scaled up", QuadraticSDP(None, 1e8, 1e8 * with_spectrum(np.linspace(-1.0, 1.0, n), 8)), None),
        ("matrix scaled up", QuadraticSDP(None, 1e-8, with_spectrum(np.linspace(-1.0, 1.0, n), 9)), None),
        ("matrix scaled down", QuadraticSDP(None, 1e8, with_spectrum(np.linspace(-1.0, 1.0, n), 10)), None),
    ]
    everything = getattr(method, "conformance_gallery", True)
    return [
        Instance(f"{name}, over {geometry!r}", problem, geometry, begin)
        for geometry in geometries()[: None if everything else 1]
        for name, problem, begin in cases[: None if everything else 3]
        if _fits(problem, geometry, method)
    ]
