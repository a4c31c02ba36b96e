"""Must-link and cannot-link pairs: sampling them from labels, and finding contradictions."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from psdopt.errors import InvalidInputError

Pairs = NDArray[np.intp]


def sampled_pairs(y: Any, fraction: float, rng: np.random.Generator) -> tuple[Pairs, Pairs]:
    """round(fraction · n) pairs of one class and as many of two classes, each pair once (Hu & Kwok, section 4).

    Uniform over the pairs of each kind; fewer where there are not so many. y (n,) labels. O(n) expected.

    Raises InvalidInputError unless fraction >= 0.
    """
    number = isinstance(fraction, Real) and not isinstance(fraction, bool)
    if not number or not math.isfinite(fraction) or fraction < 0.0:
        raise InvalidInputError(f"n_pairs must be a finite number of at least 0; found {fraction!r}")
    codes = np.unique(np.asarray(y), return_inverse=True)[1].ravel()
    wanted = round(fraction * len(codes))
    return _sample(codes, True, wanted, rng), _sample(codes, False, wanted, rng)


def check_consistent(must: Pairs, cannot: Pairs, n: int) -> None:
    """InvalidInputError, naming pairs, if a pair is in both lists or a chain of must-links joins a cannot-link."""
    if len(must) == 0 or len(cannot) == 0:
        return
    both = np.intersect1d(_codes(must, n), _codes(cannot, n))
    if len(both):
        raise InvalidInputError(f"must_link and cannot_link contradict each other; found in both: {_named(both, n)}")
    edges = sp.csr_array((np.ones(len(must)), (must[:, 0], must[:, 1])), shape=(n, n))
    component = connected_components(edges, directed=False)[1]
    broken = component[cannot[:, 0]] == component[cannot[:, 1]]
    if np.any(broken):
        raise InvalidInputError(
            "must_link and cannot_link contradict each other; found cannot-links between samples that must-links "
            f"join through others: {_named(_codes(cannot[broken], n), n)}"
        )


def _sample(codes: NDArray[np.intp], same: bool, wanted: int, rng: np.random.Generator) -> Pairs:
    n = len(codes)
    sizes = np.bincount(codes)
    within = int(np.sum(sizes * (sizes - 1)) // 2)
    available = within if same else n * (n - 1) // 2 - within
    wanted = min(wanted, available)
    if 2 * wanted > available or available < 4 * n:
        # few candidates: list them all
        i, j = np.triu_indices(n, 1) if n <= 4096 else (np.empty(0, np.intp), np.empty(0, np.intp))
        if n <= 4096:
            keep = np.flatnonzero((codes[i] == codes[j]) == same)
            chosen = np.sort(rng.choice(keep, wanted, replace=False))
            return np.column_stack([i[chosen], j[chosen]]).astype(np.intp)
    found = np.empty(0, dtype=np.intp)
    while len(found) < wanted:
        i, j = rng.integers(n, size=(2, 4 * wanted + 16))
        good = (i != j) & ((codes[i] == codes[j]) == same)
        found = np.unique(np.concatenate([found, _codes(np.column_stack([i[good], j[good]]), n)]))
    chosen = np.sort(rng.choice(found, wanted, replace=False))
    return np.column_stack([chosen // n, chosen % n]).astype(np.intp)


def _codes(pairs: Pairs, n: int) -> NDArray[np.intp]:
    codes: NDArray[np.intp] = pairs.min(axis=1) * n + pairs.max(axis=1)
    return codes


def _named(codes: NDArray[np.intp], n: int) -> str:
    listed = [f"({code // n}, {code % n})" for code in np.unique(codes)[:5]]
    return ", ".join(listed) + (", ..." if len(np.unique(codes)) > 5 else "")
