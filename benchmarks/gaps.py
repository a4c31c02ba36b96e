"""Proven gap over true gap of runs that were stopped early: how much a proof says before convergence.

Each case draws F, its data and the moment at which a run is stopped, after 5 to 80 steps of conjugate gradient at a
random rank. Families: a ridge b |M|², a product a tr((A M)²) with cond A up to 1e6, squared losses of measurements
x_tᵀMx_t of dimension 5 to 60 in mixed units, and one-sided squares of the same. min F comes from the closed form, or
from a run to 1e-10; a case counts if the gap of that run, and rounding, are below a hundredth of the true gap.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from psdopt import ConjugateGradient, FlatQuotient, QuadraticSDP, TermSum, solve
from psdopt.cli.tables import show_table
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array
from psdopt.terms import HalfSquaredOneSided, LeastSquares, Loss, MeasuredTerm, QuadraticForms

FAMILIES = ("ridge", "product", "squares", "one-sided squares")
#: Gaps below this share of |F| are rounding of F, whatever is proven.
ROUNDING = 1e-13


class Found(NamedTuple):
    """`ratio` proven / true; `share` of the true gap in |min F|; what was drawn."""

    ratio: float
    share: float
    case: str


def _quadratic(rng: np.random.Generator, family: str, largest: int) -> tuple[Problem, str]:
    n = int(np.exp(rng.uniform(math.log(20), math.log(largest))))
    G = rng.standard_normal((n, n))
    C = 0.5 * (G + G.T)
    if family == "ridge":
        return QuadraticSDP(B=10.0 ** rng.uniform(-3, 3), C=C), f"n = {n}"
    digits = rng.uniform(0.0, 6.0)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    A = (Q * np.logspace(-digits, 0.0, n)) @ Q.T
    return QuadraticSDP(A=0.5 * (A + A.T), C=C), f"n = {n}, cond A = 1e{digits:.1f}"


def _measured(rng: np.random.Generator, family: str) -> tuple[Problem, str]:
    d = int(rng.integers(5, 61))
    m = int(rng.uniform(1.5, 4.0) * d * (d + 1) / 2)
    X = rng.standard_normal((m, d)) * np.exp(rng.uniform(0.0, 2.0) * rng.standard_normal(d))
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
    return TermSum([MeasuredTerm(QuadraticForms(X), loss, 1.0 / m)]), f"d = {d}, m = {m}"


def _least(problem: Problem, family: str) -> tuple[float, float]:
    """(F at the best known matrix, its own proven gap)."""
    known: Array | None = None
    if family in ("ridge", "product"):
        closed = problem.solve_in_closed_form()
        known = None if closed is None else closed.factor
    if known is not None:
        return float(problem.at(known).value), 0.0
    best = solve(problem, tol=1e-10, max_iterations=3000)
    certificate = best.certificate
    return best.value, math.inf if certificate is None or certificate.gap is None else certificate.gap


def measure(rng: np.random.Generator, family: str, largest: int) -> Found | None:
    """One case; None where the run came so near to the best that the true gap is not known to two digits."""
    problem, drawn = _quadratic(rng, family, largest) if family in ("ridge", "product") else _measured(rng, family)
    rank, steps = int(rng.integers(1, problem.n + 1)), int(rng.choice([5, 10, 20, 40, 80]))
    result = solve(
        problem, FlatQuotient(problem.n, rank), ConjugateGradient(), max_iterations=steps, rng=int(rng.integers(2**31))
    )
    least, unsure = _least(problem, family)
    true = result.value - least
    if result.certificate is None or not true > max(100.0 * unsure, 100.0 * ROUNDING * abs(least)):
        return None
    gap = math.inf if result.certificate.gap is None else result.certificate.gap
    return Found(gap / true, true / abs(least), f"{drawn}, rank {rank}, {steps} steps")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks gaps", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="cases that count")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=int, default=1000, help="largest order of a quadratic F")
    options = parser.parse_args(argv)
    rng, found, left = np.random.default_rng(options.seed), defaultdict[str, list[Found]](list), 0
    warnings.simplefilter("ignore")
    while sum(map(len, found.values())) < options.runs:
        family = FAMILIES[(sum(map(len, found.values())) + left) % len(FAMILIES)]
        case = measure(rng, family, options.largest)
        if case is None:
            left += 1
        else:
            found[family].append(case)
    rows = []
    for family in FAMILIES:
        ratios = np.array([each.ratio for each in found[family]] or [math.nan])
        share = np.median([each.share for each in found[family]] or [math.nan])
        numbers = [float(np.median(ratios)), *np.quantile(ratios, (0.95, 1.0, 0.0))]
        rows.append((family, f"{len(found[family])}", *(f"{x:.4g}" for x in numbers), f"{share:.1e}"))
    show_table("Proven gap / true gap", ("family", "runs", "median", "95 %", "most", "least", "true gap / |F|"), rows)
    print(f"{left} runs are left out: they ended so near to the best that the true gap is not known to two digits.")
    for family in FAMILIES:
        for each in sorted(found[family], key=lambda one: -one.ratio)[:3]:
            print(f"{family}: {each.ratio:.4g} ({each.case}, true gap {each.share:.1e} |F|)")
    return int(any(each.ratio < 1.0 - 1e-6 for many in found.values() for each in many))
