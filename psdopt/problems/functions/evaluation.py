"""What evaluations of a function of M and of a function of the factor have in common: the factor and its moves."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from psdopt.contracts.gradient import GradientOperator
from psdopt.contracts.problem import Evaluation, LineModel, PlaneModel, Problem
from psdopt.devices import DeviceArray, placed, released
from psdopt.linalg.arrays import Array, append_columns, inner, norm
from psdopt.linalg.interpolation import minimize_by_values, minimize_interpolated
from psdopt.linalg.tolerances import ROOT_EPS, SLIGHT, VANISHED
from psdopt.problems.functions.backend import Local
from psdopt.problems.functions.named import by_name


class FunctionEvaluation(Evaluation):
    """F at M = Y Yᵀ, computed from scratch at every factor.

    `raw` : the factor as the backend takes it, a NumPy array or an array of the library on the problem's device.
    """

    problem: Any

    def __init__(self, problem: Any, factor: Array) -> None:
        self.problem, self.factor = problem, factor
        self.raw: Any = released(factor)

    @abstractmethod
    def gradient_times(self, V: Any) -> Any:
        """S V for a block V (n, k) in the backend's arrays."""

    @abstractmethod
    def curved(self, D: Any) -> tuple[Any, Any]:
        """(a, b) with f(x + t a + t² b) = F((Y + t D)(Y + t D)ᵀ), D (n, r), where f(x) = F(Y Yᵀ); backend's arrays."""

    @property
    @abstractmethod
    def local(self) -> Local:
        """f, ∇f and its Hessian as a map, at the x with f(x) = F(Y Yᵀ), kept for what else is asked at this factor."""

    def slopes(self, D: Any) -> tuple[float, float]:
        """First and second derivative of t ↦ F((Y + t D)(Y + t D)ᵀ) at t = 0; NaN where f raises LinAlgError."""
        a, b = self.curved(D)
        try:
            _, G, product = self.local
            bend = dot(self.problem, product(a), a) + 2.0 * dot(self.problem, G, b)
            return dot(self.problem, G, a), bend
        except np.linalg.LinAlgError:
            return math.nan, math.nan

    @abstractmethod
    def parameter_gradient(self, D: Array | None = None) -> Any:
        """The derivative in the problem's parameters p of d/dt F((Y + t D)(Y + t D)ᵀ; p) at t = 0, D (n, r).

        Without D that of F(M; p) itself. In the structure of the parameters and in the backend's arrays.
        """

    def data_gradient(self, D: Array | None = None) -> Mapping[str, Any]:
        """:meth:`parameter_gradient` by name."""
        return dict(by_name(self.parameter_gradient(D)))

    @abstractmethod
    def data_force(self, tangents: Mapping[str, Any]) -> Array:
        """The change of S Y (n, r) as the parameters move along `tangents`, arrays by name; the others stay."""

    def corner(self) -> float:
        """0 if the Hessian of F jumps at M along a fixed direction, as at the corner of a hinge; inf otherwise.

        A difference of the Hessian over a step falls with the step where F is smooth, and does not across a jump.
        Cost: four products with the Hessian.
        """
        Y = self.factor
        if not Y.shape[1]:
            return math.inf
        D = np.random.default_rng(0).standard_normal(Y.shape)
        D *= norm(Y) / norm(D)

        def ends(share: float) -> list[Array]:
            return [type(self)(self.problem, Y + step * D).hessian_vector(D) for step in (-share, share)]

        (left, right), wider = ends(ROOT_EPS), ends(ROOT_EPS / SLIGHT)
        jump, size = norm(right - left), norm(right) + norm(left)
        return 0.0 if jump > max(VANISHED * size, 0.5 * norm(wider[1] - wider[0])) else math.inf

    def taken(self, V: Array) -> Any:
        """V (n, k) in the backend's arrays, on the problem's device if it has one."""
        device = self.problem.device
        return np.asarray(V, dtype=np.float64) if device is None else placed(V, device, "D").raw

    def given(self, raw: Any) -> Array:
        """The backend's array as one of the library."""
        device = self.problem.device
        return cast(Array, raw if device is None else DeviceArray(raw, device))

    def block(self, v: Array) -> Array:
        """v (n,) or (n, k) as a block of columns."""
        return self.given(self.taken(v).reshape(self.problem.n, -1))

    def entries(self) -> Array | None:
        """S (n, n) as a new NumPy array if it is known; None otherwise."""
        return None

    def same_factor(self, V: Array) -> Array | None:
        """S Y, if V is the factor and S Y is known from the gradient."""
        return None

    @property
    def gradient(self) -> GradientOperator:
        def apply(V: Array) -> Array:
            return self.given(self.gradient_times(self.taken(V)))

        return GradientOperator(self.problem.n, apply, self.same_factor, self.entries, self.problem.device)

    def along(self, D: Array) -> FunctionLine:
        return FunctionLine(self, self.given(self.taken(D)))

    def at(self, factor: Array) -> FunctionEvaluation:
        """The evaluation at another factor, of the problem's own class."""
        return cast(FunctionEvaluation, self.problem.evaluation(factor))

    def mix(self, T: Array) -> FunctionEvaluation:
        return self.at(self.factor @ T)

    def append(self, v: Array) -> FunctionEvaluation:
        return self.at(append_columns(self.factor, self.block(v)))

    def refresh(self) -> FunctionEvaluation:
        """Itself: nothing in it was computed from another factor."""
        return self


