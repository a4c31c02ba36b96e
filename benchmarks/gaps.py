"""Proven gap over true gap of runs that were stopped early: how much a proof says before convergence.

Case k of a seed draws F, its data, a method and the step, of 5 to 80, after which its run is stopped; `certify` bounds
the gap there. Families of quadratic F: a ridge b |M|², a product a tr((A M)²) with cond A up to 1e6, and squared losses
of measurements x_tᵀMx_t of order 5 to 60 in mixed units. One-sided squares of such measurements are not quadratic.

min F comes from the closed form, or from a run to 1e-10 in coordinates in which the second moment of the x_t is I. A
case counts if the gap proven of that run, and rounding, are below a hundredth of the true gap. The exit code is 1 if a
proven gap was less than the true one.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from psdopt import (
    BILGO,
    LBFGS,
    ConjugateGradient,
    FlatQuotient,
    ProjectedGradient,
    PSDCone,
    QuadraticSDP,
    TermSum,
    TrustRegions,
    certify,
    solve,
)
from psdopt.cli.tables import show_table
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array
from psdopt.terms import HalfSquaredOneSided, LeastSquares, Loss, MeasuredTerm, QuadraticForms

QUADRATIC = ("ridge", "product", "squares")
FAMILIES = (*QUADRATIC, "one-sided squares")
#: Each takes M from a random factor, or from a random matrix on the cone.
METHODS = ConjugateGradient, LBFGS, TrustRegions, ProjectedGradient, BILGO
#: Gaps below this share of |F| are rounding of F, whatever is proven.
ROUNDING = 1e-13
#: The true gap is this many times what is not known of it.
DIGITS = 100.0


class Found(NamedTuple):
    """Case k: `ratio` proven / true gap; `share` of the true gap in |min F|; `below`, whether the proof is refuted.

    `counts`, whether the true gap is known to two digits; the others are nan where it is not.
    """

    k: int
    family: str
    case: str
    counts: bool = False
    ratio: float = math.nan
    share: float = math.nan
    below: bool = False


def _quadratic(rng: np.random.Generator, family: str, largest: int) -> tuple[Problem, str]:
    n = _order(rng, 5, largest)
    G = rng.standard_normal((n, n))
    C = 0.5 * (G + G.T)
    if family == "ridge":
        return QuadraticSDP(B=10.0 ** rng.uniform(-3, 3), C=C), f"n = {n}"
    digits = rng.uniform(0.0, 6.0)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    A = (Q * np.logspace(-digits, 0.0, n)) @ Q.T
    return QuadraticSDP(A=0.5 * (A + A.T), C=C), f"n = {n}, cond A = 1e{digits:.1f}"


def _measured(rng: np.random.Generator, family: str, largest: int) -> tuple[Problem, Problem, str]:
    """F, and the same F in coordinates in which Σ x_t x_tᵀ = m I."""
    d = _order(rng, 5, min(largest, 60))
    m, units = int(rng.uniform(1.5, 4.0) * d * (d + 1) / 2), rng.uniform(0.0, 2.0)
    X = rng.standard_normal((m, d)) * np.exp(units * rng.standard_normal(d))
    a = np.sum((X @ (rng.standard_normal((d, int(rng.integers(1, 4)))) / X.std(axis=0)[:, None])) ** 2, axis=1)
    loss: Loss
    if family == "squares":
        loss = LeastSquares(
            a * (1.0 + rng.uniform(0.0, 0.5) * rng.standard_normal(m)) - rng.uniform(0.0, 1.0) * a.mean()
        )
    else:
        direction = rng.choice([-1.0, 1.0], m)
        loss = HalfSquaredOneSided(
            a * np.where(direction > 0.0, rng.uniform(0.3, 1.2, m), rng.uniform(0.8, 2.0, m)), direction
        )
    whitened = math.sqrt(m) * np.linalg.qr(X)[0]
    given, plain = (TermSum([MeasuredTerm(QuadraticForms(rows), loss, 1.0 / m)]) for rows in (X, whitened))
    return given, plain, f"d = {d}, m = {m}, units e^{units:.1f}"


def _order(rng: np.random.Generator, least: int, largest: int) -> int:
    """From `least` to `largest`, uniform in its logarithm."""
    return int(np.exp(rng.uniform(math.log(least), math.log(largest + 1))))


def _value(problem: Problem, Y: Array) -> np.floating:
    """F(Y Yᵀ), of a product in extended precision: where cond A is 1e6, F in doubles is wrong by 1e-11 |F|."""
    if not isinstance(problem, QuadraticSDP) or problem.A is None or problem.C is None:
        return np.longdouble(problem.at(Y).value)
    A, C, U = (np.asarray(each, np.longdouble) for each in (problem.A.to_dense(), problem.C.to_dense(), Y))
    return np.sum((U.T @ (A @ U)) ** 2) + 2.0 * np.sum(U * (C @ U))


def measure(seed: int, k: int, largest: int) -> Found:
    """Case k of `seed`."""
    rng, family = np.random.default_rng([seed, k]), FAMILIES[k % len(FAMILIES)]
    if family in ("ridge", "product"):
        problem, drawn = _quadratic(rng, family, largest)
        plain = problem
    else:
        problem, plain, drawn = _measured(rng, family, largest)
    method, rank, steps = METHODS[rng.integers(len(METHODS))], _order(rng, 1, problem.n), rng.uniform(5, 80)
    on_cone = method in (ProjectedGradient, BILGO)
    geometry = PSDCone(problem.n) if on_cone else FlatQuotient(problem.n, rank)
    result = solve(problem, geometry, method(), max_iterations=int(steps), rng=rng, tol=1e-12, proof="cheap")
    case = f"{drawn}, {method.__name__}{'' if on_cone else f' of rank {rank}'}, {result.iterations} steps"
    certificate, best = certify(problem, result.matrix), solve(plain, tol=1e-10, max_iterations=3000)
    unsure = math.inf if best.certificate is None or best.certificate.gap is None else best.certificate.gap
    true = float(_value(problem, result.matrix.factor) - _value(plain, best.matrix.factor))
    least, noise = best.value, ROUNDING * abs(best.value)
    if not true > DIGITS * max(unsure, noise):
        return Found(k, family, case)
    gap = math.inf if certificate.gap is None else certificate.gap
    return Found(k, family, case, True, gap / true, true / abs(least), gap < true - noise - certificate.rounding)


def measured(seed: int, cases: range, largest: int, seconds: float = math.inf, kept: Path | None = None) -> list[Found]:
    """What is known of `cases` after `seconds`; a file `kept` holds one line for each, and those are not run again."""
    lines = kept.read_text().splitlines() if kept is not None and kept.exists() else []
    found = {each.k: each for each in (Found(*json.loads(line)) for line in lines)}
    until = time.monotonic() + seconds
    for k in cases:
        if k not in found and time.monotonic() < until:
            found[k] = measure(seed, k, largest)
            if kept is not None:
                with kept.open("a") as file:
                    file.write(json.dumps(found[k]) + "\n")
    return [found[k] for k in cases if k in found]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks gaps", description=__doc__)
    parser.add_argument("--runs", type=int, default=1400, help="cases that are drawn, a quarter of each family")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=int, default=1000, help="largest order")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no case begins later")
    parser.add_argument(
        "--kept", type=Path, help="file of cases that are not measured again; one line is added for each"
    )
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    cases = range(options.first, options.first + options.runs)
    found = measured(options.seed, cases, options.largest, options.seconds, options.kept)
    counted = [each for each in found if each.counts]
    rows = []
    for name, families in [("quadratic F", QUADRATIC), *((family, (family,)) for family in FAMILIES)]:
        of_them = [each for each in counted if each.family in families]
        ratios = np.array([each.ratio for each in of_them] or [math.nan])
        numbers = [np.median(ratios), *np.quantile(ratios, (0.95, 1.0, 0.0))]
        share = np.median([each.share for each in of_them] or [math.nan])
        rows.append((name, f"{len(of_them)}", *(f"{x:.4g}" for x in numbers), f"{share:.1e}"))
    show_table("Proven gap / true gap", ("F", "runs", "median", "95 %", "most", "least", "true gap / |F|"), rows)
    print(f"{len(found) - len(counted)} of {len(found)} runs are left out: their true gap is not known to two digits.")
    for family in FAMILIES:
        worst = sorted((each for each in counted if each.family == family), key=lambda each: -each.ratio)[:3]
        for each in [*worst, *(one for one in counted if one.below and one.family == family)]:
            below = ": LESS THAN THE TRUE GAP" if each.below else ""
            print(f"{family}, case {each.k}: {each.ratio:.4g} ({each.case}, true gap {each.share:.1e} |F|){below}")
    return int(any(each.below for each in counted))
