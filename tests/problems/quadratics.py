"""Quadratic SDPs of every kind of operand."""

import numpy as np

from ..instances import psd, symmetric

N = 9


def data(seed=0):
    rng = np.random.default_rng(seed)
    return rng, psd(rng, N), psd(rng, N, rank=5), symmetric(rng, N)
