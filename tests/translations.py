"""One proof for every translation between forms of a program: from both sides, at points and multipliers of both.

A pair (point, multipliers) is carried to the other form and back. It has to come back, and to say the same there: the
value, the violations, the bound on the optimal value that the multipliers give, and how far these are from the dual
cones. Points need not be feasible, nor multipliers optimal, so that no two terms can cancel.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

Pair = tuple[Any, Any]


@dataclass(frozen=True)
class Side:
    """A form of the program.

    `value` of a point; `violation`, the largest of a point, zero where it is feasible; `bound` of a pair, a lower bound
    on the value where the multipliers are in the dual cones; `least` of a pair, the least eigenvalue of S and the least
    multiplier of an inequality.
    """

    value: Callable[[Any], float]
    violation: Callable[[Any], float]
    bound: Callable[[Any, Any], float]
    least: Callable[[Any, Any], float]


def proven_both_ways(
    one: Side, other: Side, forth: Callable[[Any, Any], Pair], back: Callable[[Any, Any], Pair],
    of_one: Iterable[Pair] = (), of_other: Iterable[Pair] = (), tol: float = 1e-8,
) -> None:  # fmt: skip
    """Assert that `forth` and `back` undo each other and keep what :class:`Side` says, at pairs of both sides."""
    for pair in of_one:
        there = forth(*pair)
        says_the_same(one, pair, other, there, tol)
        equal(back(*there), pair, tol)
    for pair in of_other:
        here = back(*pair)
        says_the_same(one, here, other, pair, tol)
        equal(forth(*here), pair, tol)


def says_the_same(one: Side, pair: Pair, other: Side, there: Pair, tol: float) -> None:
    for name in ("value", "violation"):
        close(name, getattr(one, name)(pair[0]), getattr(other, name)(there[0]), tol)
    for name in ("bound", "least"):
        close(name, getattr(one, name)(*pair), getattr(other, name)(*there), tol)


def close(name: str, first: Any, second: Any, tol: float) -> None:
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    assert first.shape == second.shape, name
    off = float(np.max(np.abs(first - second), initial=0.0))
    assert off <= tol * (1.0 + float(np.max(np.abs(first), initial=0.0))), f"{name}: {first} and {second}"


def equal(pair: Pair, expected: Pair, tol: float) -> None:
    for name, each, wanted in zip(("point", "multipliers"), pair, expected, strict=True):
        close(name, each, wanted, tol)
