"""Arithmetic on points and vectors of any geometry: arrays, tuples or dataclasses of arrays; and S as an array."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from psdopt.contracts.geometry_groups import VectorArithmetic
from psdopt.linalg.arrays import Array


def leaves(tree: Any) -> list[Array]:
    """The arrays of `tree`, in a fixed order."""
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in leaves(part)]
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return [leaf for field in dataclasses.fields(tree) for leaf in leaves(getattr(tree, field.name))]
    return [np.asarray(tree, dtype=np.float64)]


def tree_map(function: Callable[..., Any], first: Any, *rest: Any) -> Any:
    """`function` applied leaf by leaf to trees of one structure."""
    if isinstance(first, (tuple, list)):
        parts = [tree_map(function, *group) for group in zip(first, *rest, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        names = [field.name for field in dataclasses.fields(first)]
        changed = {k: tree_map(function, getattr(first, k), *(getattr(other, k) for other in rest)) for k in names}
        return dataclasses.replace(first, **changed)
    arrays = [np.asarray(x, dtype=np.float64) for x in (first, *rest)]
    return function(*arrays)


def combine(geometry: Any, point: Any, a: float, u: Any, b: float, v: Any) -> Any:
    """a u + b v for vectors at `point`; a geometry may bring its own ``combine(point, a, u, b, v)``."""
    if isinstance(geometry, VectorArithmetic):
        return geometry.combine(point, a, u, b, v)
    return tree_map(lambda x, y: a * x + b * y, u, v)


def scaled(geometry: Any, point: Any, a: float, u: Any) -> Any:
    """a u."""
    return combine(geometry, point, a, u, 0.0, u)


def size(tree: Any) -> float:
    """Euclidean length of all entries together: a yardstick for rounding, no metric."""
    return float(np.sqrt(sum(float(np.vdot(leaf, leaf)) for leaf in leaves(tree))))


def flat(tree: Any) -> Array:
    """All entries in one vector."""
    return np.concatenate([leaf.ravel() for leaf in leaves(tree)])


def random_like(tree: Any, rng: np.random.Generator) -> Any:
    """Standard normal entries in the layout of `tree`: an ambient vector, tangent to nothing in particular."""
    return tree_map(lambda leaf: rng.standard_normal(leaf.shape), tree)


def same_layout(left: Any, right: Any) -> bool:
    """Whether both have leaves of the same shapes."""
    return [leaf.shape for leaf in leaves(left)] == [leaf.shape for leaf in leaves(right)]


def symmetric(S: Any, n: int) -> Array:
    """S as an array (n, n), from n products."""
    A = np.asarray(S @ np.eye(n))
    return np.asarray(0.5 * (A + A.T))
