"""Patterns in an error: a wrong sign, a factor of two, a transpose, a constant."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.linalg.arrays import Array

_FACTORS = {
    2.0: "twice too large",
    0.5: "half as large as it should be",
    4.0: "four times too large",
    0.25: "a quarter of what it should be",
}
#: A pattern is named if it leaves at most this share of the error unexplained.
EXPLAINED = 1e-3


def describe(noun: str, found: Any, expected: Any) -> str:
    """One phrase that says how `found` differs from `expected` (arrays or numbers of one shape).

    Patterns tried: not finite, zero, a factor (sign, two, a half, any), an added constant, a transpose,
    only one entry wrong. With a single number a factor proves nothing, so only signs, 2, 1/2, 4 and 1/4 are named.
    """
    x, y = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    if x.shape != y.shape:
        return f"{noun} has shape {x.shape}, expected {y.shape}"
    if not np.all(np.isfinite(x)):
        return f"{noun} is not finite"
    size, error = float(np.linalg.norm(y)), float(np.linalg.norm(x - y))
    if size == 0.0:
        return f"{noun} should be zero, found size {np.linalg.norm(x):.3g}"
    if float(np.linalg.norm(x)) <= EXPLAINED * size:
        return f"{noun} is zero where it should not be"
    return (
        _pattern(noun, x.ravel(), y.ravel(), error)
        or _square(noun, x, y, error)
        or (f"{noun} is off by {error / size:.3g} (relative), no simple pattern")
    )


def _pattern(noun: str, x: Array, y: Array, error: float) -> str:
    ratio = float(x @ y) / float(y @ y)
    if float(np.linalg.norm(x - ratio * y)) <= EXPLAINED * error:
        if abs(ratio + 1.0) <= EXPLAINED:
            return f"{noun} is off by a sign"
        for factor, words in _FACTORS.items():
            for sign, also in ((1.0, ""), (-1.0, ", and has the wrong sign")):
                if abs(ratio - sign * factor) <= EXPLAINED * factor:
                    return f"{noun} is {words}{also}"
        if len(x) > 1:
            return f"{noun} is scaled by {ratio:.6g}"
    if len(x) > 2:
        shift = float(np.mean(x - y))
        if float(np.linalg.norm(x - y - shift)) <= EXPLAINED * error:
            return f"{noun} is shifted by the constant {shift:.6g}"
        worst = int(np.argmax(np.abs(x - y)))
        if abs(x[worst] - y[worst]) >= (1.0 - EXPLAINED) * error:
            return f"{noun} is wrong in entry {worst} only: found {x[worst]:.6g}, expected {y[worst]:.6g}"
    return ""


def _square(noun: str, x: Array, y: Array, error: float) -> str:
    if x.ndim == 2 and x.shape[0] == x.shape[1]:
        if float(np.linalg.norm(x - y.T)) <= EXPLAINED * error:
            return f"{noun} is transposed"
        if float(np.linalg.norm(x + x.T - y - y.T)) <= EXPLAINED * error:
            return f"{noun} has the right symmetric part; its skew part is wrong"
    return ""
