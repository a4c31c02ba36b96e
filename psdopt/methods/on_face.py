"""Any method for constrained problems, run on the face that constraints ⟨A_t, M⟩ = 0 with A_t ⪰ 0 define."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from psdopt.certificates.constrained.multipliers import Multipliers
from psdopt.constraints.problem import Constrained, OffersConstraints, Reduction, constrained_of
from psdopt.contracts.abilities import Ability, Requires, missing_needs, on_factors, require_inner
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method, Residual, State
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.errors import IncompatibleError
from psdopt.geometries import FlatQuotient


@dataclass(kw_only=True)
class OnFaceState(State):
    """The state `inner` of the method on the face."""

    inner: State


@dataclass(frozen=True)
class OnFace(Method[OnFaceState]):
    """`method` on N ↦ F(W N Wᵀ), N ⪰ 0 of order q, where no equation forces N to be singular.

    Must-links that hold exactly, a row of zeros or a balanced partition, ⟨A_t, M⟩ = 0 with A_t ⪰ 0, confine M to
    W N Wᵀ, W (n, q) an orthonormal basis of the common null space of the A_t. There the other constraints may have
    strictly feasible points and bounded multipliers. Points are Y = W Z. The multipliers of `method` serve the full
    problem, with zero for the constraints of the face: the S of `method` is WᵀSW, and the dual bound is the same.

    Cost of a step: that of `method` at order q, and of the products W Z. Methods that always need the face reduce the
    problem themselves (``on``).

    Parameters
    ----------
    method : a method on a factor that knows constraints.

    Raises IncompatibleError in ``init`` where the problem has no face to reduce to, or `method` does not fit.
    """

    method: Method

    requires: ClassVar[Requires] = on_factors(Ability.CONSTRAINTS)
    ranks_by_value: ClassVar[bool] = False
    residual: ClassVar[Residual] = Residual.CERTIFICATE

    @property
    def name(self) -> str:
        return self.method.name

    def with_escape(self, escape: bool, max_rank: int) -> OnFace:
        return replace(self, method=self.method.with_escape(escape, max_rank))

    def init(
        self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None
    ) -> OnFaceState:
        reduction = reduction_of(problem)
        Y = geometry.factor(start)
        Z = np.asarray(reduction.W.T @ Y)
        if Z.shape[1] > Z.shape[0]:
            Z = np.ascontiguousarray(np.linalg.qr(Z.T)[1].T)  # Z Zᵀ is unchanged
        plane = FlatQuotient(*Z.shape)
        method = self._inner(reduction.problem)
        require_inner("method", method, reduction.problem, plane)
        return _carried_back(problem, geometry, reduction, method.init(reduction.problem, plane, Z))

    def step(self, state: OnFaceState) -> OnFaceState:
        reduction = reduction_of(state.problem)
        inner = self._inner(reduction.problem).step(state.inner)
        return _carried_back(state.problem, state.geometry, reduction, inner)

    def _inner(self, problem: Constrained) -> Method:
        """`method` as it runs on the face, where a factor has at most q columns."""
        return self.method.with_escape(True, problem.n)


def takes_face(method: Method, problem: Problem) -> bool:
    """Whether `method` should seek factors on a face: the face exists, and the method fits there.

    For a linear F whose constraints have many entries in N, steps in M are cheaper.
    """
    if not isinstance(problem, OffersConstraints):
        return False
    known = problem.constrained()
    if (known.conic is not None and known.carried is None) or known.reduction is None:
        return False
    return not missing_needs(method.requires, "problem", known.reduction.problem.abilities)


def reduction_of(problem: Problem) -> Reduction:
    """The reduction of a constrained problem to its face; IncompatibleError without a face."""
    reduction = constrained_of(problem).reduction
    if reduction is None:
        raise IncompatibleError(f"{problem!r} has no face to reduce to: no constraint <A, M> = 0 with A semidefinite")
    return reduction


def _carried_back(problem: Problem, geometry: Geometry, reduction: Reduction, inner: State) -> OnFaceState:
    dual = inner.dual if isinstance(inner.dual, Multipliers) else None
    if dual is not None and dual.direction is not None:
        dual = replace(dual, direction=np.asarray(reduction.W @ dual.direction))
    Y = np.asarray(reduction.W @ inner.evaluation.factor)
    columns = geometry.rank or Y.shape[1]
    if Y.shape[1] > columns:
        geometry = geometry.with_rank(Y.shape[1])
    elif Y.shape[1] < columns:
        Y = np.hstack([Y, np.zeros((len(Y), columns - Y.shape[1]))])
    return OnFaceState(
        problem,
        geometry,
        geometry.from_factor(Y),
        problem.at(Y),
        gradient_norm=inner.gradient_norm,
        step=inner.step,
        outcome=inner.outcome,
        extras=inner.extras,
        dual=dual,
        ray=None if inner.ray is None else np.asarray(reduction.W @ inner.ray),
        inner=inner,
    )
