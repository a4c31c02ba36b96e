"""Proofs that no M is feasible, from multipliers of a method."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.certificates.constrained.slack import adjoint_operator, slack_eigenpair
from psdopt.constraints.conic import diagonal_blocks
from psdopt.constraints.limits import CANCELLED, FEASIBLE, LARGE, NEGLIGIBLE
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.model import ConstrainedModel
from psdopt.linalg.arrays import Array, norm, scaled
from psdopt.linalg.entries import chosen_rows
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.least_squares import least_squares
from psdopt.linalg.tolerances import EPS, MINOR, ROOT_EPS, rounding

#: Replaces tr M as a divisor if constraints force tr M = 0; no quotient by it overflows.
LEAST = math.sqrt(np.finfo(float).tiny)


def contradictory_equations(problem: ConstrainedModel, violation: Array) -> Array | None:
    """A candidate y with A*(y) = 0 and σ(y) < 0 from the `violation` A(M) − b (m,) of any M; None if there is none.

    The part of the violation that no M reduces is orthogonal to all A(M), so that contradictions between equations are
    found without a search. Only for up to 500 constraints, given by entries.
    """
    equations = np.flatnonzero(problem.lower == problem.upper)
    y = np.zeros_like(violation)
    y[equations] = (problem.scale**2 * violation)[equations]  # in units of |A_t| = 1
    return _vanishing(problem, y, equations, math.inf) if problem.m <= DENSE_LIMIT and norm(y) > 0.0 else None


def proven_infeasible(
    problem: ConstrainedModel, candidates: list[Array | None], measured: Array | None = None, trace: float = 0.0
) -> Array | None:
    """A y among the candidates with A*(y) ⪰ 0 and σ(y) < 0, or σ(y) < λ_min(A*(y)) τ where tr M <= τ is known.

    `measured` (m,) and `trace` : A(M) and tr M of any M ⪰ 0, from which λ_min(A*(y)) <= ⟨y, A(M)⟩ / tr M: it may spare
    an eigenvalue. Where feasible M are W N Wᵀ (:class:`~psdopt.constraints.faces.face.Face`), WᵀA*(y)W replaces A*(y),
    unless the face was found by a numerical search.
    """
    problem = problem.shown
    limit = problem.trace_limit
    if problem.contradiction is not None:
        return problem.contradiction
    for y in _rounded(problem, distinct(candidates)):
        y = problem.admissible(y)
        if problem.face is not None and not problem.only_zero:
            y = y.copy()
            y[problem.face.rows] = 0.0
        size = norm(problem.norms * y)
        if not (math.isfinite(size) and size > 0.0):
            continue
        y = y / size
        support = problem.support(y)
        used = y != 0.0
        bounds = problem.allowed.bound(y)[used]
        vanishes = _vanishes(problem, y)
        if vanishes or problem.face is not None:  # small y_t have the same absolute error as large ones
            lost = NEGLIGIBLE * norm(bounds * problem.scale[used])
        else:
            lost = rounding(norm(y[used] * bounds), problem.m)
        if not support < -lost:
            continue
        if vanishes:
            return np.asarray(y)
        if measured is not None and trace > 0.0 and problem.face is None:
            most = (float(y @ measured) + rounding(float(np.abs(y) @ np.abs(measured)), problem.m)) / trace
            if most < 0.0 and (limit is None or support >= most * limit.value):
                continue
        allowed = -support / max(limit.value, LEAST) if limit is not None else 0.0
        low = _least_of_adjoint(problem, y, 0.5 * allowed)
        if low >= 0.0 or (limit is not None and support < low * limit.value - lost):
            return np.asarray(y)
    return None


def suspected_ray(problem: ConstrainedModel, y: Array, size: float, infeasibility: float) -> Array | None:
    """y / |y|, a candidate for such a proof, where y is very large beside `size` and M violates constraints; else None.

    `size` : of ∇F or of the first multipliers. `infeasibility` : the largest relative violation of M.
    """
    length = norm(problem.norms * y)
    large = length > LARGE * max(size, np.finfo(float).tiny)
    return y / length if large and infeasibility > FEASIBLE else None


def _vanishes(problem: ConstrainedModel, y: Array) -> bool:
    """Whether A*(y) = 0 up to rounding; on a face, WᵀA*(y)W."""
    forms = _forms(problem)
    if forms is None:
        return False
    return bool(np.all(np.abs(forms.on_places(y)) <= CANCELLED * EPS * (abs(forms.B).T @ np.abs(y))))


def _least_of_adjoint(problem: ConstrainedModel, y: Array, accuracy: float) -> float:
    """A lower bound on λ_min(A*(y)). On a face with basis W (n, q): of WᵀA*(y)W or of P A*(y) P."""
    S: Any
    lost = 0.0
    if problem.face is None or problem.only_zero:
        S = adjoint_operator(problem, y)
    elif problem.carried is not None:
        S = problem.carried.matrix(y)  # without entries at rounding level
    else:
        S = problem.face.restricted(adjoint_operator(problem, y))
        lost = rounding(norm(problem.norms * y), problem.n)  # the basis has this error
    blocks = diagonal_blocks(S) if isinstance(S, sp.csr_array) else ()
    return slack_eigenpair(S, accuracy, blocks=blocks).lower_bound - lost


def _rounded(problem: ConstrainedModel, candidates: list[Array]) -> list[Array]:
    """The candidates, and each without its small entries, since A*(y) often lies on the boundary of the cone."""
    sizes = [np.abs(problem.norms * y) for y in candidates]
    pairs = zip(candidates, sizes, strict=True)
    kept = [np.where(size >= MINOR * size.max(initial=0.0), y, 0.0) for y, size in pairs]
    inward = [each for y in kept for each in _inward(problem, y)] if problem.trace_limit is None else []
    return distinct([*candidates, *kept, *(_vanishing(problem, y) for y in kept), *inward])


def _inward(problem: ConstrainedModel, y: Array) -> list[Array]:
    """y + eps d for a few eps, where A*(d) is as close as possible to the identity on the rows that A*(y) touches.

    In a proof A*(y) often has rank one. Rounding then puts A*(y) outside the cone, but not A*(y + eps d).
    """
    forms, size = _forms(problem), norm(problem.norms * y)
    if forms is None or size == 0.0:
        return []
    bounded = np.isfinite(problem.lower) | np.isfinite(problem.upper)
    if problem.cones is not None:
        bounded |= problem.cones.member
    usable = np.flatnonzero((problem.norms > 0.0) & bounded)
    scale = 1.0 / problem.norms[usable]
    columns = scaled(chosen_rows(forms.B, usable), scale).T
    touched = np.zeros(forms.n, dtype=bool)
    places = forms.on_places(y) != 0.0
    touched[forms.i[places]] = touched[forms.j[places]] = True
    target = ((forms.i == forms.j) & touched[forms.i]).astype(np.float64)
    d = np.zeros_like(y)
    d[usable] = scale * least_squares(columns, target)
    return [y / size + eps * d for eps in (ROOT_EPS, MINOR)]


def _forms(problem: ConstrainedModel) -> SparseForms | None:
    """The A_t of A*(y) by their entries; on a face, the WᵀA_tW."""
    return problem.forms if problem.face is None or problem.only_zero else problem.carried


def _vanishing(
    problem: ConstrainedModel, y: Array, used: NDArray[np.intp] | None = None, near: float = MINOR
) -> Array | None:
    """The y' nearest to y with A*(y') = 0, nonzero on the constraints `used` only, as for contradictory equations.

    `used` : default the nonzero entries of y. None if |A*(y)| > `near` |y|, in units of |A_t| = 1.

    Up to 500 constraints by a dense decomposition, else by LSQR.
    """
    forms, used = _forms(problem), np.flatnonzero(y) if used is None else used
    if forms is None or len(used) == 0:
        return None
    scale = problem.scale[used]
    columns = sp.csr_array(scaled(forms.B[used], scale).T)
    x = y[used] / scale
    off = columns @ x
    if norm(off) > near * norm(x):
        return None
    if len(used) <= DENSE_LIMIT:
        dense = columns[np.flatnonzero(np.diff(columns.indptr))].toarray()
        x = x - np.linalg.lstsq(dense, off[np.flatnonzero(np.diff(columns.indptr))], rcond=None)[0]
    else:
        x = x - least_squares(columns, off)
    found = np.zeros_like(y)
    found[used] = scale * x
    return found


def distinct(arrays: list[Array | None]) -> list[Array]:
    """The candidates that are not None, without repetitions."""
    kept: list[Array] = []
    for y in arrays:
        if y is not None and not any(np.array_equal(y, other) for other in kept):
            kept.append(y)
    return kept
