"""A PSD block under a nuclear norm: C = c I on the diagonal, and entries of the A_t between two sets of rows alone."""

from __future__ import annotations


import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.central_path.semidefinite import Semidefinite
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import MINOR, rounding


class Bipartite(Semidefinite):
    """One block X = [[P, G], [Gᵀ, Q]] of which constraints have entries of G (p, q) alone, with tr P + tr Q in F.

    Every slack is Z = [[c I, D], [Dᵀ, c I]], which is semidefinite exactly where |D|₂ <= c, and for given G the least
    tr P + tr Q is 2 |G|_*, the nuclear norm. So the projection to the cone in a splitting of the dual may be taken
    among such Z: it is that of the corner D to the ball, by eigenvectors of order min(p, q) in place of p + q.

    Attributes: `sides`, the rows of G and its columns, numbers within the block.
    """

    sides: tuple[NDArray[np.intp], NDArray[np.intp]]

    @staticmethod
    def sides_of(part: Semidefinite) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
        """The two sets of rows of the one block of `part`, fewer columns than rows; None where it has no such form.

        Each edge of the graph of the entries leads from one set to the other. O(s² + entries).
        """
        if part.count > 1 or part.weights is not None or np.any(part.i == part.j):
            return None
        C = part.C[0]
        costs, off = np.diagonal(C), C - np.diag(np.diagonal(C))
        if not costs[0] > 0.0 or np.any(costs != costs[0]):
            return None
        k, j = np.nonzero(off)
        i, j = np.concatenate([part.i, k]), np.concatenate([part.j, j])
        links = sp.csr_array((np.ones(len(i)), (i, j)), shape=C.shape)
        far = sp.csgraph.shortest_path(links, directed=False, unweighted=True, indices=0)
        if not np.isfinite(far).all():
            return None
        second = far % 2.0 == 1.0
        if np.any(second[i] == second[j]):
            return None
        rows, columns = np.flatnonzero(~second), np.flatnonzero(second)
        return (rows, columns) if len(columns) <= len(rows) else (columns, rows)

    @classmethod
    def of(cls, part: Semidefinite) -> Semidefinite:
        """`part` itself, or the same block in this form where it has it."""
        sides = cls.sides_of(part)
        if sides is None:
            return part
        found = cls(part.rows, part.C, part.i, part.j, part.B)
        found.sides = sides
        return found

    def split(self, W: Array) -> tuple[Array, Array, Array]:
        """(Z, X, H) with Z − X = W in the corners, X = H Hᵀ, Z the nearest slack: singular values cut off at c.

        Diagonal blocks of W are not read: those of a slack are c I.
        """
        rows, columns = self.sides
        c, G = float(self.C[0, 0, 0]), W[0][np.ix_(rows, columns)]
        U, over, V = _beyond(G, c)
        H = np.zeros((1, self.size, len(over)))
        H[0, rows], H[0, columns] = U * np.sqrt(over), V * -np.sqrt(over)
        corner = G - (U * over) @ V.T
        Z = np.zeros_like(W)
        Z[0][np.ix_(rows, columns)], Z[0][np.ix_(columns, rows)] = corner, corner.T
        Z[0].flat[:: self.size + 1] = c
        return Z, H @ H.mT, H


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
