"""Sums over pairs, whole and split: what the tests of parts and engines compare."""

import itertools

import numpy as np

from psdopt import TermSum
from psdopt.problems.distributed import touched
from psdopt.terms import HalfSquaredOneSided, IdentityForm, LeastSquares, LinearTerm, MeasuredTerm, PairDistances


def pair_problem(X, tuples, direction, total):
    """1/total Σ_t loss(d_M(x_i, x_j)): squared where direction is None, one-sided otherwise. None without pairs."""
    if len(tuples) == 0:
        return None
    loss = LeastSquares(3.0) if direction is None else HalfSquaredOneSided(3.0, direction)
    return TermSum([MeasuredTerm(PairDistances(tuples[:, 0], tuples[:, 1], X), loss, 1.0 / total)])


def trace_problem(n):
    return TermSum([LinearTerm(IdentityForm(n), 0.1)])


class Pairs:
    """`whole`, F; `recipes(cuts)`, the parts of F split at the given places; `local`, what counts once."""

    def __init__(self, seed=0, samples=40, n=5, pairs=120, one_sided=False):
        rng = np.random.default_rng(seed)
        self.n, self.X = n, rng.standard_normal((samples, n))
        i = rng.integers(samples, size=pairs)
        self.tuples = np.c_[i, (i + 1 + rng.integers(samples - 1, size=pairs)) % samples]
        self.direction = np.where(rng.random(pairs) < 0.5, 1.0, -1.0) if one_sided else None
        data = pair_problem(self.X, self.tuples, self.direction, pairs)
        self.local = trace_problem(n)
        self.whole = TermSum([*data.terms, *self.local.terms])

    def recipes(self, cuts):
        parts = []
        bounds = [0, *sorted(cuts), len(self.tuples)]
        for a, b in itertools.pairwise(bounds):
            rows, positions = touched(self.tuples[a:b])
            direction = None if self.direction is None else self.direction[a:b]
            parts.append((pair_problem, self.X[rows], positions, direction, len(self.tuples)))
        return parts
