"""A function of the factor, f(Y) = F(Y Yᵀ): S and the Hessian of F follow from derivatives of f alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import numpy as np

from psdopt.devices import on_host, released
from psdopt.linalg.arrays import Array, append_columns, inner, norm
from psdopt.linalg.extreme import DENSE_LIMIT
from psdopt.linalg.interpolation import minimize_by_values, minimize_interpolated
from psdopt.linalg.tolerances import EPS, MINOR, ROOT_EPS, SLIGHT, VANISHED
from psdopt.problems.functions.backend import Local
from psdopt.problems.functions.evaluation import FunctionEvaluation, FunctionPlane, dot


class FactorEvaluation(FunctionEvaluation):
    """F at M = Y Yᵀ through f(Y), with ∇f(Y) = 2 S Y.

    S times a block V (n, k) is one product with the Hessian of f at [Y, 0]: f([Y, t V]) = F(Y Yᵀ + t² V Vᵀ), so that
    ∇²f([Y, 0])[0, V] = [0, 2 S V], exactly. A certificate therefore needs f only. Compiled functions see factors with
    zero columns up to one of few numbers (:func:`width`), which change nothing, so that few shapes are compiled.
    """

    #: f at Y with zero columns to this number, kept for more products with S.
    _beside: tuple[int, Local] | None = None
    #: S (n, n), once it was asked for as an array.
    _dense: Array | None = None

    @cached_property
    def value(self) -> float:
        known: Local | None = vars(self).get("local")
        return self.problem.evaluate(self._wide(self.raw)) if known is None else known.value

    @cached_property
    def local(self) -> Local:
        """f, ∇f and its Hessian at Y (with zero columns) as a map."""
        found: Local = self.problem.backend.second_order(self._wide(self.raw))
        return found

    def __getstate__(self) -> dict[str, Any]:
        """The state without the trace, which cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name not in ("local", "_beside", "_dense")}

    def _wide(self, raw: Any) -> Any:
        return widened(raw, width(raw.shape[1])) if self.problem.backend.compiled else raw

    def factor_gradient(self) -> Array:
        return self._doubled

    @cached_property
    def _doubled(self) -> Array:
        return self.given(self.local.gradient[:, : self.raw.shape[1]])

    def same_factor(self, V: Array) -> Array | None:
        return 0.5 * self._doubled if V is self.factor else None

    def first_order(self) -> tuple[float, Array]:
        """F(M) and 2 S Y, of which nothing is kept."""
        value, G = self.problem.backend.first_order(self._wide(self.raw))
        return value, self.given(G[:, : self.raw.shape[1]])

    def entries(self) -> Array | None:
        """From one gradient at [Y, E], E diagonal: E² is the rounding of the diagonal of M, so that S is ∇F(M)."""
        n, Y = self.problem.n, on_host(self.factor)
        if self._dense is None and n <= DENSE_LIMIT:
            short = ROOT_EPS * np.linalg.norm(Y, axis=1)
            if (least := VANISHED * short.max()) > 0.0:
                found = self.problem.value_and_gradient_at(np.hstack([Y, np.diag(np.maximum(short, least))]))
                self._dense = None if found is None else found[1]
        return None if self._dense is None else self._dense.copy()

    def gradient_times(self, V: Any) -> Any:
        if self._dense is not None and self.problem.device is None:
            return self._dense @ V
        r, k = self.raw.shape[1], V.shape[1]
        return 0.5 * self._beside_product(widened(V, r + k, left=r))[:, r:]

    def _beside_product(self, D: Any) -> Any:
        """The product of D (n, r + k) with the Hessian of f at Y with k zero columns."""
        k = D.shape[1]
        columns = width(k) if self.problem.backend.compiled else k
        if self._beside is None or self._beside[0] != columns:
            self._beside = columns, self.problem.backend.second_order(widened(self.raw, columns))
        return self._beside[1].product(widened(D, columns))[:, :k]

    def hessian_vector(self, D: Array) -> Array:
        return self.given(self._hessian(self.taken(D)))

    def _hessian(self, D: Any) -> Any:
        return self.local.product(self._wide(D))[:, : D.shape[1]]

    def curvature_product(self, D: Array) -> Array:
        """From one product, with the Hessian of f at [Y, 0] along [D, D], which is [H D, 2 S D]."""
        k, raw = self.raw.shape[1], self.taken(D)
        both = self._beside_product(np.hstack([raw, raw]) if isinstance(raw, np.ndarray) else raw.repeat(1, 2))
        return self.given(0.5 * (both[:, :k] - both[:, k:]))

    def curved(self, D: Any) -> tuple[Any, Any]:
        wide = self._wide(D)
        return wide, 0.0 * wide

    def parameter_gradient(self, D: Array | None = None) -> Any:
        along = None if D is None else self._wide(self.taken(D))
        return self.problem.backend.parameter_gradient(self._wide(self.raw), along)

    def data_force(self, tangents: Mapping[str, Any]) -> Array:
        moved = self.problem.backend.parameter_force(self._wide(self.raw), tangents)
        return self.given(0.5 * moved[:, : self.raw.shape[1]])

    def along_atom(self, v: Array) -> FactorPlane:
        return FactorPlane(self, self.block(v))


