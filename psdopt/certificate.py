"""Optimality certificates, computed from problem and matrix alone."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np

from psdopt.capability import Ability
from psdopt.checks import instance, number, number_or_none
from psdopt.dense_proof import ROUNDINGS, DenseProof, dense_gradient, may_be_formed
from psdopt.devices import placed, released
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.tolerances import EPS
from psdopt.matrix import LowRankPSD
from psdopt.problem import Evaluation, Problem
from psdopt.proofs import checked_eigenpair, gaps_at_hand, improvement, pair_at_fixed_trace
from psdopt.roles import Duality
from psdopt.signatures import accepts
from psdopt.units import own_unit, reference_value, unit_on_the_cone, value_scale

#: Once the lower bound on λ_min(S) is within this share of what `tol` allows below zero, it is not sharpened further.
ENOUGH = 0.95
#: At a fixed trace the gap must not exceed this share of |F(M)| either: references may be out of all proportion.
DIGITS = 1e-2
#: tr M farther from the fixed trace than this share is no rounding: M is not in the set, and F(M) no bound on anything.
OFF_TRACE = EPS**0.75
#: F(M) above F(0) by more roundings than these is no tie.
WORSE = 64.0


@dataclass(frozen=True)
class Certificate:
    """How far F(M) is from min F, for convex F, over M ⪰ 0, over M ⪰ 0 with tr M = t, or over a geometry's own set.

    **The promise.** `proves(tol)` says F(M) − min F <= tol · `unit`, up to rounding, by a bound `gap` that holds on
    the whole set, however large the trace of a minimiser is. The unit is

    - on the cone: min(F(0) − F(M), 4 (F(M/4) − F(M))), so that no F(0) out of proportion enlarges it; at M = 0, where
      it is 0, only a gap of 0 is a proof;
    - at a fixed trace: the least rise of F from M to a matrix of the set far from M
      (:func:`psdopt.units.unit_at_fixed_trace`), which c (tr M − t) added to F leaves as it is;
      The gap is also at most 1 % of |F(M)|, or of eps^¾ · unit where |F(M)| is less, unless tol or a unit of the
      problem's own says otherwise;
    - on a geometry's own set without a fixed trace: that of the cone.

    `holds_within(tol)` says less: F(M) <= F(N) + tol · unit for every N ⪰ 0 with tr N <= `reach(tol)`, at least tr M,
    and no step in the planes that were tried is better. It is all that can be said where no bound on tr M* is known.

    Attributes
    ----------
    value, value_at_zero, trace : F(M), F(0) (inf where F is undefined there), tr M.
    unit : see above.
    stationarity : |S Y|_F; relative: |S Y| |Y| / unit.
    smallest_eigenvalue : Ritz value of λ_min(S), an upper bound of it.
    lower_bound : below λ_min(S), except with `failure_probability` over the random start of the eigensolver (0 for
        n <= 500, where a factorisation proves it or the whole spectrum is computed).
    dual_infeasibility : max(0, −lower_bound), a bound, not an estimate; relative: times tr M / unit.
    complementarity : |⟨S, M⟩|; relative: / unit.
    gap : the least proven bound on F(M) − min F, or None: from λ_min(S) at a fixed trace, from the geometry's linear
        oracle, from strong convexity, from `dual_value`, or from a matrix near M where S ⪰ 0
        (:class:`psdopt.dense_proof.DenseProof`, up to order 1,500, once the residuals are small); relative: / unit.
    value_scale : what 1 % of bounds the gap at a fixed trace; inf elsewhere.
    decrease : what the best step found along `descent` gains; a claim that it exceeds is refuted.
    descent : unit v of that step alpha M + beta v vᵀ, or None.
    shortfall : −λ_min(S) in units of the coordinates, in which the diagonal of S is 1, where a proof from S as a matrix
        failed; else 0. Where it does not fall with the residuals no proof will come.
    provable : whether smaller residuals may bring a bound on the whole set: one is known, or S may be formed for it.
    dual_value : a lower bound on min F that the problem proved from dual variables, if it can.
    convex : whether F is known to be convex, without which nothing global is proved.
    eigenvector : unit vector of the smallest Ritz value.
    failure_probability : see `lower_bound`.
    products : columns that S was applied to.
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
            self.stationarity_relative, self.dual_infeasibility_relative, self.complementarity_relative,
            _ratio(self.decrease, self.unit),
        )  # fmt: skip

    @property
    def relative(self) -> float:
        """The relative gap where one is proven, else the largest relative residual."""
        return self.residual if self.gap_relative is None else self.gap_relative

    @property
    def proof(self) -> str:
        """Which row of the table `relative` is: "gap" or "residuals"."""
        return "residuals" if self.gap_relative is None else "gap"

    def proves(self, tol: float) -> bool:
        """Whether F(M) − min F <= tol · unit is proven, for a convex F, and F(M) to two digits at a fixed trace."""
        if not self.convex or self.gap is None or self.gap_relative is None:
            return False
        return self.gap_relative <= tol and self.gap <= max(tol, DIGITS) * self.value_scale

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
        """(residual, absolute, relative) for a table; the rows that prove are marked."""
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
            rows.append(("decrease by the best step found", self.decrease, _ratio(self.decrease, self.unit)))
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
) -> Certificate:
    """Certificate of M for `problem`, from scratch: images are recomputed, no method is asked.

    `tol` is the relative accuracy at which the gap must be decided; `trace` the fixed trace of the feasible set, if
    there is one; `start` a guess of the eigenvector. Deterministic for a `seed`. `dual` : for nonsmooth F, the weights
    from which :meth:`~psdopt.roles.Duality.subgradient` builds S; it checks them. `geometry` : where it has a linear
    oracle of its own, its lower bound on ⟨S, N⟩ over its set counts as well.
    Cost: one evaluation and one extreme eigenpair of S; next to an optimum some more, see :mod:`psdopt.proofs`.
    """
    problem, tol = instance(problem, "problem", Problem), number(tol, "tol", above=0.0)
    trace = number_or_none(trace, "trace", above=0.0)
    if geometry is not None:
        instance(geometry, "geometry", Geometry)
    evaluation = _evaluation(problem, matrix)
    own: Certificate | None = problem.duality.own_certificate(evaluation, tol=tol, start=start, seed=seed, dual=dual)
    if own is not None:
        return own
    found = _Inspection(problem, evaluation, tol, trace, dual)
    found.find_eigenpair(start, seed)
    found.measure_residuals()
    found.collect_bounds(geometry)
    if found.worth_a_proof:
        found.prove_or_refute()
    return found.certificate()


