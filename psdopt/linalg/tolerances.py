"""Tolerances are computed from eps, size and scale, never written down as a bare number."""

from __future__ import annotations

import math

EPS = 2.0**-52
#: Errors in units of rounding: an entry of S may be wrong by this number times n, F by this number times √n.
ROUNDINGS = 16.0
#: Half of the digits: a relative change below this is lost once it is squared. It is the size of an error whose effect
#: on a minimum is rounding, and the least that a matrix is damped by so that a system with it keeps half of its digits.
ROOT_EPS = EPS**0.5
#: What is at most this share of another quantity is slight beside it: an error that does not matter for the next step,
#: the accuracy of an intermediate result, a gain that is none.
SLIGHT = 0.1
#: What is below this share of the largest of its kind is minor: a part that may be left out of a trial.
MINOR = 1e-3
#: A factor below this share of its first length has vanished, and one longer than its first length by the inverse of
#: this share runs away. A principal axis of M with less than this share of the largest eigenvalue counts as zero.
VANISHED = 1e-6


def rounding(scale: float, size: int, factor: float = 8.0) -> float:
    """Bound on the rounding error of a sum of `size` products whose magnitudes add up to `scale`.

    Uses the statistical growth sqrt(size) rather than the worst case, times a safety `factor`.
    """
    return factor * EPS * math.sqrt(size or 1) * abs(scale)


def tie(value: float, other: float) -> float:
    """Values of F that differ from `value` by at most this much are equal to it up to rounding.

    `other` is the level from which decreases are measured. The rounding of `value` and of its distance to `other`
    count, so that adding a constant to F changes the result only by the rounding of that constant.
    """
    return 4.0 * EPS * max(abs(value), abs(other - value))


def asymmetry_allowed(scale: float, size: int) -> float:
    """Largest |A − Aᵀ| entry that rounding can explain for entries of magnitude `scale`."""
    return 64.0 * EPS * max(size, 8) * abs(scale)
