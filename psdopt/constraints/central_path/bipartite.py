"""A PSD block under a nuclear norm: C = c I on the diagonal, and entries of the A_t between two sets of rows alone."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.central_path.semidefinite import Semidefinite
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array
from psdopt.linalg.subset import least_eigenvalue
from psdopt.linalg.tolerances import MINOR, rounding


class Bipartite(Semidefinite):
    """One block M = [[P, G], [Gᵀ, Q]] of whose entries constraints have those of G (p, q) alone, with c I in C.

    Slacks are [[c I, D], [Dᵀ, c I]], semidefinite exactly where |D|₂ <= c, and for given G the least tr P + tr Q is
    2 |G|_*, the nuclear norm. So X stands for √2 G here, with the norm of the two corners, and Z for √2 D, in the ball
    of radius √2 c: splitting takes eigenvectors of order min(p, q) in place of p + q.

    Attributes: `C`, √2 times the corner of C (p, q); `radius`, √2 c; `sides`, the rows of G and its columns, as numbers
    within the block.
    """

    sides: tuple[NDArray[np.intp], NDArray[np.intp]]

    def __init__(self, part: Semidefinite, sides: tuple[NDArray[np.intp], NDArray[np.intp]]) -> None:
        super().__init__(part.rows, part.C, part.i, part.j, part.B)
        self.sides, (rows, columns) = sides, sides
        self.radius = math.sqrt(2.0) * float(part.C[0, 0, 0])
        self.C = math.sqrt(2.0) * part.C[0][np.ix_(rows, columns)]
        place = np.zeros(self.size, dtype=np.intp)
        place[rows], place[columns] = np.arange(len(rows)), np.arange(len(columns))
        self.fixed = np.diagonal(part.C[0])
        swapped = np.isin(part.i, columns)
        i, j = np.where(swapped, part.j, part.i), np.where(swapped, part.i, part.j)
        self.at = place[i] * len(columns) + place[j]

    @classmethod
    def of(cls, part: Semidefinite) -> Semidefinite:
        """`part` itself, or the same block in this form where it has it."""
        sides = sides_of(part)
        return part if sides is None else cls(part, sides)

    def measure(self, X: Array) -> Array:
        """(⟨A_t, M⟩)_t of √2 G."""
        return np.asarray(self.forth @ X.reshape(-1).take(self.at)) * math.sqrt(0.5)

    def adjoint(self, v: Array) -> Array:
        """√2 times the corner of Σ_t v_t A_t, (p, q)."""
        S = np.zeros(self.C.size)
        S[self.at] = math.sqrt(0.5) * np.asarray(self.back @ v)
        return S.reshape(self.C.shape)

    def split(self, W: Array) -> tuple[Array, Array, Array]:
        """(Z, X, H) with Z − X = W, the singular values of Z those of W cut off at the radius, M = H Hᵀ that of X."""
        U, over, V = _beyond(W, self.radius)
        H, (rows, columns) = np.zeros((1, self.size, len(over))), self.sides
        lengths = np.sqrt(over * math.sqrt(0.5))
        H[0, rows], H[0, columns] = U * lengths, V * -lengths
        X = (U * -over) @ V.T
        return W + X, X, H

    def below(self, Z: Array, R: Array) -> float:
        """How far the least eigenvalue of the slack Z + R is below zero, without eigenvectors."""
        D = Z + R
        largest = math.sqrt(max(-least_eigenvalue(-(D.T @ D)), 0.0))
        return math.sqrt(0.5) * max(largest - self.radius, 0.0)

    def largest(self, Z: Array) -> float:
        """√s times the norm of the slack."""
        return math.sqrt(self.size * (0.5 * self.size * self.radius**2 + float(np.vdot(Z, Z))))

    def gathered(self, Y: Array) -> Array:
        """X of a factor Y (n, width) of M."""
        H = Y[self.rows[0]]
        return np.asarray(math.sqrt(2.0) * H[self.sides[0]] @ H[self.sides[1]].T)


def sides_of(part: Semidefinite) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """The rows and columns of the corner of `part`, no more columns than rows; None where it has no such form.

    Each edge of the graph of the entries leads from the rows to the columns. O(s² + entries).
    """
    if part.count > 1 or part.weights is not None or np.any(part.i == part.j):
        return None
    C = part.C[0]
    costs = np.diagonal(C)
    if not costs[0] > 0.0 or np.any(costs != costs[0]):
        return None
    a, b = np.nonzero(C - np.diag(costs))
    i, j = np.concatenate([part.i, a]), np.concatenate([part.j, b])
    links = sp.csr_array((np.ones(len(i)), (i, j)), shape=C.shape)
    far = sp.csgraph.shortest_path(links, directed=False, unweighted=True, indices=0)
    if not np.isfinite(far).all():
        return None
    second = far % 2.0 == 1.0
    if np.any(second[i] == second[j]):
        return None
    rows, columns = np.flatnonzero(~second), np.flatnonzero(second)
    return (rows, columns) if len(columns) <= len(rows) else (columns, rows)


def _beyond(G: Array, c: float) -> tuple[Array, Array, Array]:
    """(U (p, k), d (k,), V (q, k)): the singular values c + d of G above c, with their vectors.

    From eigenvectors of GᵀG where its rounding, relative to c², is minor: a fraction of the cost of an SVD.
    """
    deadline.ask()
    squares, V = np.linalg.eigh(G.T @ G)
    if rounding(float(squares[-1]), len(V)) <= MINOR**2 * c**2:
        k = int(np.searchsorted(squares, c**2, side="right"))
        V, values = V[:, k:], np.sqrt(squares[k:])
        return (G @ V) / values, values - c, V
    U, values, Vt = np.linalg.svd(G, full_matrices=False)
    k = int(np.count_nonzero(values > c))
    return U[:, :k], values[:k] - c, Vt[:k].T