class FactorPlane(FunctionPlane):
    """F over alpha M + beta v vᵀ = Z Zᵀ, Z = [√alpha Y, √beta v]."""

    evaluation: FactorEvaluation

    def __init__(self, evaluation: FactorEvaluation, v: Array) -> None:
        self.evaluation, self.v = evaluation, v

    def value(self, alpha: float, beta: float) -> float:
        return self.step(alpha, beta).value

    def minimize(
        self, alpha: tuple[float, float] = (0.0, np.inf), beta: tuple[float, float] = (0.0, np.inf)
    ) -> tuple[float, float]:
        """As in :class:`FunctionPlane`; for one alpha from gradients at a few beta, without higher derivatives."""
        found = self._best_beta(alpha[0], beta[1]) if alpha[0] == alpha[1] and beta[0] == 0.0 else None
        return super().minimize(alpha, beta) if found is None else (alpha[0], found)

    def nearly_best_beta(self, slope: float) -> float:
        found = self._best_beta(1.0, math.inf, SLIGHT, slope)
        return super().nearly_best_beta(slope) if found is None else found

    def _best_beta(self, alpha: float, upper: float, share: float = 0.0, slope: float | None = None) -> float | None:
        """The beta of least F(alpha M + beta v vᵀ), by values and slopes ⟨S v, v⟩; None if they do not lead to it.

        Where f([√alpha Y, √beta v]) has the gradient [.., 2 √beta S v] the slope is its product with v by 2 √beta.
        `slope`, at beta = 0, and `share` of the decrease that may be left, if they are given; values alone may suffice.
        """
        here, v, problem = self.evaluation, self.v, self.evaluation.problem
        start = here if alpha == 1.0 else FactorEvaluation(problem, math.sqrt(alpha) * here.factor)
        size, own = float(norm(start.factor)) ** 2, float(norm(v)) ** 2
        if not size > 0.0 or not own > 0.0:
            return None
        first, found = min(size / (own * start.raw.shape[1]), upper), None
        if slope is not None:
            found = minimize_by_values(lambda b: self.value(alpha, b), (start.value, slope), None, first, upper, share)
        if found is not None:
            return found

        @cache
        def sampled(b: float) -> tuple[float, float]:
            moved = self.step(alpha, b)
            last = moved.local.gradient[:, start.raw.shape[1] : start.raw.shape[1] + 1]
            return moved.value, 0.5 * dot(problem, last, released(v)) / math.sqrt(b)

        try:
            slope = self._first_slope(start, first, sampled(first)) if slope is None else slope
            return minimize_interpolated(sampled, (start.value, slope), None, first, upper, share)
        except np.linalg.LinAlgError:
            return None

    def _first_slope(self, start: FactorEvaluation, beta: float, there: tuple[float, float]) -> float:
        """⟨S v, v⟩ at `start`: that of the parabola through its value and value and slope at `beta`.

        It is exact for F quadratic in M; where it does not fall, or values are rounding, a product with the Hessian
        of f.
        """
        value, slope = there
        rise = value - start.value
        found = 2.0 * rise / beta - slope
        if found < 0.0 and EPS * max(abs(value), abs(start.value)) <= MINOR * min(abs(rise), -found * beta):
            return found
        return dot(start.problem, start.gradient_times(released(self.v)), released(self.v))

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        """Exact at alpha = 0 and beta = 0 as well; NaN where the function raises LinAlgError."""
        here = self.evaluation
        sizes = math.sqrt(alpha) * float(norm(here.factor)), math.sqrt(beta) * float(norm(self.v))
        try:
            return self._inside(alpha, beta) if min(sizes) > MINOR * max(sizes) else self._outward(alpha, beta)
        except np.linalg.LinAlgError:
            return np.full(2, np.nan), np.full((2, 2), np.nan)

    def _inside(self, alpha: float, beta: float) -> tuple[Array, Array]:
        """From the Hessian of f at Z along D_i with Z D_iᵀ + D_i Zᵀ = M_i, M_0 = M, M_1 = v vᵀ.

        D_0 = [Y / (2 √alpha), 0], D_1 = [0, v / (2 √beta)]: ⟨S, M_i⟩ = ⟨∇f(Z), D_i⟩, and ⟨∇²F[M_i], M_j⟩ =
        ⟨∇²f(Z)[D_i], D_j⟩ − 2 ⟨S D_i, D_j⟩, where 2 S Z = ∇f(Z).
        """
        moved = self.step(alpha, beta)
        columns = moved.factor.shape[1]
        G = moved.given(moved.local.gradient[:, :columns])
        parts = slice(0, columns - 1), slice(columns - 1, columns)
        halves = [moved.factor[:, part] * (0.5 / weight) for part, weight in zip(parts, (alpha, beta), strict=True)]
        D, d = halves
        bends = [moved.hessian_vector(append_columns(*both)) for both in ((D, 0.0 * d), (0.0 * D, d))]
        own = list(zip(halves, parts, strict=True))
        g = np.array([inner(G[:, part], half) for half, part in own])
        H = np.array([[inner(bend[:, part], half) for half, part in own] for bend in bends])
        return g, 0.5 * (H + H.T) - np.diag(0.5 * g / [alpha, beta])

    def _outward(self, alpha: float, beta: float) -> tuple[Array, Array]:
        """From derivatives of fourth order along M, c v vᵀ and M + c v vᵀ, of one size, by `Backend.outward`."""
        here = self.evaluation
        moved, size, own = self.step(alpha, beta), float(norm(here.factor)), float(norm(self.v))
        c = size / own if min(size, own) > 0.0 else 1.0
        Z = moved._wide(moved.raw)

        def along(a: float, b: float) -> tuple[float, float]:
            block = FactorEvaluation(here.problem, append_columns(a * here.factor, b * self.v))
            first, second = here.problem.backend.outward(Z, block._wide(block.raw))
            return first, second

        (g0, h00), (g1, h11), (_, whole) = along(1.0, 0.0), along(0.0, c), along(1.0, c)
        scale, mixed = np.array([1.0, c**-2]), 0.5 * (whole - h00 - h11)
        return scale * [g0, g1], np.outer(scale, scale) * [[h00, mixed], [mixed, h11]]

    def step(self, alpha: float, beta: float) -> FactorEvaluation:
        grown = append_columns(math.sqrt(alpha) * self.evaluation.factor, math.sqrt(beta) * self.v)
        return FactorEvaluation(self.evaluation.problem, grown)


def width(columns: int) -> int:
    """The least of 1, 2, 3, 4, 6, 8, 12, 16, 20, ..., 32, 40, ..., 64, 80, ... from this number of columns on.

    At most half more up to 16 columns, where compilation takes longer than what it saves, and a quarter beyond.
    """
    power = 1 << max(columns - 1, 0).bit_length()
    step = max(1, min(power // 4, max(power // 8, 4)))
    return -(-max(columns, 1) // step) * step


def widened(raw: Any, columns: int, left: int = 0) -> Any:
    """`raw` (n, k) with `left` zero columns before it, and zero columns after it up to `columns`."""
    n, k = raw.shape
    if k == columns:
        return raw
    wide = np.zeros((n, columns)) if isinstance(raw, np.ndarray) else raw.new_zeros((n, columns))
    wide[:, left : left + k] = raw
    return wide
