"""The ability "biconvex-split" is a member: a problem written by hand is solved by ADMM."""

import numpy as np
import pytest

from psdopt import Ability, FlatQuotient, QuadraticSDP, solve
from psdopt.contracts.splitting import BiconvexSplit
from psdopt.methods.admm import ADMM


class Squared(BiconvexSplit):
    """F(V, U) = |V Uᵀ − K|²/4 + |U Vᵀ − K|²/4 for a dense K: no coupling, one (r, r) system for all rows."""

    def __init__(self, problem, K):
        self.problem, self.K, self.n = problem, K, len(K)
        self.coupling_bound, self.scale = 0.0, float(np.linalg.norm(K, 2))

    def image(self, Y):
        return np.zeros_like(Y)

    def update(self, U, LU, anchor, rho):
        return np.linalg.solve(U.T @ U + rho * np.eye(U.shape[1]), (self.K @ U + rho * anchor).T).T

    def value(self, V, U, LU):
        return 0.5 * float(np.sum((V @ U.T - self.K) ** 2))

    def evaluation(self, Y, LY):
        return self.problem.at(Y)


class NearestPSD(QuadraticSDP):
    """½ |M − K|² with a split of its own."""

    def __init__(self, K):
        super().__init__(B=0.5, C=-0.5 * K, constant=0.5 * float(np.sum(K**2)))
        self.abilities |= {Ability.SPLIT}
        self._own = Squared(self, K)

    def split(self):
        return self._own


def test_any_problem_that_declares_a_split_will_do():
    rng = np.random.default_rng(2)
    K = rng.standard_normal((10, 10))
    K = K + K.T
    result = solve(NearestPSD(K), FlatQuotient(10, 10), ADMM())
    assert result.optimal
    values = np.linalg.eigvalsh(K)
    assert result.value == pytest.approx(0.5 * np.sum(np.minimum(values, 0.0) ** 2), rel=1e-6)
