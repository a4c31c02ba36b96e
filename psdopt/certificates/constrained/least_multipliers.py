"""Among the multipliers with one A*(y) and one σ(y), those of the least Euclidean norm: redundant constraints share."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.constraints.limits import CANCELLED, NEGLIGIBLE, SPARED
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.model import ConstrainedModel
from psdopt.constraints.violation import row_scales
from psdopt.linalg.arrays import Array, as_dense, for_products, norm, scaled
from psdopt.linalg.least_squares import least_squares
from psdopt.linalg.limits import MOST_STEPS
from psdopt.linalg.tolerances import EPS, rounding


def least_multipliers(problem: ConstrainedModel, y: Array, a: Array, Y: Array) -> Array:
    """The shortest y' with A*(y') = A*(y), σ(y') = σ(y) and the signs that its bounds allow; `a` = A(Y Yᵀ).

    Linearly dependent constraints leave multipliers open along the d with A*(d) = 0, and bᵀd = 0 where they are
    consistent; S and the dual bound are the same along them. Equations take part, and the inequalities that are active
    at M or have multipliers; the others, and values in cones, keep theirs. Of these rows y' = max(0, A(X)), up to the
    signs, for some X: rows that would get the wrong sign are left out with 0, and the rest is solved again.

    y itself is returned where entries are not known, where they show the rows to be independent, where it is the
    shortest to seven digits, and where A*(y') or σ(y') would differ by more than rounding of their terms. Cost: a few
    least-squares problems with the entries.
    """
    forms = problem.forms
    if forms is None or not np.any(y) or _independent(forms.B):
        return y
    side = _sides(problem, y, a, Y)
    used = np.flatnonzero(np.isfinite(side) & (problem.norms > 0.0))
    unit = for_products(scaled(forms.B, columns=np.sqrt(forms.halves)))[used]  # rows of the lengths |A_t|
    aimed = unit.T @ y[used]
    kept = np.arange(len(used))
    while len(kept):
        x = _shortest(unit[kept], aimed)
        wrong = side[used[kept]] * x < 0.0
        if not np.any(wrong):
            found = y.copy()
            found[used] = 0.0
            found[used[kept]] = x
            return found if _serves(problem, forms, y, found) else y
        kept = kept[~wrong]
    return y


def _independent(B: sp.csr_array) -> bool:
    """Whether all rows have a place of their own, once those that have one are left out, again and again."""
    row = np.repeat(np.arange(B.shape[0]), np.diff(B.indptr))
    rows, place = row[B.data != 0.0], B.indices[B.data != 0.0]
    for _ in range(MOST_STEPS):
        own = np.zeros(B.shape[0], dtype=bool)
        own[rows[np.bincount(place, minlength=B.shape[1])[place] == 1]] = True
        kept = ~own[rows]
        if not np.any(kept) or np.all(kept):
            return not np.any(kept)
        rows, place = rows[kept], place[kept]
    return False


def _sides(problem: ConstrainedModel, y: Array, a: Array, Y: Array) -> Array:
    """The sign that the multiplier of each row must have, (m,): 0 for either, NaN where a row takes no part."""
    scales = row_scales(problem.forms, problem.norms, problem.allowed.nearest(a), Y)
    size = problem.norms * np.abs(y)
    large = size > NEGLIGIBLE * size.max(initial=0.0)
    at_high, at_low = (np.abs(a - bound) <= NEGLIGIBLE * scales for bound in (problem.upper, problem.lower))
    side = np.where(large, np.sign(y), np.where(at_high, 1.0, np.where(at_low, -1.0, np.nan)))
    side = np.where(problem.lower == problem.upper, 0.0, side)
    return side if problem.cones is None else np.where(problem.cones.member, np.nan, side)


def _shortest(rows: Any, aimed: Array) -> Array:
    """The shortest x that minimises |rowsᵀ x − aimed|: by a decomposition where it is affordable, else by LSQR."""
    k, p = rows.shape
    if float(p) * k * min(p, k) <= SPARED:
        return np.asarray(np.linalg.lstsq(as_dense(rows).T, aimed, rcond=None)[0])
    return least_squares(rows.T, aimed)


def _serves(problem: ConstrainedModel, forms: SparseForms, y: Array, found: Array) -> bool:
    """Whether `found` is clearly shorter than y, and A* and σ of both differ by rounding of their terms only."""
    if norm(y) - norm(found) <= NEGLIGIBLE * norm(y):
        return False
    sizes = np.abs(y) + np.abs(found)
    off = np.abs(forms.on_places(y) - forms.on_places(found))
    bound = problem.allowed.bound(y)
    terms = float(sizes @ np.abs(np.where(np.isfinite(bound), bound, 0.0)))
    same = norm(off) <= CANCELLED * EPS * norm(abs(forms.B).T @ sizes)
    lost = rounding(terms, problem.m, CANCELLED)
    return bool(same and abs(problem.support(y) - problem.support(found)) <= lost)
