"""Regressions for online methods, in memory and on disk."""

import numpy as np

D, R, M = 8, 3, 640


def data(noise=0.02):
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((M, D)), rng.standard_normal((D, R))
    return X, ((X @ W) ** 2).sum(axis=1) * (1 + noise * rng.standard_normal(M))


FIXED = {"batch_size": 32, "scale": 0.5, "annealing": 0.5, "pretraining": 3}


def batches_of(X, y, first=0):
    return ((X[k : k + 32], y[k : k + 32]) for k in range(32 * first, M, 32))


def mapped(folder, X):
    file = np.lib.format.open_memmap(folder / "X.npy", mode="w+", dtype=float, shape=X.shape)
    file[:] = X
    file.flush()
    return np.load(folder / "X.npy", mmap_mode="r")
