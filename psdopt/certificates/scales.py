"""Units of values: the scales of gaps, residuals and decreases of F."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from psdopt.constraints.limits import CANCELLED
from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.devices import on_host
from psdopt.linalg.arrays import Array, finite_value, inner, norm
from psdopt.linalg.complex_arrays import turned
from psdopt.linalg.limits import SMALL_ORDER
from psdopt.linalg.tolerances import EPS, ROUNDINGS

#: References closer to M than this share of |M| are ignored when the scale of F is chosen.
FAR = 0.5
#: Factors of M at which F is recomputed to measure its rounding.
ROTATIONS = 3


def reference_value(problem: Problem, trace: float) -> float:
    """F at (trace / n) I, or beyond order 64 at a random matrix of that trace; F(0) for trace 0; inf if undefined.

    The random matrix has rank 64. Always evaluated by :meth:`Problem.at`, and stored with the problem.
    """

    def compute() -> float:
        n = problem.n
        if trace == 0.0:
            factor = np.zeros((n, 1))
        elif n <= SMALL_ORDER:
            factor = np.eye(n)
        else:
            factor = np.random.default_rng(0).standard_normal((n, SMALL_ORDER))
        if trace > 0.0:
            factor = factor * (math.sqrt(trace) / norm(factor))
        return finite_value(lambda: float(problem.at(factor).value))

    return problem.once(("value", trace), compute)


def unit_on_the_cone(problem: Problem, evaluation: Evaluation, product: float | None = None) -> float:
    """min(F(0) − F(M), 4 (F(M/4) − F(M))), the decrease from M = 0; <= 0 if F(M) is not below F(0).

    The second term is smaller if F(0) is far larger than F elsewhere, or infinite as for a barrier. If F is quadratic
    along the ray with its minimum at M, the first term is smaller. `product` : ⟨∇F(M), M⟩, if it is known.
    """
    value = float(evaluation.value)
    (near,) = values_on_ray(problem, evaluation, (0.25,), product)
    unit = min(reference_value(problem, 0.0) - value, 4.0 * (near - value))
    return unit if math.isfinite(unit) else 0.0


def values_on_ray(
    problem: Problem, evaluation: Evaluation, shares: Sequence[float], product: float | None = None
) -> list[float]:
    """F(s M) for each s of `shares`; of a quadratic F from F(0), F(M) and `product`, ⟨∇F(M), M⟩, without an evaluation.

    None has it computed.
    """
    if Ability.QUADRATIC in problem.abilities:
        slope = -0.5 * float(inner(evaluation.factor_gradient(), evaluation.factor)) if product is None else -product
        ends = float(evaluation.value), reference_value(problem, 0.0)
        return quadratic_values(*ends, slope, [1.0 - s for s in shares])
    return [evaluation.value_of_share(s) for s in shares]


def quadratic_values(at_zero: float, at_one: float, slope: float, shares: Sequence[float]) -> list[float]:
    """q(s) for each s of `shares`, of the quadratic q with the values `at_zero` and `at_one`, and q'(0) = `slope`."""
    curved = at_one - at_zero - slope
    return [at_zero + s * (slope + s * curved) for s in shares]


def unit_at_fixed_trace(problem: Problem, evaluation: Evaluation, trace: float, vectors: Array) -> float:
    """Least rise of F from M to one of some matrices of the set far from M; 0 if F rises to none of them.

    These are the centre (t / n) I, and M/4 + (3/4) t v vᵀ for the unit columns v of `vectors`, along which F rises
    least. Far: |N − M| >= |M| / 2, of the averages with J N Jᵀ and J M Jᵀ where M stands for a Hermitian matrix: J v is
    as far from M as v, and F is the same there.
    """
    Y, value = evaluation.factor, float(evaluation.value)
    share = 0.5 if problem.hermitian else 1.0  # of t², |t v vᵀ|²
    if problem.hermitian:
        W = on_host(Y)
        Y = np.hstack([W, turned(W)]) / math.sqrt(2.0)
    size = norm(Y.T @ Y)
    found = []
    if math.sqrt(max(size**2 - trace**2 / problem.n, 0.0)) >= FAR * size:
        found.append(reference_value(problem, trace))
    for v in vectors.T:
        Yv = Y.T @ v
        apart = math.sqrt(max(size**2 + share * trace**2 - 2.0 * trace * float(Yv @ Yv), 0.0))
        if 0.75 * apart >= FAR * size:
            found.append(finite_value(partial(_in_plane, problem, evaluation, v, 0.25, 0.75 * trace)))
    noise = CANCELLED * EPS * abs(value)
    rises = [other - value for other in found if noise < other - value < math.inf]
    return min(rises, default=0.0)


def _in_plane(problem: Problem, evaluation: Evaluation, v: Array, alpha: float, beta: float) -> float:
    if Ability.EXACT_PLANE in problem.abilities:
        return float(evaluation.along_atom(v).value(alpha, beta))
    Y = np.column_stack([math.sqrt(alpha) * evaluation.factor, math.sqrt(beta) * v])
    return float(problem.at(Y).value)


