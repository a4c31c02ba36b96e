"""The paper's oracle of BILGO: it agrees with LAPACK, counts its products, and is verified."""

import numpy as np
import pytest

from benchmarks.papers.newton_oracle import newton_least


class Counted:
    """An operator that counts columns by itself."""

    def __init__(self, S):
        self.S, self.shape, self.columns = S, S.shape, 0

    def __matmul__(self, X):
        self.columns += X.shape[1]
        return self.S @ X


def symmetric(n, seed, shift=0.0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return 0.5 * (A + A.T) + shift * np.eye(n)


@pytest.mark.parametrize("inner", ["lanczos", "cg"])
@pytest.mark.parametrize("shift", [0.0, 40.0, -40.0])  # mixed, positive and negative definite
def test_it_agrees_with_lapack(inner, shift):
    S = Counted(symmetric(240, 1, shift))
    tol = 1e-7 * np.linalg.norm(S.S, 2)
    pair = newton_least(S, inner=inner, tol=tol)
    assert abs(pair.value - np.linalg.eigvalsh(S.S)[0]) <= tol
    assert np.linalg.norm(S.S @ pair.vector - pair.value * pair.vector) <= 2 * tol
    assert pair.products == S.columns


@pytest.mark.parametrize("inner", ["lanczos", "cg"])
def test_an_exact_start_costs_two_or_three_products(inner):
    S = symmetric(300, 3)
    assert newton_least(S, inner=inner, tol=1e-8, start=np.linalg.eigh(S)[1][:, :1]).products <= 3
