"""The systems of interior points: A(Σ_k X_k A*_k(w) Q_k) + A diag(ratio) Aᵀ w = right for definite X_k and Q_k."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.limits import FLOPS, NUMBERS, SPARED
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array
from psdopt.linalg.ridged import refined, ridged_solver
from psdopt.linalg.tolerances import rounding


class CoupledSystem(Protocol):
    """solve(right) is w (m,); right(k, w) is A*_k(w) Q_k, and through(k, w, right(k, w)) is X_k A*_k(w) Q_k (s, s)."""

    def solve(self, right: Array) -> Array: ...

    def right(self, k: int, w: Array) -> Array: ...

    def through(self, k: int, w: Array, right: Array) -> Array: ...


class SchurSystem:
    """Solves by a factor of the Schur complement [Σ_k tr(A_s X_k A_t Q_k)] (m, m). m³/3 flops and the products.

    Raises numpy.linalg.LinAlgError if the complement is not definite even with a ridge.
    """

    def __init__(self, form: StandardForm, X: list[Array], Q: list[Array], ratio: Array) -> None:
        self.form, self.X, self.Q = form, X, Q
        M = np.zeros((form.m, form.m))
        for k, (block, P, R) in enumerate(zip(form.blocks, X, Q, strict=True)):
            deadline.ask()
            block.couplings.add(M, P, R, fresh=k == 0)
        if len(ratio):
            linear = sp.coo_array(form.A @ sp.diags_array(ratio) @ form.At)
            M[linear.coords] += linear.data
        self._solve = ridged_solver(M)

    def solve(self, right: Array) -> Array:
        return self._solve(right)

    def right(self, k: int, w: Array) -> Array:
        return self.form.blocks[k].adjoint_times(w, self.Q[k])

    def through(self, k: int, w: Array, right: Array) -> Array:
        return np.asarray(self.X[k] @ right)


class RootedSystem:
    """Solves by a root of the Schur complement, with columns L_kᵀ A_t K_kᵀ, where X_k = L_k L_kᵀ, Q_k = K_kᵀ K_k.

    The complement is the Gram matrix of this root, so its condition number is the square of the root's. Near a
    degenerate solution a factorisation Q R of the root therefore loses only half as many digits. Pivoting finds rows
    that depend on others; they get the multiplier zero. 2 m² Σ s_k² flops and 4 m Σ s_k³; memory m Σ s_k².
    """

    def __init__(self, form: StandardForm, L: list[Array], K: list[Array], ratio: Array) -> None:
        self.form, self.L, self.K = form, L, K
        self.parts = []
        for block, left, right in zip(form.blocks, L, K, strict=True):
            deadline.ask()
            forms = np.zeros((form.m, block.size**2))
            entries = block.B.toarray() * block.half
            forms[:, block.at] = entries
            forms[:, block.mirrored] = entries
            A = forms.reshape(form.m, block.size, block.size)
            self.parts.append((left.T @ (A @ right.T)).reshape(form.m, -1))
        roots = (form.A @ sp.diags_array(np.sqrt(ratio))).toarray()
        G = np.concatenate([*self.parts, roots], axis=1).T
        sizes = np.sqrt(np.einsum("ij,ij->j", G, G))
        self.scale = 1.0 / np.where(sizes > 0.0, sizes, 1.0)
        self.G = G * self.scale
        self.order, self.kept = np.arange(form.m), form.m
        least = rounding(1.0, len(G))  # relative to columns of norm one; those with a smaller pivot depend on others
        deadline.ask()
        self.R = scipy.linalg.qr(self.G, mode="r", check_finite=True)[0][: form.m]
        if len(self.R) < form.m or np.any(np.abs(np.diagonal(self.R)) <= least):
            self.R, order = scipy.linalg.qr(self.R, mode="r", pivoting=True, check_finite=False)
            self.order = order.astype(np.intp)
            self.kept = int(np.sum(np.abs(np.diagonal(self.R)) > least))
            self.R = self.R[: self.kept, : self.kept]

    def solve(self, right: Array) -> Array:
        w = refined(self._once, lambda b, w: b - self.G.T @ (self.G @ w), self.scale * right)
        return np.asarray(self.scale * w)

    def _once(self, right: Array) -> Array:
        w, at = np.zeros(len(right)), self.order[: self.kept]
        half = scipy.linalg.solve_triangular(self.R, right[at], trans="T", check_finite=False)
        w[at] = scipy.linalg.solve_triangular(self.R, half, check_finite=False)
        return w

    def right(self, k: int, w: Array) -> Array:
        K = self.K[k]
        return np.asarray(self.form.blocks[k].adjoint_times(w, K.T) @ K)

    def through(self, k: int, w: Array, right: Array) -> Array:
        size = self.form.blocks[k].size
        return np.asarray(self.L[k] @ (w @ self.parts[k]).reshape(size, size) @ self.K[k])


def affordable(form: StandardForm, last: bool = False) -> bool:
    """Whether :class:`RootedSystem` is affordable. `last` : whether nothing else is left to try."""
    squares = float(sum(block.size**2 for block in form.blocks) + len(form.c))
    return 2.0 * form.m**2 * squares <= (FLOPS if last else SPARED) and form.m * squares <= NUMBERS
