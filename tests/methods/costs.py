"""Short runs of every method, and what is recorded of them: how they end, and what that costs in steps and products.

python -m tests.methods.costs          # write costs.json anew, after a change that costs more with a reason
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from psdopt import Constrained, EntryFit, PsdoptError, QuadraticSDP, TermSum, constraints, methods, solve
from psdopt.geometries import FixedTrace, FlatQuotient, Polar, PositiveDefinite, PSDCone, Spectraplex
from psdopt.methods.alternating import AfterSteps
from psdopt.terms import GramForm, LeastSquares, LinearTerm, MeasuredTerm, QuadraticForms, SquaredHinge
from psdopt.terms.measurements import TripletDifferences

from ..instances import psd, symmetric

STORED = Path(__file__).with_name("costs.json")


def quadratic() -> QuadraticSDP:
    rng = np.random.default_rng(0)
    return QuadraticSDP(psd(rng, 8, condition=30.0), psd(rng, 8), symmetric(rng, 8) - np.eye(8))


def regression() -> TermSum:
    rng = np.random.default_rng(1)
    X, W = rng.standard_normal((40, 6)), rng.standard_normal((6, 2))
    y = ((X @ W) ** 2).sum(axis=1) + rng.standard_normal(40)
    return TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(y), 1 / 80), LinearTerm(np.eye(6), 0.2)])


def triplets() -> TermSum:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((20, 5)) * np.geomspace(3.0, 0.5, 5)
    i, j, k = np.array([rng.choice(20, 3, replace=False) for _ in range(40)]).T
    hinge = MeasuredTerm(TripletDifferences(i, j, k, X), SquaredHinge(1.0), 0.1)
    return TermSum([hinge, LinearTerm(GramForm(X), 0.05)])


def entries() -> EntryFit:
    rng = np.random.default_rng(3)
    Y = rng.standard_normal((10, 2))
    i, j = np.triu_indices(10)
    kept = rng.random(len(i)) < 0.7
    i, j = i[kept], j[kept]
    return EntryFit(None, i, j, (Y @ Y.T)[i, j] + 0.05 * rng.standard_normal(len(i)), n=10)


def max_cut(n: int = 9) -> Constrained:
    rng = np.random.default_rng(4)
    L = symmetric(rng, n)
    return Constrained(QuadraticSDP(C=L), constraints.entries(range(n), range(n), n, equals=1.0))


def bounded(n: int = 6) -> Constrained:
    rng = np.random.default_rng(5)
    held = [constraints.trace(n, 2.0), constraints.entries([0, 1, 2], [1, 2, 4], n, lower=-0.1, upper=0.1)]
    return Constrained(QuadraticSDP(C=symmetric(rng, n)), held)


def nearest(n: int = 6) -> Constrained:
    """The nearest correlation matrix: a quadratic F."""
    rng = np.random.default_rng(6)
    C = symmetric(rng, n)
    return Constrained(QuadraticSDP(B=1.0, C=-C), constraints.diagonal(n, 1.0))


PROBLEMS: dict[str, Callable[[], Any]] = {
    f.__name__: f for f in (quadratic, regression, triplets, entries, max_cut, bounded, nearest)
}
#: Steps of a run, with constraints and without; and of runs that rounding leads apart later: gradient descent slides
#: along the boundary of the cone, and values after 60 steps differ by a tenth between two machines; three pairs of
#: L-BFGS end at a proof after 60 or 84 steps.
STEPS, HELD_STEPS = 60, 200
FEWER = {"gradient-definite": 20, "lbfgs-short": 40}
FREE = ("quadratic", "regression", "triplets", "entries")
HELD = ("max_cut", "bounded", "nearest")


def pairs() -> Iterator[tuple[str, str, Any, Any]]:
    """(name, problem, geometry, method) of every run."""
    flat: dict[str, Any] = {
        "cg": methods.ConjugateGradient(), "cg-hs": methods.ConjugateGradient("HS"),
        "lbfgs": methods.LBFGS(), "lbfgs-short": methods.LBFGS(memory=3, preconditioner="none"),
        "block-cg": methods.BlockConjugateGradient(), "trust": methods.TrustRegions(), "admm": methods.ADMM(),
        "gradient": methods.ConjugateGradient("none"), "newton": methods.TruncatedNewton(),
        "lagrange-newton": methods.LagrangeNewton(),
        "then": methods.Alternating(methods.ConjugateGradient("none"), methods.LBFGS(), AfterSteps(4)),
        "then-back": methods.Alternating(methods.ConjugateGradient(), methods.LBFGS(), AfterSteps(3), AfterSteps(2)),
    }  # fmt: skip
    greedy: dict[str, Any] = {
        "bilgo": methods.BILGO(), "bilgo-vectors": methods.BILGO(local_search=None, eigenvectors=2),
        "projected": methods.ProjectedGradient(),
    }  # fmt: skip
    for problem in FREE:
        n = PROBLEMS[problem]().n
        for name, method in flat.items():
            yield name, problem, FlatQuotient(n, 3), method
        for name, method in greedy.items():
            yield name, problem, PSDCone(n), method
        for name, method in {"cg": flat["cg"], "gradient": flat["gradient"], "trust": flat["trust"]}.items():
            yield f"{name}-polar", problem, Polar(n, 2), method
            yield f"{name}-sphere", problem, FixedTrace(n, 2, 2.0), method
        yield "gradient-definite", problem, PositiveDefinite(n), flat["gradient"]
        for variant in ("fully-corrective", "vanilla"):
            yield f"frank-wolfe-{variant}", problem, Spectraplex(n, 2.0), methods.FrankWolfe(variant)
        yield "projected-spectraplex", problem, Spectraplex(n, 2.0), greedy["projected"]
    for problem in HELD:
        n = PROBLEMS[problem]().n
        for name, method in {
            "augmented": methods.AugmentedLagrangian(), "interior": methods.InteriorPoint(),
            "boundary": methods.BoundaryPoint(), "dual-newton": methods.DualNewton(),
            "spheres": methods.SphereGradient(),
        }.items():  # fmt: skip
            yield name, problem, FlatQuotient(n, 3) if name in ("augmented", "spheres") else PSDCone(n), method


def steps_of(name: str, problem: str) -> int:
    """The iteration limit of the run that is stored."""
    return FEWER.get(name, HELD_STEPS if problem in HELD else STEPS)


def told(problem: str, geometry: Any, method: Any, limit: int) -> dict[str, Any] | None:
    """What is recorded of one run of at most `limit` steps; None where the three do not go together."""
    try:
        result = solve(PROBLEMS[problem](), geometry, method, tol=1e-6, max_iterations=limit, rng=0)
    except PsdoptError:
        return None
    counts = {key: int(count) for key, count in sorted(result.counts.items())}
    return {
        "status": result.status.label, "value": float(f"{result.value:.12g}"), "steps": result.iterations,
        "counts": counts,
    }  # fmt: skip


def all_runs() -> dict[str, dict[str, Any]]:
    runs = {}
    for name, problem, geometry, method in pairs():
        found = told(problem, geometry, method, steps_of(name, problem))
        if found is not None:
            runs[f"{name} {problem}"] = found
    return runs


if __name__ == "__main__":
    text = json.dumps(all_runs(), indent=1)
    STORED.write_text(text + "\n")
