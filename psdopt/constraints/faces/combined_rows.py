"""Combinations of equations that may define a face of the cone: w with wᵀb = 0 for which A*(w) may be semidefinite.

If A*(w) ⪰ 0 and wᵀb = 0, then ⟨A*(w), M⟩ = 0 for every feasible M ⪰ 0, although no single row says so. Finding all such
w is a semidefinite program of its own, so only two families are tried: combinations of rows with b_t = 0, such as G 1
= 0 given by rows; and the rows left by Gauss-Jordan elimination, such as M_11 = 0 of M_11 + M_22 = 1 and M_22 = 1.
wᵀb = 0 is exact in both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psdopt.constraints.limits import CANCELLED, LARGE
from psdopt.constraints.measurements import SparseForms
from psdopt.linalg.arrays import Array
from psdopt.linalg.entries import entries_of, multiplied
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.least_squares import least_squares
from psdopt.linalg.limits import BLOCK
from psdopt.linalg.tolerances import EPS

#: Most entries of equations that are brought to exact arithmetic, a few microseconds each.
EXACT = 20_000
#: Modulo this number, a Mersenne prime, a number that is not zero is zero once in 10¹⁸.
PRIME = 2**61 - 1
#: Numbers by place, of one row.
Row = dict[int, int]


def combined(forms: SparseForms, lower: Array, upper: Array, noise: float = 0.0) -> tuple[Array, Array]:
    """(w (k, m), the entries (k, p) of their A*(w)) for all candidate combinations.

    `noise` : the relative error of the A_t, if that is more than rounding; a sum of terms that is as small is no entry.
    Cost: a sparse least-squares problem for the rows with b_t = 0, and exact arithmetic with at most 20,000 entries of
    the equations.
    """
    equations = ((lower == upper) & (np.diff(forms.B.indptr) > 0)).nonzero()[0]
    found = [_of_zeros(forms, equations[lower[equations] == 0.0], noise)]
    found += _eliminated(forms, _overlapping(forms, equations), lower, noise)
    pairs = [each for each in found if each is not None]
    weights, entries = ([pair[k] for pair in pairs] for k in range(2))
    return np.array(weights).reshape(-1, forms.size), np.array(entries).reshape(-1, forms.B.shape[1])


def _overlapping(forms: SparseForms, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of `rows` that share a place with another: elimination leaves the others as they are."""
    at, counts = entries_of(rows, forms.B.indptr)
    places = forms.B.indices[at]
    shared = np.bincount(places) > 1
    return rows[np.add.reduceat(shared[places], counts.cumsum() - counts) > 0] if len(rows) else rows


def _of_zeros(forms: SparseForms, rows: NDArray[np.intp], noise: float) -> tuple[Array, Array] | None:
    """w on `rows`, all with b_t = 0, for which A*(w) is nearest to the identity on the places that the rows touch."""
    if len(rows) < 2:
        return None
    at, counts = entries_of(rows, forms.B.indptr)
    places, numbers, t = forms.B.indices[at], forms.B.data[at], np.arange(len(rows)).repeat(counts)
    aimed, size = np.zeros(len(forms.i)), len(forms.i)
    aimed[places] = forms.i[places] == forms.j[places]
    if len(at) > BLOCK or not aimed.any():
        return None
    norms = forms.norms[rows]
    # off the diagonal B has twice the entry of the matrix
    unit = multiplied(numbers * (1.0 / norms)[t] * np.sqrt(forms.halves)[places], t, places, (len(rows), size))
    x = least_squares(unit.T, aimed) / norms
    w, terms = np.zeros(forms.size), numbers * x[t]
    w[rows] = x
    entries = _cleared(_at(places, terms, size), _at(places, np.abs(terms), size), noise)
    return None if entries is None else (w, entries)


def _at(places: NDArray[Any], terms: Array, size: int) -> Array:
    """The sums (`size`,) of the terms at each place."""
    return np.bincount(places, terms, size).astype(np.float64)


def _cleared(entries: Array, sizes: Array, noise: float) -> Array | None:
    """`entries` without errors; None if nothing remains, or an entry of at most √eps times the largest."""
    kept = np.where(np.abs(entries) > max(CANCELLED * EPS, noise) * sizes, entries, 0.0)
    clear = np.sqrt(EPS) * np.max(np.abs(kept), initial=0.0)
    return kept if clear > 0.0 and not np.any((kept != 0.0) & (np.abs(kept) <= clear)) else None


def _eliminated(forms: SparseForms, rows: NDArray[np.intp], b: Array, noise: float) -> Iterator[tuple[Array, Array]]:
    """(w, A*(w)) of the reduced rows with wᵀb = 0, places off the diagonal eliminated first.

    Rows left with diagonal places only do not depend on how the given rows were combined beforehand. Numbers modulo a
    prime, which do not grow, tell first whether a row may define a face: what is zero is zero modulo a prime.
    """
    entries = int(np.diff(forms.B.indptr)[rows].sum())
    if not 1 < len(rows) <= entries <= EXACT:
        return
    last, most = forms.i == forms.j, LARGE * min(entries, DENSE_LIMIT)
    shadow = _reduced({int(t): _numbers(forms, int(t), _modulo) for t in rows}, last, most, PRIME)
    rest = {int(t): _modulo(b[t]) for t in rows}
    if shadow is None or not any(_may_define(forms, *each, rest, PRIME) for each in zip(*shadow, strict=True)):
        return
    units = {int(t): _unit(forms, int(t), b[t]) for t in rows}
    found = _reduced({t: _numbers(forms, t, partial(_times, units[t])) for t in units}, last, most)
    if found is None:
        return
    exact = {t: _times(units[t], b[t]) for t in units}
    for left, w in zip(*found, strict=True):
        if _may_define(forms, left, w, exact):
            size = max(abs(c) * units[s] for s, c in w.items())
            weights = {s: float(Fraction(c * units[s], size)) for s, c in w.items()}
            rounded = _rounded(forms, weights, {k: float(Fraction(c, size)) for k, c in left.items()}, noise)
            if rounded is not None:
                yield rounded


