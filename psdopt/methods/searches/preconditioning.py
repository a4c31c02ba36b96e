"""Preconditioned gradients P⁻¹g, on factors and on geometries with `from_velocity`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.geometry_groups import GramPreconditioner, Lift
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.devices import Deferred
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, as_array, is_finite
from psdopt.linalg.tolerances import MINOR

PRECONDITIONERS = ("auto", "problem", "diagonal", "gram", "none")


def resolved(kind: str, problem: Problem, geometry: Geometry) -> str:
    """`kind` with "auto" and "diagonal" replaced; InvalidInputError if problem or geometry do not support it.

    "auto" is "problem" if the problem has a preconditioner, else "gram"; "diagonal" is the problem's preconditioner
    without set-up, else "gram". On curved geometries "auto" means the same if they have their own Gram preconditioner,
    else "none": at a fixed trace P⁻¹ ignores the multiplier, and most runs are longer.
    """
    own = Ability.PRECONDITIONER in problem.abilities
    straight = Ability.STRAIGHT in geometry.abilities
    lifts = straight or isinstance(geometry, Lift)
    gram = straight or isinstance(geometry, GramPreconditioner)
    if kind == "auto":
        if not gram:
            return "none"
        return "problem" if own and lifts else "gram"
    if kind == "problem" and not own:
        raise InvalidInputError(
            f"preconditioner 'problem' needs a problem that has one; {type(problem).__name__} has none: "
            "choose 'auto', 'gram' or 'none'"
        )
    if kind == "diagonal" and not own:
        kind = "gram"
    if kind == "none" or lifts or (kind == "gram" and gram):
        return kind
    raise InvalidInputError(
        f"preconditioner {kind!r} acts on factors, and {geometry!r} has no from_velocity to lift it: "
        "choose 'auto' or 'none'"
    )


def preconditioned(kind: str, evaluation: Evaluation, G: Array) -> Array:
    """P⁻¹ G on factors, for `kind` as :func:`resolved` explains it."""
    return G if kind == "none" else _inverse(kind, evaluation)(G)


def ask_ahead(kind: str, evaluation: Evaluation) -> None:
    """On a device: queue the small matrices of P at `evaluation`, so that they share one transfer."""
    if evaluation.problem.device is not None and kind not in ("none", "gram"):
        _inverse(kind, evaluation)


def preconditioned_on(
    geometry: Geometry, kind: str, point: Any, evaluation: Evaluation, gradient: Any, curvature: float | None = None
) -> Any:
    """P⁻¹ `gradient` on any geometry, for a `kind` from :func:`resolved`. O(n r²) and P⁻¹.

    Where lines are straight, :func:`preconditioned`. Else, with L mapping velocities Ẏ of the factor to tangent
    vectors, the result is L P⁻¹ Lᵀ g, Lᵀ g the factor gradient. The operator is symmetric positive semidefinite in the
    metric. `curvature` is an estimate of the curvature of F in M.
    """
    if Ability.STRAIGHT in geometry.abilities:
        return preconditioned(kind, evaluation, gradient)
    if kind == "gram" and isinstance(geometry, GramPreconditioner):
        return geometry.gram_preconditioned(point, gradient, curvature)
    if kind == "none" or not isinstance(geometry, Lift):
        return gradient
    part = geometry.restricted or geometry.trace is not None
    G = geometry.tangent_part(point, evaluation.gradient) if part else evaluation.factor_gradient()
    with np.errstate(all="ignore"):  # at the edge of the set P may be singular to rounding
        D = _inverse(kind, evaluation)(G)
    return geometry.from_velocity(point, D) if is_finite(D) else gradient


def _inverse(kind: str, evaluation: Evaluation) -> Callable[[Array], Array]:
    if kind == "gram" or Ability.PRECONDITIONER not in evaluation.problem.abilities:
        return partial(gram_scaled, evaluation.factor)
    return evaluation.diagonal_preconditioner() if kind == "diagonal" else evaluation.preconditioner()


def gram_scaled(Y: Array, G: Array, damping: float = MINOR) -> Array:
    """G (YᵀY + eta I)⁻¹, eta = `damping` × the mean eigenvalue of YᵀY: convergence does not depend on cond(Y).

    The damping bounds the result if Y is over-parametrised (rank-deficient). O(n r² + r³). Tong, Ma,
    Chi (2021); damping after Zhang, Fattahi, Zhang (2022).
    """
    return gram_inverse(Y, damping)(G)


def gram_inverse(Y: Array, damping: float = MINOR) -> Callable[[Array], Array]:
    """G ↦ :func:`gram_scaled` (Y, G) for many G: O(n r² + r³) once, n r² for each."""
    r = Y.shape[1]
    gram: Any = Y.T @ Y
    if isinstance(gram, Deferred):
        gram = gram.value
    eta = damping * float(gram.trace()) / r
    if eta <= 0.0:
        return lambda G: G
    gram.flat[:: r + 1] += eta
    inverse = np.linalg.inv(gram)
    return lambda G: as_array(G @ inverse)