class FunctionLine(LineModel):
    """F along Y + mu D by direct evaluation; the last point at which derivatives were asked for is kept.

    Its minimiser is sought by values and slopes at few points, each one gradient, which the point that is returned
    keeps; where that fails, by derivatives at more points.
    """

    def __init__(self, evaluation: FunctionEvaluation, D: Array) -> None:
        self.evaluation, self.D = evaluation, D
        self._last: tuple[float, FunctionEvaluation] | None = None

    def value(self, mu: float) -> float:
        return self.step(mu).value

    def derivatives(self, mu: float) -> tuple[float, float]:
        """NaN where the function raises LinAlgError."""
        moved = self.step(mu)
        self._last = (mu, moved)
        return moved.slopes(released(self.D))

    def minimize(self, upper: float = np.inf) -> float:
        return self._minimized(upper, 0.0)

    def nearly_minimize(self, upper: float = np.inf, bend: float | None = None) -> float:
        """The same for a quartic, which takes two points; fewer points for others. `bend` saves a product."""
        return self._minimized(upper, SLIGHT**2, bend)

    def _minimized(self, upper: float, share: float, bend: float | None = None) -> float:
        here = self.evaluation
        try:
            _ = here.local
            if bend is None:
                slope, bend = here.slopes(released(self.D))
            else:
                slope = dot(here.problem, released(here.factor_gradient()), released(self.D))
            first = -slope / bend if bend > 0.0 else 1.0
            start, near = (here.value, slope), None
            if share > 0.0:
                near = minimize_by_values(self.value, start, bend, first, upper, share)
            found = minimize_interpolated(self._sampled, start, bend, near or first, upper, share, near is not None)
        except np.linalg.LinAlgError:
            found = None
        return super().minimize(upper) if found is None else found

    def _sampled(self, mu: float) -> tuple[float, float]:
        """F and its slope at Y + mu D, from one trace that serves the Hessian there as well."""
        moved = self.step(mu)
        self._last = (mu, moved)
        _ = moved.local
        return moved.value, dot(moved.problem, released(moved.factor_gradient()), released(self.D))

    def step(self, mu: float) -> FunctionEvaluation:
        if self._last is not None and self._last[0] == mu:
            return self._last[1]
        return self.evaluation.at(self.evaluation.factor + mu * self.D)


class FunctionPlane(PlaneModel):
    """F over alpha M + beta v vᵀ by direct evaluation."""

    evaluation: FunctionEvaluation

    def minimize(
        self, alpha: tuple[float, float] = (0.0, np.inf), beta: tuple[float, float] = (0.0, np.inf)
    ) -> tuple[float, float]:
        """As in :class:`PlaneModel`; for alpha M alone from gradients at a few √alpha Y; (1, 0) where M has none."""
        here = self.evaluation
        if beta[1] > 0.0 or alpha != (0.0, np.inf) or not here.size > 0.0 or not math.isfinite(here.value):
            return super().minimize(alpha, beta)
        try:
            sign = -1.0 if inner(here.factor_gradient(), here.factor) > 0.0 else 1.0
        except FloatingPointError:
            return 1.0, 0.0
        mu = here.along(sign * here.factor).minimize(np.inf if sign > 0.0 else 1.0)
        return (1.0 + sign * mu) ** 2, 0.0


def dot(problem: Problem, A: Any, B: Any) -> float:
    """⟨A, B⟩ of two of the backend's arrays, as a number."""
    device = problem.device
    return float(inner(A, B) if device is None else device.number((A * B).sum()))