def _may_define(forms: SparseForms, left: Row, w: Row, b: Row, prime: int = 0) -> bool:
    """Whether wᵀb = 0 for a true combination whose entries `left` hold the diagonal places of all that they touch."""
    if len(w) < 2 or not left:
        return False
    product = sum(c * b[s] for s, c in w.items())
    if product % prime if prime else product:
        return False
    places = np.array(list(left))
    i, j = forms.i[places], forms.j[places]
    return set(i[i == j].tolist()).issuperset([*i.tolist(), *j.tolist()])


def _unit(forms: SparseForms, t: int, b: float) -> int:
    """The power of two that makes integers of row t and of b."""
    numbers = [b, *forms.B.data[forms.B.indptr[t] : forms.B.indptr[t + 1]].tolist()]
    return max(float(number).as_integer_ratio()[1] for number in numbers)


def _times(unit: int, number: float) -> int:
    numerator, denominator = float(number).as_integer_ratio()
    return numerator * (unit // denominator)


def _modulo(number: float) -> int:
    """The number modulo PRIME, where 2⁶¹ is 1."""
    mantissa, exponent = math.frexp(number)
    return (int(mantissa * 2.0**53) << ((exponent - 53) % 61)) % PRIME


def _reduced(
    left: dict[int, Row], last: NDArray[np.bool_], most: float, prime: int = 0
) -> tuple[list[Row], list[Row]] | None:
    """Integer rows `left` after Gauss-Jordan elimination, the places of `last` after the others, each up to a factor,
    and the w of each; modulo `prime`, unless that is 0. None after `most` changes: it fills in, and numbers of many
    digits take seconds."""
    w: dict[int, Row] = {t: {t: 1} for t in left}
    holders: dict[int, set[int]] = {}
    for t, row in left.items():
        for place in row:
            holders.setdefault(place, set()).add(t)
    free, changes = set(left), 0
    for place in sorted(holders, key=lambda place: (last[place], place)):
        pivots = holders[place] & free
        if not pivots:
            continue
        pivot = min(pivots, key=lambda t: (len(left[t]), t))
        free.remove(pivot)
        for t in sorted(holders[place] - {pivot}):
            changes += len(left[pivot])
            if changes > most:
                return None
            own, other = left[pivot][place], left[t][place]
            common = math.gcd(own, other)
            for target, source in ((left[t], left[pivot]), (w[t], w[pivot])):
                _combine(target, own // common, source, other // common, prime)
            if not prime:
                common = math.gcd(*left[t].values(), *w[t].values())
                for row in (left[t], w[t]):
                    row.update({k: number // common for k, number in row.items()})
            for k in left[pivot]:
                (holders[k].add if k in left[t] else holders[k].discard)(t)
    return list(left.values()), list(w.values())


def _combine(target: Row, a: int, source: Row, c: int, prime: int) -> None:
    """target := a target − c source, without zeros; modulo `prime`, unless that is 0."""
    for k in target.keys() | source.keys():
        number = a * target.get(k, 0) - c * source.get(k, 0)
        number = number % prime if prime else number
        if number:
            target[k] = number
        else:
            target.pop(k, None)


def _rounded(
    forms: SparseForms, w: dict[int, float], left: dict[int, float], noise: float
) -> tuple[Array, Array] | None:
    """w (m,) and A*(w) (p,); None if an entry is so small that it may be meant as zero."""
    numbers = np.array(list(left.values()))
    coefficients = np.abs(list(w.values()))
    at, counts = entries_of(np.array(list(w)), forms.B.indptr)
    terms = np.abs(forms.B.data[at]) * np.repeat(coefficients, counts)
    sizes = _at(forms.B.indices[at], terms, forms.B.shape[1])[list(left)]
    cleared = _cleared(numbers, sizes, noise)
    if cleared is None or not np.array_equal(cleared, numbers):
        return None
    weights, entries = np.zeros(forms.size), np.zeros(forms.B.shape[1])
    weights[list(w)], entries[list(left)] = list(w.values()), numbers
    return weights, entries


def _numbers(forms: SparseForms, t: int, kind: Callable[[float], int]) -> Row:
    """The entries of row t by their places, as numbers of a `kind`."""
    part = slice(forms.B.indptr[t], forms.B.indptr[t + 1])
    pairs = zip(forms.B.indices[part].tolist(), forms.B.data[part].tolist(), strict=True)
    return {place: kind(number) for place, number in pairs if number != 0.0}
