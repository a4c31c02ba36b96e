"""Polar points, and regressions that PSD matrices solve."""

import numpy as np
from hypothesis import strategies as st

from psdopt import TermSum
from psdopt.geometries.polar import PolarPoint
from psdopt.linalg.arrays import orthonormal_columns
from psdopt.terms.losses import LeastSquares
from psdopt.terms.measured import MeasuredTerm
from psdopt.terms.measurements import QuadraticForms

SEEDS = st.integers(0, 2**32 - 1)


def regression(X, y):
    return TermSum([MeasuredTerm(QuadraticForms(X), LeastSquares(y), 0.5 / len(y))])


def data(n, rank, m, seed, noise=0.0):
    rng = np.random.default_rng(seed)
    X, W = rng.standard_normal((m, n)), rng.standard_normal((n, rank))
    return X, ((X @ W) ** 2).sum(axis=1) * (1 + noise * rng.standard_normal(m)), rng


def point(rng, n, r):
    return PolarPoint(orthonormal_columns(rng, n, r), rng.standard_normal((r, r)) + 2.0 * np.eye(r))
