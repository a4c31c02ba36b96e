"""Claims of `solve` held against the best of all runs: the examination behind tests/integration/test_certified.py.

``python -m tests.integration.claims --runs 20000 --seed 1 --conic`` draws instances until so many runs are done, on one
core about 25 runs a second, prints running totals, and ends with status 1 if a claim was false. With ``--conic`` the
answer of Clarabel is one more point where F is conic.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from psdopt import Geometry, Method, Problem, ProjectedGradient, Result, Status, TrustRegions, solve
from psdopt.errors import PsdoptError
from psdopt.geometries import FixedTrace, FlatQuotient, Polar, PositiveDefinite, PSDCone, Spectraplex
from psdopt.linalg.tolerances import EPS
from psdopt.methods import (
    BILGO,
    LBFGS,
    BlockConjugateGradient,
    ConjugateGradient,
    FrankWolfe,
    InteriorPoint,
    LagrangeNewton,
)

from .foreign_problems import ENDLESS, FOREIGN, WRITTEN, point_in_coordinates
from .hostile_problems import DEAR as DEAR_HOSTILE
from .hostile_problems import EXTREMES, FALLING, FIXED_ONLY, SLOW
from .hostile_problems import FAMILIES as HOSTILE

FAMILIES = {*HOSTILE, *EXTREMES, *FOREIGN}
DEAR = DEAR_HOSTILE | SLOW | WRITTEN

TOLERANCES = (1e-3, 1e-6, 1e-8)
#: Roundings of the largest value that two evaluations of F at matrices near each other may differ by.
ROUNDINGS = 1e4
#: Roundings of |S| tr M: where a slope vanishes but for these, nothing says which of two matrices is better.
SLOPE_ROUNDINGS = 64.0
#: Steps of each run, and of the run that goes on from the best of them; of families whose steps are dear, this share.
STEPS, REFERENCE_STEPS, SHARE = 300, 1000, 0.2
REFERENCE_TOL = 1e-10
#: Of families whose runs take a second, every tenth seed.
SELDOM = 10
Pair = tuple[Geometry | None, Method | None]
#: F and tr M of a matrix of the set.
Point = tuple[float, float]


@dataclass(frozen=True)
class Instance:
    """One drawn problem: `trace` is None on the cone; `coordinates` (n, n) are those of a foreign problem."""

    family: str
    seed: int
    problem: Problem
    trace: float | None
    tol: float
    coordinates: np.ndarray | None = None

    def __str__(self) -> str:
        where = "the cone" if self.trace is None else f"trace {self.trace:.3g}"
        return f"{self.family}, seed {self.seed}, n = {self.problem.n}, {where}, tol {self.tol:g}"


@dataclass(frozen=True)
class Claim:
    """A result that another run refutes: `best` is the lower value, `allowed` what the status allows between them."""

    instance: Instance
    result: Result
    best: float
    allowed: float

    def __str__(self) -> str:
        r = self.result
        found = f"{r.status.label}, F = {r.value!r}, best {self.best!r}, allowed {self.allowed:.3g}"
        return f"{self.instance}: {r.method} on {r.geometry}: {found}"


def drawn(family: str, seed: int) -> Instance:
    """The instance of a seed: every second one is hostile, every second pair of them at a fixed trace."""
    rng = np.random.default_rng([seed, sum(map(ord, family))])
    hostile, fixed = seed % 2 == 1, seed % 4 >= 2 or family in FIXED_ONLY
    coordinates, unit = None, 1.0
    if family in FOREIGN:
        problem, coordinates = FOREIGN[family](rng, hostile)
        unit = float(np.sum(coordinates**2))
    else:
        problem = {**HOSTILE, **EXTREMES}[family](rng, hostile)
    trace = None
    if fixed:
        reach = 12 if family in EXTREMES else 3
        trace = 1.0 if seed % 8 < 4 else float(10.0 ** rng.uniform(-reach, reach)) * unit
    return Instance(family, seed, problem, trace, TOLERANCES[seed % 3], coordinates)


def pairs(instance: Instance) -> list[Pair]:
    """Geometries and methods to run: the usual ones, and two that change from seed to seed."""
    n, t = instance.problem.n, instance.trace
    if t is not None:
        usual: list[Pair] = [(Spectraplex(n, t), ProjectedGradient()), (Spectraplex(n, t), FrankWolfe()),
                 (FixedTrace(n, n, t), ConjugateGradient())]  # fmt: skip
        other: list[Pair] = [
            (FixedTrace(n, n, t), ConjugateGradient("none")), (FixedTrace(n, n, t), TrustRegions()),
            (Spectraplex(n, t), None),
            (FixedTrace(n, 1, t), ConjugateGradient()), (Spectraplex(n, t), FrankWolfe(variant="vanilla")),
        ]  # fmt: skip
    else:
        usual = [(None, None), (FlatQuotient(n, n), ConjugateGradient()), (PSDCone(n), BILGO()),
                 (PSDCone(n), ProjectedGradient()), (PSDCone(n), InteriorPoint())]  # fmt: skip
        flat = FlatQuotient(n, n)
        other = [
            (flat, LBFGS()), (flat, TrustRegions()), (flat, ConjugateGradient("none")), (flat, LagrangeNewton()),
            (flat, BlockConjugateGradient()), (Polar(n, n), ConjugateGradient()),
            (PositiveDefinite(n), ConjugateGradient()), (FlatQuotient(n, 1), ConjugateGradient()),
        ]  # fmt: skip
    k = instance.seed % len(other)
    return [*usual, other[k], other[(k + 1 + instance.seed // len(other) % (len(other) - 1)) % len(other)]]


def results(instance: Instance) -> Iterator[Result]:
    """Results of all pairs that fit, and of a run to a fine tolerance from the best of them."""
    found = []
    share = SHARE if instance.family in DEAR else 1.0
    for k, (geometry, method) in enumerate(pairs(instance)):
        try:
            result = solve(
                instance.problem, geometry, method, tol=instance.tol, rng=instance.seed,
                max_iterations=int(share * STEPS), escape=None if k < 3 else instance.trace is None,
            )  # fmt: skip
        except PsdoptError:
            continue
        if np.isfinite(result.value):
            found.append(result)
            yield result
    if found:
        n, t = instance.problem.n, instance.trace
        best = min(found, key=lambda result: result.value)
        geometry = FlatQuotient(n, n) if t is None else Spectraplex(n, t)
        yield solve(
            instance.problem, geometry, start=best.matrix, tol=REFERENCE_TOL, rng=instance.seed,
            max_iterations=int(share * REFERENCE_STEPS),
        )  # fmt: skip


def false_claims(instance: Instance, found: Sequence[Result], points: Sequence[Point] = ()) -> list[Claim]:
    """Results whose status another result, or one of `points` (F, tr M), refutes.

    ``optimal``: F(M) − best exceeds tol units of the certificate, or 1 % of the decrease and ten tolerances; each with
    roundings of the largest value and of |S| tr M. ``optimal_within``: the same units, among results of no larger trace
    than it names. ``unbounded``: of a family that is bounded below; ``optimal`` of one that is not.
    """
    points = [*((r.value, np.inf if r.certificate is None else r.certificate.trace) for r in found), *points]
    values, traces = np.array(points).reshape(-1, 2).T
    at_zero = float(instance.problem.at(np.zeros((instance.problem.n, 1))).value)
    claims = []
    for result in found:
        certificate = result.certificate
        falls = instance.family in FALLING | ENDLESS and instance.trace is None
        if result.status in ((Status.OPTIMAL,) if falls else (Status.UNBOUNDED, Status.INFEASIBLE)):
            claims.append(Claim(instance, result, float(values.min()), 0.0))
        if result.status not in (Status.OPTIMAL, Status.OPTIMAL_WITHIN) or certificate is None:
            continue
        everywhere = result.status is Status.OPTIMAL
        reach = np.inf if everywhere else certificate.reach(result.tol) * (1.0 + 1e-9)
        among = np.flatnonzero((traces <= reach) | (values == result.value))
        k = among[np.argmin(values[among])]
        best = float(values[k])
        reference = at_zero if np.isfinite(at_zero) else result.value
        slope = spectral_norm(instance.problem, result) * max(certificate.trace, min(traces[k], reach))
        rounding = EPS * max(ROUNDINGS * max(abs(result.value), abs(best), abs(reference)), SLOPE_ROUNDINGS * slope)
        level = abs(best) if instance.trace is not None else reference - best
        clear = max(0.01, 10.0 * result.tol) * level if np.isfinite(at_zero) else np.inf
        allowed = min(result.tol * certificate.unit * (1.0 + 1e-6), clear) + rounding
        if result.value - best > allowed:
            claims.append(Claim(instance, result, best, allowed))
    return claims


def spectral_norm(problem: Problem, result: Result) -> float:
    """|∇F(M)|_2 at the result: what F rounds by, where terms of it cancel, is eps times that times tr M."""
    S = problem.at(result.matrix.factor).gradient @ np.eye(problem.n)
    return float(np.linalg.norm(S, 2)) if np.all(np.isfinite(S)) else 0.0


def conic_points(instance: Instance, counts: Counter[str]) -> list[Point]:
    """The answer of a conic solver, where F is conic; `counts` grows by one if there is one."""
    from .conic_points import conic_point  # needs CVXPY

    Y = conic_point(instance.problem, instance.trace)
    value = np.inf if Y is None else float(instance.problem.at(Y).value)
    if Y is None or not np.isfinite(value):
        return []
    counts["conic"] += 1
    return [(value, float(np.sum(Y**2)))]


def foreign_points(instance: Instance) -> list[Point]:
    """F and tr M at the best matrix that a quasi-Newton method of SciPy finds in the coordinates of the instance."""
    if instance.coordinates is None:
        return []
    rng = np.random.default_rng([instance.seed, 1])
    Y = point_in_coordinates(instance.problem, instance.coordinates, instance.trace, rng)
    return [] if Y is None else [(float(instance.problem.at(Y).value), float(np.sum(Y**2)))]


def examine(family: str, seed: int, counts: Counter[str], conic: bool = False) -> list[Claim]:
    """Run one instance; `counts` grows by runs, statuses and false claims."""
    instance = drawn(family, seed)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(results(instance))
        points = [*(conic_points(instance, counts) if conic else ()), *foreign_points(instance)]
        claims = false_claims(instance, found, points)
    counts.update(result.status.label for result in found)
    counts["runs"] += len(found)
    counts["false"] += len(claims)
    return claims


def main(argv: Sequence[str] | None = None) -> int:
    """Examine instances of all families in turns until `--runs` runs are done; 1 if a claim was false."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--families", nargs="+", default=sorted(FAMILIES), choices=sorted(FAMILIES))
    parser.add_argument("--conic", action="store_true", help="compare with Clarabel too, where F is conic")
    options = parser.parse_args(argv)
    counts: Counter[str] = Counter()
    seed, begun, spoken = options.seed, time.perf_counter(), 0
    while counts["runs"] < options.runs:
        for family in options.families:
            if family in DEAR and seed % SELDOM:
                continue
            for claim in examine(family, seed, counts, options.conic):
                print("FALSE", claim, flush=True)
        if counts["runs"] >= spoken + 1000 or counts["runs"] >= options.runs:
            spoken = counts["runs"]
            print(f"{time.perf_counter() - begun:.0f} s, seed {seed}: {dict(counts)}", flush=True)
        seed += 1
    return int(counts["false"] > 0)


if __name__ == "__main__":
    sys.exit(main())
