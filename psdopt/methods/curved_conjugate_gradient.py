"""Conjugate gradient where lines are not straight: retraction, vector transport, modelled step."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from psdopt.capability import Ability
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import inner, is_finite
from psdopt.method import Outcome, State, factor_residual
from psdopt.problem import Evaluation, Problem
from psdopt.searches.riemannian import Located, Path, locate, modelled, path_along

if TYPE_CHECKING:
    from psdopt.methods.conjugate_gradient import ConjugateGradient


#: A relative decrease below this is none, where a search met a NaN.
STUCK = 1e-12


@dataclass
class CurvedState(State):
    """Riemannian gradient, its preconditioned form, direction, ⟨gradient, preconditioned⟩, evaluated frame."""

    gradient: Any = None
    preconditioned: Any = None
    direction: Any = None
    decrement: float = 0.0
    here: Located | None = None
    curvature: float | None = None


def curved_init(
    method: ConjugateGradient, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None
) -> CurvedState:
    """The state at `start`. One application each way."""
    here = locate(problem, geometry, start, evaluation)
    g, z, decrement = _gradients(method, geometry, here, None)
    return CurvedState(
        problem, geometry, here.point, here.evaluation, factor_residual(geometry, here.evaluation),
        gradient=g, preconditioned=z, direction=-z, decrement=decrement, here=here,
    )  # fmt: skip


def curved_step(method: ConjugateGradient, state: CurvedState, rule: Any) -> CurvedState:
    """d⁺ = −P⁻¹g⁺ + beta T(d), x⁺ = R(x, s d), T the vector transport; −P⁻¹g⁺ where d⁺ is no descent direction."""
    here, d, geometry = state.here, state.direction, state.geometry
    assert here is not None
    path, s = _search(state, here, d)
    if not 0.0 < s < np.inf and d is not state.preconditioned:
        d = -state.preconditioned
        path, s = _search(state, here, d)
    if not 0.0 < s < np.inf:
        outcome = Outcome.UNBOUNDED if s == np.inf else Outcome.STALLED
        evaluation = path.lost or state.evaluation  # a NaN that stopped the search is for the driver to see and name
        return CurvedState(
            state.problem, geometry, state.point, evaluation, state.gradient_norm, 0.0, outcome,
            gradient=state.gradient, preconditioned=state.preconditioned, direction=d,
            decrement=state.decrement, here=here,
        )  # fmt: skip
    moved, seen = path.at(s), path.curvature(s)
    gained = here.evaluation.value - moved.evaluation.value
    if path.lost is not None and not gained > STUCK * abs(here.evaluation.value):
        return replace(state, evaluation=path.lost, step=s)  # a NaN bars the way down: for the driver to see and name
    curvature_in_M = seen if state.curvature is None or seen is None else math.sqrt(max(seen, 0.0) * state.curvature)
    g, z, new = _gradients(method, geometry, moved, curvature_in_M)
    carried = _carried(geometry, here, moved, d)
    curvature = geometry.inner(moved.point, g, carried) - geometry.inner(here.point, state.gradient, d)
    mixed = _mixed(geometry, here, moved, state.gradient, z)
    beta = rule(new, mixed, state.decrement, curvature) if state.decrement > 0.0 else 0.0
    beta = beta if np.isfinite(beta) else 0.0
    direction = beta * carried - z if beta != 0.0 else -z
    if beta != 0.0 and not geometry.inner(moved.point, g, direction) < 0.0:
        direction, beta = -z, 0.0
    return CurvedState(
        state.problem, geometry, moved.point, moved.evaluation, factor_residual(geometry, moved.evaluation), s,
        extras={"beta": beta}, gradient=g, preconditioned=z, direction=direction, decrement=new, here=moved,
        curvature=curvature_in_M,
    )  # fmt: skip


def _search(state: CurvedState, here: Located, d: Any) -> tuple[Path, float]:
    slope = state.geometry.inner(here.point, state.gradient, d)
    path = path_along(state.problem, state.geometry, here, d, straight=True)
    return path, modelled(path, here.evaluation.value, slope)


def _carried(geometry: Any, here: Located, moved: Located, d: Any) -> Any:
    """d at the new point. Where the factor's own motion is known, Ẏ itself is kept, as on straight lines."""
    if moved.turn is None:
        return geometry.transport(here.point, moved.point, d)
    return geometry.from_velocity(moved.point, geometry.velocity(here.point, d) @ moved.turn)


def _mixed(geometry: Any, here: Located, moved: Located, old: Any, z: Any) -> float:
    """⟨g, z⁺⟩ with the old gradient as a covector: what it says of Ẏ must not be rescaled by two metrics."""
    if moved.turn is None:
        return float(geometry.inner(moved.point, geometry.transport(here.point, moved.point, old), z))
    return inner(here.evaluation.factor_gradient() @ moved.turn, geometry.velocity(moved.point, z))


def _gradients(
    method: ConjugateGradient, geometry: Geometry, here: Located, curvature: float | None
) -> tuple[Any, Any, float]:
    g = geometry.gradient(here.point, here.evaluation.gradient)
    z = _preconditioned(method.preconditioner, geometry, here, g, curvature)
    return g, z, geometry.inner(here.point, g, z)


def _preconditioned(kind: str, geometry: Any, here: Located, g: Any, curvature: float | None) -> Any:
    """P⁻¹g: the problem's own P where it has one and the geometry can lift it, else the geometry's, else g."""
    lift, own = getattr(geometry, "preconditioned_by", None), getattr(geometry, "preconditioned", None)
    offered = Ability.PRECONDITIONER in here.evaluation.problem.abilities
    if lift is not None and (kind == "problem" or (kind == "auto" and offered)):
        G = here.evaluation.factor_gradient()
        return lift(here.point, G, here.evaluation.preconditioner()) if is_finite(G) else g
    return g if own is None or kind == "none" else own(here.point, g, curvature)
