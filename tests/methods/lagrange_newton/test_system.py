"""The linearised conditions of Lagrange: against dense algebra, with a shift where S is indefinite."""

import numpy as np
import pytest

from psdopt import EntryFit
from psdopt.linalg import solver_of
from psdopt.linalg.tolerances import EPS
from psdopt.methods.lagrange_newton.system import LagrangeSystem
from tests.problems.test_term_fit import FITS, N, symmetric


def dense(fit, w):
    """Σ w_t A_t."""
    return fit.gradient(w) - fit.gradient(np.zeros(fit.size))


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize("damping", [1e-3, 10.0])
def test_the_system_solves_the_linearised_conditions(kind, damping):
    rng = np.random.default_rng(3)
    problem = kind(rng)
    fit = problem.quadratic_fit()
    here, w = problem.at(rng.standard_normal((N, 3))), rng.standard_normal(fit.size)
    (Y, measured), pair = fit.at(here), fit.pair
    own = fit.multipliers(measured)
    system = LagrangeSystem(fit, Y, Y.factor, w, damping, np.empty((fit.size, fit.size)))
    S = fit.gradient(w)
    lowest = np.linalg.eigvalsh(S)[0]
    assert system.delta >= damping
    assert system.delta >= -lowest
    assert (system.delta == damping) == (lowest + damping > 0.0)  # raised where it has to be, and only there
    shifted = S + system.delta * np.eye(N)
    condition = np.linalg.cond(shifted)
    X, predicted = system.newton(w, own)
    v = predicted - w
    size = np.linalg.norm(S) * np.linalg.norm(Y.factor) + np.abs(v).sum() * np.linalg.norm(Y.factor)
    pulled = shifted @ X + dense(fit, v) @ Y.factor
    np.testing.assert_allclose(pulled, -S @ Y.factor, rtol=0, atol=64 * N * EPS * condition * size)
    rates = 2.0 * pair(Y, fit.block(X))
    np.testing.assert_allclose(
        v, own - w + fit.curvatures * rates, rtol=0, atol=64 * N * EPS * condition * max(1.0, np.abs(v).max())
    )
    stretch = pair(fit.block(X), fit.block(X))
    Z, bent = system.bend(stretch)
    np.testing.assert_allclose(
        shifted @ Z, -dense(fit, bent) @ Y.factor, rtol=0,
        atol=64 * N * EPS * condition * np.abs(bent).sum() * np.linalg.norm(Y.factor),
    )  # fmt: skip
    np.testing.assert_allclose(
        bent / fit.curvatures, stretch + 2.0 * pair(Y, fit.block(Z)), rtol=0,
        atol=64 * N * EPS * condition * max(1.0, np.abs(stretch).max(), np.abs(bent).max()),
    )  # fmt: skip


@pytest.mark.parametrize("n", [9, 80])
def test_an_indefinite_gradient_is_shifted_by_a_little_more_than_it_lacks(n):
    """At either side of the order from which the smallest eigenvalue is estimated first."""
    rng = np.random.default_rng(n)
    fit = EntryFit(symmetric(rng, n), [0, 1], [2, 1], 1.0).quadratic_fit()
    w, Y = np.zeros(2), rng.standard_normal((n, 2))
    lowest = np.linalg.eigvalsh(fit.gradient(w))[0]
    assert lowest < -1.0
    for damping in (1e-6, 1e-3):
        system = LagrangeSystem(fit, fit.block(Y), Y, w, damping, np.empty((2, 2)))
        assert damping - lowest < system.delta <= damping - 1.2 * lowest


def test_the_solver_reads_the_upper_triangle_and_refuses_what_is_not_definite():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((5, 5))
    K, q = A @ A.T + np.eye(5), rng.standard_normal(5)
    upper = np.triu(K) + np.tril(np.full((5, 5), np.nan), -1)
    solve = solver_of(upper)
    for _ in range(2):
        np.testing.assert_allclose(K @ solve(q), q, rtol=0, atol=1e3 * EPS)
    with pytest.raises(np.linalg.LinAlgError, match=r"not positive definite \(row 3\)"):
        solver_of(np.diag([1.0, 2.0, -1.0]))
