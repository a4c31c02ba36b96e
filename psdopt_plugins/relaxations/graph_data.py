"""Graphs to try the relaxations on, drawn with a fixed seed."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from psdopt.plugins import Dataset

SIDE = 16


def torus_graph() -> Dataset:
    """A SIDE × SIDE grid whose opposite borders are joined, with weights 1 and −1 on its edges."""
    rng = np.random.default_rng(0)
    at = np.arange(SIDE**2).reshape(SIDE, SIDE)
    i = np.tile(at.ravel(), 2)
    j = np.concatenate([np.roll(at, -1, axis=0).ravel(), np.roll(at, -1, axis=1).ravel()])
    return Dataset("torus_graph", _symmetric(i, j, rng.choice([-1.0, 1.0], len(i)), SIDE**2))


def random_graph() -> Dataset:
    """50 vertices, each pair joined with probability 0.2."""
    i, j = np.triu_indices(50, 1)
    kept = np.random.default_rng(0).random(len(i)) < 0.2
    return Dataset("random_graph", _symmetric(i[kept], j[kept], np.ones(int(kept.sum())), 50))


def planted_graph() -> Dataset:
    """150 vertices in three groups; pairs are joined with probability 0.2 within a group and 0.03 between groups."""
    groups = np.repeat(np.arange(3), 50)
    i, j = np.triu_indices(150, 1)
    kept = np.random.default_rng(0).random(len(i)) < np.where(groups[i] == groups[j], 0.2, 0.03)
    return Dataset("planted_graph", _symmetric(i[kept], j[kept], np.ones(int(kept.sum())), 150), groups)


def _symmetric(i: np.ndarray, j: np.ndarray, weights: np.ndarray, n: int) -> sp.csr_array:
    half = sp.csr_array((weights, (i, j)), shape=(n, n))
    return sp.csr_array(half + half.T)
