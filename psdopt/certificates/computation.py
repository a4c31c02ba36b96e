"""A certificate step by step: eigenpair, residuals, bounds and proof."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from psdopt.certificates.bounds import (
    CHECKED_COLUMNS,
    checked_eigenpair,
    gaps_at_hand,
    improvement,
    pair_at_fixed_trace,
)
from psdopt.certificates.certificate import DIGITS
from psdopt.certificates.curved_bound import curved_gap
from psdopt.certificates.dense_proof import DenseProof, may_be_formed
from psdopt.certificates.scales import (
    measured_rounding,
    own_unit,
    ratio,
    reference_value,
    unit_on_the_cone,
    value_scale,
)
from psdopt.constraints.limits import CANCELLED
from psdopt.contracts.abilities import Ability
from psdopt.contracts.curvature import Curvature
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.gradient import dense_gradient, is_remote
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.contracts.roles import Duality
from psdopt.contracts.signatures import accepts
from psdopt.devices import on_host, placed, released
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.extreme import DENSE_LIMIT, smallest_eigenpair
from psdopt.linalg.limits import SMALL_ORDER
from psdopt.linalg.tolerances import EPS, ROUNDINGS, SLIGHT

#: If tr M differs from the fixed trace by more than this share, M is not in the set, and F(M) − min F is not bounded.
OFF_TRACE = EPS**0.75


class Computation:
    """What is known about M on the cone so far; :func:`certify` calls the methods in the order of their definition.

    `proof` : one of EFFORTS.
    """

    def __init__(
        self,
        problem: Problem,
        evaluation: Evaluation,
        tol: float,
        trace: float | None,
        dual: Any,
        proof: str = "full",
    ) -> None:
        self.full, self.proof = proof not in ("cheap", "coarse"), proof
        self.problem, self.evaluation, self.tol, self.trace, self.dual = problem, evaluation, tol, trace, dual
        self.plain = type(problem.duality).subgradient is Duality.subgradient
        formed = self.plain and (problem.n <= DENSE_LIMIT or is_remote(evaluation.gradient))
        # first: in one round, in which F and S Y come along; and S Y then costs no application of a map
        self.dense = dense_gradient(evaluation) if formed else None
        self.value, self.Y = float(evaluation.value), evaluation.factor
        if math.isnan(self.value):
            raise FloatingPointError("F(M) is not a number")
        self.S, self.epsilon = problem.duality.subgradient(evaluation, dual)
        self.SY = (self.S if self.dense is None or not isinstance(self.Y, np.ndarray) else self.dense) @ self.Y
        self.S = self.S if self.dense is None else self.dense
        self.size, self.product = float(norm(self.Y)), float(inner(self.SY, self.Y))
        self.tr = self.size**2
        self.convex = Ability.CONVEX in problem.abilities
        self.shift, self.bound = 0.0, cast("float | None", None)
        self.decrease, self.descent = 0.0, cast("Array | None", None)
        self.shortfall = 0.0
        self.gaps: list[float] = []
        self.used: list[Curvature] = []
        self.searched = False

    def find_eigenpair(self, start: Array | None, seed: int) -> None:
        """The least eigenpair of S, to the accuracy that `tol` requires, and the unit of values."""
        problem, evaluation, tol = self.problem, self.evaluation, self.tol
        if self.trace is not None:
            self.pair, self.unit = pair_at_fixed_trace(
                problem, evaluation, self.S, self.product, self.trace, tol, start, seed
            )
            self.shift = self.pair.value
            return
        unit = unit_on_the_cone(problem, evaluation, self.product)
        self.unit = max(own_unit(problem, self.value, self.tr, unit), 0.0)
        per_trace = self.unit / self.tr if self.tr > 0.0 else 0.0
        self.bound = self._dual_bound()
        if self.dual is not None and self.bound is not None and self.value - self.bound <= tol * self.unit:
            self.pair = smallest_eigenpair(self.S, max_products=CHECKED_COLUMNS, seed=seed)  # which decides nothing
            return
        self.pair = checked_eigenpair(
            problem,
            evaluation,
            self.S,
            tol=0.25 * tol * per_trace,
            threshold=-(1.0 - SLIGHT) * tol * per_trace,
            start=start,
            seed=seed,
        )

    def measure_residuals(self) -> None:
        """|S Y|, max(0, −λ_min(S)) and |⟨S, M⟩|, absolute and relative; at a fixed trace, of S − λ_min(S) I."""
        pair, unit, tr = self.pair, self.unit, self.tr
        self.dual_infeasibility = max(0.0, self.shift - pair.lower_bound)
        self.complementarity = abs(self.product - self.shift * tr) + self.epsilon
        self.stationarity = float(norm(self.SY - self.shift * self.Y if self.trace is not None else self.SY))
        per_trace = unit / tr if tr > 0.0 else pair.norm
        noise = ROUNDINGS * math.sqrt(self.problem.n) * EPS * pair.norm
        self.ratios = {
            "stationarity_relative": ratio(self.stationarity, per_trace * self.size),
            "dual_infeasibility_relative": ratio(
                self.dual_infeasibility if self.dual_infeasibility > noise else 0.0, per_trace
            ),
            "complementarity_relative": ratio(self.complementarity, unit),
        }
        self.rounding = CANCELLED * EPS * max(abs(self.value), abs(self.product))
        self.scale = value_scale(self.value, self.trace)

    def collect_bounds(self, geometry: Geometry | None) -> None:
        """Bounds on F(M) − min F that follow without a dense proof."""
        trace, product = self.trace, self.product
        known = gaps_at_hand(self.problem, self.value, product, self.tr, self.pair, trace, self.epsilon, self.bound)
        self.gaps += known
        if geometry is not None and Ability.LINEAR_ORACLE in geometry.abilities:
            atom = geometry.minimize_linear(self.S, 0.25 * self.tol * max(self.unit, np.finfo(float).tiny))
            self.gaps.append(max(product + self.epsilon - (atom.value - atom.gap_bound), 0.0))
        best = min(self.gaps, default=math.inf)
        # within a run, dual variables prove what they can, and spectra of large orders take as long as its steps
        whole = self.proof == "full" or (self.problem.n <= DENSE_LIMIT and self.dual is None)
        if best > self.rounding and (whole or not self.proven):
            self.bound_by_curvature(thorough=False)
        if self.outside:
            self.gaps = []

    def bound_by_curvature(self, thorough: bool) -> None:
        """The bounds of the curvatures that the evaluation offers, exact where F is their model: from any M.

        Under a fixed trace only a modulus of strong convexity is used.
        """
        problem, trace = self.problem, self.trace
        if self.outside or not (self.full and self.convex and self.plain and may_be_formed(problem)):
            return
        for each in self.evaluation.curvatures(thorough):
            known = any(each.root is other.root and each.modulus == other.modulus for other in self.used)
            if not known and (trace is None or each.root is None):
                self.used.append(each)
                self.dense = dense_gradient(self.evaluation) if self.dense is None else self.dense
                self._take_gap(curved_gap(self.dense, on_host(self.Y), each, trace, self.most))

    def resolve(self) -> None:
        """At a fixed trace: the rounding of F at M, and the problem's own bound, if a proof depends on either of them.

        A proof depends on them if the gap is small relative to the unit or to rounding of S, but not to |F(M)|. If F(M)
        is 0 up to its rounding, no digits of F(M) can be required, and the rounding of t λ_min(S) counts as well.
        """
        if self.trace is None or not self.gaps:
            return
        gap, asked, of_bound = min(self.gaps), self.tol * self.unit, CANCELLED * EPS * self.trace * self.pair.norm
        if gap <= max(asked, of_bound) and gap > min(asked, max(self.tol, DIGITS) * self.scale):
            self.rounding = max(self.rounding, measured_rounding(self.problem, self.evaluation))
            if abs(self.value) <= self.rounding:
                self.rounding = max(self.rounding, of_bound)
            if gap > self.rounding:
                self._take_bound(self._dual_bound())

    def _dual_bound(self) -> float | None:
        """The problem's own lower bound on min F, from S as an array if S was formed and the problem takes it."""
        ask = self.problem.duality.dual_bound
        formed: dict[str, Any] = {"S": self.dense} if self.dense is not None and accepts(ask, "S") else {}
        return ask(self.evaluation, self.dual, **formed)

    def go_on(self) -> None:
        """Seek the best bounds from here on; searches that ended where they would not prove `tol` are made anew."""
        self.proof, self.searched, self.shortfall = "full", False, 0.0
        ended = [each for each in self.used if each.form is not None]
        if ended:
            self.used = [each for each in self.used if each.form is None]
            self.bound_by_curvature(thorough=False)

    @property
    def outside(self) -> bool:
        """Whether tr M differs from the fixed trace, or F(M) or ⟨S, M⟩ overflows: nothing is proven then."""
        if not math.isfinite(self.value) or not math.isfinite(self.product):
            return True
        return self.trace is not None and abs(self.tr - self.trace) > OFF_TRACE * self.trace

    @property
    def proven(self) -> bool:
        """Whether the least bound on F(M) − min F is small enough, or rounding."""
        return bool(self.gaps) and min(self.gaps) <= max(self.tol * self.unit, self.rounding)

    @property
    def worth_a_proof(self) -> bool:
        """Whether all residuals are small although nothing is proven so far; on the cone only."""
        small = self.tr == 0.0 or max(self.ratios.values()) <= self.tol
        return self.trace is None and self.convex and not self.proven and small and self.full

    def prove_or_refute(self, tried: float = math.inf) -> None:
        """A bound from S as an array, if it may be formed; without a bound, the best step along the vectors found."""
        vectors = [self.pair.vector]
        if may_be_formed(self.problem):
            formed_here = self.dense is None
            self.dense = dense_gradient(self.evaluation) if self.dense is None else self.dense
            if formed_here and self.problem.n > DENSE_LIMIT:
                self._take_bound(self._dual_bound())
            if not self.proven:
                proof = DenseProof(self.evaluation, self.dense, self.pair.vector)
                self._take_gap(proof.gap(self.most, tried))
                self.searched = True
                direction = None if self.proven else proof.descent()
                if direction is not None:
                    self.shortfall = proof.shortfall
                    vectors.append(direction)
        if not self.proven:
            decrease, descent = improvement(self.evaluation, vectors, CANCELLED * EPS * self.pair.norm)
            if decrease > self.rounding:
                self.decrease, self.descent = decrease, descent

    def bound_anyway(self) -> None:
        """The best bound there is, whether M is optimal or not, unless a known one is rounding."""
        if self.gaps and min(self.gaps) <= self.rounding:
            return
        if self.problem.n <= SMALL_ORDER:
            self.bound_by_curvature(thorough=True)
        on_the_cone = self.trace is None and self.convex and self.tr > 0.0
        if on_the_cone and not self.searched and may_be_formed(self.problem):
            self.dense = dense_gradient(self.evaluation) if self.dense is None else self.dense
            self._take_gap(DenseProof(self.evaluation, self.dense, self.pair.vector).gap(self.most))

    @property
    def most(self) -> float:
        """The bound below which a search is worth its cost: the best so far, or the one that proves M optimal."""
        return self.tol * self.unit if self.proof == "needed" else min(self.gaps, default=math.inf)

    def _take_gap(self, gap: float | None) -> None:
        if gap is not None and gap < math.inf and not self.outside:
            self.gaps.append(gap)

    def _take_bound(self, bound: float | None) -> None:
        if bound is not None and (self.bound is None or bound > self.bound):
            self.bound = bound
            self._take_gap(max(self.value - bound, 0.0))

    def fields(self) -> dict[str, Any]:
        """All that was found, by the names of the attributes of :class:`psdopt.Certificate`."""
        problem, pair, unit, gap = self.problem, self.pair, self.unit, min(self.gaps, default=None)
        exact = gap is not None and gap <= self.rounding
        relative = None if gap is None else ratio(gap, unit)
        return dict(
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
            provable=self.full and (gap is not None or may_be_formed(problem)),
            value_scale=self.scale,
            rounding=self.rounding,
        )


def _handed_over(problem: Problem, v: Array) -> Array:
    """v (n,) as an array of the library that the problem's data are of."""
    return v if problem.device is None else cast(Array, released(placed(v, problem.device)))
