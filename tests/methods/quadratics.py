"""Small quadratic problems on which update rules are compared."""

import numpy as np

from psdopt import FlatQuotient, Outcome, QuadraticSDP

from ..instances import psd

N = 12


def residual_after(method, steps, condition=10.0):
    """|gradient| / |first gradient| on F = tr(Yᵀ C Y), a pure quadratic in Y."""
    rng = np.random.default_rng(0)
    problem = QuadraticSDP(C=psd(rng, N, condition=condition))
    geometry = FlatQuotient(N, 1)
    state = method.init(problem, geometry, rng.standard_normal((N, 1)))
    first = state.gradient_norm
    for _ in range(steps):
        if state.outcome is not Outcome.RUNNING:
            break
        state = method.step(state)
    return state.gradient_norm / first
