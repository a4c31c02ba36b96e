"""Symmetric matrices for eigensolvers, of a given spectrum and random ones, and operators that count."""

import numpy as np


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
