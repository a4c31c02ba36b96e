"""Frank–Wolfe on the spectraplex: vanilla and fully corrective, atoms kept factored."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.checks import integer, is_name, one_of
from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Atom, Geometry
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.method import Method, Outcome, Residual, State, ensure_finite
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.deprecated import former_argument
from psdopt.linalg.arrays import Array, inner, is_finite, norm, row_dots
from psdopt.linalg.simplex import project_simplex
from psdopt.linalg.subset import principal_axes
from psdopt.linalg.tolerances import EPS, SLIGHT
from psdopt.methods.factor_moves import share_toward
from psdopt.methods.projected_gradient import Momentum, accelerated_step

VARIANTS = ("fully-corrective", "vanilla")


@dataclass(kw_only=True)
class FrankWolfeState(State):
    """The iterate, the `atom` of its linear oracle, and the duality `gap` ⟨S, M⟩ − min ⟨S, N⟩.

    Columns of the factor are √w_k u_k with |u_k|² = trace, so the weights w_k = |column|²/trace are not kept.
    `gradient_norm` is 2 gap / |Y|: the gap in the units of the factor gradient.
    """

    atom: Atom
    gap: float


@former_argument("rule step", None, "the exact line search is used")
@dataclass(frozen=True)
class FrankWolfe(Method[FrankWolfeState]):
    """M⁺ = (1 − gamma) M + gamma N, N = argmin ⟨∇F(M), N⟩ over the set; global for convex F, gap at every step.

    The default variant, fully corrective, minimises over all M = V W Vᵀ, W ⪰ 0, in the span of the atoms in each
    step. It converges linearly when the optimum is of low rank and strictly complementary. The vanilla variant obeys
    F(M_k) − min F <= 2 C/(k + 2), C being the curvature constant of F (Jaggi 2013), and in general no better bound: to
    a gap of 1e-6 it takes a hundred times as many steps. Steps that take weight from the worst atom, as on polytopes,
    are not offered: the spectraplex is no polytope, no faster rate is known for them, and none is measured.

    Parameters
    ----------
    variant : "fully-corrective", which "auto" stands for, or "vanilla": gamma by an exact line search.
    corrections : most inner steps of a fully corrective step; it ends earlier once the gap within the span is a tenth
        of the gap.

    The variants "away" and "pairwise" are deprecated, and stand for "fully-corrective"; so is ``rule``, since Hazan's
    steps 2/(k + 2) are no monotone method and never a faster one.

    Cost of a step: one eigenvector of S, warm-started and with a proven bound on its error that is part of the
    gap, and one application of the maps to one column; the fully corrective variant works in the span otherwise.

    Raises UnknownNameError for a variant that is not in the list.
    """

    variant: str = "auto"
    corrections: int = 100

    requires: ClassVar[Requires] = {
        "problem": (Ability.GRADIENT, Ability.EXACT_PLANE),
        "geometry": (Ability.LINEAR_ORACLE,),
    }
    residual: ClassVar[Residual] = Residual.GAP
    descends: ClassVar[bool] = True
    scale_invariant: ClassVar[bool] = True

    def __post_init__(self) -> None:
        integer(self.corrections, "corrections")
        if is_name(self.variant, "away") or is_name(self.variant, "pairwise"):
            text = f"FrankWolfe(variant={self.variant!r}) is deprecated: 'fully-corrective' is used"
            warnings.warn(text, DeprecationWarning, stacklevel=4)
            object.__setattr__(self, "variant", "fully-corrective")
        one_of(self.variant, "variant", ("auto", *VARIANTS))

    @property
    def corrects(self) -> bool:
        """Whether the variant is the fully corrective one."""
        return self.variant != "vanilla"

    @property
    def sublinear_order(self) -> float | None:  # type: ignore[override]
        """One, that is O(1/k), for the vanilla variant."""
        return None if self.corrects else 1.0

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> FrankWolfeState:
        evaluation = evaluation or problem.at(geometry.factor(start))
        if self.corrects:
            evaluation = _principal(evaluation)
        return _with_oracle(problem, geometry, evaluation)

    def step(self, state: FrankWolfeState) -> FrankWolfeState:
        evaluation, size = self._corrected(state) if self.corrects else self._toward(state)
        if not ensure_finite(evaluation).value < state.evaluation.value:
            return replace(state, outcome=Outcome.STALLED, step=0.0)
        return _with_oracle(state.problem, state.geometry, evaluation, state, size)

    def _toward(self, state: FrankWolfeState) -> tuple[Evaluation, float]:
        """M + gamma (N − M) with the best gamma in [0, 1]."""
        plane = state.evaluation.along_atom(state.atom.vector)
        size = share_toward(plane)
        moved = plane.step(1.0 - size, size)
        used = row_dots(moved.factor.T, moved.factor.T) > 0.0
        return moved if np.all(used) else moved.mix(np.eye(len(used))[:, used]), size

    def _corrected(self, state: FrankWolfeState) -> tuple[Evaluation, float]:
        """Minimise over {V W Vᵀ : W ⪰ 0, tr W = trace}, V a basis of the columns and the new atom."""
        trace = norm(state.evaluation.factor) ** 2
        toward, gamma = self._toward(state)
        basis, W = _orthonormal(toward)
        k = W.shape[0]

        def project(B: Array) -> LowRankPSD:
            values, vectors = np.linalg.eigh(0.5 * (B + B.T))
            values = project_simplex(values, trace)
            return LowRankPSD(vectors[:, values > 0.0] * np.sqrt(values[values > 0.0]))

        def slope(at: Evaluation) -> Array:
            g = basis.factor.T @ np.asarray(at.gradient @ basis.factor)
            if not is_finite(g):
                raise FloatingPointError("the gradient is not finite")
            return np.asarray(0.5 * (g + g.T))

        start = basis.mix(LowRankPSD.from_dense(W).factor)
        g = slope(start)
        m = Momentum(W, start, W, 1.0, max(norm(g) / trace, EPS))
        goal = SLIGHT * state.gap
        for _ in range(self.corrections if k > 1 else 0):
            gap = inner(g, m.x) - trace * float(np.linalg.eigvalsh(g)[0])
            if gap <= goal:
                break
            m = accelerated_step(m, lambda small: basis.mix(small.factor), slope, project)
            if not m.moved:
                break
            g = slope(m.evaluation)
        evaluation = m.evaluation if m.evaluation.value < toward.value else toward
        return _principal(evaluation), gamma


def _with_oracle(
    problem: Problem,
    geometry: Geometry,
    evaluation: Evaluation,
    previous: FrankWolfeState | None = None,
    size: float = 0.0,
) -> FrankWolfeState:
    """The state at `evaluation` with the oracle's answer, warm-started from the `previous` answer."""
    Y = ensure_finite(evaluation).factor
    product = 0.5 * inner(evaluation.factor_gradient(), Y)
    expected, guess = (abs(product) + EPS, None) if previous is None else (previous.gap, previous.atom.vector)
    # the oracle's error bound is part of the gap
    atom = geometry.minimize_linear(evaluation.gradient, SLIGHT * expected, guess)
    gap = max(product - atom.value + atom.gap_bound, 0.0)
    extras = {"gap": gap, "eigensolve_products": float(atom.products)}
    if previous is not None:
        extras["gamma"] = size
    return FrankWolfeState(
        problem,
        geometry,
        geometry.from_factor(Y),
        evaluation,
        gradient_norm=2.0 * gap / norm(Y),
        step=size,
        outcome=Outcome.RUNNING,
        extras=extras,
        atom=atom,
        gap=gap,
    )


def _orthonormal(evaluation: Evaluation) -> tuple[Evaluation, Array]:
    """(evaluation at an orthonormal basis V of the columns of Y, W with Y Yᵀ = V W Vᵀ). No application.

    Scaling is done twice. Small eigenvalues of YᵀY may be pure rounding: one scaling by them leaves V far from
    orthonormal, and tr V B Vᵀ would differ from tr B. For the second scaling all eigenvalues are near 1.
    """
    basis = evaluation
    for _ in range(2):
        values, T = principal_axes(basis.factor)
        basis = basis.mix(T / np.sqrt(values))
    coordinates = basis.factor.T @ evaluation.factor
    return basis, coordinates @ coordinates.T


def _principal(evaluation: Evaluation) -> Evaluation:
    """Y in its principal axes, columns at rounding level dropped. No application of a map."""
    return evaluation.mix(principal_axes(evaluation.factor)[1])
