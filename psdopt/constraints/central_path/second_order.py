"""Second-order cones in standard form: x_0 >= |x_1|, which blocks of M in arrow form are for the problem."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psdopt.constraints.central_path.vectors import LocalVector, VectorMetric, VectorPart
from psdopt.constraints.cones import onto_cones
from psdopt.constraints.limits import SPARSE
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array
from psdopt.linalg.cone_steps import boundary, smoothed
from psdopt.linalg.entries import add_block, add_sparse, chosen_rows
from psdopt.linalg.tolerances import rounding


class SecondOrder(VectorPart):
    """K cones of one dimension d, x (K, d) with x_k0 >= |x_k1|: x = (tr Y, 2 Y_i0) of blocks Y ⪰ 0 of M.

    A factor of a block is (K, d, 2): with the unit vector u along x_1, the columns √(x_0 ± |x_1|) (1, ±u)/2.

    Parameters
    ----------
    rows : (K, d), the rows of M of each block, the common one first. C : (K, d). B : (m, K d), the coefficients of x.
    """

    def __init__(self, rows: NDArray[np.intp], C: Array, B: sp.csr_array) -> None:
        super().__init__(rows, C, B, len(rows))

    def start(self, b: Array) -> tuple[Array, Array]:
        """x, z of SDPT3's start: multiples of (1, 0)."""
        d = self.C.shape[1]
        squares = sp.coo_array(self.B.multiply(self.B) @ _by_cone(self.C.shape, np.ones(self.C.size)))
        (t, k), lengths = squares.coords, np.sqrt(squares.data)
        reach, largest = np.zeros(len(self.C)), np.linalg.norm(self.C, axis=1)
        np.maximum.at(reach, k, (1.0 + np.abs(b[t])) / (1.0 + lengths))
        np.maximum.at(largest, k, lengths)
        x, z = np.zeros_like(self.C), np.zeros_like(self.C)
        x[:, 0] = np.maximum(10.0, math.sqrt(d) * reach)
        z[:, 0] = np.maximum(10.0, math.sqrt(d) * largest)
        return x, z

    def factor(self, x: Array) -> Array:
        """The factors (K, d, 2); numpy.linalg.LinAlgError where an x is not in the interior."""
        if not np.all(x[:, 0] > np.linalg.norm(x[:, 1:], axis=1)):
            raise np.linalg.LinAlgError("a vector is not inside its cone")
        return self.root(x)

    def root(self, x: Array) -> Array:
        """:meth:`factor` for x in the cone, its boundary included."""
        length = np.linalg.norm(x[:, 1:], axis=1)
        u = np.zeros((len(x), 2, x.shape[1]))
        u[:, :, 0] = 1.0
        # where x_1 = 0 any unit vector will do
        first = np.eye(1, x.shape[1] - 1)
        u[:, 0, 1:] = np.where(length[:, None] > 0.0, x[:, 1:] / np.where(length > 0.0, length, 1.0)[:, None], first)
        u[:, 1, 1:] = -u[:, 0, 1:]
        values = np.maximum(np.stack([x[:, 0] + length, x[:, 0] - length], axis=1), 0.0)
        return np.asarray((0.5 * np.sqrt(values)[:, :, None] * u).mT)

    def reach(self, root: Array, d: Array) -> float:
        high, low = np.sqrt(2.0) * np.linalg.norm(root, axis=1).T  # the roots of x_0 ± |x_1|
        size = np.where(high > 0.0, high, 1.0)
        u = root[:, 1:, 0] / (0.5 * size)[:, None]
        # in the coordinates in which x is √det (1, 0), the least eigenvalue of d is its first entry less the rest
        along = np.einsum("kd,kd->k", u, d[:, 1:])
        plus, minus = (d[:, 0] + along) / high**2, (d[:, 0] - along) / low**2
        across = d[:, 1:] - along[:, None] * u
        half = 0.5 * (plus - minus)
        turned = np.hypot(half, np.linalg.norm(across, axis=1) / (high * low))
        return boundary(float(np.min(0.5 * (plus + minus) - turned)))

    def split(self, w: Array) -> tuple[Array, Array, Array]:
        """(w₊, w₋, H) with w = w₊ − w₋, both in the cones and orthogonal, and the factors H of w₋."""
        deadline.ask()
        positive = onto_cones(w)
        negative = positive - w
        return positive, negative, self.root(negative)

    def smoothed(self, w: Array) -> Callable[[float], tuple[Array, Array]]:
        """mu ↦ x, z in the cones with x − z = w and x ∘ z = mu (1, 0)."""
        length = np.linalg.norm(w[:, 1:], axis=1)
        u = w[:, 1:] / np.maximum(length, np.finfo(float).tiny)[:, None]
        roots = np.array([w[:, 0] + length, w[:, 0] - length])

        def pair(mu: float) -> tuple[Array, Array]:
            ends = smoothed(roots, mu)
            x, z = (np.concatenate([(p + q)[:, None], (p - q)[:, None] * u], axis=1) / 2.0 for p, q in ends)
            return x, z

        return pair

    def definite(self, v: Array) -> bool:
        """Whether all C_k − A_kᵀv are inside the cones beyond rounding."""
        A = self.adjoint(v)
        z, sizes = self.C - A, np.abs(self.C) + (abs(self.back) @ np.abs(v)).reshape(self.C.shape)
        lost = rounding(1.0, self.B.shape[0]) * np.sum(sizes, axis=1)
        return bool(np.all(z[:, 0] - np.linalg.norm(z[:, 1:], axis=1) > lost))

    def largest(self, z: Array) -> float:
        """max_k |z_k|: the size that rounding of z_0 − |z_1| is relative to."""
        return float(np.linalg.norm(z, axis=1).max(initial=0.0))

    def gathered(self, Y: Array) -> Array:
        """x (K, d) of a factor Y (n, width)."""
        H = Y[self.rows]
        x = 2.0 * np.einsum("kdr,kr->kd", H, H[:, 0])
        x[:, 0] = np.einsum("kdr,kdr->k", H, H)
        return np.asarray(x)

    def distance(self, x: Array, z: Array) -> float:
        """⟨x, z⟩."""
        return float(np.vdot(x, z))

    def placed(self, Y: Array, H: Array, first: NDArray[np.intp] | None = None) -> None:
        """Put the factors H (K, d, 2) into the rows of Y (n, width); cones have no log dets, `first` is 0 there."""
        Y[self.rows, :2] = H

    def spread(self, M: Array, x: Array) -> None:
        """Put blocks Y with x = (tr Y, 2 Y_i0), definite for x inside the cones, into their rows and columns of M."""
        d = x.shape[1]
        Y = x[:, 1:, None] * x[:, None, 1:] / (2.0 * x[:, :1, None])
        rest = (0.5 * x[:, 0] - np.trace(Y, axis1=1, axis2=2)) / (d - 1)
        M[self.rows[:, 1:, None], self.rows[:, None, 1:]] = Y + rest[:, None, None] * np.eye(d - 1)
        M[self.rows[:, :1], self.rows] = M[self.rows, self.rows[:, :1]] = 0.5 * x

    def local(self, x: Array, z: Array, L: Array, K: Array, R: Array | None, careful: bool) -> LocalVector:
        """The linearised equations at x and z, with R = C − Aᵀv − z."""
        scaling = SecondOrderMetric(self, *_scaling(x, z))
        return LocalVector(scaling, x, z, _reflected(z) / _det(z)[:, None], R, (L, K))


