"""The Riemannian Hessian of F along a vector, exact where the geometry says how, else by differences of gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.geometry_groups import HessianConversion, RetractionHessian, RiemannianHessian
from psdopt.contracts.problem import Evaluation
from psdopt.linalg.arrays import norm
from psdopt.linalg.tolerances import EPS


def riemannian_hessian(geometry: Geometry, point: Any, evaluation: Evaluation, vector: Any) -> Any:
    """Riemannian Hessian of point ↦ F(M) along `vector`.

    - straight lines over factors: the horizontal part of the Euclidean Hessian 2 (S D + ∇²F[..] Y);
    - a geometry's own ``riemannian_hessian`` or ``hessian(point, S, factor_hessian, vector)``, or on factors its
      ``euclidean_to_riemannian_hessian(point, gradient, hessian, vector)``;
    - otherwise differences of Riemannian gradients, transported back by the geometry (Boumal 2015).
    """
    exact = Ability.HESSIAN in evaluation.problem.abilities and Ability.FACTOR in geometry.abilities
    if exact and Ability.STRAIGHT in geometry.abilities:
        return geometry.horizontal(point, evaluation.hessian_vector(vector))
    if exact and isinstance(geometry, RiemannianHessian):
        return geometry.riemannian_hessian(point, evaluation.gradient, evaluation.hessian_vector, vector)
    if exact and isinstance(geometry, RetractionHessian):
        return geometry.hessian(point, evaluation.gradient, evaluation.hessian_vector, vector)
    if exact and isinstance(geometry, HessianConversion):
        moved = evaluation.hessian_vector(vector)
        return geometry.euclidean_to_riemannian_hessian(point, evaluation.factor_gradient(), moved, vector)
    size = geometry.norm(point, vector)
    if size == 0.0:
        return 0.0 * vector
    h = float(np.cbrt(EPS)) * norm(geometry.factor(point)) / size
    moved = geometry.retract(point, h * vector)
    there = evaluation.problem.at(geometry.factor(moved))
    carried = geometry.transport(moved, point, geometry.gradient(moved, there.gradient))
    return (carried - geometry.gradient(point, evaluation.gradient)) * (1.0 / h)
