"""Optimality certificates, computed from problem and matrix alone."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from psdopt.capability import Ability
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.tolerances import EPS
from psdopt.matrix import LowRankPSD
from psdopt.problem import Evaluation, Problem

#: A bound on λ_min(S) above this share of what `tol` allows below zero is not made any sharper at much cost.
ENOUGH = 0.95
#: F(M) above F(0) by more roundings than these is no tie.
WORSE = 64.0


@dataclass(frozen=True)
class Certificate:
    """How far M is from satisfying the optimality conditions of min F(M), M ⪰ 0 (or tr M = trace).

    With S = ∇F(M) (minus λ_min(S) I on the trace-one set), S ⪰ 0 and S M = 0 prove that M is a global
    minimiser of a convex F; either alone can hold at a non-optimal point. Relative quantities are in
    units of the decrease F(0) − F(M) that M achieves (per unit of trace for eigenvalues), so they do not
    change when F or M is scaled, or a constant is added to F.

    Attributes
    ----------
    value, value_at_zero, trace : F(M), F(0), tr M.
    stationarity : |S Y|_F; relative: |S Y| |Y| / decrease.
    smallest_eigenvalue : Ritz value of λ_min(S), an upper bound of it.
    lower_bound : below λ_min(S), except with `failure_probability` over the random start of the eigensolver (0 for
        n <= 500, where a factorisation proves it or the whole spectrum is computed).
    dual_infeasibility : max(0, −lower_bound), a bound, not an estimate; relative: times tr M / decrease.
    complementarity : |⟨S, M⟩|; relative: / decrease.
    gap : a rigorous bound on F(M) − min F where one is valid (fixed trace; strongly convex F; dual_value), else None.
    dual_value : a lower bound on min F that the problem proved from dual variables, if it can.
    convex : whether F is known to be convex, without which nothing global is proved.
    eigenvector : unit vector of the smallest Ritz value: the way out when the certificate fails.
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

    @property
    def omega(self) -> float:
        """λ_max(−S) (Yuan et al., table 6): zero or negative at a global optimum."""
        return -self.smallest_eigenvalue

    @property
    def infeasible(self) -> bool:
        """Whether it is proven that no M meets the constraints; never without constraints."""
        return False

    @property
    def unbounded(self) -> bool:
        """Whether a direction is known along which F falls without end inside the constraints."""
        return False

    @property
    def above_zero(self) -> bool:
        """Whether M = 0 is feasible and better, beyond rounding."""
        slack = WORSE * EPS * max(abs(self.value), abs(self.value_at_zero))
        return self.fixed_trace is None and self.value > self.value_at_zero + slack

    @property
    def relative(self) -> float:
        """The largest relative residual; with a fixed trace, the relative duality gap; inf where M = 0 is better.

        Where the problem has a dual bound, either proves optimality, and the smaller counts.
        """
        if self.fixed_trace is not None and self.gap_relative is not None:
            return self.gap_relative
        if self.above_zero:
            return math.inf  # residuals are in units of tr M then, which may be as large as one likes where F is flat
        residual = max(self.stationarity_relative, self.dual_infeasibility_relative, self.complementarity_relative)
        return residual if self.dual_value is None or self.gap_relative is None else min(residual, self.gap_relative)

    def proves(self, tol: float) -> bool:
        """Whether M is a global optimum of a convex F to relative `tol`."""
        return self.convex and self.relative <= tol

    def rows(self) -> list[tuple[str, float, float | None]]:
        """(residual, absolute, relative) for a table."""
        rows: list[tuple[str, float, float | None]] = [
            ("stationarity |S Y|", self.stationarity, self.stationarity_relative),
            ("dual infeasibility max(0, -lambda_min(S))", self.dual_infeasibility, self.dual_infeasibility_relative),
            ("complementarity |<S, M>|", self.complementarity, self.complementarity_relative),
        ]
        if self.gap is not None:
            rows.append(("duality gap", self.gap, self.gap_relative))
        if self.above_zero:
            rows.append(("F(M) - F(0): M = 0 is better", self.value - self.value_at_zero, math.inf))
        return rows

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers, for files."""
        plain = asdict(self)
        plain.pop("eigenvector")
        return {**plain, "omega": self.omega, "relative": self.relative}


def certify(
    problem: Problem,
    matrix: LowRankPSD | Evaluation | Array,
    *,
    tol: float = 1e-6,
    trace: float | None = None,
    start: Array | None = None,
    seed: int = 0,
    dual: Any = None,
) -> Certificate:
    """Certificate of M for `problem`, from scratch: images are recomputed, no method is asked.

    `tol` is the relative accuracy at which λ_min(S) must be decided; `trace` the fixed trace of the
    feasible set, if there is one; `start` a guess of the eigenvector. Deterministic for a `seed`.
    `dual` : for nonsmooth F, the weights from which :meth:`~psdopt.roles.Duality.subgradient` builds S; it checks them.
    Cost: one evaluation and one extreme eigenpair of S.
    """
    if isinstance(matrix, Evaluation):
        evaluation = matrix.refresh()
    else:
        evaluation = problem.at(matrix.factor if isinstance(matrix, LowRankPSD) else matrix)
    duality = problem.duality
    own: Certificate | None = duality.own_certificate(evaluation, tol=tol, start=start, seed=seed, dual=dual)
    if own is not None:
        return own
    Y, (S, epsilon) = evaluation.factor, duality.subgradient(evaluation, dual)
    SY = S @ Y
    size, value, at_zero = norm(Y), evaluation.value, problem.value_at_zero()
    tr, product = size**2, inner(SY, Y)
    unit, decrease = _units(problem, value, tr)
    shift = 0.0
    threshold = -ENOUGH * tol * unit
    if trace is not None:
        threshold = product / tr - 0.5 * tol * decrease / trace if tr > 0.0 else -math.inf
    pair = duality.smallest_eigenpair(evaluation, S, tol=0.25 * tol * unit, threshold=threshold, start=start, seed=seed)
    if trace is not None:
        shift = pair.value
        SY = SY - shift * Y
    dual_infeasibility = max(0.0, (0.0 if trace is None else shift) - pair.lower_bound)
    complementarity = abs(product - shift * tr) + epsilon
    gap = _gap(problem, product, tr, dual_infeasibility, pair.lower_bound, trace)
    gap = None if gap is None else gap + epsilon
    bound = duality.dual_bound(evaluation, dual) if trace is None else None
    if bound is not None:
        gap = max(value - bound, 0.0) if gap is None else min(gap, max(value - bound, 0.0))
    stationarity = norm(SY)
    return Certificate(
        value=value,
        value_at_zero=at_zero,
        trace=tr,
        stationarity=stationarity,
        smallest_eigenvalue=pair.value,
        lower_bound=pair.lower_bound,
        dual_infeasibility=dual_infeasibility,
        complementarity=complementarity,
        gap=gap,
        stationarity_relative=_ratio(stationarity, unit * size),
        dual_infeasibility_relative=_ratio(dual_infeasibility, unit),
        complementarity_relative=_ratio(complementarity, decrease),
        gap_relative=None if gap is None else _ratio(gap, decrease),
        dual_value=bound,
        convex=Ability.CONVEX in problem.abilities,
        fixed_trace=trace,
        eigenvector=pair.vector,
        failure_probability=pair.failure_probability,
        products=pair.products,
    )


def stationarity_scale(problem: Problem, value: float, size: float) -> float:
    """The unit in which |S Y| is measured when |Y| = `size` and F = `value`; 0 if there is none yet."""
    unit, _ = _units(problem, value, size**2)
    return unit * size


def _units(problem: Problem, value: float, trace: float) -> tuple[float, float]:
    """(unit of eigenvalues of S, unit of values).

    F(0) − F(M) <= ⟨−∇F(0), M⟩ <= |∇F(0)| tr M, so the decrease per unit of trace never exceeds the
    size of ∇F(0), which takes over where M = 0 or M is no better than zero. Of values there is no unit at M = 0:
    no decrease is small next to none, so that there a gap above 0 proves nothing.
    """
    own = problem.duality.value_unit(value, trace)
    if own is not None:
        return (own / trace if trace > 0.0 else _gradient_size_at_zero(problem)), own
    decrease = problem.value_at_zero() - value
    if math.isfinite(decrease) and decrease > 0.0 and trace > 0.0:
        return decrease / trace, decrease
    unit = _gradient_size_at_zero(problem)
    return unit, unit * trace


def _gradient_size_at_zero(problem: Problem) -> float:
    """About |∇F(0)|_2, by a few power steps from a fixed start; kept on the problem."""
    cached: float | None = problem.__dict__.get("_gradient_size_at_zero")
    if cached is None:
        S = problem.at(np.zeros((problem.n, 1))).gradient
        V = np.random.default_rng(0).standard_normal((problem.n, 2))
        cached = 0.0
        for _ in range(6):
            V = S @ (V / max(norm(V), np.finfo(float).tiny))
            cached = max(cached, norm(V))
        problem.__dict__["_gradient_size_at_zero"] = cached
    return cached


def _gap(
    problem: Problem, product: float, tr: float, dual: float, lower_bound: float, trace: float | None
) -> float | None:
    if trace is not None:
        return max(product - trace * lower_bound, 0.0)
    sigma = problem.lower_curvature
    if sigma > 0.0:
        # F* >= F − ⟨S₊, M⟩ − |S₋|²/(2 sigma), with ⟨S₊, M⟩ <= ⟨S, M⟩ + dual tr M and |S₋|² <= n dual²
        return max(product + dual * tr + problem.n * dual**2 / (2.0 * sigma), 0.0)
    return None


def _ratio(amount: float, unit: float) -> float:
    if amount == 0.0:
        return 0.0
    return amount / unit if unit > 0.0 else math.inf
