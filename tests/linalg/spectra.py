"""Symmetric matrices of a given spectrum."""

import numpy as np


def frame(n, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]


def matrix(spectrum, seed=0):
    F = frame(len(spectrum), seed)
    S = (F * np.asarray(spectrum)) @ F.T
    return 0.5 * (S + S.T)
