"""Symmetric matrices for eigensolvers, of a given spectrum and random ones, and operators that count."""

import numpy as np

SPECTRA = {
    "normal": lambda n, rng: rng.standard_normal(n),
    "uniform": lambda n, rng: np.linspace(0.0, 1.0, n),
    "cluster": lambda n, rng: np.r_[-1 + 1e-9 * np.arange(n // 4), rng.random(n - n // 4)],
    "cluster at zero": lambda n, rng: np.r_[1e-7 * rng.standard_normal(n // 4), rng.random(n - n // 4)],
    "repeated": lambda n, rng: np.round(3 * rng.standard_normal(n)),
    "slightly negative": lambda n, rng: np.r_[-1e-6, np.linspace(0.0, 1.0, n - 1)],
    "psd low rank": lambda n, rng: np.r_[np.zeros(n - n // 4), 1 + rng.random(n // 4)],
    "identity": lambda n, rng: np.ones(n),
    "zero": lambda n, rng: np.zeros(n),
    "geometric": lambda n, rng: -np.geomspace(1e-12, 1.0, n),
}


def frame(n, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]


def matrix(spectrum, seed=0):
    F = frame(len(spectrum), seed)
    S = (F * np.asarray(spectrum)) @ F.T
    return 0.5 * (S + S.T)


def symmetric(n, seed, shift=0.0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return 0.5 * (A + A.T) + shift * np.eye(n)


class Counted:
    """An operator that counts columns by itself."""

    def __init__(self, S):
        self.S, self.shape, self.columns = S, S.shape, 0

    def __matmul__(self, X):
        self.columns += 1 if X.ndim == 1 else X.shape[1]
        return self.S @ X
