"""The theorems, by kind of object. Importing this package registers them all."""

from psdopt.testing.checks import (
    application,
    geometry_metric,
    geometry_motion,
    geometry_oracles,
    geometry_points,
    geometry_pymanopt,
    method_answers,
    method_claims,
    method_protocol,
    problem_abilities,
    problem_claims,
    problem_derivatives,
    problem_models,
    problem_moves,
    problem_restriction,
)

__all__ = [
    "application",
    "geometry_metric",
    "geometry_motion",
    "geometry_oracles",
    "geometry_points",
    "geometry_pymanopt",
    "method_answers",
    "method_claims",
    "method_protocol",
    "problem_abilities",
    "problem_claims",
    "problem_derivatives",
    "problem_models",
    "problem_moves",
    "problem_restriction",
]
