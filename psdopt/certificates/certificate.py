"""Optimality certificates, computed from problem and matrix alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from psdopt.certificates.scales import ratio
from psdopt.constraints.limits import CANCELLED, FEASIBLE
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS, MINOR

#: Two digits: at a fixed trace the gap must also be at most this share of |F(M)|, because the unit may exceed |F(M)|.
DIGITS = 1e-2

#: (name, absolute, relative) of a residual.
Row = tuple[str, float, float | None]


@dataclass(frozen=True)
class ConstraintRecord:
    """What (M, y) prove about min F(M), M ⪰ 0, lower <= A(M) <= upper, in addition to :class:`Certificate`.

    S = ∇F(M) + A*(y). For every y with finite σ(y) = Σ_t max(y_t lower_t, y_t upper_t), and τ >= tr N for feasible N,

        min F >= F(M) − ⟨∇F(M), M⟩ − σ(y) + min(0, λ_min(S)) τ,

    with λ_min(S) instead of min(0, λ_min(S)) if the trace is fixed. Without τ, a curved F may have a bound from a
    matrix near M at which ∇F + A*(y) ⪰ 0 (:mod:`psdopt.certificates.constrained.cone_bound`). M is `optimal` if two
    numbers are at most tol: the primal infeasibility, and the gap F(M) − bound relative to the certificate's `unit`.
    Infeasible points cannot enlarge this unit (:class:`~psdopt.certificates.constrained.scales.GapUnits`).

    Attributes
    ----------
    primal_infeasibility : the largest |a_t − Π(a)_t| of a = A(M), each over its own scale max(|Π(a)_t|,
        Σ_ij |A_t,ij| √(M_ii M_jj)), M_ii at least √eps tr M where Π(a)_t = 0
        (:func:`~psdopt.constraints.violation.row_scales`). On a face, P M P is held to the rows as well, P the
        projector onto the range of feasible matrices.
    violations : (name, largest such ratio) for each group of constraints.
    dimacs : the DIMACS errors: "primal" |A(M) − Π|/(1 + max |b_t|), "dual" max(0, −λ_min(S))/(1 + max |C_ij|), "gap"
        |F − bound|/(1 + |F| + |bound|), "complementarity" |⟨S, M⟩| likewise (e1, e4, e5 and e6; M ⪰ 0 makes e2 zero,
        and e3 is zero because S is not a separate variable). max |C_ij| is over the entries of a linear F, else
        |∇F(M)|. Without a trace bound, "gap" uses the dual value as if S ⪰ 0, an estimate.
    multipliers : y (m,) of the best bound.
    trace_bound, trace_source : τ and its origin, "given" or "constraints"; None and "" if there is no bound.
    on_face : how many constraints define a face of the cone: ⟨A_t, M⟩ = 0 with A_t semidefinite, that is A_t M = 0, or
        equations of which a combination is such a constraint. Their multipliers may have to be infinite to attain the
        bound, so λ_min(S) is taken of S compressed to the null spaces of these A_t. If the gap is small, `multipliers`
        holds finite ones for which S itself is semidefinite to tolerance, if any are found.
    infeasibility_proof : y with A*(y) ⪰ 0 and σ(y) < 0, which proves that no M is feasible; else None. On a face A*(y)
        is compressed to the null spaces as well.
    ray : R (n, k) for which M + t R Rᵀ stays feasible and a linear F falls, ⟨C, R Rᵀ⟩ < 0, as t grows
        (:func:`~psdopt.certificates.constrained.recession.proven_ray`). If M is also feasible, to 1e-6, F is
        `unbounded`. None if F has a proven bound, or if feasibility of M is in doubt because it may hold only in the
        limit (:func:`~psdopt.certificates.constrained.recession.shown_feasible`).
    base : F(M) − ⟨∇F(M), M⟩ − σ(y), min F >= base if S ⪰ 0; without a bound on the trace F(N) >= base + λ_min(S) tr N.
        −inf where M may be feasible in the limit of a large trace only.
    """

    primal_infeasibility: float
    violations: tuple[tuple[str, float], ...]
    dimacs: dict[str, float]
    multipliers: Array
    trace_bound: float | None = None
    trace_source: str = ""
    on_face: int = 0
    infeasibility_proof: Array | None = None
    ray: Array | None = None
    base: float = -math.inf

    def rows(self, residuals: list[Row], gap: float | None, gap_relative: float | None) -> list[Row]:
        """(residual, absolute, relative) for a table: violations, `residuals` of S and M, the gap, DIMACS errors."""
        groups = self.violations if len(self.violations) > 1 else ()
        rows: list[Row] = [
            ("primal infeasibility", self.dimacs.get("primal", math.nan), self.primal_infeasibility),
            *((f"  largest in {name}", violation, violation) for name, violation in groups),
            *residuals,
        ]
        if gap is not None:
            rows.append(("duality gap", gap, gap_relative))
        if self.on_face:
            rows.append(("constraints that define a face, multipliers unbounded", float(self.on_face), None))
        return rows + [(f"DIMACS {name}", error, error) for name, error in self.dimacs.items()]

    def as_dict(self) -> dict[str, Any]:
        """Numbers and lists, for files."""
        return {name: each.tolist() if isinstance(each, np.ndarray) else each for name, each in asdict(self).items()}


@dataclass(frozen=True)
class Certificate:
    """How far F(M) is from min F, for convex F, over M ⪰ 0, over M ⪰ 0 with tr M = t, or over a geometry's own set.

    **The promise.** `proves(tol)` says, by a bound `gap` >= F(M) − min F that holds on the whole set, however large the
    trace of a minimiser is,

        gap <= max(rounding, min(tol · unit, max(tol, 1 %) · value_scale)).

    The unit is

    - on the cone: min(F(0) − F(M), 4 (F(M/4) − F(M))), so that no F(0) out of proportion enlarges it; at M = 0, where
      it is 0, only a gap of 0 is a proof;
    - at a fixed trace: the least rise of F from M to a matrix of the set far from M
      (:func:`psdopt.certificates.scales.unit_at_fixed_trace`), which does not change if c (tr M − t) is added to F.
      This unit may be far larger than F(M), so `value_scale` is |F(M)| here and inf elsewhere;
    - on a geometry's own set without a fixed trace: the unit on the cone;
    - under linear constraints: :class:`psdopt.certificates.constrained.scales.GapUnits`.

    `holds_within(tol)` says less: F(M) <= F(N) + tol · unit for every N ⪰ 0 with tr N <= `reach(tol)`, at least tr M,
    and no step in the planes that were tried lowers F; under constraints for every N that meets them, with a reach of
    at least 1,000 tr M. Without a bound on tr M*, nothing stronger can be proven.

    Attributes
    ----------
    value, value_at_zero, trace : F(M), F(0) (inf where F is undefined there), tr M.
    unit : see above.
    stationarity : |S Y|_F; relative: |S Y| |Y| / unit.
    smallest_eigenvalue : Ritz value of λ_min(S), an upper bound of it.
    lower_bound : below λ_min(S), except with `failure_probability` over the random start of the eigensolver (0 where a
        factorisation proves it or the whole spectrum is computed, as always for n <= 500).
    dual_infeasibility : max(0, −lower_bound), a bound, not an estimate; relative: times tr M / unit.
    complementarity : |⟨S, M⟩|; relative: / unit.
    gap : the least proven bound on F(M) − min F, or None: from λ_min(S) at a fixed trace, from the geometry's linear
        oracle, from the curvature of F (:mod:`psdopt.certificates.curved_bound`), from `dual_value`, or from a matrix
        near M where S ⪰ 0 (:class:`psdopt.certificates.dense_proof.DenseProof`, up to order 1,500); relative: / unit.
        The bound is sought at any M, optimal or not. It holds up to the rounding of F and S as the problem computes
        them, so a gap of 0 is not exact.
    value_scale : |F(M)| at a fixed trace, for which a proof must give two digits; inf elsewhere.
    rounding : the error that F(M) and ⟨S, M⟩ may have. At a fixed trace, if a proof depends on it, this error is
        measured from recomputed values of F (:func:`psdopt.certificates.scales.measured_rounding`), and is at least 64
        roundings of t |S| if F(M) is 0 up to rounding.
    decrease : the decrease of F by the best step found along `descent`; more than tol · unit refutes optimality.
    descent : unit v of that step alpha M + beta v vᵀ, or None.
    shortfall : −λ_min of S scaled to a unit diagonal, if a proof from S as a matrix failed; else 0. If the shortfall
        does not fall with the residuals, no proof will come.
    provable : whether smaller residuals may give a bound on the whole set: a bound is known already, or S may be
        formed.
    dual_value : a lower bound on min F that the problem proved from dual variables, if it offers one.
    convex : whether F is known to be convex, or said to be and not refuted; otherwise nothing global is proved.
    eigenvector : unit vector of the smallest Ritz value.
    failure_probability : see `lower_bound`.
    products : the number of columns to which S was applied.
    constraints : the record of linear constraints (:class:`ConstraintRecord`), or None. With constraints, `gap` is a
        bound over feasible matrices and S = ∇F(M) + A*(y); residuals never replace a gap that is not proven.
    negative_curvature : a second difference of F along a segment of the cone, per squared length, that shows that F is
        not convex although the caller says so (:mod:`psdopt.certificates.convexity`); 0 if none was found.
    """

    value: float
    value_at_zero: float
    trace: float
    stationarity: float
    smallest_eigenvalue: float
    lower_bound: float
    dual_infeasibility: float
    complementarity: float
    gap: float | None
    stationarity_relative: float
    dual_infeasibility_relative: float
    complementarity_relative: float
    gap_relative: float | None
    convex: bool
    fixed_trace: float | None
    eigenvector: Array
    failure_probability: float
    products: int
    dual_value: float | None = None
    unit: float = math.nan
    decrease: float = 0.0
    descent: Array | None = None
    value_scale: float = math.inf
    shortfall: float = 0.0
    provable: bool = True
    rounding: float = 0.0
    constraints: ConstraintRecord | None = None
    negative_curvature: float = 0.0
    _slack: Callable[[], Any] | None = field(default=None, repr=False, compare=False)  # left out of copies and files
    _found: Any = field(default=None, repr=False, compare=False)  # what `begun` of certify() goes on from; likewise

    def slack(self) -> Any:
        """S = ∇F(M) + A*(y) (n, n), symmetric, for the `multipliers` y; ∇F(M) without constraints.

        Sparse where F is linear and the A_t have entries, else dense; beyond order 3000, where entries are not at hand,
        an operator on blocks. S is computed anew at every call, from the problem and the factor of M: one evaluation,
        and the entries of ∇F and the A_t. On a face of the cone S is that of the whole cone.

        Raises
        ------
        InvalidInputError for a certificate from a file, or a copy or pickle of one, which keep numbers and no problem.
        """
        if self._slack is None:
            dual = "" if self.constraints is None else ", dual=certificate.constraints.multipliers"
            raise InvalidInputError(
                f"slack() needs the problem, which copies and files leave out; ask certify(problem, M{dual}) for it"
            )
        return self._slack()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_slack": None, "_found": None}

    @property
    def omega(self) -> float:
        """λ_max(−S) (Yuan et al., table 6): zero or negative at a global optimum."""
        return -self.smallest_eigenvalue

    @property
    def above_zero(self) -> bool:
        """Whether M = 0 is known to be feasible and better, beyond rounding."""
        return self.fixed_trace is None and self.constraints is None and self.exceeds_zero

    @property
    def exceeds_zero(self) -> bool:
        """Whether F(M) is above F(0), beyond rounding."""
        slack = CANCELLED * EPS * max(abs(self.value), abs(self.value_at_zero))
        return self.value > self.value_at_zero + slack

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that no M meets the constraints; never without constraints."""
        return self.constraints is not None and self.constraints.infeasibility_proof is not None

    def misses(self, tol: float) -> bool:
        """Whether M is not feasible to relative `tol`; never without constraints."""
        return self.constraints is not None and self.constraints.primal_infeasibility > tol

    @property
    def unbounded(self) -> bool:
        """Whether a direction is known along which F falls without end inside the constraints."""
        return self.constraints is not None and self.constraints.ray is not None and not self.misses(FEASIBLE)

    @property
    def residual(self) -> float:
        """The largest relative residual of the conditions S ⪰ 0, S M = 0; inf where M = 0 is better."""
        if self.above_zero:
            return math.inf
        return max(
            self.stationarity_relative,
            self.dual_infeasibility_relative,
            self.complementarity_relative,
            ratio(self.decrease, self.unit),
        )

    @property
    def relative(self) -> float:
        """The relative gap where one is proven, else the largest relative residual.

        Under constraints: the relative gap, or the largest DIMACS error if no gap is proven; at least the primal
        infeasibility.
        """
        if self.constraints is None:
            return self.residual if self.gap_relative is None else self.gap_relative
        errors = self.constraints.dimacs.values() if self.gap_relative is None else [self.gap_relative]
        return max(self.constraints.primal_infeasibility, *errors)

    @property
    def proof(self) -> str:
        """Which rows of the table `relative` comes from: "gap" or "residuals"."""
        return "residuals" if self.gap_relative is None else "gap"

    def proves(self, tol: float) -> bool:
        """Whether `gap` proves M optimal, for a convex F: gap <= :meth:`allowed` at tol, and M is feasible to tol."""
        return self.convex and self.gap is not None and self.gap <= self.allowed(tol) and not self.misses(tol)

    def allowed(self, tol: float) -> float:
        """The largest gap that is a proof: max(rounding, min(tol · unit, max(tol, 1 %) · value_scale))."""
        return max(self.rounding, min(tol * self.unit, max(tol, DIGITS) * self.value_scale))

    def target(self, tol: float) -> float:
        """The relative gap that counts as a proof: `tol`, or less if values of F are far smaller than the unit.

        Never below eps, even if F(M) = 0 has no digits, because steps cannot resolve less.
        """
        return tol if not self.unit > 0.0 else min(tol, max(self.allowed(tol) / self.unit, EPS))

    def reach(self, tol: float) -> float:
        """The largest R for which F(M) <= F(N) + tol · unit is proven if N ⪰ 0, tr N <= R; inf if the gap is proven.

        Under constraints: if N meets them.
        """
        if self.proves(tol):
            return math.inf
        over = self.complementarity if self.constraints is None else abs(self.value - self.constraints.base)
        room = tol * self.unit - over
        if not (self.convex and room >= 0.0 and self.fixed_trace is None):
            return 0.0
        return room / self.dual_infeasibility if self.dual_infeasibility > 0.0 else math.inf

    def holds_within(self, tol: float) -> bool:
        """Whether M is best to `tol` up to the trace `reach(tol)` >= tr M, and no step that was tried is better.

        Under constraints no step is tried: M meets them to `tol`, and tr M is minor beside the reach.
        """
        if not (self.convex and self.trace > 0.0):
            return False
        if self.constraints is not None:
            return not self.misses(tol) and MINOR * self.reach(tol) >= self.trace
        return self.residual <= tol and self.reach(tol) >= self.trace

    def rows(self) -> list[Row]:
        """(residual, absolute, relative) for a table; the rows that decide are marked where F has no constraints."""
        if self.constraints is not None:
            return self.constraints.rows(self._residuals(""), self.gap, self.gap_relative)
        mark = "" if self.proof == "gap" else " (decides)"
        rows: list[Row] = [
            ("stationarity |S Y|" + mark, self.stationarity, self.stationarity_relative),
            *self._residuals(mark),
        ]
        if self.gap is not None:
            rows.append(("bound on F(M) - min F (decides)", self.gap, self.gap_relative))
        if self.decrease > 0.0:
            rows.append(("decrease by the best step found", self.decrease, ratio(self.decrease, self.unit)))
        if self.negative_curvature < 0.0:
            rows.append(("F is not convex: curvature along a segment", self.negative_curvature, None))
        if self.above_zero:
            rows.append(("F(M) - F(0): M = 0 is better", self.value - self.value_at_zero, math.inf))
        return rows

    def _residuals(self, mark: str) -> list[Row]:
        return [
            (
                "dual infeasibility max(0, -lambda_min(S))" + mark,
                self.dual_infeasibility,
                self.dual_infeasibility_relative,
            ),
            ("complementarity |<S, M>|" + mark, self.complementarity, self.complementarity_relative),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers for files, those of the constraints included."""
        own = {} if self.constraints is None else self.constraints.as_dict()
        plain = {**asdict(replace(self, constraints=None, _slack=None, _found=None)), **own}
        for name in ("eigenvector", "descent", "constraints", "_slack", "_found"):
            plain.pop(name)
        return {**plain, "omega": self.omega, "relative": self.relative, "proof": self.proof}
