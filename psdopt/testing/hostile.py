"""The hostile set: problems on which a method or its certificate might claim too much, and must not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from psdopt.constraints import Constrained, diagonal, sparse_forms, trace
from psdopt.contracts.abilities import Ability
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.method import Method
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array, orthonormal_columns
from psdopt.margins.problem import MarginProblem
from psdopt.problems import QuadraticSDP
from psdopt.problems.entry_fit import EntryFit
from psdopt.terms.measurements import QuadraticForms
from psdopt.testing.gallery import ORDER, Instance, constrained_problems, fits, geometries, needs_ability, with_spectrum

#: A method that needs one of these runs under constraints.
UNDER_CONSTRAINTS = Ability.CONSTRAINTS, Ability.CONIC, Ability.EQUATIONS, Ability.NEAREST
#: (weight B, C): F(M) = weight · tr(M²) + 2 tr(C M), whose minimiser over the cone is the PSD part of −C/weight.
Make = Callable[[float, Array], Problem]


def hostile_for(method: Method) -> list[Instance]:
    """Stationary points that are not optimal by a little, clustered spectra, values and matrices scaled 1e±8.

    A selection, over a geometry like those of its own instances, for a method with ``conformance_gallery = False``.
    For methods that need a split the same functions are written as fits to entries, for methods that need margins there
    are traps of their own.
    """
    if needs_ability(method, Ability.MARGINS):
        cases = _margins()
    elif any(needs_ability(method, ability) for ability in UNDER_CONSTRAINTS):
        cases = _constrained()
    else:
        cases = _projections(_as_entries if needs_ability(method, Ability.SPLIT) else _as_quadratic)
    everything, chosen = getattr(method, "conformance_gallery", True), geometries()
    if not everything:
        own = {type(geometry) for _, geometry in getattr(method, "conformance_instances", tuple)()}
        chosen = [geometry for geometry in chosen if type(geometry) in own][:1]
    return [
        Instance(f"{name}, over {geometry!r}", problem, geometry, begin)
        for geometry in chosen
        for name, problem, begin in cases[: None if everything else 3]
        if fits(problem, geometry, method)
    ]


def _projections(make: Make) -> list[tuple[str, Problem, Any]]:
    n = ORDER
    frame = orthonormal_columns(np.random.default_rng(5), n, n)

    def trap(loose: float) -> Array:
        C = (frame * np.array([-1.0, -1.0, -loose, 0.5, 1.0, 1.0])) @ frame.T
        return np.asarray(0.5 * (C + C.T))

    # the closest point of rank two: stationary, with one eigenvalue of S slightly negative
    start = LowRankPSD(frame[:, :2])
    spread = np.linspace(-1.0, 1.0, n)
    return [
        ("loose eigenvalue, started at the trap", make(1.0, trap(1e-4)), start),
        ("clustered spectrum", make(1.0, with_spectrum(-1.0 + 1e-7 * np.arange(n), 6)), None),
        ("nothing to gain", make(1.0, with_spectrum(np.linspace(1e-9, 1.0, n), 7)), None),
        ("looser eigenvalue, started at the trap", make(1.0, trap(3e-5)), start),
        ("clusters on both sides of zero", make(1.0, with_spectrum([-1.0, -1.0, -1e-6, -1e-7, 1e-7, 1.0], 11)), None),
        ("values scaled up", make(1e8, 1e8 * with_spectrum(spread, 8)), None),
        ("values scaled down", make(1e-8, 1e-8 * with_spectrum(spread, 8)), None),
        ("matrix scaled up", make(1e-8, with_spectrum(spread, 9)), None),
        ("matrix scaled down", make(1e8, with_spectrum(spread, 10)), None),
    ]


def _as_quadratic(weight: float, C: Array) -> Problem:
    return QuadraticSDP(None, weight, C)


def _as_entries(weight: float, C: Array) -> Problem:
    """weight · |M + C/weight|² less a constant, entry by entry: tr(M²) counts those off the diagonal twice."""
    i, j = np.triu_indices(len(C))
    weights = np.where(i == j, weight, 2.0 * weight)
    targets = -C[i, j] / weight
    return EntryFit(None, i, j, targets, weights, n=len(C), constant=-float(weights @ targets**2))


def _constrained() -> list[tuple[str, Problem, Any]]:
    """Units of values and matrices, a repeated equation, and one that leaves no strictly feasible matrix."""
    n = ORDER
    cases = []
    for words, c, s in (
        ("values scaled up", 1e8, 1.0),
        ("values scaled down", 1e-8, 1.0),
        ("matrix scaled up", 1.0, 1e8),
        ("matrix scaled down", 1.0, 1e-8),
    ):
        cases += [(f"{words}, {name}", problem, None) for name, problem in constrained_problems(n, c, s).items()]
    L = with_spectrum(np.linspace(-1.0, 2.0, n), 15)
    groups = {
        "an equation twice": [diagonal(n, 1.0), trace(n, float(n))],
        "nothing strictly feasible": [diagonal(n, 1.0), sparse_forms([np.ones((n, n))], 0.0)],
    }
    for words, group in groups.items():
        cases += [(words, Constrained(QuadraticSDP(C=L), group), None)]
        cases += [(f"{words}, nearest", Constrained(QuadraticSDP(None, 0.5, L), group), None)]
    return cases


def _margins() -> list[tuple[str, Problem, Any]]:
    """Margins xᵀM x: the least margin is greatest if the worst directions are balanced."""
    n, rng = ORDER, np.random.default_rng(12)
    X = rng.standard_normal((2 * n, n))
    close = np.eye(n)[np.arange(2 * n) % n] + 1e-6 * X
    doubled = np.concatenate([X, X])
    start = LowRankPSD(np.eye(n)[:, :1])
    cases = {
        "clustered spectrum": close,
        "every margin twice": doubled,
        "data scaled up": 1e4 * X,
        "data scaled down": 1e-4 * X,
    }
    return [
        (f"{name}, C = {C}", MarginProblem(QuadraticForms(data), C), start if name.startswith("clustered") else None)
        for name, data in cases.items()
        for C in (None, 0.25)
    ]
