"""Krylov spaces of one vector: the Lanczos recurrence, and estimates for a symmetric S from a few of its steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import ROUNDS
from psdopt.linalg.tolerances import EPS


def lanczos_steps(product: Callable[[Array], Array], start: Array, steps: int) -> Iterator[tuple[Array, Array, float]]:
    """(Q, T, length) after each of at most `steps` products: S Q = Q T + length q eᵀ, e the last unit vector.

    Q (n, j) has orthonormal columns, the first along `start` (n,), and T (j, j) is symmetric. `product` maps a unit
    vector (n,) to S times it. Ends early, with a last `length` of 0, if the space is invariant. The basis is
    orthogonalised in full, twice: cost O(n steps²) besides the products. Golub and Van Loan, Matrix Computations,
    section 10.1.
    """
    start = start / np.max(np.abs(start))
    steps = min(steps, len(start))
    Q = np.empty((len(start), steps + 1), order="F")
    Q[:, 0] = start / np.linalg.norm(start)
    T = np.zeros((steps, steps))
    for j in range(steps):
        deadline.ask()
        image = product(Q[:, j])
        basis = Q[:, : j + 1]
        along = basis.T @ image
        image = image - basis @ along
        again = basis.T @ image
        image -= basis @ again
        T[: j + 1, j] = T[j, : j + 1] = along + again
        length = math.sqrt(float(image @ image))
        invariant = length <= 10 * EPS * math.sqrt(len(start)) * max(float(np.max(np.abs(along))), EPS)
        yield basis, T[: j + 1, : j + 1], 0.0 if invariant else length
        if invariant:
            return
        Q[:, j + 1] = image / length


def smallest_ritz_vector(
    product: Callable[[Array], Array], start: Array, steps: int, target: Callable[[], float]
) -> tuple[Array, bool]:
    """(unit Ritz vector of the smallest Ritz value, whether its residual is at most target()).

    At most `steps` products. Fewer than ROUNDS steps test nothing and return the start, scaled: a cluster near the
    start could be mistaken for the end of the spectrum.
    """
    vector, found = start / np.max(np.abs(start)), False
    vector = vector / np.linalg.norm(vector)
    for Q, T, length in lanczos_steps(product, start, steps):
        if len(T) < ROUNDS:
            continue
        _, W = np.linalg.eigh(T)
        vector, found = Q @ W[:, 0], length * abs(W[-1, 0]) <= target()
        if found:
            break
    return vector, found


def norm_estimate(S: Array) -> float:
    """A lower estimate of |S|_2, in practice at most an eighth too low: four power steps from the largest column."""
    x = S[:, np.argmax(np.einsum("ij,ij->j", S, S))]
    length, size = math.sqrt(float(x @ x)), 0.0
    for _ in range(4 if length > 0.0 else 0):
        x = S @ (x / length)
        length = math.sqrt(float(x @ x))
        if length == 0.0:
            break
        size = max(size, length)
    return size