class _Inspection:
    """What is found out about M, step by step, in the order in which :func:`certify` calls the steps."""

    def __init__(
        self, problem: Problem, evaluation: Evaluation, tol: float, trace: float | None, dual: Any
    ) -> None:  # fmt: skip
        self.problem, self.evaluation, self.tol, self.trace, self.dual = problem, evaluation, tol, trace, dual
        self.value, self.Y = float(evaluation.value), evaluation.factor
        if math.isnan(self.value):
            raise FloatingPointError("F(M) is not a number")
        self.S, self.epsilon = problem.duality.subgradient(evaluation, dual)
        self.SY = self.S @ self.Y
        self.size, self.product = float(norm(self.Y)), float(inner(self.SY, self.Y))
        self.tr = self.size**2
        self.convex = Ability.CONVEX in problem.abilities
        self.dense: Array | None = None
        self.shift, self.bound = 0.0, cast("float | None", None)
        self.decrease, self.descent = 0.0, cast("Array | None", None)
        self.shortfall = 0.0

    def find_eigenpair(self, start: Array | None, seed: int) -> None:
        """The least eigenpair of S, as sharp as `tol` needs, and the unit of values."""
        problem, evaluation, tol = self.problem, self.evaluation, self.tol
        if self.trace is not None:
            self.pair, self.unit = pair_at_fixed_trace(
                problem, evaluation, self.S, self.product, self.trace, tol, start, seed
            )
            self.shift = self.pair.value
            return
        if problem.n <= DENSE_LIMIT and type(problem.duality).subgradient is Duality.subgradient:
            self.S = self.dense = dense_gradient(evaluation)  # for the eigenpair and for the proof
        self.unit = max(own_unit(problem, self.value, self.tr, unit_on_the_cone(problem, evaluation)), 0.0)
        per_trace = self.unit / self.tr if self.tr > 0.0 else 0.0
        self.pair = checked_eigenpair(
            problem, evaluation, self.S, tol=0.25 * tol * per_trace, threshold=-ENOUGH * tol * per_trace,
            start=start, seed=seed,
        )  # fmt: skip

    def measure_residuals(self) -> None:
        """|S Y|, max(0, −λ_min(S)) and |⟨S, M⟩|, the eigenvalue of the fixed trace taken from S, and their ratios."""
        pair, unit, tr = self.pair, self.unit, self.tr
        self.dual_infeasibility = max(0.0, self.shift - pair.lower_bound)
        self.complementarity = abs(self.product - self.shift * tr) + self.epsilon
        self.stationarity = float(norm(self.SY - self.shift * self.Y if self.trace is not None else self.SY))
        per_trace = unit / tr if tr > 0.0 else pair.norm
        noise = ROUNDINGS * math.sqrt(self.problem.n) * EPS * pair.norm
        self.ratios = {
            "stationarity_relative": _ratio(self.stationarity, per_trace * self.size),
            "dual_infeasibility_relative": _ratio(
                self.dual_infeasibility if self.dual_infeasibility > noise else 0.0, per_trace
            ),
            "complementarity_relative": _ratio(self.complementarity, unit),
        }
        sizes = (abs(self.value), abs(self.product), tr * pair.norm if self.trace is not None else 0.0)
        self.slack = WORSE * EPS * max(sizes)

    def collect_bounds(self, geometry: Geometry | None) -> None:
        """Bounds on F(M) − min F that need no further work on M."""
        trace, product = self.trace, self.product
        self.bound = self._dual_bound() if trace is None else None
        self.gaps = gaps_at_hand(self.problem, self.value, product, self.tr, self.pair, trace, self.epsilon, self.bound)
        if geometry is not None and Ability.LINEAR_ORACLE in geometry.abilities:
            atom = geometry.minimize_linear(self.S, 0.25 * self.tol * max(self.unit, np.finfo(float).tiny))
            self.gaps.append(max(product + self.epsilon - (atom.value - atom.gap_bound), 0.0))
        if trace is not None and abs(self.tr - trace) > OFF_TRACE * trace:
            self.gaps = []

    def _dual_bound(self) -> float | None:
        """The problem's own lower bound on min F; S is handed over where it was formed and the problem takes it."""
        ask = self.problem.duality.dual_bound
        formed: dict[str, Any] = {"S": self.dense} if self.dense is not None and accepts(ask, "S") else {}
        return ask(self.evaluation, self.dual, **formed)

    @property
    def proven(self) -> bool:
        """Whether the least bound on F(M) − min F is small enough, or rounding."""
        return bool(self.gaps) and min(self.gaps) <= max(self.tol * self.unit, self.slack)

    @property
    def worth_a_proof(self) -> bool:
        """Whether all residuals are small, on the cone, and nothing is proven so far."""
        small = self.tr == 0.0 or max(self.ratios.values()) <= self.tol
        return self.trace is None and self.convex and not self.proven and small

    def prove_or_refute(self) -> None:
        """A bound from S as a matrix, where that may be formed; failing that, the best step along what was found."""
        vectors = [self.pair.vector]
        if may_be_formed(self.problem):
            formed_here = self.dense is None
            self.dense = dense_gradient(self.evaluation) if self.dense is None else self.dense
            if formed_here and self.problem.n > DENSE_LIMIT:
                self._take_bound(self._dual_bound())
            if not self.proven:
                proof = DenseProof(self.evaluation, self.dense, self.pair.vector)
                gap = proof.gap(self.tol * self.unit)
                self.gaps += [] if gap is None else [gap]
                direction = None if self.proven else proof.descent()
                if direction is not None:
                    self.shortfall = proof.shortfall
                    vectors.append(direction)
        if not self.proven:
            decrease, descent = improvement(self.evaluation, vectors, WORSE * EPS * self.pair.norm)
            if decrease > self.slack:
                self.decrease, self.descent = decrease, descent

    def _take_bound(self, bound: float | None) -> None:
        if bound is not None and (self.bound is None or bound > self.bound):
            self.bound = bound
            self.gaps.append(max(self.value - bound, 0.0))

    def certificate(self) -> Certificate:
        """All that was found, in one record."""
        problem, pair, unit, gap = self.problem, self.pair, self.unit, min(self.gaps, default=None)
        exact = gap is not None and gap <= self.slack
        relative = None if gap is None else _ratio(gap, unit)
        return Certificate(
            value=self.value,
            value_at_zero=reference_value(problem, 0.0),
            trace=self.tr,
            stationarity=self.stationarity,
            smallest_eigenvalue=pair.value,
            lower_bound=pair.lower_bound,
            dual_infeasibility=self.dual_infeasibility,
            complementarity=self.complementarity,
            gap=gap,
            **self.ratios,
            gap_relative=min(relative, self.tol) if relative is not None and exact else relative,
            dual_value=self.bound,
            convex=self.convex,
            fixed_trace=self.trace,
            eigenvector=_handed_over(problem, pair.vector),
            failure_probability=pair.failure_probability,
            products=pair.products,
            unit=unit,
            decrease=self.decrease,
            descent=None if self.descent is None else _handed_over(problem, self.descent),
            shortfall=self.shortfall,
            provable=gap is not None or may_be_formed(problem),
            value_scale=value_scale(problem, self.value, self.tr, unit, self.trace, exact),
        )


def _handed_over(problem: Problem, v: Array) -> Array:
    """v (n,) as an array of the library that the problem's data are of."""
    return v if problem.device is None else cast(Array, released(placed(v, problem.device)))


def _evaluation(problem: Problem, matrix: LowRankPSD | Evaluation | Array) -> Evaluation:
    if isinstance(matrix, Evaluation):
        return matrix.refresh()
    return problem.at(matrix.factor if isinstance(matrix, LowRankPSD) else matrix)


def _ratio(amount: float, unit: float) -> float:
    if amount == 0.0:
        return 0.0
    return amount / unit if unit > 0.0 else math.inf
