"""Derivatives of a minimiser M by the data of its problem."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.checks import boolean, finite, instance, number
from psdopt.constraints.measurements import SparseForms
from psdopt.contracts.images import Images
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.problem import Problem
from psdopt.errors import IncompatibleError, InvalidInputError, unknown_name
from psdopt.linalg.arrays import Array, as_dense
from psdopt.running.derivatives.point import stationary_point


class Adjoint:
    """M(θ), a nondegenerate minimiser of F(M; θ), under constraints or none, as a differentiable function of θ.

    With M = Y Yᵀ, Y (n, r) of full rank, Lagrange's conditions S Y = 0, ⟨A_t, Y Yᵀ⟩ = b_t hold in all data θ, for
    S = ∇F(M; θ) + Σ_t y_t A_t. Their derivative is one symmetric linear system K, that of Newton's method
    (:class:`~psdopt.running.derivatives.system.AdjointSystem`). For a loss l(M) with G = dl/dM and K (U, u) = (G Y, 0)

        dl/dθ = −∂_θ ⟨∇F(M; θ), N⟩,   dl/db_t = u_t,   dl/dA_t = −y_t N − u_t M,   N = U Yᵀ + Y Uᵀ,

    one solution for all data together. That of F(M(θ); θ) needs none: it is ∂_θ F, −y_t and y_t M.

    Where F and the constraints see M as a Hermitian matrix H only, and one of them declares it
    (:attr:`psdopt.Problem.hermitian`), M is the one with equal blocks of all that have this H, and θ moves among data
    that keep this: dl = Re tr(G dH) is dl/dM = ``embedded(G)``.

    Parameters
    ----------
    problem : F, with a Hessian. matrix : M near a minimiser, :class:`~psdopt.LowRankPSD`; a few steps of Newton's
        method first make it stationary to rounding. multipliers : y (m,) under constraints, such as those of a
        certificate; None: those of least |S Y|. limited : whether M may have no more columns than `matrix`, so that a
        minimiser among these counts; False for an M that is proven optimal.

    Attributes: `matrix`, M after these steps; `multipliers` (m,); `data`, θ by name: those of the problem
    (:attr:`psdopt.Problem.data`), and under constraints `bounds` b (m,) and `forms`, the (m, p) numbers of all A_t at
    the places of ``problem.forms``.

    Raises
    ------
    NotDifferentiableError, with the number that shows it: an eigenvalue of S that is zero beside those of the range of
    M, dependent A_t Y, curvature that vanishes, a loss at its corner, a bound that neither holds M nor is away from it.
    IncompatibleError for problems without a Hessian, on a device, with second-order cones or without entries of A_t.

    Cost: n³ for S, and m³/3 for m active constraints; each derivative some products with the Hessian, O(n² r) at most.
    """

    def __init__(self, problem: Problem, matrix: LowRankPSD, multipliers: Any = None, limited: bool = True) -> None:
        self.problem = instance(problem, "problem", Problem)
        if instance(matrix, "matrix", LowRankPSD).n != problem.n:
            raise InvalidInputError(f"matrix must have order {problem.n}, that of the problem; found {matrix.n}")
        self._system = stationary_point(problem, matrix, multipliers, boolean(limited, "limited"))
        self._at = self._system.at
        self.matrix = LowRankPSD(self._at.Y if self._at.Y.shape[1] else np.zeros((problem.n, 1)))
        self.multipliers = self._at.multipliers

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """θ by name."""
        model = self._at.model
        own = dict(self.problem.data)
        if model is not None and model.forms is not None:
            bounds = np.where(np.isfinite(model.lower), model.lower, model.upper)
            bounds[self._at.rows] = self._at.bound
            own |= {"bounds": bounds, "forms": model.forms.B}
        return own

    def vjp(self, dM: Any = None, value: float = 0.0) -> dict[str, Any]:
        """dl/dθ by name for a loss l(M, F) with dl/dM = `dM` (n, n), of which the symmetric part counts, and dl/dF.

        For Hermitian matrices the part with equal blocks counts (:func:`psdopt.terms.embedded`).

        `dM` : an array, a sparse array or anything with products; None for 0.
        """
        at, value = self._at, number(value, "value")
        if not self.data:
            raise IncompatibleError(f"{type(self.problem).__name__} declares no data to differentiate by")
        U, u = np.zeros_like(at.Y), np.zeros_like(at.y)
        if dM is not None:
            U, u = self._system.solve(self._on_factor(dM), u)
        found = self._gradient(U, u)
        if value != 0.0:
            own = self._gradient(None, -at.y)
            found = {name: each + value * own[name] for name, each in found.items()}
        return found

    def _on_factor(self, dM: Any) -> Array:
        """½ (G + Gᵀ) Y."""
        n, Y = self.problem.n, self._at.Y
        G = dM if hasattr(dM, "shape") and hasattr(dM, "__matmul__") else finite(dM, "dM")
        if tuple(G.shape) != (n, n):
            raise InvalidInputError(f"dM must have shape ({n}, {n}); found {tuple(G.shape)}")
        GY = np.asarray(G @ Y)
        if hasattr(G, "T"):
            GY = 0.5 * (GY + np.asarray(G.T @ Y))
        if np.iscomplexobj(GY):
            raise InvalidInputError("dM must be real; found complex entries")
        if not np.all(np.isfinite(GY)):
            raise InvalidInputError("dM must be finite; found NaN or infinite entries")
        return GY

    def _gradient(self, U: Array | None, u: Array) -> dict[str, Any]:
        """−∂_θ ⟨∇F, U Yᵀ + Y Uᵀ⟩ and the parts of the constraints; for None those of F(M(θ); θ), where u = −y."""
        at = self._at
        found: dict[str, Any] = {}
        if self.problem.data:
            sign = -1.0 if U is not None else 1.0
            found = {name: sign * each for name, each in at.evaluation.data_gradient(U).items()}
        if at.model is not None and at.model.forms is not None:
            found["bounds"] = at.spread(u)
            found["forms"] = self._forms_gradient(U, u)
        return found

    def _forms_gradient(self, U: Array | None, u: Array) -> Any:
        """−(y_t N + u_t M) at the places of the forms; for U = None y_t M."""
        at = self._at
        assert at.model is not None
        forms = at.model.forms
        assert forms is not None
        B, found = forms.B, forms.B.copy()
        t = np.repeat(np.arange(B.shape[0]), np.diff(B.indptr))
        i, j = forms.i[B.indices], forms.j[B.indices]
        entries = at.spread(u)[t] * np.einsum("kr,kr->k", at.Y[i], at.Y[j])
        if U is not None:
            N = np.einsum("kr,kr->k", U[i], at.Y[j]) + np.einsum("kr,kr->k", at.Y[i], U[j])
            entries = entries + at.multipliers[t] * N
        found.data = -entries
        return found

    def jvp(self, tangents: Mapping[str, Any]) -> tuple[Array, float]:
        """(dM (n, n), dF) as the data move along `tangents`, name -> array of the shape of the datum; others stay.

        ⟨G, dM⟩ = Σ ⟨vjp(G), tangents⟩, and dH = dM_11 + dM_22 + i (dM_21 − dM_12) for Hermitian matrices. Raises
        UnknownNameError for a name that is not in `data`.
        """
        at = self._at
        tangents = self._checked(tangents)
        own = {name: each for name, each in tangents.items() if name in self.problem.data}
        R = -at.evaluation.data_force(own) if own else np.zeros_like(at.Y)
        q = np.zeros_like(at.y)
        if "bounds" in tangents:
            q = q - np.asarray(tangents["bounds"], dtype=np.float64)[at.rows]
        if "forms" in tangents:
            changed = self._changed(tangents["forms"])
            images = Images((), at.Y)
            R = R - np.asarray(changed.matrix(at.multipliers) @ at.Y)
            q = q + changed.pair(images, images)[at.rows]
        X, _ = self._system.solve(R, q)
        M = X @ at.Y.T
        slope = self._gradient(None, -at.y)
        return M + M.T, float(sum(_inner(slope[name], each) for name, each in tangents.items()))

    def _changed(self, tangent: Any) -> SparseForms:
        forms = None if self._at.model is None else self._at.model.forms
        assert forms is not None
        return SparseForms(forms.i, forms.j, tangent, forms.n)

    def _checked(self, tangents: Mapping[str, Any]) -> dict[str, Any]:
        instance(tangents, "tangents", Mapping)
        found: dict[str, Any] = {}
        for name, each in tangents.items():
            if name not in self.data:
                raise unknown_name("datum", name, self.data)
            what = f"the tangent of {name}"
            if np.shape(each) != np.shape(self.data[name]):
                raise InvalidInputError(f"{what} must have shape {np.shape(self.data[name])}; found {np.shape(each)}")
            found[name] = each
            if sp.issparse(each):
                finite(found[name].data, what)
            else:
                found[name] = finite(each, what)
        return found


def _inner(A: Any, B: Any) -> float:
    """Σ A ∘ B of numbers, arrays or sparse arrays."""
    return float(np.sum(np.multiply(*(as_dense(each) if sp.issparse(each) else each for each in (A, B)))))
