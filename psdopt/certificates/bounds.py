"""The parts of a certificate: checked eigenpairs, bounds on F(M) − min F, and steps that refute optimality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from psdopt.certificates.certificate import DIGITS
from psdopt.certificates.scales import gradient_size, own_unit, reference_value, unit_at_fixed_trace
from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.contracts.roles import Duality
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.extreme import DENSE_LIMIT, ExtremePair, smallest_eigenpair
from psdopt.linalg.tolerances import EPS, ROUNDINGS, SLIGHT

#: Steps along an eigenvector, in units of tr M, tried if the plane has no exact minimiser.
TRIED_STEPS = (1e-6, 1e-4, 1e-2, 1e-1, 1.0, 10.0)
#: F is evaluated along a ray at these multiples of |Y| / |D|.
FAR_OUT = (1e2, 1e5, 1e8)
#: Columns of S computed to check an eigenpair that the problem supplies, or for one that decides nothing. Lanczos's
#: method takes about 50 until it converges, and more of them would cost more than what they save.
CHECKED_COLUMNS = 40


def checked_eigenpair(
    problem: Problem,
    evaluation: Evaluation,
    S: Any,
    *,
    tol: float,
    threshold: float,
    start: Array | None,
    seed: int,
    count: int = 1,
) -> ExtremePair:
    """The smallest eigenpair of S; beyond order 500 the one supplied by the problem, unless a few products refute it.

    A Ritz value of S below the lower bound of the supplied pair refutes that bound.
    """
    own = type(problem.duality).smallest_eigenpair is not Duality.smallest_eigenpair
    options: dict[str, Any] = {"tol": tol, "threshold": threshold, "start": start, "seed": seed}
    if own and count == 1 and problem.n > DENSE_LIMIT:
        pair = problem.duality.smallest_eigenpair(evaluation, S, **options)
        check = smallest_eigenpair(S, start=pair.vector, max_products=CHECKED_COLUMNS, seed=seed)
        if check.value >= pair.lower_bound - ROUNDINGS * EPS * check.norm:
            return pair
    return smallest_eigenpair(S, count=min(count, problem.n), **options)


def improvement(evaluation: Evaluation, vectors: Sequence[Array], rounding: float = 0.0) -> tuple[float, Array | None]:
    """(largest decrease, its v) of F over alpha M + beta v vᵀ, alpha, beta >= 0, each v of `vectors` by itself.

    The decrease is inf if F falls without bound along a ray of one of these planes. A decrease below `rounding` times
    the trace of the better matrix is ignored, since at large traces terms that cancel leave such errors. The maps are
    applied to one column for each v.
    """
    best: tuple[float, Array | None] = (0.0, None)
    value = float(evaluation.value)
    for v in vectors:
        better = plane_minimum(evaluation, v)
        if better is None:
            return math.inf, v
        gain, trace = value - float(better.value), better.size**2
        del better  # with its images, before those of the next one
        if gain > max(best[0], rounding * trace):
            best = gain, v
    return best


def plane_minimum(evaluation: Evaluation, v: Array) -> Evaluation | None:
    """The evaluation of least F over alpha M + beta v vᵀ, alpha, beta >= 0; None if F falls along a ray.

    Exact where the problem has the ability ``exact-plane``; else the best of a few beta at alpha = 1.
    """
    problem = evaluation.problem
    if Ability.EXACT_PLANE in problem.abilities:
        plane = evaluation.along_atom(v)
        alpha, beta = plane.minimize()
        if math.isinf(alpha) or math.isinf(beta):
            return None
        return plane.step(alpha, beta)
    scale = evaluation.size**2 or 1.0
    tried = [evaluation.append(v * math.sqrt(scale * step)) for step in TRIED_STEPS]
    return min((evaluation, *tried), key=lambda e: e.value if math.isfinite(e.value) else math.inf)


def falls_without_end(problem: Problem, Y: Array, ray: Array) -> bool:
    """Whether F at (Y + mu D)(Y + mu D)ᵀ keeps falling as mu grows, as far as F can be evaluated.

    F is evaluated at three mu of sizes 1e2 to 1e8, in units of |Y| / |D|. Both decreases must exceed the
    rounding of F, including |S| tr M eps, the rounding of terms that cancel. The second decrease must be no smaller
    than the first, to two digits, as it is for every F that falls like log mu or faster. A bounded F fails this test,
    since its decreases shrink. So does a convex F whose decrease per unit of tr M grows by more than a slight share,
    which the curvature of the path may explain: rounding of the data has then made a zero eigenvalue of its Hessian
    negative. `ray` is D (n, k).
    """
    length, columns = norm(ray), max(Y.shape[1], ray.shape[1])
    if not (0.0 < length < math.inf):
        return False
    size = norm(Y) or 1.0
    start, D = (np.pad(Z, ((0, 0), (0, columns - Z.shape[1]))) for Z in (Y, ray * (size / length)))
    values, roundings, traces = [], [], []
    with np.errstate(all="ignore"):
        for mu in FAR_OUT:
            there = problem.at(start + mu * D)
            values.append(float(there.value))
            traces.append(there.size**2)
            roundings.append(ROUNDINGS * EPS * (abs(values[-1]) + gradient_size(there) * traces[-1]))
    if not all(map(math.isfinite, (*values, *roundings))):
        return False
    falls = [values[0] - values[1], values[1] - values[2]]
    clear = falls[0] > roundings[1] and falls[1] > roundings[2]
    steady = Ability.CONVEX not in problem.abilities or (
        falls[1] * (traces[1] - traces[0]) <= (1.0 + SLIGHT) * falls[0] * (traces[2] - traces[1])
    )
    return clear and steady and falls[1] >= (1.0 - DIGITS) * falls[0]


def pair_at_fixed_trace(
    problem: Problem,
    evaluation: Evaluation,
    S: Any,
    product: float,
    trace: float,
    tol: float,
    start: Array | None,
    seed: int,
) -> tuple[ExtremePair, float]:
    """The lowest eigenpairs of S, to the accuracy that the gap requires, and the unit of values for them."""
    value, tr = float(evaluation.value), norm(evaluation.factor) ** 2
    rise = abs(reference_value(problem, trace) - value)
    count = 4 if problem.hermitian else 2  # eigenvalues come in pairs

    def pair_for(unit: float, start: Array | None) -> tuple[ExtremePair, float]:
        """The pairs, to the accuracy that `unit` requires, and the new unit that follows from their vectors."""
        room = tol * unit / trace
        threshold = product / tr - 0.5 * room if tr > 0.0 else -math.inf
        found = checked_eigenpair(
            problem, evaluation, S, tol=0.25 * room, threshold=threshold, start=start, seed=seed, count=count
        )
        return found, own_unit(problem, value, trace, unit_at_fixed_trace(problem, evaluation, trace, found.vectors))

    pair, unit = pair_for(rise if math.isfinite(rise) else abs(value), start)
    enough = product - trace * pair.lower_bound <= tol * unit or problem.n <= DENSE_LIMIT
    return (pair, unit) if enough or not unit > 0.0 else pair_for(unit, pair.vector)


def gaps_at_hand(
    problem: Problem,
    value: float,
    product: float,
    tr: float,
    pair: ExtremePair,
    trace: float | None,
    epsilon: float,
    bound: float | None,
) -> list[float]:
    """Bounds on F(M) − min F from the eigenpair, without further products."""
    if trace is not None:
        return [max(product - trace * pair.lower_bound, 0.0) + epsilon]
    gaps = [] if bound is None else [max(value - bound, 0.0)]
    below = max(0.0, -pair.lower_bound)
    if below == 0.0:
        gaps.append(max(product, 0.0) + epsilon)
    if problem.lower_curvature > 0.0:
        # F* >= F − ⟨S₊, M⟩ − |S₋|²/(2 sigma), with ⟨S₊, M⟩ <= ⟨S, M⟩ + below · tr M and |S₋|² <= n below²
        loss = product + below * tr + problem.n * below * (below / (2.0 * problem.lower_curvature))  # below² may be 0
        gaps.append(max(loss, 0.0) + epsilon)
    return gaps