class SecondOrderSlacks(SecondOrder):
    """K cones of dimension d that no rows of M stand for: the slacks x = A_k(M) − b_k of constraints, without costs."""

    def __init__(self, count: int, d: int, B: sp.csr_array) -> None:
        super().__init__(np.zeros((count, d), dtype=np.intp), np.zeros((count, d)), B)

    def gathered(self, Y: Array) -> Array:
        """Zero slacks."""
        return np.zeros_like(self.C)

    def placed(self, Y: Array, H: Array, first: NDArray[np.intp] | None = None) -> None:
        """Nothing: slacks are in no row of M."""

    def spread(self, M: Array, x: Array) -> None:
        """Nothing."""


class SecondOrderMetric(VectorMetric):
    """H d = θ² (2 w (wᵀd) − J d) with wᵀJw = 1, J = diag(1, −I), for θ (K,) and w (K, d): W² of W = θ R, R w⁻¹ = w."""

    def __init__(self, part: SecondOrder, theta: Array, w: Array) -> None:
        self.part, self.theta, self.w = part, theta, w

    def times(self, d: Array) -> Array:
        """H d, (K, d)."""
        inner = np.einsum("kd,kd->k", self.w, d)
        return np.asarray((self.theta**2)[:, None] * (2.0 * inner[:, None] * self.w - _reflected(d)))

    def root_times(self, d: Array, inverse: bool = False) -> Array:
        """W d, or W⁻¹ d."""
        w, s = self.w, -1.0 if inverse else 1.0
        inner = np.einsum("kd,kd->k", w[:, 1:], d[:, 1:])
        first = w[:, 0] * d[:, 0] + s * inner
        rest = d[:, 1:] + (s * d[:, 0] + inner / (1.0 + w[:, 0]))[:, None] * w[:, 1:]
        return np.asarray(np.concatenate([first[:, None], rest], axis=1) * (self.theta**s)[:, None])

    def sparse(self) -> sp.csr_array:
        """A H Aᵀ (m, m)."""
        squares, heads = self._sparse_parts()
        return sp.csr_array(squares + heads @ heads.T)

    def _sparse_parts(self) -> tuple[sp.csr_array, sp.csr_array]:
        """−A θ² J Aᵀ (m, m), and P (m, K) with A H Aᵀ = −A θ² J Aᵀ + P Pᵀ: a column √2 θ A w for each cone."""
        squares = np.repeat(self.theta[:, None] ** 2, self.w.shape[1], axis=1)
        squares[:, 0] *= -1.0
        weights = math.sqrt(2.0) * self.theta[:, None] * self.w
        D, back = sp.diags_array(squares.reshape(-1)), sp.csr_array(self.part.back)
        P = self.part.B @ _by_cone(self.w.shape, weights.reshape(-1))
        return sp.csr_array(self.part.B @ (D @ back)), sp.csr_array(P)

    def add_to(self, M: Array, fresh: bool) -> None:
        """M (m, m) += A H Aᵀ."""
        if not isinstance(self.part.forth, np.ndarray):
            squares, heads = self._sparse_parts()
            add_sparse(M, squares)
            rows, counts = np.flatnonzero(np.diff(heads.indptr)), np.bincount(heads.indices, minlength=len(self.w))
            # P Pᵀ: a product for each cone and pair of rows, or at SPARSE times the cost for each pair of its entries
            if len(rows) ** 2 * len(self.w) > SPARSE * np.sum(counts.astype(float) ** 2):
                add_sparse(M, sp.csr_array(heads @ heads.T))
            else:
                few = chosen_rows(heads, rows).toarray()
                add_block(M, rows, few @ few.T)
            return
        few = self.part.forth.reshape(-1, *self.w.shape)
        P = np.einsum("mkd,kd->mk", few, self.theta[:, None] * self.w)
        B = few * self.theta[:, None]
        heads = B[:, :, 0]
        flat = B.reshape(len(B), self.w.size)
        M += flat @ flat.T + 2.0 * (P @ P.T - heads @ heads.T)

    def root(self) -> Array:
        """A W, (m, K d)."""
        columns = self.part.B.toarray().reshape(-1, *self.w.shape)
        return np.array([self.root_times(row) for row in columns]).reshape(len(columns), self.w.size)

    def corrected(self, dx: Array, dz: Array, z: Array) -> Array:
        """W (λ \\ (W⁻¹dx ∘ W dz)), λ = W z: the second-order term of x ∘ z along dx and dz."""
        scaled = self.root_times(z)
        a, b = self.root_times(dx, inverse=True), self.root_times(dz)
        first = np.einsum("kd,kd->k", a, b)
        rest = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:]
        with np.errstate(divide="ignore", invalid="ignore"):  # beyond the last digit; such a direction is no step
            top = (scaled[:, 0] * first - np.einsum("kd,kd->k", scaled[:, 1:], rest)) / _det(scaled)
            tail = (rest - top[:, None] * scaled[:, 1:]) / scaled[:, :1]
        return self.root_times(np.concatenate([top[:, None], tail], axis=1))


