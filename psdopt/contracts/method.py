"""The method interface: frozen hyper-parameters, and a state that holds everything that changes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from psdopt.contracts.abilities import Ability, Requires
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import Array, is_finite, norm, without_radial


class Outcome(Enum):
    """How a method judges its own run; the driver turns this into a status."""

    RUNNING = "running"
    FINISHED = "nothing left to do"
    STALLED = "no direction of descent is left at working precision"
    UNBOUNDED = "the objective decreases without bound along a direction"
    DIVERGED = "the iteration has left every bounded set; the objective may well be bounded"


class Residual(StrEnum):
    """The quantity that a method's `State.gradient_norm` measures, in the units of the factor gradient 2 S Y.

    With S̃ = S if the trace is free, S̃ = S − (⟨S, M⟩ / tr M) I if it is fixed (see :func:`factor_residual`):
    """

    GRADIENT = "gradient"  # |2 S̃ Y|: zero at every stationary point of the factor
    OPTIMALITY = "optimality"  # at least |2 S̃ Y|, counting S ⪰ 0 as well: small only next to a global optimum
    GAP = "gap"  # 2 gap / |Y| for a proven gap >= F(M) − min F over the set
    CERTIFICATE = "certificate"  # under constraints: 2 e u / |Y|, u the unit of values, e >= relative infeasibility


@dataclass
class State:
    """Everything that changes from step to step. Picklable; methods subclass it with further fields.

    `point` and `evaluation` describe the current iterate. `gradient_norm` is the quantity that the method's `residual`
    names, see :class:`Residual` (nan if the method does not know it); once it is small, the driver computes a
    certificate. `step` is the last step length; `extras` are further history columns; `dual` are dual variables for
    :meth:`psdopt.contracts.roles.Duality.subgradient` and :meth:`~psdopt.contracts.roles.Duality.dual_bound`, which
    check them. `ray` is D (n, k) if the outcome is UNBOUNDED: F falls without end at (Y + mu D)(Y + mu D)ᵀ as mu grows,
    the narrower of Y and D padded with zero columns. :func:`psdopt.certificates.bounds.falls_without_end` evaluates F
    there; unless this test confirms the ray, the run is not called unbounded. The driver reads only these fields. The
    fields after `evaluation` are keyword-only. Subclasses are ``@dataclass(kw_only=True)``, so that their own fields
    need no default.
    """

    problem: Problem
    geometry: Geometry
    point: Any
    evaluation: Evaluation
    gradient_norm: float = field(default=float("nan"), kw_only=True)
    step: float = field(default=float("nan"), kw_only=True)
    outcome: Outcome = field(default=Outcome.RUNNING, kw_only=True)
    extras: dict[str, float] = field(default_factory=dict, kw_only=True)
    dual: Any = field(default=None, kw_only=True)
    ray: Any = field(default=None, kw_only=True)


if TYPE_CHECKING:  # if a method does not name the type of its state, it is Any
    from typing_extensions import TypeVar as _TypeVar

    S = _TypeVar("S", bound=State, default=Any)
else:
    S = TypeVar("S", bound=State)


class Method(ABC, Generic[S]):
    """A rule for the next move. Owns no loop, no clock, no print and no status.

    Subclasses are frozen dataclasses of hyper-parameters, ``class MyMethod(Method[MyState])``. ``step`` returns a new
    state and leaves the old one unchanged, so that a caller may keep any state and continue from it.
    """

    #: Needs as data: {"problem": (need, ...), "geometry": (need, ...)}; a tuple inside means any of.
    requires: ClassVar[Requires] = {}
    #: Whether the value never increases from step to step.
    descends: ClassVar[bool] = False
    #: The quantity that `State.gradient_norm` measures.
    residual: ClassVar[Residual] = Residual.GRADIENT
    #: p, if the certificate falls like (steps)^−p and no faster; None for linear convergence or better.
    #: The conformance kit then requires less accuracy, and checks the order.
    sublinear_order: ClassVar[float | None] = None
    #: Whether the iterates on c F equal those on F, for c > 0.
    scale_invariant: ClassVar[bool] = False
    #: Whether the iterates on M ↦ F(M / s) from s times the start equal s times those on F, for s > 0.
    unit_invariant: ClassVar[bool] = False
    #: Whether the best point of a run is the one of least value; False if iterates may violate constraints.
    ranks_by_value: ClassVar[bool] = True
    #: Whether it runs on problems whose large arrays are on a device (:mod:`psdopt.devices`).
    takes_device_arrays: ClassVar[bool] = False
    #: Whether a step costs more than a certificate: a run that waits for a proof then has one after each step.
    certified_steps: ClassVar[bool] = False
    #: Whether a run without a given start begins at M = 0 rather than at a random point.
    starts_at_zero: ClassVar[bool] = False

    def with_escape(self, escape: bool, max_rank: int) -> Method:
        """The method with the caller's settings for rank growth, for methods that widen the factor themselves."""
        return self

    def on(self, problem: Problem) -> Method:
        """The method to run on `problem`, if its form and claims depend on the problem."""
        return self

    @abstractmethod
    def init(self, problem: Problem, geometry: Geometry, start: Any, evaluation: Evaluation | None = None) -> S:
        """State at `start`; `evaluation` is F there if it is already known, and affects only the cost."""

    @abstractmethod
    def step(self, state: S) -> S:
        """The next state."""

    def continued(self, state: State) -> S:
        """State at the point of another method's `state`, from which this one continues. Default: ``init`` there."""
        return self.init(state.problem, state.geometry, state.point, state.evaluation)

    def warmed(self, state: S, multipliers: Array) -> S:
        """First `state` with multipliers (m,) of constraints, those of a problem near this one.

        Default: `state`, for methods whose multipliers follow from M.
        """
        return state

    def widened(self, state: S, geometry: Geometry, point: Any, evaluation: Evaluation) -> S:
        """State at a `point` that is the point of `state` with columns added; F is known there.

        The driver adds columns at a stationary point of too low a rank. By default the method
        restarts at `point`; a method with phases continues with its last one, and one that needs no columns returns
        `state` itself.
        """
        return self.init(state.problem, geometry, point, evaluation)

    @property
    def name(self) -> str:
        return type(self).__name__


