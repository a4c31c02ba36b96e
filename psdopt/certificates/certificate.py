"""Optimality certificates, computed from problem and matrix alone."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from psdopt.certificates.computation import DIGITS, WORSE, Inspection
from psdopt.certificates.scales import ratio
from psdopt.checks import instance, number, number_or_none, one_of
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS

#: How far a proof is sought.
PROOFS = ("full", "cheap")


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
      (:func:`psdopt.certificates.scales.unit_at_fixed_trace`), which c (tr M − t) added to F leaves as it is. It may be
      far larger than F(M), so that `value_scale` is |F(M)| here; elsewhere it is inf;
    - on a geometry's own set without a fixed trace: that of the cone.

    `holds_within(tol)` says less: F(M) <= F(N) + tol · unit for every N ⪰ 0 with tr N <= `reach(tol)`, at least tr M,
    and no step in the planes that were tried lowers F. Without a bound on tr M*, nothing stronger can be proven.

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
        oracle, from strong convexity, from `dual_value`, or from a matrix near M where S ⪰ 0
        (:class:`psdopt.certificates.dense_proof.DenseProof`, up to order 1,500, once the residuals are small);
        relative: / unit. It holds up to the rounding of F and S as the problem computes them, so that 0 is no exact
        number.
    value_scale : |F(M)| at a fixed trace, for which a proof must give two digits; inf elsewhere.
    rounding : what F(M) and ⟨S, M⟩ may be wrong by. At a fixed trace, where a proof depends on it, it is measured from
        recomputed values of F (:func:`psdopt.certificates.scales.measured_rounding`), and where F(M) is 0 up to that,
        it is at least 64 roundings of t |S|.
    decrease : the decrease of F by the best step found along `descent`; more than tol · unit refutes optimality.
    descent : unit v of that step alpha M + beta v vᵀ, or None.
    shortfall : −λ_min(S) in units of the coordinates, in which the diagonal of S is 1, where a proof from S as a matrix
        failed; else 0. If the shortfall does not fall with the residuals, no proof will come.
    provable : whether smaller residuals may bring a bound on the whole set: one is known, or S may be formed for it.
    dual_value : a lower bound on min F that the problem proved from dual variables, if it can.
    convex : whether F is known to be convex; if not, nothing global is proved.
    eigenvector : unit vector of the smallest Ritz value.
    failure_probability : see `lower_bound`.
    products : the number of columns to which S was applied.
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

    @property
    def omega(self) -> float:
        """λ_max(−S) (Yuan et al., table 6): zero or negative at a global optimum."""
        return -self.smallest_eigenvalue

    @property
    def above_zero(self) -> bool:
        """Whether M = 0 is feasible and better, beyond rounding."""
        slack = WORSE * EPS * max(abs(self.value), abs(self.value_at_zero))
        return self.fixed_trace is None and self.value > self.value_at_zero + slack

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that no M meets the constraints; never without constraints."""
        return False

    def misses(self, tol: float) -> bool:
        """Whether M is not feasible to relative `tol`; never without constraints."""
        return False

    @property
    def unbounded(self) -> bool:
        """Whether a direction is known along which F falls without end inside the constraints."""
        return False

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
        """The relative gap where one is proven, else the largest relative residual."""
        return self.residual if self.gap_relative is None else self.gap_relative

    @property
    def proof(self) -> str:
        """Which rows of the table `relative` comes from: "gap" or "residuals"."""
        return "residuals" if self.gap_relative is None else "gap"

    def proves(self, tol: float) -> bool:
        """Whether `gap` proves M optimal, for a convex F: gap <= :meth:`allowed` at tol."""
        return self.convex and self.gap is not None and self.gap <= self.allowed(tol)

    def allowed(self, tol: float) -> float:
        """The largest gap that is a proof: max(rounding, min(tol · unit, max(tol, 1 %) · value_scale))."""
        return max(self.rounding, min(tol * self.unit, max(tol, DIGITS) * self.value_scale))

    def target(self, tol: float) -> float:
        """The relative gap that is a proof, at most `tol`: less where values of F are far smaller than the unit.

        At least eps, also where F(M) = 0 has no digits: steps do not resolve less.
        """
        return tol if not self.unit > 0.0 else min(tol, max(self.allowed(tol) / self.unit, EPS))

    def reach(self, tol: float) -> float:
        """R with F(M) <= F(N) + tol · unit proven for every N ⪰ 0 of trace at most R; inf where the gap is proven."""
        if self.proves(tol):
            return math.inf
        room = tol * self.unit - self.complementarity
        if not (self.convex and room >= 0.0 and self.fixed_trace is None):
            return 0.0
        return room / self.dual_infeasibility if self.dual_infeasibility > 0.0 else math.inf

    def holds_within(self, tol: float) -> bool:
        """Whether M is best to `tol` up to the trace `reach(tol)` >= tr M, and no step that was tried is better."""
        return self.convex and self.trace > 0.0 and self.residual <= tol and self.reach(tol) >= self.trace

    def rows(self) -> list[tuple[str, float, float | None]]:
        """(residual, absolute, relative) for a table; the rows that decide are marked."""
        by_gap = self.proof == "gap"
        mark = "" if by_gap else " (decides)"
        rows: list[tuple[str, float, float | None]] = [
            ("stationarity |S Y|" + mark, self.stationarity, self.stationarity_relative),
            (
                "dual infeasibility max(0, -lambda_min(S))" + mark,
                self.dual_infeasibility,
                self.dual_infeasibility_relative,
            ),
            ("complementarity |<S, M>|" + mark, self.complementarity, self.complementarity_relative),
        ]
        if self.gap is not None:
            rows.append(("bound on F(M) - min F (decides)", self.gap, self.gap_relative))
        if self.decrease > 0.0:
            rows.append(("decrease by the best step found", self.decrease, ratio(self.decrease, self.unit)))
        if self.above_zero:
            rows.append(("F(M) - F(0): M = 0 is better", self.value - self.value_at_zero, math.inf))
        return rows

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for files."""
        plain = asdict(self)
        plain.pop("eigenvector")
        plain.pop("descent")
        return {**plain, "omega": self.omega, "relative": self.relative, "proof": self.proof}


def certify(
    problem: Problem,
    matrix: LowRankPSD | Evaluation | Array,
    *,
    tol: float = 1e-6,
    trace: float | None = None,
    start: Array | None = None,
    seed: int = 0,
    dual: Any = None,
    geometry: Geometry | None = None,
    tried: float = math.inf,
    proof: str = "full",
) -> Certificate:
    """Certificate of M for `problem`, computed from scratch: images are recomputed, and no method is involved.

    `tol` : the relative accuracy to which the gap must be bounded. `trace` : the fixed trace of the feasible set, if
    there is one. `start` : a guess of the eigenvector. `seed` : the result is deterministic for a seed. `dual` : for
    nonsmooth F, the weights from which :meth:`~psdopt.contracts.roles.Duality.subgradient` builds S; that method checks
    the weights. `geometry` : if its linear oracle is its own, the oracle's lower bound on ⟨S, N⟩ over the set is used
    as well. `tried` : a proof at a matrix near M is sought only if the `shortfall` is below this value, at which the
    search failed earlier in the run (:class:`psdopt.certificates.dense_proof.DenseProof`).
    `proof` : "full", or "cheap" for what the eigenpair, the multipliers and the problem's own bound prove: no matrix
    near M is sought whose gradient is semidefinite.
    Cost: one evaluation and one extreme eigenpair of S; next to an optimum some more, see
    :mod:`psdopt.certificates.bounds`.
    """
    problem, tol = instance(problem, "problem", Problem), number(tol, "tol", above=0.0)
    trace = number_or_none(trace, "trace", above=0.0)
    if geometry is not None:
        instance(geometry, "geometry", Geometry)
    evaluation = _evaluation(problem, matrix)
    one_of(proof, "proof", PROOFS)
    asked = {} if proof == "full" else {"proof": proof}
    own: Certificate | None = problem.duality.own_certificate(
        evaluation, tol=tol, start=start, seed=seed, dual=dual, **asked
    )
    if own is not None:
        return own
    inspection = Inspection(problem, evaluation, tol, trace, dual, full=proof == "full")
    inspection.find_eigenpair(start, seed)
    inspection.measure_residuals()
    inspection.collect_bounds(geometry)
    inspection.resolve()
    if inspection.worth_a_proof:
        inspection.prove_or_refute(tried)
    elif inspection.worth_a_bound:
        inspection.prove_by_curvature()
    return Certificate(**inspection.found())


def _evaluation(problem: Problem, matrix: LowRankPSD | Evaluation | Array) -> Evaluation:
    if isinstance(matrix, Evaluation):
        return matrix.refresh()
    return problem.at(matrix.factor if isinstance(matrix, LowRankPSD) else matrix)
