"""Lagrange's conditions at a factor and multipliers, and their derivative."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from psdopt.constraints.problem import Constrained
from psdopt.contracts.gradient import dense_gradient
from psdopt.contracts.images import Images
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.complex_arrays import turned
from psdopt.linalg.krylov import norm_estimate
from psdopt.linalg.limits import ITERATED_ORDER
from psdopt.linalg.tolerances import ROOT_EPS
from psdopt.running.derivatives.hermitian import hermitian_axes, part, whole
from psdopt.terms.base import combine


@dataclass(frozen=True)
class Conditions:
    """S(y) Y = 0 and ⟨A_t, Y Yᵀ⟩ = b_t for t in `rows`, with S(y) = ∇F(M) + Σ_t y_t A_t, at Y (n, r) and y (k,).

    `problem` : F, or F under constraints. `rows` (k,) : the active constraints. `bound` (k,) : b.
    `hermitian` : whether M counts as a Hermitian matrix, and Y = [W, J W]/√2 (:mod:`.hermitian`).
    """

    problem: Problem
    evaluation: Evaluation
    rows: NDArray[np.intp]
    bound: Array
    y: Array
    hermitian: bool = False

    @property
    def Y(self) -> Array:
        return self.evaluation.factor

    @cached_property
    def probe(self) -> Array:
        """Fixed numbers (n, r), no random start of a run: to these, directions in which M is free are orthogonal."""
        return np.asarray(np.cos(np.arange(1.0, self.Y.size + 1.0) ** 2).reshape(self.Y.shape))

    @property
    def model(self) -> Constrained | None:
        return self.problem if isinstance(self.problem, Constrained) else None

    def along(self, axes: Array) -> Conditions:
        """The conditions at the Y of some axes (n, k) of M."""
        return replace(self, evaluation=self.problem.at(whole(axes) if self.hermitian else axes))

    def moved(self, X: Array, v: Array) -> Conditions:
        """The conditions at Y + X, y + v."""
        there = self.problem.at(self.Y + X)
        moved = Conditions(self.problem, there, self.rows, self.bound, self.y + v, self.hermitian)
        vars(moved)["unit"] = self.unit
        return moved

    @cached_property
    def multipliers(self) -> Array:
        """y with zeros for the inactive constraints, (m,)."""
        return self.spread(self.y)

    def spread(self, v: Array) -> Array:
        """v (k,) at the active ones of all constraints, (m,)."""
        full = np.zeros(0 if self.model is None else self.model.m)
        full[self.rows] = v
        return full

    @cached_property
    def slack(self) -> Array:
        """S(y) (n, n)."""
        S = dense_gradient(self.evaluation)
        if self.model is not None:
            self.model.measurement.add_to(S, self.multipliers)
        return S

    @cached_property
    def pull(self) -> Array:
        """S(y) Y (n, r)."""
        return 0.5 * self.evaluation.factor_gradient() + self.force(self.y, self.Y)

    @cached_property
    def off(self) -> Array:
        """⟨A_t, M⟩ − b_t, (k,)."""
        return self.values(self.Y, self.Y) - self.bound

    def force(self, v: Array, V: Array) -> Array:
        """Σ_t v_t A_t V over the active t, (n, r)."""
        if self.model is None or len(v) == 0:
            return np.zeros_like(V)
        measurement = self.model.measurement
        return combine(measurement.adjoint(self.spread(v), Images(measurement.maps, V)), V.shape)

    def values(self, U: Array, V: Array) -> Array:
        """⟨A_t, (U Vᵀ + V Uᵀ)/2⟩ over the active t, (k,)."""
        if self.model is None or len(self.rows) == 0:
            return np.zeros(0)
        measurement = self.model.measurement
        images = Images(measurement.maps, U)
        return measurement.pair(images, images if U is V else Images(measurement.maps, V))[self.rows]

    def product(self, X: Array) -> Array:
        """S(y) X + ∇²F(M)[X Yᵀ + Y Xᵀ] Y: half the Hessian of the Lagrangian on the factor, (n, r)."""
        if self.hermitian:  # of half the columns
            return whole(self._part.product(part(X)))
        linear = self.model is not None and self.model.conic is not None
        if len(X) <= ITERATED_ORDER and (linear or self.evaluation.curvature_apart):
            return np.asarray(self.slack @ X + (0.0 if linear else self.evaluation.curvature_product(X)))
        return 0.5 * self.evaluation.hessian_vector(X) + self.force(self.y, X)

    @cached_property
    def _part(self) -> Conditions:
        """The conditions at W, as F sees no difference between W Wᵀ and M."""
        there = replace(self, evaluation=self.problem.at(part(self.Y)), hermitian=False)
        vars(there)["slack"] = self.slack
        return there

    @cached_property
    def sees_only_hermitian(self) -> bool:
        """Whether S, ∇²F and the A_t at M are those of functions of H, as :attr:`psdopt.Problem.hermitian` declares.

        A part of F may see more of M, as |M|² does; then M has to have a derivative as it is. Seen are S, which must be
        J S Jᵀ, and at the M with equal blocks ∇²F along fixed numbers and a sum of the A_t, each times Y.
        """
        if not self.problem.hermitian or self.problem.n % 2 or self.Y.size == 0:
            return False
        S = self.slack
        if norm(S - turned(turned(S).T)) > ROOT_EPS * self.unit * len(S) ** 0.5:
            return False
        there = replace(self, hermitian=True).along(hermitian_axes(self.evaluation.matrix))
        probe, v = there.probe, np.cos(np.arange(1.0, len(self.y) + 1.0) ** 2)
        bent, near = (there.evaluation.curvature_product(each) for each in (probe, whole(part(probe))))
        force, size = there.force(v, there.Y), norm(bent) + self.unit * norm(probe)
        alike = norm(bent - whole(part(near))) <= ROOT_EPS * size
        return bool(alike and norm(force - whole(part(force))) <= ROOT_EPS * norm(force))

    def horizontal(self, X: Array) -> Array:
        """X without its part Y Ω, Ω skew, which leaves M as it is, and without what moves M and not H."""
        if not X.shape[1]:
            return X
        if self.hermitian:
            X = whole(part(X))
        d, V = self._axes
        Z = self._turned
        skew = Z.T @ X @ V
        skew = (skew - skew.T) / (d + d[:, None])
        return np.asarray(X - Z @ (skew @ V.T))

    def by_axes(self, X: Array) -> Array:
        """X by the lengths of the axes of M: X W / √d with the eigenvectors W and eigenvalues d of YᵀY."""
        d, W = self._axes
        return np.asarray((X @ W) / np.sqrt(d))

    @cached_property
    def _axes(self) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of YᵀY."""
        return np.linalg.eigh(self.Y.T @ self.Y)  # type: ignore[return-value]

    @cached_property
    def _turned(self) -> Array:
        """Y by the axes, (n, r)."""
        return self.Y @ self._axes[1]

    @cached_property
    def unit(self) -> float:
        """The size of S: |S|, or |∇F + Σ y_t A_t| at M/4 where that is larger, since S may vanish at a minimiser; 1
        where both are 0."""
        if self.Y.size == 0:
            return norm_estimate(self.slack) or 1.0
        quarter = self.evaluation.mix(0.5 * np.eye(self.Y.shape[1]))
        there = norm(0.5 * quarter.factor_gradient() + self.force(self.y, quarter.factor))
        return max(norm_estimate(self.slack), there / max(norm(quarter.factor), np.finfo(float).tiny)) or 1.0

    @cached_property
    def residual(self) -> float:
        """The larger of |S Y| / (|S| |Y|) and |A(M) − b| / |A(M)| in rows of norm one."""
        size = norm(self.Y)
        pull = norm(self.pull) / (self.unit * size) if size > 0.0 else 0.0
        if self.model is None or len(self.rows) == 0:
            return pull
        norms = np.where(self.model.norms > 0.0, self.model.norms, 1.0)[self.rows]
        return max(pull, norm(self.off / norms) / size**2 if size > 0.0 else 0.0)
