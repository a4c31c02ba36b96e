"""Points and multipliers near given ones that meet the equations: the least change in the units of the cones.

A change Δ of a block S is measured by |L⁻¹ Δ L⁻ᵀ|, S = L Lᵀ, and one of a nonnegative number relative to it. This is
the metric of the barrier of the cones: whatever the units of rows and the basis of a block, what is changed by less
than 1 stays inside (Dikin's ellipsoid). So an interior answer whose equations hold to a few digits less than its gap
becomes one whose equations hold to rounding, if it has interior points nearby at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import qr, solve_triangular

from psdopt.interop._cone_program import ConeProgram, Stack
from psdopt.linalg.arrays import Array
from psdopt.linalg.tolerances import EPS

#: Most multiplications of a repair, R N²: a second or two.
MOST_FLOPS = 1e9
#: Rounds, of which the second one takes away what rounding left of the first.
ROUNDS = 2


class Repair:
    """Both repairs of one program, with what they share: A as an array and a basis of its equations.

    Cost: 2 N² times the number of equations, and N R numbers; of each repair O(R N²) flops and N R numbers.
    """

    def __init__(self, program: ConeProgram) -> None:
        self.program, self.A = program, program.A.toarray()
        self.equations = _Basis(self.A[: program.zero].T, whole=True)
        self._free = self.A @ self.equations.rest  # the rows for unknowns that keep the equations

    def multipliers(self, gradient: Array, y: Array) -> Array:
        """y' (R,) with gradient + Aᵀy' = 0 up to rounding, nearest to `y` (R,) with its negative parts left out.

        The multipliers of equations are free and count nothing; the change of the others is H⁻¹ A u, H the metric at
        y. Multipliers on the boundary of a cone stay in their face.
        """
        p, A, first = self.program, self.A, self.program.first_psd
        y, roots = y.copy(), []
        y[p.zero : first] = np.maximum(y[p.zero : first], 0.0)
        halved = y / p.twice
        for stack in p.stacks:
            values, V = np.linalg.eigh(stack.matrices(halved))
            L = V * np.sqrt(np.maximum(values, 0.0))[:, None, :]
            y[stack.rows] = _entries(stack, L @ L.mT)
            roots.append(L)
        single = y[p.zero : first].copy()
        cones = _Basis(_images(p, self._free, single, roots))
        for _ in range(ROUNDS):
            z = np.zeros(len(y))
            z[p.zero :] = cones.shortest(-(gradient + A.T @ y) @ self.equations.rest)
            y[p.zero : first] += single * z[p.zero : first]
            z /= np.sqrt(p.twice)
            for stack, L in zip(p.stacks, roots, strict=True):
                y[stack.rows] += _entries(stack, L @ stack.matrices(z) @ L.mT)
            y[: p.zero] += self.equations.nearest(-(gradient + A.T @ y))
        return y

    def point(self, x: Array, s: Array) -> Array:
        """x' (N,) that meets the equations and whose slacks b − A x' are nearest to the interior ones `s` (R,).

        x itself where some slack in s is on the boundary.
        """
        p, A, single = self.program, self.A, s[self.program.zero : self.program.first_psd]
        spectra = [np.linalg.eigh(stack.matrices(s)) for stack in p.stacks]
        if not min([*single, *(float(np.min(values)) for values, _ in spectra)], default=0.0) > 0.0:
            return x
        roots = [V / np.sqrt(values)[:, None, :] for values, V in spectra]
        cones = _Basis(_images(p, self._free, 1.0 / single, roots))
        for _ in range(ROUNDS):
            x = x + self.equations.shortest(p.b[: p.zero] - A[: p.zero] @ x)
            off = _images(p, (p.b - A @ x - s)[:, None], 1.0 / single, roots)[:, 0]
            x = x + self.equations.rest @ cones.nearest(off)
        return x


def inside(program: ConeProgram, y: Array, share: float) -> Array:
    """y (R,) with `share` of its largest entry added to the multipliers of inequalities and the diagonals of blocks."""
    ones = np.where(program.twice == 1.0, 1.0, 0.0)
    ones[: program.zero] = 0.0
    return y + share * float(np.max(np.abs(y), initial=0.0)) * ones


class _Basis:
    """The range of B (q, p) to its numerical rank, by a QR decomposition with pivots, its columns of length one.

    `rest` : with `whole`, an orthonormal basis of its complement.
    """

    def __init__(self, B: Array, whole: bool = False) -> None:
        lengths = np.sqrt(np.einsum("ij,ij->j", B, B))
        self.scale = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
        decomposed: Any = qr  # SciPy's annotations allow no name of a mode
        mode = "full" if whole else "economic"
        Q, R, order = decomposed(B * self.scale, mode=mode, pivoting=True, check_finite=False)
        sizes = np.abs(np.diagonal(R))
        rank = int(np.sum(sizes > EPS * max(B.shape) * np.max(sizes, initial=0.0)))
        self.Q, self.rest, self.R, self.order = Q[:, :rank], Q[:, rank:], R[:rank, :rank], order[:rank]

    def shortest(self, right: Array) -> Array:
        """The shortest z (q,) with Bᵀ z = right (p,), if there is one."""
        return np.asarray(self.Q @ solve_triangular(self.R, (self.scale * right)[self.order], trans="T"))

    def nearest(self, right: Array) -> Array:
        """An x (p,) that minimises |B x − right| for `right` (q,)."""
        x = np.zeros(len(self.scale))
        x[self.order] = solve_triangular(self.R, self.Q.T @ right)
        return self.scale * x


def _entries(stack: Stack, Y: Array) -> Array:
    """The multipliers of the entries of triangles, (blocks, k (k + 1)/2), for those of matrices Y (blocks, k, k)."""
    return np.asarray(Y[:, stack.i, stack.j] * stack.twice)


def _images(p: ConeProgram, A: Array, sizes: Array, roots: list[Array]) -> Array:
    """(R − zero, k) : rows of inequalities of A (R, k) times `sizes`, of blocks the entries of Kᵀ E_j K, K the roots.

    E_j are the coefficients of column j. Entries beside the diagonal are multiplied by √2, so that products of columns
    are those of matrices.
    """
    B = np.empty((A.shape[0] - p.zero, A.shape[1]))
    B[: p.nonneg] = A[p.zero : p.first_psd] * sizes[:, None]
    for stack, K in zip(p.stacks, roots, strict=True):
        E = np.empty((A.shape[1], *K.shape))
        E[:, :, stack.i, stack.j] = E[:, :, stack.j, stack.i] = np.moveaxis(A[stack.rows], 2, 0)
        images = (K.mT @ E @ K)[:, :, stack.i, stack.j] * np.sqrt(stack.twice)
        B[stack.rows - p.zero] = np.moveaxis(images, 0, 2)
    return B
