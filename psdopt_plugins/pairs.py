"""Pairs and triplets of samples: reading them, coding them, each once, and the Laplacian of signed pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.checks import CheckedIndices, finite, indices, real_array
from psdopt.errors import InvalidInputError
from psdopt.linalg import Array

Pairs = NDArray[np.intp]
#: Most pairs named in an error; more would hide the first ones.
NAMED = 5
KINDS = ("similar", "dissimilar")


def checked_pairs(pairs: Any, n: int | None = None, name: str = "pairs", empty: bool = True) -> CheckedIndices:
    """`pairs` as checked indices (p, 2), each row two different ones below `n`; an empty list is (0, 2). O(p).

    n : None if the caller checks the range. empty : whether p = 0 is allowed. Checked pairs are not checked again.

    Raises InvalidInputError, InvalidTypeError.
    """
    return _checked_rows(pairs, n, name, 2, empty)


def checked_triplets(
    triplets: Any, n: int | None = None, name: str = "triplets", empty: bool = False
) -> CheckedIndices:
    """`triplets` as checked indices (m, 3), each row (i, j, k) three different ones below `n`. O(m).

    n, empty : as in :func:`checked_pairs`. Raises InvalidInputError, InvalidTypeError.
    """
    return _checked_rows(triplets, n, name, 3, empty)


def pair_codes(pairs: Pairs, n: int) -> NDArray[np.intp]:
    """min(i, j) n + max(i, j) for each row (i, j): one number for an unordered pair, ascending like the sorted rows."""
    codes: NDArray[np.intp] = pairs.min(axis=1) * n + pairs.max(axis=1) if len(pairs) else np.empty(0, dtype=np.intp)
    return codes


def pairs_of(codes: NDArray[np.intp], n: int) -> Pairs:
    """The rows (i, j), i < j, of :func:`pair_codes`."""
    return np.column_stack(np.divmod(codes, n)).astype(np.intp)


def named_pairs(codes: NDArray[np.intp], n: int) -> str:
    """The first few pairs, for a message: "(0, 3), (1, 2), ..."."""
    distinct = np.unique(codes)
    listed = [f"({code // n}, {code % n})" for code in distinct[:NAMED]]
    return ", ".join(listed) + (", ..." if len(distinct) > NAMED else "")


def distinct_pairs(
    pairs: Any, values: Any, n: int, name: str = "pairs", values_name: str = "targets"
) -> tuple[Pairs, Array]:
    """Pairs (p, 2), i < j, ascending, each once, and the value of each, (p,). One sort, O(p log p).

    values : (p,), finite; a pair that is listed again must have the same value.

    Raises InvalidInputError, which names pairs with two values, and InvalidTypeError.
    """
    ends = checked_pairs(pairs, n, name).array
    wanted = finite(values, values_name)
    if wanted.shape != (len(ends),):
        raise InvalidInputError(f"{values_name} must have shape ({len(ends)},) like {name}; found {wanted.shape}")
    codes, own, _, clash = _each_once(pair_codes(ends, n), wanted)
    if len(clash):
        found = named_pairs(clash, n)
        raise InvalidInputError(
            f"{name} must have one value of {values_name} each; found contradictory {values_name} for {found}"
        )
    return pairs_of(codes, n), own


def joined_pairs(similar: Pairs, dissimilar: Pairs) -> Pairs:
    """Rows (i, j, +1) of `similar` (p, 2), then (i, j, −1) of `dissimilar` (q, 2)."""
    signs = np.concatenate([np.ones(len(similar), dtype=np.intp), -np.ones(len(dissimilar), dtype=np.intp)])
    return np.column_stack([np.concatenate([similar, dissimilar]), signs])


def listed_pairs(pairs: Any) -> Pairs:
    """Rows (i, j, s) in the given order, s = +1 similar or −1 dissimilar, from either format. O(p).

    pairs : (similar, dissimilar), integer arrays (p, 2) and (q, 2) of any two lengths; or one array (p, 3) of rows
        (i, j, s).

    Raises InvalidInputError for wrong shapes and other signs, InvalidTypeError for entries that are no integers.
    """
    if isinstance(pairs, (tuple, list)) and len(pairs) == 2 and not all(map(_is_row, pairs)):
        similar, dissimilar = (
            indices(part, f"{kind} pairs", columns=2, floats=True) for part, kind in zip(pairs, KINDS, strict=True)
        )
        return joined_pairs(similar, dissimilar)
    rows = real_array(pairs, "pairs")
    if rows.size and (rows.ndim != 2 or rows.shape[1] != 3):
        raise InvalidInputError(
            "pairs must be (similar, dissimilar) with shapes (p, 2) and (q, 2), or one array (p, 3) of rows "
            f"(i, j, +1) and (i, j, -1); found shape {rows.shape}"
        )
    listed = indices(rows, "pairs", columns=3, floats=True)
    if len(wrong := listed[np.abs(listed[:, 2]) != 1]):
        raise InvalidInputError(
            f"the third column of pairs must be +1 (similar) or -1 (dissimilar); found {int(wrong[0, 2])}"
        )
    return listed


@dataclass(frozen=True)
class SignedPairs:
    """Pairs of m samples, similar (+1) or dissimilar (−1), in normal form; :func:`signed_pairs` makes and checks them.

    ends : (p, 2), rows (i, j), i < j, ascending, each once. signs : (p,). listed : (q, 3), the rows (i, j, s) in the
    order given; places : (q,), where they are in `ends`.
    """

    m: int
    ends: CheckedIndices
    signs: NDArray[np.intp]
    listed: Pairs
    places: NDArray[np.intp]

    def summed(self, weights: Array) -> Array:
        """The sum (p,) of the `weights` (q,) of all listings of each pair. O(q)."""
        return np.bincount(self.places, weights, len(self.ends)).astype(np.float64, copy=False)

    def laplacian(self) -> sp.csr_array:
        """diag(S e) − S (m, m): tr(XᵀTX M) = Σ_t s_t d_M(i, j) (Yuan et al., section 2.2, corrected)."""
        return pair_laplacian(self.ends.array, self.m, self.signs)

    def among(self, ends: CheckedIndices, m: int) -> SignedPairs:
        """The same pairs by their positions `ends` among `m` of the samples."""
        return replace(self, ends=ends, m=m)


def signed_pairs(pairs: Any, m: int) -> SignedPairs:
    """`pairs` of m samples, checked and in normal form; :class:`SignedPairs` as they are. One sort, O(q log q).

    pairs : as in :func:`listed_pairs`; the order within a pair and repetitions do not matter.

    Raises InvalidInputError for no pair at all, indices out of range, a pair of a sample with itself, and a pair that
    is both similar and dissimilar; and what :func:`listed_pairs` raises.
    """
    if isinstance(pairs, SignedPairs) and pairs.m == m:
        return pairs
    rows = listed_pairs(pairs)
    if len(rows) == 0:
        raise InvalidInputError("pairs must hold at least one pair; found none")
    codes = pair_codes(checked_pairs(rows[:, :2], m).array, m)
    distinct, signs, places, both = _each_once(codes, rows[:, 2])
    if len(both):
        raise InvalidInputError(f"pairs must not be both similar and dissimilar; found {named_pairs(both, m)} in both")
    return SignedPairs(m, CheckedIndices(pairs_of(distinct, m), m, distinct=True), signs, rows, places)


def pair_laplacian(pairs: NDArray[np.integer[Any]], m: int, weights: NDArray[Any] | None = None) -> sp.csr_array:
    """T = Σ_t w_t (e_i − e_j)(e_i − e_j)ᵀ (m, m), sparse, over pairs (i, j) number t; None: w_t = 1. O(p)."""
    i, j = pairs[:, 0], pairs[:, 1]
    rows, columns = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
    entries = np.repeat([1.0, 1.0, -1.0, -1.0], len(i))
    if weights is not None:
        entries *= np.tile(weights, 4)
    return sp.csr_array(sp.coo_array((entries, (rows, columns)), shape=(m, m)))


def _checked_rows(values: Any, n: int | None, name: str, width: int, empty: bool) -> CheckedIndices:
    rows = indices(values, name, n, columns=width, empty=empty)
    if isinstance(values, CheckedIndices) and values.distinct:
        return values
    same = np.logical_or.reduce([rows[:, a] == rows[:, b] for a, b in combinations(range(width), 2)])
    if np.any(same):
        found = tuple(map(int, rows[same][0]))
        raise InvalidInputError(f"{name} must join {('two', 'three')[width - 2]} different samples; found {found}")
    return CheckedIndices(rows, n, distinct=True)


def _each_once(codes: NDArray[np.intp], values: NDArray[Any]) -> tuple[Any, Any, Any, Any]:
    """(codes, ascending; the first value of each; places of the given codes among them; codes with two values)."""
    distinct, first, places = np.unique(codes, return_index=True, return_inverse=True)
    own, places = values[first], places.ravel()
    return distinct, own, places, codes[values != own[places]]


def _is_row(part: Any) -> bool:
    """Whether `part` is one row, such as (i, j, s), so that a list of two rows is not read as two lists of pairs."""
    array = np.asarray(part, dtype=object)
    return array.ndim < 2 and array.size > 0
