"""Constrained problems on arrays of other libraries, for the tests that compare them with NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np

from psdopt import Constrained, Constraint, QuadraticSDP, TermSum, constraints
from psdopt.terms import LinearTerm, MeasuredTerm, PairDistances, TripletDifferences
from psdopt.terms.losses import LeastSquares, Linear
from psdopt.terms.measurements import Entries

Place = Callable[[Any], Any]
N, R = 14, 5
rng = np.random.default_rng(11)
half, X, Z = (rng.standard_normal(shape) for shape in ((N, N), (20, N), (N, 3)))
A, C, SQUARES = half @ half.T / N, half + half.T, ((X @ Z) ** 2).sum(axis=1)
FIRST, SECOND = (each[::5] for each in np.triu_indices(N, 1))
EDGES = np.nonzero(np.triu(rng.random((N, N)) < 0.5, 1))
WEIGHTS = rng.random(len(EDGES[0]))


def max_cut(at: Place) -> Constrained:
    """With a dense C."""
    W = np.zeros((N, N))
    W[EDGES] = WEIGHTS
    laplacian = np.diag((W + W.T).sum(axis=1)) - (W + W.T)
    return Constrained(QuadraticSDP(C=at(-0.125 * laplacian)), constraints.diagonal(N, 1.0))


def sparse_max_cut(at: Place) -> Constrained:
    """By the distances of the ends of edges: the library's sparse arrays."""
    distances = PairDistances(at(EDGES[0]), at(EDGES[1]), n=N)
    cut = TermSum([MeasuredTerm(distances, Linear(-0.25 * WEIGHTS))])
    return Constrained(cut, constraints.diagonal(N, 1.0))


def indices_there(at: Place) -> Constrained:
    """A curved F under bounds on entries, whose indices are handed in on the device."""
    bounds = Constraint(Entries(at(FIRST), at(SECOND), N), -0.1, 0.1)
    return Constrained(QuadraticSDP(at(A), None, at(C)), [constraints.trace(N, upper=5.0), bounds])


def squares(at: Place) -> Constrained:
    """Bounds on x_tᵀMx_t with rows x_t on the device, whose entries nobody looks at; F bounds the trace."""
    return Constrained(QuadraticSDP(None, 1.0, at(-A)), constraints.quadratic_forms(at(X), upper=1.0))


def least_trace(at: Place) -> Constrained:
    equations = constraints.quadratic_forms(at(X), SQUARES)
    return Constrained(QuadraticSDP(C=at(A)), equations, trace_bound=10.0 * float((Z**2).sum()))


def fit(at: Place) -> Constrained:
    """Losses of entries in F and constraints on distances: sparse patterns alone."""
    loss = MeasuredTerm(Entries(at(FIRST), at(SECOND), N), LeastSquares(0.3))
    distances = Constraint(PairDistances(FIRST, SECOND, n=N), 0.5, 1.9)
    return Constrained(TermSum([loss, LinearTerm(at(A), 0.1)]), [constraints.diagonal(N, upper=1.0), distances])


def triplets(at: Place) -> Constrained:
    i, j, k = np.arange(6), np.arange(6, 12), np.arange(12, 18)
    farther = Constraint(TripletDifferences(i, j, k, at(X)), 1.0)
    distances = Constraint(PairDistances(i, j, at(X)), upper=4.0)
    return Constrained(QuadraticSDP(at(A), 1.0, at(0.1 * A)), [farther, distances])


PROBLEMS: dict[str, Callable[[Place], Constrained]] = {
    build.__name__: build for build in (max_cut, sparse_max_cut, indices_there, squares, least_trace, fit, triplets)
}
