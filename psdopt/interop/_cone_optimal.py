"""What a point and multipliers prove of a cone program by its own numbers: value, bound and violations."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from psdopt.constraints.limits import FEASIBLE
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_proofs import COMPUTED, dual_feasible, entry_sizes
from psdopt.interop._cone_repair import Repair
from psdopt.linalg.arrays import Array
from psdopt.linalg.extreme import smallest_eigenpair
from psdopt.linalg.tolerances import MINOR, rounding


@dataclass(frozen=True)
class ConeCertificate:
    """A point x of a cone program and multipliers y in the dual cones with c + P x + Aᵀy = 0.

    Attributes
    ----------
    value : ½ xᵀPx + cᵀx − Σ ν log det S, S the blocks with log dets, of order k.
    bound : −bᵀy − ½ xᵀPx + Σ ν (k (1 − log ν) + log det Y), at most the optimal value, less the rounding of its terms.
    lowered : yᵀ times the violations by s = b − A x, by which they may make `value` less than the optimal one.
    unit : of the gap: the larger of |value| and |bound|, or of their distances from the objective at the program's
        `origin` x_0, if that is less; with log dets the second of the two is |cᵀ(x − x_0)| + Σ ν k. So a constant in
        the objective that a row or the units of a block hide does not count.
    infeasibility : the largest violation of a row by s, relative to the sizes of its terms; of a block
        −λ_min, with rows and columns scaled by the sizes of the diagonal.
    dimacs : the DIMACS errors "primal" and "gap"; those of the dual are rounding.
    """

    value: float
    bound: float
    lowered: float
    unit: float
    infeasibility: float
    dimacs: dict[str, float]

    @property
    def gap_relative(self) -> float:
        """(|value − bound| + lowered) / unit."""
        gap = abs(self.value - self.bound) + self.lowered
        return gap / self.unit if self.unit > 0.0 else float(np.inf if gap > 0.0 else 0.0)

    @property
    def residual(self) -> float:
        """The largest DIMACS error."""
        return max(self.dimacs.values())

    def proves(self, tol: float) -> bool:
        """Whether x is feasible to `tol` and its value within `tol` of the optimal one, both relative."""
        return self.gap_relative <= tol and self.infeasibility <= tol


def cone_certificate(program: ConeProgram, x: Array, y: Array) -> ConeCertificate | None:
    """The certificate of x (N,) and y (R,); None unless y meets the dual's constraints up to the rounding of its terms.

    For every feasible x', with s' = b − A x' in the cones, ½ x'ᵀPx' + cᵀx' >= −½ xᵀPx + (c + P x)ᵀx'
    = −½ xᵀPx − bᵀy + yᵀs', and ⟨Y, S⟩ − ν log det S is least at S = ν Y⁻¹.
    Cost: the eigenvalues of the blocks of s and y, and sparse least squares.
    """
    p, gradient = program, program.gradient(x)
    if not (np.all(np.isfinite(x)) and dual_feasible(p, y, gradient)):
        return None
    curved, weights = float(x @ (gradient - p.c)) / 2.0, sum(nu * p.psd[k] for k, nu in p.log_dets)
    value, (least, lost) = p.value(x), _least_of_log_dets(p, y)
    if not (math.isfinite(value) and math.isfinite(least)):
        return None
    s, sizes = p.b - p.A @ x, np.abs(p.b) + abs(p.A) @ np.abs(x)
    terms = np.abs(p.c) @ np.abs(x) + abs(curved) + entry_sizes(p, y) @ sizes + lost
    bound = least - float(p.b @ y) - curved - rounding(float(terms), len(y), COMPUTED)
    if p.log_dets:
        beyond = abs(float(p.c @ (x - p.origin))) + weights
    else:
        beyond = max(abs(each - p.value(p.origin)) for each in (value, bound))
    unit = min(max(abs(value), abs(bound)), beyond)
    worst, off, lowered = _violation(p, s, x, y, sizes)
    dimacs = {
        "primal": off / (1.0 + float(np.max(np.abs(p.b), initial=0.0))),
        "gap": abs(value - bound) / (1.0 + abs(value) + abs(bound)),
    }
    return ConeCertificate(value, bound, lowered, unit, worst, dimacs)


def proven_near(
    program: ConeProgram, repair: Repair, x: Array, y: Array, s: Array, tol: float
) -> tuple[Array, Array, ConeCertificate] | None:
    """(x', y', certificate) near x (N,), y (R,) with slacks s (R,) that proves `tol`; None where there is none.

    Its multipliers are moved onto the dual's equations; its point too, where it violates a row too much.
    """
    near = repair.multipliers(program.gradient(x), y)
    certificate = cone_certificate(program, x, near)
    if certificate is not None and certificate.infeasibility > tol and certificate.gap_relative <= tol:
        x = repair.point(x, s)
        if program.P is not None:
            near = repair.multipliers(program.gradient(x), y)
        certificate = cone_certificate(program, x, near)
    return None if certificate is None or not certificate.proves(tol) else (x, near, certificate)


def slack_violation(program: ConeProgram, x: Array) -> float:
    """How far s = b − A x is from the cones, relative to the sizes |b| + |A| |x| of its terms.

    Of a row −s / size; of a block −λ_min with rows and columns divided by the roots of the sizes on its diagonal, so
    that [[0, 1], [1, 1e8]] is not semidefinite, although its least eigenvalue is −1e-8. Cost: one eigenvalue of the
    blocks side by side, as a sparse matrix.
    """
    p = program
    s, sizes = p.b - p.A @ x, np.abs(p.b) + abs(p.A) @ np.abs(x)
    worst = _ratio(np.maximum(-s[p.zero : p.first_psd], 0.0), sizes[p.zero : p.first_psd])
    if not p.psd:
        return worst
    i, j = p.places()
    entries, sizes = s[p.first_psd :], sizes[p.first_psd :]
    used = entries != 0.0
    d = np.empty(sum(p.psd))
    d[i[i == j]] = np.sqrt(sizes[i == j])
    i, j, entries = i[used], j[used], entries[used]
    if np.any(d[i] == 0.0) or np.any(d[j] == 0.0):
        return math.inf
    lower = sp.coo_array((entries / (d[i] * d[j]), (i, j)), shape=(len(d), len(d))).tocsr()
    S = sp.csr_array(lower + sp.tril(lower, -1).T)
    return max(worst, -smallest_eigenpair(S, tol=MINOR * FEASIBLE, scale="norm").lower_bound)


def _least_of_log_dets(program: ConeProgram, y: Array) -> tuple[float, float]:
    """Σ ν (k (1 − log ν) + log det Y) over the blocks with log dets, and the sizes of its terms.

    A log λ_i counts as λ_max/λ_i too, the change of it by one of Y that is relatively as large as 1. −inf where a Y is
    not definite.
    """
    total = terms = 0.0
    for k, nu in program.log_dets:
        values = np.linalg.eigvalsh(program.matrix(k, y / program.twice))
        if not values[0] > rounding(values[-1], len(values)):
            return -math.inf, 0.0
        logs = np.log(values)
        total += nu * (len(values) * (1.0 - math.log(nu)) + float(np.sum(logs)))
        terms += nu * float(np.sum(np.abs(logs) + values[-1] / values))
    return total, terms


def _violation(program: ConeProgram, s: Array, x: Array, y: Array, sizes: Array) -> tuple[float, float, float]:
    """The largest relative violation of a row or a block by s (R,), the norm of all violations, and yᵀ times them.

    An unknown in blocks counts at least as the largest entry that their diagonals allow there: X_ij = 0 is not violated
    by all of X_ij.
    """
    p = program
    off = np.concatenate([np.abs(s[: p.zero]), np.maximum(-s[p.zero : p.first_psd], 0.0)])
    scales = np.abs(p.b[: p.first_psd]) + abs(p.A[: p.first_psd]) @ np.maximum(np.abs(x), _allowed(p, s))
    worst = [_ratio(off, scales)]
    total, lowered = float(off @ off), float(off @ np.abs(y[: p.first_psd]))
    for stack in p.stacks:
        V, d = stack.matrices(s), np.sqrt(sizes[stack.rows[:, stack.i == stack.j]])
        values, vectors = np.linalg.eigh(V)
        below = np.minimum(values, 0.0)
        total += float(np.sum(below**2))
        outside = (vectors * below[:, None, :]) @ vectors.mT
        lowered -= float(np.sum(outside[:, stack.i, stack.j] * y[stack.rows]))
        if np.any(values[:, 0] < 0.0):
            with np.errstate(divide="ignore", invalid="ignore"):
                scaled = np.where(V == 0.0, 0.0, V / (d[:, :, None] * d[:, None, :]))
            known = bool(np.all(np.isfinite(scaled)))
            worst.append(-float(np.min(np.linalg.eigvalsh(scaled))) if known else math.inf)
    return max(worst), math.sqrt(total), max(lowered, 0.0)


def _allowed(program: ConeProgram, s: Array) -> Array:
    """The least √(S_ii S_jj) / |a| over the entries of blocks S that contain an unknown with the factor a, (N,)."""
    p = program
    i, j = p.places()
    inside = sp.csc_array(p.A[p.first_psd :])
    diagonal = np.zeros(sum(p.psd))
    diagonal[i[i == j]] = np.maximum(s[p.first_psd :][i == j], 0.0)
    largest = np.sqrt(diagonal[i] * diagonal[j])[inside.indices] / np.abs(inside.data)
    least = np.full(len(p.c), np.inf)
    np.minimum.at(least, np.repeat(np.arange(len(p.c)), np.diff(inside.indptr)), largest)
    return np.where(np.isfinite(least), least, 0.0)


def _ratio(off: Array, scales: Array) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(np.where(off > 0.0, off / scales, 0.0), initial=0.0))
