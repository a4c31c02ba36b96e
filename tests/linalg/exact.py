"""Polynomials in exact rational arithmetic: the slow twin of ``psdopt.linalg.polynomials``."""

import math
from fractions import Fraction
from itertools import pairwise

BITS = 60


def evaluate(c: list[Fraction], t: Fraction) -> Fraction:
    total = Fraction(0)
    for coefficient in reversed(c):
        total = total * t + coefficient
    return total


def derivative(c: list[Fraction]) -> list[Fraction]:
    return [k * x for k, x in enumerate(c)][1:]


def trimmed(c: list[Fraction]) -> list[Fraction]:
    while c and c[-1] == 0:
        c = c[:-1]
    return c


def sign_changes(c: list[Fraction], end: Fraction) -> list[Fraction]:
    """Points in (0, end] where c changes sign, each to 2^-BITS relative accuracy, by recursion on c'."""
    c = trimmed(c)
    if len(c) < 2:
        return []
    knots = [Fraction(0), *sign_changes(derivative(c), end), end]
    found = []
    for left, right in pairwise(knots):
        at_left, at_right = evaluate(c, left), evaluate(c, right)
        if at_left * at_right < 0:
            found.append(_bisect(c, left, right, at_left > 0))
        elif at_right == 0 and right < end:
            found.append(right)
    return found


def _bisect(c: list[Fraction], left: Fraction, right: Fraction, positive: bool) -> Fraction:
    while right - left > right / 2**BITS:
        middle = (left + right) / 2 if left else right / 2
        at = evaluate(c, middle)
        if at == 0:
            return middle
        if (at > 0) == positive:
            left = middle
        else:
            right = middle
    return left


def minimize(coefficients: list[float], upper: float = math.inf) -> tuple[float, Fraction]:
    """(argmin, p(argmin) − p(0)) over [0, upper] for the exact values of float coefficients; (inf, ·) if unbounded."""
    c = trimmed([Fraction(0), *(Fraction(x) for x in coefficients[1:])])
    if len(c) < 2:
        return 0.0, Fraction(0)
    if math.isinf(upper) and c[-1] < 0:
        return math.inf, Fraction(0)
    slope = derivative(c)
    bound = 1 + max((abs(x) for x in slope[:-1]), default=Fraction(0)) / abs(slope[-1])
    end = bound if math.isinf(upper) else min(bound, Fraction(upper))
    candidates = [Fraction(0), *sign_changes(slope, end)]
    if math.isfinite(upper):
        candidates.append(Fraction(upper))
    best = min(candidates, key=lambda t: evaluate(c, t))
    return float(best), evaluate(c, best)


def excess(coefficients: list[float], found: float, upper: float = math.inf) -> tuple[float, float]:
    """(p(found) − min p, Σ|c_k| t^k at the larger of found and argmin), both without the constant."""
    best, value = minimize(coefficients, upper)
    c = [Fraction(0), *(Fraction(x) for x in coefficients[1:])]
    at = Fraction(found)
    t = max(at, Fraction(best))
    size = sum((abs(x) * t**k for k, x in enumerate(c)), Fraction(0))
    return float(evaluate(c, at) - value), float(size)
