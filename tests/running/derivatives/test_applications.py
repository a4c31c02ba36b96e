"""Shipped applications: derivatives of their examples' minimisers by all arrays of data, against differences."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Adjoint, Constrained, PsdoptError, solve
from psdopt.plugins.manager import plugin_manager
from tests.running.derivatives.problems import direction

#: Problems whose examples have a nondegenerate minimiser. Those of the other examples are exact fits, where S = 0.
SMOOTH = {
    "communities",
    "kernel-pairwise",
    "kernel-quadratic",
    "lovasz-theta",
    "maxcut",
    "metric-kta",
    "metric-linear",
    "phase-fit",
    "quadratic-sdp",
    "topk",
    "weighted-correlation",
}
STEP = 1e-5


def example(name):
    spec = plugin_manager().get("problem", name)
    return spec.example() if spec.example else spec.factory()


def numbers(datum):
    return datum.data if sp.issparse(datum) else datum


def moved(problem, tangents, step):
    """A copy of a problem, made but not used yet, with its arrays moved in place."""
    there = copy.deepcopy(problem)
    for name, tangent in tangents.items():
        numbers(there.data[name])[...] += step * numbers(tangent)
    for term in there.problem.terms if isinstance(there, Constrained) else there.terms:
        loss = getattr(term, "loss", None)
        if loss is not None:
            loss._second = loss._per_weight * loss.weights + 0.0 * loss.target
    return there


@pytest.mark.parametrize("name", sorted(SMOOTH))
def test_derivatives_of_applications_agree_with_differences(name):
    problem = example(name)
    result = solve(problem, tol=1e-9)
    near = result.adjoint
    arrays = {key: each for key, each in problem.data.items() if np.ndim(each)}
    tangents = {key: direction(each, np.random.default_rng(k)) for k, (key, each) in enumerate(arrays.items())}
    if name == "kernel-quadratic":  # one X in two terms, which a step moves twice
        both = tangents["A.X"] + tangents["C[1].X"]
        own = {**tangents, "A.X": both, "C[1].X": both}
    else:
        own = tangents
    start = near.multipliers if len(near.multipliers) else None
    fresh = example(name)
    M = [Adjoint(moved(fresh, tangents, k * STEP), near.matrix, start).matrix.to_dense() for k in (1, -1, 2, -2)]
    slope = (8.0 * (M[0] - M[1]) - (M[2] - M[3])) / (12.0 * STEP)
    dM, _ = result.jvp(own)
    assert np.linalg.norm(dM - slope) <= 1e-6 * np.linalg.norm(slope)


def test_other_examples_that_declare_data_are_refused():
    kept = {"maxcut"}
    for name in plugin_manager().names("problem"):
        problem = example(name)
        if problem.data and name not in SMOOTH:
            with pytest.raises(PsdoptError):
                solve(problem, tol=1e-9, max_time=5.0).vjp(np.eye(problem.n))
            kept.add(name)
    assert len(kept) > 1
