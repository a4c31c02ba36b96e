"""x >= 0 in standard form: blocks of order one and the slacks of inequalities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.central_path.vectors import LocalVector, VectorMetric, VectorPart
from psdopt.linalg.arrays import Array
from psdopt.linalg.cone_steps import boundary, smoothed
from psdopt.linalg.entries import add_sparse
from psdopt.linalg.tolerances import rounding


class Orthant(VectorPart):
    """x >= 0, (p,): first the diagonal entries of M that are blocks of order one, in `rows`, then slacks.

    Its factors are roots √x, its products those of entries: the diagonal matrices among those of
    :class:`~psdopt.constraints.central_path.semidefinite.Semidefinite`, with the same members.

    Parameters
    ----------
    rows : the rows of M that the first entries are. C : (p,). B : (m, p), the coefficients of x.
    weights : ν (p,) of −Σ ν log x in the objective, None without any.
    """

    def __init__(self, rows: NDArray[np.intp], C: Array, B: sp.csr_array, weights: Array | None = None) -> None:
        super().__init__(rows, C, B, len(C), weights)

    def start(self, b: Array) -> tuple[Array, Array]:
        """x, z of SDPT3's start: 10 each."""
        return np.full(len(self.C), 10.0), np.full(len(self.C), 10.0)

    def factor(self, x: Array) -> Array:
        """√x; numpy.linalg.LinAlgError where an entry is not positive or not finite."""
        if not ((x > 0.0) & (x < np.inf)).all():
            raise np.linalg.LinAlgError("an entry of x is not positive and finite")
        return np.sqrt(x)

    def root(self, x: Array) -> Array:
        """√x for x >= 0, zero where rounding has made an entry negative."""
        return np.sqrt(np.maximum(x, 0.0))

    def reach(self, root: Array, d: Array) -> float:
        return boundary(float(np.minimum.reduce(d / (root * root), initial=0.0)))

    def split(self, w: Array) -> tuple[Array, Array, Array]:
        """(w₊, w₋, √w₋)."""
        negative = np.maximum(-w, 0.0)
        return np.maximum(w, 0.0), negative, np.sqrt(negative)

    def smoothed(self, w: Array) -> Callable[[float], tuple[Array, Array]]:
        """mu ↦ x, z >= 0 with x − z = w and x z = mu + ν."""
        return lambda mu: smoothed(w, mu if self.weights is None else mu + self.weights)

    def definite(self, v: Array) -> bool:
        """Whether C − Bᵀv is positive beyond rounding."""
        allowed = rounding(1.0, self.B.shape[0]) * (np.abs(self.C) + abs(self.back) @ np.abs(v))
        return bool(np.all(self.C - self.adjoint(v) >= allowed))

    def largest(self, z: Array) -> float:
        """0: the entries of z have no rounding but their own."""
        return 0.0

    def gathered(self, Y: Array) -> Array:
        """The diagonal entries of a factor Y (n, width), and zero slacks."""
        H = Y[self.rows]
        return np.concatenate([np.einsum("ir,ir->i", H, H), np.zeros(len(self.C) - len(self.rows))])

    def distance(self, x: Array, z: Array) -> float:
        """Σ |x z − ν|."""
        return float(x @ z) if self.weights is None else float(np.sum(np.abs(x * z - self.weights)))

    def log_dets(self, z: Array) -> Array:
        """log z of the blocks of order one, (len(rows),)."""
        return np.log(z[: len(self.rows)])

    def placed(self, Y: Array, root: Array, first: NDArray[np.intp] | None = None) -> None:
        """Put the roots (p,) into the columns `first` (n,) of Y (n, width), default 0, those of slacks left out."""
        Y[self.rows, 0 if first is None else first[self.rows]] = root[: len(self.rows)]

    def spread(self, M: Array, x: Array) -> None:
        """Put x on the diagonal of M (n, n)."""
        M[self.rows, self.rows] = x[: len(self.rows)]

    def local(self, x: Array, z: Array, root: Array, other: Array, R: Array | None, careful: bool) -> LocalVector:
        """The linearised equations at x and z, with R = C − Bᵀv − z."""
        return LocalVector(OrthantMetric(self, x / z), x, z, 1.0 / z, R, (root, other))


class OrthantMetric(VectorMetric):
    """d ↦ h d for positive h (p,), and B diag(h) Bᵀ."""

    def __init__(self, part: Orthant, h: Array) -> None:
        self.part, self.h = part, h

    def sparse(self) -> sp.csr_array:
        """B diag(h) Bᵀ (m, m)."""
        return sp.csr_array(self.part.B @ (sp.diags_array(self.h) @ sp.csr_array(self.part.back)))

    def add_to(self, M: Array, fresh: bool) -> None:
        """M (m, m) += B diag(h) Bᵀ."""
        if isinstance(self.part.forth, np.ndarray):
            M += (self.part.forth * self.h) @ self.part.back
        else:
            add_sparse(M, self.sparse())

    def root(self) -> Array:
        """B diag(√h), (m, p)."""
        return np.asarray((self.part.B @ sp.diags_array(np.sqrt(self.h))).toarray())

    def times(self, d: Array) -> Array:
        """h d."""
        return self.h * d

    def corrected(self, dx: Array, dz: Array, z: Array) -> Array:
        """dx dz / z."""
        return np.asarray(dx * dz / z)
