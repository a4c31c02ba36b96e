"""Alternating projections with multipliers on the dual, for linear objectives under very many linear constraints."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.checks import integer, number
from psdopt.constraints.central_path.interior_steps import Iterate
from psdopt.constraints.central_path.semidefinite import Semidefinite
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.limits import NUMBERS
from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Outcome, Residual
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.anderson import Anderson
from psdopt.linalg.arrays import Array, length_of, norm
from psdopt.linalg.halves import Edge, halves
from psdopt.linalg.limits import ITERATED_ORDER
from psdopt.linalg.tolerances import SLIGHT
from psdopt.methods.primal_dual.dual_values import Inexact
from psdopt.methods.primal_dual.state import PrimalDualState, begun, constrained, moved

#: The penalty first changes once one residual was the larger for this many steps in a row.
LEAD = 6
#: It stays within this factor of one, the ratio of |b| and |C|: where no M is feasible, one residual leads for ever.
FARTHEST = 1e3


@dataclass(kw_only=True)
class BoundaryPointState(PrimalDualState):
    """`W` (by parts) of the next step, None where it follows from X and Z; `mixing`, the last steps.

    `penalty` s of the dual equation; `lead` : how many steps in a row the primal residual was the larger one, negative
    for the dual one; `wait` : the lead at which the penalty changes; `rose` : whether its last change was a rise.
    `length` : |F|; `edges` : of the last W, by parts, from which the next one is split.
    """

    W: list[Array] | None = None
    mixing: Anderson = Anderson(0)
    penalty: float = 1.0
    lead: int = 0
    wait: int = LEAD
    rose: bool | None = None
    length: float = 0.0
    edges: tuple[Edge | None, ...] = ()


@dataclass(frozen=True)
class BoundaryPoint(Method[BoundaryPointState]):
    """min ⟨C, M⟩ under linear constraints: dual splitting, one positive part per block and step.

    On the dual, max bᵀv with C − A*(v) = Z ⪰ 0, the augmented Lagrangian with multiplier X and penalty s is minimised
    over v, A A*(v) = A(C − Z) + (b − A(X))/s, then over Z ⪰ 0, the positive part of W = C − A*(v) − X/s. The negative
    part gives X = s (Z − W) ⪰ 0, so that X Z = 0 holds in every step. A A* is sparse and is factorised once.

    As a fixed-point iteration for W this is that of Douglas and Rachford: W grows by F = C − A*(v) − Z. Of F, the part
    in the range of A* is what the primal equation A(X) = b misses, over s, and the rest is what the dual one misses: s
    changes where one of the two stays the larger. W is extrapolated from its last steps
    (:class:`~psdopt.linalg.anderson.Anderson`), which take half as many steps, or fewer.

    Povh, Rendl, Wiegele (2006); Malick, Povh, Rendl, Wiegele (2009); Wen, Goldfarb, Yin (2010).

    Parameters
    ----------
    overshoot : step of W relative to F, in (0, 1.618).
    factor : by which the penalty changes when one of the two residuals stays the larger one, above 1.
    patience : the run stalls after this many steps in which the largest residual did not fall by a tenth.
    depth : steps from which W is extrapolated, 0 for none; fewer where their arrays would have above 4·10⁷ numbers.

    Blocks above order 300 are split from the last eigenvectors, with errors of at most a tenth of the last F
    (:func:`~psdopt.linalg.halves.halves`).

    Cost per step: O(n_k³) for each block of order n_k, for large blocks a third of it or less, a solve with the factor
    of A A*, and the entries of the A_t: no (m, m) array. For n up to about two thousand and any m; convergence is
    linear at best, a few hundred steps to 1e-6 where the solution is nondegenerate (theta numbers), very slow where it
    is not.
    """

    overshoot: float = 1.6
    factor: float = 1.7
    patience: int = 500
    depth: int = 10

    requires: ClassVar[Requires] = {"problem": (Ability.CONIC,), "geometry": (Ability.FULL_CONE,)}
    ranks_by_value: ClassVar[bool] = False
    starts_at_zero: ClassVar[bool] = True
    residual: ClassVar[Residual] = Residual.CERTIFICATE

    def __post_init__(self) -> None:
        number(self.overshoot, "overshoot", above=0.0, below=0.5 * (1.0 + 5.0**0.5))
        number(self.factor, "factor", above=1.0)
        integer(self.patience, "patience")
        integer(self.depth, "depth", least=0)

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> BoundaryPointState:
        form = StandardForm(constrained(problem)[1], corners=True)
        zeros = [np.zeros_like(part.C) for part in form.parts]
        first = begun(problem, geometry, start, evaluation, form, zeros, zeros)
        mixing = Anderson(min(self.depth, NUMBERS // (2 * max(sum(P.size for P in zeros), 1))))
        return BoundaryPointState(mixing=mixing, **{each.name: getattr(first, each.name) for each in fields(first)})

    def warmed(self, state: BoundaryPointState, multipliers: Array) -> BoundaryPointState:
        """X of M, and v and Z of `multipliers`."""
        form = state.form
        v = form.dual(multipliers)
        Z = [part.split(D)[0] for part, D in zip(form.parts, form.slacks(v), strict=True)]
        return replace(state, X=form.primal(state.evaluation.factor), Z=Z, v=v, W=None)

    def step(self, state: BoundaryPointState) -> BoundaryPointState:
        form, s = state.form, state.penalty
        W = state.W
        if W is None:
            v, _ = _multipliers(form, form.missed(state.X, state.v) / s, state.Z)
            W = [D - X / s for D, X in zip(form.slacks(v), state.X, strict=True)]
        split, edges = _split(form, W, state.edges, SLIGHT * state.length)
        Z, X = [plus for plus, _, _ in split], [s * minus for _, minus, _ in split]
        missed = form.missed(X, state.v)
        v, within = _multipliers(form, missed / s, Z)
        F = [D - P for D, P in zip(form.slacks(v), Z, strict=True)]
        at = Iterate(X, Z, v, missed, F, norm(missed), length_of(F), [], [])
        options: dict[str, Any] = {"step": s, "outcome": Outcome.RUNNING, "patience": self.patience}
        factor = form.assembled([root * np.sqrt(s) for _, _, root in split])
        short = max([0.0, *(edge.short for edge in edges if edge is not None)])
        new = replace(moved(state, at, factor=factor, inexact=Inexact(short), **options), edges=edges)
        return self._extrapolated(new, W, F, within)

    def _extrapolated(
        self, state: BoundaryPointState, W: list[Array], F: list[Array], primal: float
    ) -> BoundaryPointState:
        """The state with its next W and penalty; `primal` : the length of the part of F in the range of A*."""
        s, state.length = state.penalty, length_of(F)
        self._balanced(state, primal, math.sqrt(max(state.length**2 - primal**2, 0.0)))
        # X and Z stay if the penalty changes
        change = 1.0 / s - 1.0 / state.penalty
        plain = [P + self.overshoot * R + change * X for P, R, X in zip(W, F, state.X, strict=True)]
        if state.penalty == s:
            state.mixing, w = state.mixing.next(_flat(F), _flat(plain))
            ends = np.cumsum([P.size for P in W])[:-1]
            state.W = [each.reshape(P.shape) for each, P in zip(np.split(w, ends), W, strict=True)]
        else:
            state.mixing, state.W = Anderson(state.mixing.memory), plain
        return state

    def _balanced(self, state: BoundaryPointState, primal: float, dual: float) -> BoundaryPointState:
        """The penalty after a step with these lengths of the two parts of F. The wait doubles at each reversal."""
        state.lead = max(state.lead, 0) + 1 if primal > dual else min(state.lead, 0) - 1
        if abs(state.lead) >= state.wait:
            rises = state.lead < 0
            state.wait *= 1 if state.rose in (None, rises) else 2
            penalty = state.penalty * (self.factor if rises else 1.0 / self.factor)
            state.penalty = min(max(penalty, 1.0 / FARTHEST), FARTHEST)
            state.lead, state.rose = 0, rises
        return state


def _split(
    form: StandardForm, W: list[Array], near: tuple[Edge | None, ...], allowed: float
) -> tuple[list[tuple[Array, Array, Array]], tuple[Edge | None, ...]]:
    """(W₊, W₋, H) of each part, W₋ = H Hᵀ, and its edge: large blocks are split from the last edge, up to `allowed`."""
    found, edges = [], []
    for part, P, edge in zip(form.parts, W, near or [None] * len(W), strict=True):
        if type(part) is Semidefinite and part.count == 1 and part.size > ITERATED_ORDER:
            plus, minus, H, edge = halves(P[0], edge, allowed)
            found.append((plus[None], minus[None], H[None]))
        else:
            found.append(part.split(P))
        edges.append(edge)
    return found, tuple(edges)


def _multipliers(form: StandardForm, missed: Array, Z: list[Array]) -> tuple[Array, float]:
    """v with A A*(v) = A(C − Z) + `missed`, (rows,), and the length of A*(w) with A A*(w) = `missed`."""
    rest = form.measure([part.C - P for part, P in zip(form.parts, Z, strict=True)])
    solved = form.normal_factor.solve(np.column_stack([rest + missed, missed]))
    return np.ascontiguousarray(solved[:, 0]), math.sqrt(max(float(missed @ solved[:, 1]), 0.0))


def _flat(parts: list[Array]) -> Array:
    """All numbers of the parts, (size,)."""
    return np.concatenate([P.ravel() for P in parts])
