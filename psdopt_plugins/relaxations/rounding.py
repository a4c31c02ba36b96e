"""Two-sided cuts from unit vectors of the vertices: random hyperplanes, then moves of single vertices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from psdopt.errors import InvalidInputError
from psdopt.linalg import EPS, Array
from psdopt_plugins.limits import BLOCK

#: Candidates that a rounding improves or tries: the best cuts, and numbers of communities.
TRIED = 10


class Cut(NamedTuple):
    """Signs (n,) of the sides, the weight of the edges between them, and the mean weight over the hyperplanes."""

    signs: Array
    value: float
    mean: float


def hyperplane_cut(W: sp.csr_array, V: Array, rng: np.random.Generator, trials: int = 100, improve: bool = True) -> Cut:
    """The best of `trials` cuts of the graph W (n, n) by random hyperplanes through the rows of V (n, r).

    Vertex i is on the side sign(⟨v_i, g⟩) for Gaussian g (r,). For an optimal V of the relaxation and W >= 0 the mean
    of such a cut is at least 0.878 times the value of the relaxation. `improve` : in the best ten,
    move single vertices as long as that adds weight. O(trials (n r + entries of W)).

    Raises InvalidInputError for trials < 1 or another number of rows.
    """
    if trials < 1:
        raise InvalidInputError(f"trials must be at least 1; found {trials!r}")
    if V.shape[0] != W.shape[0]:
        raise InvalidInputError(f"V must have a row for each of {W.shape[0]} vertices; found shape {V.shape}")
    found: list[tuple[float, Array]] = []
    seen = 0.0
    size = max(1, BLOCK // len(V))
    for first in range(0, trials, size):
        S = np.where(V @ rng.standard_normal((V.shape[1], min(size, trials - first))) >= 0.0, 1.0, -1.0)
        values = _cut_values(W, S)
        seen += float(values.sum())
        found += [(float(values[k]), S[:, k]) for k in np.argsort(-values, kind="stable")[:TRIED]]
        found = sorted(found, key=lambda cut: -cut[0])[:TRIED]
    signs = found[0][1]
    if improve:
        better = np.column_stack([improved(W, each) for _, each in found])
        signs = better[:, np.argmax(_cut_values(W, better))]
    value = cut_value(W, signs)
    if value < 0.0:  # with negative weights the best may be no cut at all
        signs, value = np.ones(len(V)), 0.0
    return Cut(signs, value, seen / trials)


def _cut_values(W: sp.csr_array, S: Array) -> Array:
    """:func:`cut_value` of each column of S (n, k), up to rounding."""
    return np.asarray(0.25 * (float(W.data.sum()) - np.einsum("ik,ik->k", S, np.asarray(W @ S))))


def cut_value(W: sp.csr_array, signs: Array) -> float:
    """½ Σ_{i<j} W_ij (1 − s_i s_j): the weight of the edges between the sides."""
    i = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    return 0.5 * float(np.sum(W.data[signs[i] != signs[W.indices]]))


def improved(W: sp.csr_array, signs: Array) -> Array:
    """Signs of a cut that no move of a single vertex makes heavier, from `signs`: the best move first.

    Moving i adds s_i (W s)_i. Moves below rounding are not made, so that the search ends. O(n + degree) a move.
    """
    s = signs.copy()
    gain = s * np.asarray(W @ s)
    least = 8.0 * EPS * int(np.diff(W.indptr).max()) * float(np.abs(W.data).max(initial=0.0))
    while True:
        i = int(np.argmax(gain))
        if not gain[i] > least:
            return s
        s[i] = -s[i]
        gain[i] = -gain[i]
        part = slice(W.indptr[i], W.indptr[i + 1])
        near = W.indices[part]
        gain[near] += 2.0 * s[near] * s[i] * W.data[part]
