"""A small program with a fixed trace and a bound that binds, solved once for each test."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, constraints, solve


@pytest.fixture
def solved():
    """min ⟨C, M⟩ with tr M = 2 and M_01 <= 0.1, its solution and its bound."""
    rng = np.random.default_rng(4)
    n = 6
    C = rng.standard_normal((n, n))
    C = C + C.T
    C[0, 1] = C[1, 0] = -6.0
    problem = Constrained(
        QuadraticSDP(C=C / 2), [constraints.trace(n, 2.0), constraints.entries([0], [1], n, upper=0.1)]
    )
    return problem, solve(problem, tol=1e-8)
