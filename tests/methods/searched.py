"""Problems, geometries and runs of methods that search along curves."""

import numpy as np

from psdopt import FixedTrace, FlatQuotient, LowRankPSD, Polar, PositiveDefinite, QuadraticSDP, TermSum, solve
from psdopt.terms import LeastSquares, MeasuredTerm, QuadraticForms

from ..instances import psd

N, R = 8, 3


def problem():
    """Quadratic with a preconditioner of its own, whose optimum has full rank."""
    rng = np.random.default_rng(0)
    return QuadraticSDP(psd(rng, N, condition=30.0), psd(rng, N, condition=30.0), -psd(rng, N))


def regression():
    rng = np.random.default_rng(1)
    X, W = rng.standard_normal((60, N)), rng.standard_normal((N, R))
    return TermSum(
        [MeasuredTerm(QuadraticForms(X), LeastSquares(((X @ W) ** 2).sum(axis=1)), 0.01)], preconditioner=None
    )


def start():
    return LowRankPSD(np.random.default_rng(2).standard_normal((N, R)) * [1.0, 0.5, 0.2])


GEOMETRIES = {
    "flat": FlatQuotient(N, R),
    "trace": FixedTrace(N, R, 2.0),
    "polar": Polar(N, R),
    "range kept": Polar(N, R, 0.0),
    "matrix kept": Polar(N, R, 1.0),
    "definite": PositiveDefinite(N),
    "log-Euclidean": PositiveDefinite(N, "log-euclidean"),
}


def values(method, geometry, f=None, steps=6):
    return solve(f or problem(), geometry, method, start=start(), tol=1e-14, max_iterations=steps).history["value"]