def own_unit(problem: Problem, value: float, trace: float, unit: float) -> float:
    """The problem's own unit of values, capped by |F(M)| and the certificate's `unit`; `unit` if it has none."""
    own = problem.duality.value_unit(value, trace)
    return unit if own is None else min(own, max(abs(value), unit))


def value_scale(value: float, trace: float | None) -> float:
    """|F(M)| at a fixed `trace`; inf elsewhere."""
    return math.inf if trace is None else abs(value)


def measured_rounding(problem: Problem, evaluation: Evaluation) -> float:
    """ROUNDINGS √n times the range of F over factors of M that are equal up to rounding; inf if F is not finite at one.

    The factors are Y, and [Y 0] Q + E for random orthogonal Q and |E| = eps |Y|; where F is the same at all of these,
    as F = 1 + c − c may be, E grows until it is not, up to 2^9 eps |Y|. A proof from an eigenvalue of S has √n times
    the rounding of one product. Cost: F at ROTATIONS factors (n, r + 1), rarely at four times as many.
    """
    Y = on_host(evaluation.factor)
    wide = np.column_stack([Y, np.zeros(len(Y))])
    rng = np.random.default_rng(0)
    values, spread = [float(evaluation.value)], 0.0
    for size in EPS * norm(Y) * 2.0 ** np.arange(0, 12, 3):
        for _ in range(ROTATIONS):
            E = rng.standard_normal(wide.shape)
            Q = np.linalg.qr(rng.standard_normal((wide.shape[1],) * 2))[0]
            values.append(finite_value(partial(_value, problem, wide @ Q + E * (size / norm(E)))))
        spread = max(values) - min(values)
        if spread != 0.0:
            break
    return ROUNDINGS * math.sqrt(problem.n) * spread if math.isfinite(spread) else math.inf


def _value(problem: Problem, Y: Array) -> float:
    return float(problem.at(Y).value)


def stationarity_scale(problem: Problem, value: float, size: float, trace: float | None = None) -> float:
    """The unit in which |S Y| is measured when |Y| = `size` and F = `value`; 0 if there is none yet. Cheap.

    (F(0) − F(M)) / |Y|, with F at the centre of a fixed `trace` instead of F(0); |∇F(0)| |Y| if F(M) is not below F(0);
    |F(M)| / |Y| if F(0) or ∇F(0) is not finite.
    """
    if not size > 0.0:
        return 0.0
    rise = reference_value(problem, trace or 0.0) - value
    if trace is not None:
        rise = abs(rise)
    unit = own_unit(problem, value, size**2, rise if math.isfinite(rise) else abs(value))
    if not unit > 0.0:
        slope = gradient_size_at_zero(problem)
        unit = slope * size**2 if math.isfinite(slope) else abs(value)
    return unit / size


def gradient_size_at_zero(problem: Problem) -> float:
    """An estimate of |∇F(0)|_2 by a few power steps from a fixed start; stored with the problem. inf if undefined."""
    nothing = np.zeros((problem.n, 1))
    return problem.once("gradient size", lambda: gradient_size(problem.at(nothing)))


def gradient_size(evaluation: Evaluation) -> float:
    """An estimate of |∇F(M)|_2 by six power steps from a fixed start; inf where the gradient is undefined."""

    def estimate() -> float:
        S, n = evaluation.gradient, len(evaluation.factor)
        V, size = np.random.default_rng(0).standard_normal((n, 2)), 0.0
        for _ in range(6):
            V = S @ (V / max(norm(V), np.finfo(float).tiny))
            size = max(size, norm(V))
        return size

    return finite_value(estimate)


def natural_trace(problem: Problem) -> float:
    """An estimate of the trace at which F ceases to be linear, from one random unit vector z; 0 if F stays linear.

    If F is quadratic along t z zᵀ, this is the t at which slope and curvature balance, |∇F(0) z| / ⟨z zᵀ, ∇²F[z zᵀ]⟩,
    else |F(0)| / |∇F(0) z|. Stored with the problem. Cost, once: one product with ∇F(0) and one plane.
    """
    found = problem.once("natural trace", lambda: finite_value(lambda: _natural_trace(problem)))
    return found if math.isfinite(found) else 0.0


def _natural_trace(problem: Problem) -> float:
    z = np.random.default_rng(0).standard_normal(problem.n)
    z /= norm(z)
    nothing = problem.at(np.zeros((problem.n, 1)))
    slope = norm(nothing.gradient @ z[:, None])
    if not slope > 0.0:
        return 0.0
    quadratic = nothing.along_atom(z).quadratic if Ability.EXACT_PLANE in problem.abilities else None
    if quadratic is None:
        return abs(float(nothing.value)) / slope
    curvature = float(quadratic[2][1, 1])
    return slope / curvature if curvature > 0.0 else 0.0


def ratio(amount: float, unit: float) -> float:
    """amount / unit; 0 if amount is 0, else inf if unit is 0."""
    if amount == 0.0:
        return 0.0
    return amount / unit if unit > 0.0 else math.inf