def factor_residual(geometry: Geometry, evaluation: Evaluation, point: Any = None) -> float:
    """|2 S̃ Y|_F, S̃ = S if the set leaves the trace free, else S − s I with s = ⟨S, M⟩ / tr M. O(n r).

    s is the multiplier of a fixed trace: at a solution S Y = s Y, so that S Y alone does not vanish.
    For a `restricted` geometry only the part along which it can move counts (:meth:`psdopt.Geometry.tangent_part`).
    `point` : the point of `evaluation`, if known.
    """
    Y = evaluation.factor
    if geometry.restricted:
        return norm(geometry.tangent_part(geometry.from_factor(Y) if point is None else point, evaluation.gradient))
    G = evaluation.factor_gradient()
    return norm(G if geometry.trace is None else without_radial(G, Y))


def without_step(state: S, s: float, ray: Any, lost: Evaluation | None = None) -> S:
    """`state` at the end of its run: unbounded along `ray` if the step s is inf, else stalled.

    `ray` is kept on geometries with straight lines only. `lost` : an evaluation with a NaN, which the driver reports.
    """
    unbounded = s == math.inf
    return replace(
        state,
        evaluation=lost or state.evaluation,
        step=0.0,
        outcome=Outcome.UNBOUNDED if unbounded else Outcome.STALLED,
        extras={},
        ray=ray if unbounded and Ability.STRAIGHT in state.geometry.abilities else None,
    )


def ensure_finite(evaluation: Evaluation) -> Evaluation:
    """`evaluation`, if value and factor gradient are finite; else FloatingPointError, which ends a run in
    the status non-finite. For methods whose next move (an eigensolve, a projection) must not see a NaN."""
    if not math.isfinite(evaluation.value):
        raise FloatingPointError(f"the value is {evaluation.value}")
    if not is_finite(evaluation.factor_gradient()):
        raise FloatingPointError("the gradient is not finite")
    return evaluation