def _by_cone(shape: tuple[int, ...], numbers: Array) -> sp.csr_array:
    """(K d, K): the `numbers` of each cone in a column of their own."""
    count, d = shape
    place = np.repeat(np.arange(count), d)
    return sp.csr_array((numbers, (np.arange(count * d), place)), shape=(count * d, count))


def _reflected(x: Array) -> Array:
    """J x: the entries after the first with the other sign."""
    y = -x
    y[:, 0] = x[:, 0]
    return y


def _det(x: Array) -> Array:
    """x_0² − |x_1|², (K,), without cancellation of squares."""
    length = np.linalg.norm(x[:, 1:], axis=1)
    return np.asarray((x[:, 0] - length) * (x[:, 0] + length))


def _scaling(x: Array, z: Array) -> tuple[Array, Array]:
    """θ and w of the metric H with H z = x (Nesterov and Todd 1997); numpy.linalg.LinAlgError on the boundary."""
    of_x, of_z = _det(x), _det(z)
    if not np.all((of_x > 0.0) & (of_z > 0.0)):
        raise np.linalg.LinAlgError("a vector is not inside its cone")
    a, b = np.sqrt(of_x), np.sqrt(of_z)
    u, v = x / a[:, None], z / b[:, None]
    w = u + _reflected(v)
    w /= np.sqrt(2.0 * (1.0 + np.einsum("kd,kd->k", u, v)))[:, None]
    return np.sqrt(a / b), w
