"""Backtracking to sufficient decrease, on a line model: no application of a map per trial."""

from __future__ import annotations

from psdopt.problem import LineModel


def armijo_step(line: LineModel, first: float = 1.0, shrink: float = 0.5, sufficient: float = 1e-4) -> float:
    """A mu with F(mu) <= F(0) + sufficient · mu · F'(0), by doubling then halving; 0.0 if there is none.

    Doubling comes first so that the result does not depend on the scale of the direction; inf is
    returned when the decrease goes on over 2^100.
    """
    value, (slope, _) = line.value(0.0), line.derivatives(0.0)
    if not slope < 0.0:
        return 0.0

    def good(mu: float) -> bool:
        return line.value(mu) <= value + sufficient * mu * slope

    mu = first
    if good(mu):
        for _ in range(100):
            if not (good(2.0 * mu) and line.value(2.0 * mu) < line.value(mu)):
                return mu
            mu *= 2.0
        return float("inf")
    for _ in range(200):
        mu *= shrink
        if good(mu):
            return mu
    return 0.0
