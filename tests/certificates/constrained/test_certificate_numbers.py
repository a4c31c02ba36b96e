"""Every number of a constrained certificate, recomputed from dense arrays and its multipliers."""

import numpy as np
import pytest

from psdopt import Constrained, QuadraticSDP, certify, constraints
from tests.instances import symmetric

N = 5


def program(seed=0):
    """⟨C, M⟩ with tr M = 2, two entries in intervals, M_33 <= 0.4 and M_40 >= −0.3."""
    rng = np.random.default_rng(seed)
    C = symmetric(rng, N)
    held = [
        constraints.trace(N, 2.0),
        constraints.entries([0, 1], [1, 2], N, lower=-0.1, upper=0.2),
        constraints.entries([3], [3], N, upper=0.4),
        constraints.entries([4], [0], N, lower=-0.3),
    ]
    return Constrained(QuadraticSDP(C=0.5 * C), held), C


def measured(M):
    return np.array([np.trace(M), M[0, 1], M[1, 2], M[3, 3], M[4, 0]])


LOWER, UPPER = np.array([2.0, -0.1, -0.1, -np.inf, -0.3]), np.array([2.0, 0.2, 0.2, 0.4, np.inf])


def adjoint(y):
    S = y[0] * np.eye(N)
    for t, (i, j) in zip(y[1:], ((0, 1), (1, 2), (3, 3), (4, 0)), strict=True):
        S[i, j] += 0.5 * t
        S[j, i] += 0.5 * t
    return S


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("rank", [1, 3])
def test_every_number_of_a_constrained_certificate(scale, rank):
    problem, C = program()
    Y = scale * np.random.default_rng(rank).standard_normal((N, rank))
    M = Y @ Y.T
    found = certify(problem, Y)
    y, a = found.constraints.multipliers, measured(M)
    np.testing.assert_allclose([problem.lower, problem.upper], [LOWER, UPPER])
    S = C - adjoint(y)
    close = lambda x, z, size=1.0: np.testing.assert_allclose(x, z, rtol=1e-9, atol=1e-10 * size)  # noqa: E731
    close(found.value, np.sum(C * M), scale**2)
    close(found.value_at_zero, 0.0)
    close(found.trace, np.trace(M))
    least = np.linalg.eigvalsh(S)[0]
    size = np.linalg.norm(S)
    close(found.smallest_eigenvalue, least, size)
    close(found.lower_bound, least, size)
    close(found.stationarity, np.linalg.norm(S @ Y), size * scale)
    close(found.dual_infeasibility, max(0.0, -least), size)
    close(found.complementarity, abs(np.sum(S * M)), size * scale**2)
    # σ(y): the least ⟨y, a⟩ over the intervals; and tr M = 2
    least_a = np.where(y > 0.0, LOWER, UPPER)
    support = sum(t * b for t, b in zip(y, least_a, strict=True) if t != 0.0)
    close(found.dual_value, support + 2.0 * least if least < 0.0 else found.dual_value, size)
    assert np.all(y[3] <= 0.0)
    assert np.all(y[4] >= 0.0)
    if found.gap is not None:
        close(found.gap, abs(found.value - found.dual_value), size * scale**2)
    v = np.maximum(LOWER - a, 0.0) + np.maximum(a - UPPER, 0.0)
    values = 1.0 + abs(found.value) + abs(found.dual_value)
    close(found.constraints.dimacs["primal"], np.linalg.norm(v) / (1.0 + 2.0))
    close(found.constraints.dimacs["dual"], max(0.0, -least) / (1.0 + np.abs(C).max()))
    close(found.constraints.dimacs["gap"], abs(found.value - found.dual_value) / values)
    close(found.constraints.dimacs["complementarity"], abs(np.sum(S * M)) / values)
    close(found.stationarity_relative, np.linalg.norm(S @ Y) * np.linalg.norm(Y) / found.unit)
    close(found.dual_infeasibility_relative, max(0.0, -least) * np.trace(M) / found.unit)
    close(found.complementarity_relative, abs(np.sum(S * M)) / found.unit)
    assert found.constraints.trace_bound == pytest.approx(2.0)
    assert not found.infeasible
    assert not found.unbounded
