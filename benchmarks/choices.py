"""What solve() chooses, beside every method that fits: thirty problems of all terms, losses and conditionings.

Problem k of a seed draws its family (k modulo the number of FAMILIES), order, data, units, ridge and rank limit. The
default and each rival run to the same tolerance, from the same generator, with a limit of seconds; rivals that are not
proven do not count. Under a limit of the rank F has several stationary values: there the best is the fastest run that
ends no higher than the default, and the table says if another one ends lower. Exit code 1 if the default fails where a
rival succeeds, or takes more than WORST times as long as the best.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from psdopt import (
    BILGO,
    LBFGS,
    BlockConjugateGradient,
    ConjugateGradient,
    EntryFit,
    FlatQuotient,
    InteriorPoint,
    LagrangeNewton,
    ProjectedGradient,
    PSDCone,
    QuadraticSDP,
    TermSum,
    TruncatedNewton,
    TrustRegions,
    compatible,
    solve,
)
from psdopt.cli.tables import show_table
from psdopt.contracts.images import Images
from psdopt.contracts.problem import Problem
from psdopt.errors import IncompatibleError
from psdopt.linalg.arrays import Array
from psdopt.running.choose import first_rank
from psdopt.terms import (
    Entries,
    HalfSquaredOneSided,
    LeastSquares,
    LinearTerm,
    Loss,
    MeasuredTerm,
    Measurement,
    PairDistances,
    QuadraticForms,
    SquaredHinge,
    TripletDifferences,
)
from psdopt_plugins.kernel_learning import pairwise_kernel_problem

FAMILIES = ("product", "two products", "forms", "one-sided forms", "distances", "triplets", "completion", "entries",
            "kernel of pairs", "hinges of distances")  # fmt: skip
RIVALS = (ConjugateGradient(), LBFGS(), TruncatedNewton(), TrustRegions(), LagrangeNewton(), BlockConjugateGradient(),
          BILGO(), ProjectedGradient(), InteriorPoint())  # fmt: skip
TOL = 1e-6
#: How much longer than the best rival the default may take.
WORST = 3.0
#: Below so many seconds nobody waits, and calls decide.
SHORT = 0.005


class Drawn(NamedTuple):
    """A problem, its rank limit if there is one, and what was drawn."""

    problem: Problem
    rank: int | None
    case: str


def _order(rng: np.random.Generator, least: int, largest: int) -> int:
    return int(np.exp(rng.uniform(math.log(least), math.log(largest + 1))))


def _samples(rng: np.random.Generator, m: int, d: int, units: float) -> Array:
    """Correlated features whose scales differ by about 10^units."""
    mixed = rng.standard_normal((m, d)) @ (np.eye(d) + 0.5 * rng.standard_normal((d, d)) / math.sqrt(d))
    scaled: Array = mixed * 10.0 ** rng.uniform(0.0, units, d)
    return scaled


def _semidefinite(rng: np.random.Generator, n: int, digits: float) -> Array:
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    A = (Q * np.logspace(-digits, 0.0, n)) @ Q.T
    return 0.5 * (A + A.T)


def _quadratic(rng: np.random.Generator, family: str) -> tuple[Problem, str]:
    n, digits = _order(rng, 10, 300), rng.uniform(0.0, 5.0)
    G = rng.standard_normal((n, n))
    ridge: Any = 10.0 ** rng.uniform(-5.0, 0.0)
    if family == "two products":
        ridge = ridge * _semidefinite(rng, n, rng.uniform(0.0, 2.0))
    return QuadraticSDP(_semidefinite(rng, n, digits), ridge, 0.5 * (G + G.T)), f"n = {n}, cond 1e{digits:.1f}"


def _ends(rng: np.random.Generator, m: int, count: int, of: int = 2) -> tuple[Array, ...]:
    drawn = np.array([rng.choice(m, of, replace=False) for _ in range(count)])
    return tuple(np.unique(np.sort(drawn, axis=1) if of == 2 else drawn, axis=0).T)


def _measured(rng: np.random.Generator, family: str) -> tuple[Problem, str]:
    d, units = _order(rng, 4, 100), rng.uniform(0.0, 2.0)
    m = int(rng.uniform(0.7, 3.0) * d * (d + 1) / 2) + 10
    X = _samples(rng, m if "forms" in family else max(2 * d, 30), d, units)
    measure: Measurement
    if "forms" in family:
        measure = QuadraticForms(X)
    elif family == "triplets":
        measure = TripletDifferences(*_ends(rng, len(X), m, 3), X)
    else:
        measure = PairDistances(*_ends(rng, len(X), m), X)
    L = rng.standard_normal((d, _order(rng, 1, d))) / X.std(axis=0)[:, None]
    at = Images(measure.maps, L)
    a = measure.pair(at, at)
    noise = rng.uniform(0.01, 0.5)
    loss: Loss
    if family in ("forms", "distances"):
        loss = LeastSquares(a * (1.0 + noise * rng.standard_normal(len(a))))
    elif family == "one-sided forms":
        sign = rng.choice([-1.0, 1.0], len(a))
        loss = HalfSquaredOneSided(a * (1.0 + noise * rng.standard_normal(len(a))), sign)
    else:
        loss = SquaredHinge(np.abs(a) * (1.0 + noise), np.where(a > np.median(a), 1.0, -1.0))
    terms: list[Any] = [MeasuredTerm(measure, loss, 1.0 / len(a))]
    if family == "triplets" or rng.random() < 0.5:
        scale = float(np.mean(a**2)) / max(float(np.mean(np.abs(a))), 1e-300)
        terms.append(LinearTerm(np.diag(np.var(X, axis=0)) / d, scale * 10.0 ** rng.uniform(-3.0, 0.0)))
    return TermSum(terms), f"d = {d}, m = {len(a)}, units 1e{units:.1f}"


def _entries(rng: np.random.Generator, family: str) -> tuple[Problem, str]:
    n, r = _order(rng, 20, 300), _order(rng, 1, 6)
    Y = rng.standard_normal((n, r)) * np.exp(rng.uniform(0.0, 1.0) * rng.standard_normal(r))
    i, j = _ends(rng, n, int(rng.uniform(1.5, 4.0) * n * r))
    targets = np.sum(Y[i] * Y[j], axis=1) * (1.0 + rng.uniform(0.0, 0.3) * rng.standard_normal(len(i)))
    if family == "completion":
        return EntryFit(10.0 ** rng.uniform(-3.0, 0.0) * np.eye(n), i, j, targets), f"n = {n}, m = {len(i)}"
    if family == "entries":
        weights = 10.0 ** rng.uniform(-1.5, 1.5, len(i))
        terms = [MeasuredTerm(Entries(i, j, n), LeastSquares(targets, weights)), LinearTerm(0.01 * np.eye(n))]
        return TermSum(terms), f"n = {n}, m = {len(i)}, weights from 0.03 to 30"
    if family == "hinges of distances":
        d2 = np.sum((Y[i] - Y[j]) ** 2, axis=1)
        hinge = SquaredHinge(d2, np.where(d2 > np.median(d2), 1.0, -1.0))
        return TermSum([MeasuredTerm(PairDistances(i, j, n=n), hinge), LinearTerm(0.01 * np.eye(n))]), f"n = {n}"
    labels = rng.integers(0, 3, n)
    W = np.exp(-np.sum((Y[:, None] - Y[None]) ** 2, axis=2))
    degree = W.sum(axis=1)
    L = np.eye(n) - W / np.sqrt(np.outer(degree, degree))
    pairs = np.column_stack([i, j])[: 2 * n]
    return pairwise_kernel_problem(L, pairs, (labels[pairs[:, 0]] == labels[pairs[:, 1]]).astype(float)), f"n = {n}"


def drawn(seed: int, k: int) -> Drawn:
    """Problem k of `seed`."""
    rng, family = np.random.default_rng([seed, k]), FAMILIES[k % len(FAMILIES)]
    make = _quadratic if "product" in family else _entries if k % len(FAMILIES) > 5 else _measured
    problem, case = make(rng, family)
    rank = _order(rng, 1, min(10, problem.n - 1)) if rng.random() < 1.0 / 3.0 else None
    return Drawn(problem, rank, f"{family}, {case}" + ("" if rank is None else f", rank {rank}"))


class Run(NamedTuple):
    """Least processor seconds, the end and F."""

    method: str
    seconds: float
    status: str
    value: float
    holds: bool


def timed(seed: int, k: int, method: Any, limit: float) -> Run:
    """The least of up to three runs, each on a problem made anew."""
    taken: list[float] = []
    while len(taken) < 3 and sum(taken) < 0.5:
        problem, rank, _ = drawn(seed, k)
        geometry: Any = None
        if method is not None:
            places = (FlatQuotient(problem.n, min(first_rank(problem.n), rank or problem.n)), PSDCone(problem.n))
            geometry = next(place for place in places if compatible(problem, place, method))
        begun = time.process_time()
        try:
            result = solve(
                problem, geometry, method, max_rank=rank, tol=TOL, max_time=limit, max_iterations=10**6, rng=0
            )
        except IncompatibleError:
            if method is None:
                raise
            return Run(method.name, math.inf, "too large", math.nan, False)
        taken.append(time.process_time() - begun)
    return Run(result.method, min(taken), result.status.label, result.value, result.status.label in
               ("optimal", "optimal_within", "stationary"))  # fmt: skip


def race(seed: int, k: int, limit: float) -> tuple[Drawn, Run, list[Run]]:
    """(problem, the default's run, those of rivals that fit)."""
    case = drawn(seed, k)
    problem, rank = case.problem, case.rank
    default = timed(seed, k, None, limit)
    runs = []
    for method in RIVALS:
        places = [FlatQuotient(problem.n, rank or problem.n)] + ([PSDCone(problem.n)] if rank is None else [])
        if any(compatible(problem, place, method) for place in places):
            runs.append(timed(seed, k, method, min(limit, max(WORST * default.seconds, 1.0))))
    return case, default, runs


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks choices", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--problems", type=int, default=30)
    parser.add_argument("--limit", type=float, default=10.0, help="processor seconds of a run (default: %(default)s)")
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    rows, worst = [], 0
    with threadpool_limits(1):
        for k in range(options.problems):
            case, default, runs = race(options.seed, k, options.limit)
            found = [run for run in (default, *runs) if run.holds]
            least = min((run.value for run in found), default=math.nan)
            level = least + 10.0 * TOL * max(abs(case.problem.value_at_zero() - least), abs(least))
            above = default.holds and default.value > level
            if case.rank is not None and default.holds:
                level = max(level, default.value)
            best = min((run for run in found if run.value <= level), key=lambda run: run.seconds, default=None)
            ratio = default.seconds / best.seconds if best is not None else math.nan
            missed = best is not None and not (default.holds and default.value <= level)
            late = missed or (ratio > WORST and default.seconds > SHORT)
            worst += late
            end = default.status + (" above the best" if above else "")
            fastest = ("none", "") if best is None else (best.method, f"{best.seconds:.3f}")
            times = f"{ratio:.1f}{' !' if late else ''}"
            rows.append([f"{k}", case.case, default.method, end, f"{default.seconds:.3f}", *fastest, times])
            print(*rows[-1], sep=" | ", flush=True)
    columns = ["k", "problem", "solve takes", "end", "s", "best", "s", "times"]
    show_table(f"What solve() chooses, seed {options.seed}", columns, rows)
    print(f"{worst} of {options.problems} problems: no answer, or more than {WORST:g} times as long as the best")
    return 1 if worst else 0


if __name__ == "__main__":
    raise SystemExit(main())
