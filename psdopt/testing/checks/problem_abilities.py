"""Problem checks: what the abilities biconvex-split, margins and stream promise to the methods that need them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import inner, norm, row_dots
from psdopt.margins import CappedMargin, HasMargins
from psdopt.testing.checks.common import compare, compare_slope, failed, point_of, rounding_of, value_unit
from psdopt.testing.registry import FEW, Case, Deviation, Deviations, Trivial, check

#: Ability of a problem whose data come in batches.
STREAM = "stream"
#: Slack of an inequality that an eigensolver may miss by its own accuracy.
LOOSE = 1e-6


@check("problem", "0.1", needs={Ability.SPLIT})
def split_function(problem: Problem, case: Case) -> Deviations:
    """F(V, U) is F(M) at V = U, symmetric, a convex quadratic in V; image is linear, coupling_bound above it."""
    split: Any = problem.split()  # type: ignore[attr-defined]
    evaluation = point_of(problem, case)
    Y, n, unit = evaluation.factor, problem.n, value_unit(problem, evaluation)
    V, U, E = case.direction(Y), case.direction(Y), case.direction(Y)
    LU, LV = split.image(U), split.image(V)
    here, there = split.evaluation(Y, split.image(Y)), problem.at(Y)
    values = [split.value(W, U, LU) for W in (V - E, V, V + E, V + 2.0 * E)]
    size = unit + sum(map(abs, values))
    bend = values[0] - 2.0 * values[1] + values[2]
    third = values[3] - 3.0 * values[2] + 3.0 * values[1] - values[0]
    excess = inner(E, split.image(E)) - split.coupling_bound * norm(E) ** 2
    scale = norm(E) * norm(split.image(E)) + split.coupling_bound * norm(E) ** 2
    yield compare("F(Y, Y)", split.value(Y, Y, split.image(Y)), evaluation.value, unit, n)
    yield compare("F(U, V)", split.value(U, V, LV), values[1], size, n)
    yield Deviation(-bend, rounding_of(size, n), f"F(V, U) is not convex in V, second difference {bend:.3g}")
    yield Deviation(abs(third), rounding_of(size, n), "F(V, U) is not quadratic in V")
    yield compare("image(V - 2 U)", split.image(V - 2.0 * U), LV - 2.0 * LU, norm(LV) + 2.0 * norm(LU), n)
    yield compare("value of evaluation(Y, LY)", here.value, there.value, unit, n)
    G, expected = here.factor_gradient(), there.factor_gradient()
    yield compare("gradient of evaluation(Y, LY)", G, expected, norm(expected) + unit / norm(Y), n)
    yield Deviation(excess, LOOSE * scale, f"the coupling exceeds coupling_bound = {split.coupling_bound:.6g}")


@check("problem", "0.1", needs={Ability.SPLIT})
def split_update(problem: Problem, case: Case) -> Deviations:
    """update(U, LU, anchor, rho) minimises F(V, U) + rho/2 |V − anchor|² over V: it is stationary there."""
    split: Any = problem.split()  # type: ignore[attr-defined]
    U = case.factor(problem.n)
    LU, anchor = split.image(U), case.direction(U)
    before = anchor.copy()
    for rho in (0.1 * split.scale, split.scale + split.coupling_bound, 100.0 * split.scale):
        V = split.update(U, LU, anchor, rho)
        if not np.array_equal(anchor, before):
            return failed("update changes the anchor that it was given")

        def penalised(W: Any, rho: float = rho) -> float:
            return float(split.value(W, U, LU)) + 0.5 * rho * norm(W - anchor) ** 2

        for _ in range(3):
            E = case.direction(U)
            up, down, middle = penalised(V + E), penalised(V - E), penalised(V)
            size = abs(up) + abs(down) + abs(middle)
            bend = max(up - 2.0 * middle + down, 0.0)  # of a quadratic: the slope over it is the distance left to go
            words = f"at rho = {rho:.3g} the function still falls: slope {0.5 * (up - down):.3g}"
            allowed = rounding_of(size + bend, problem.n, 64.0)
            yield Deviation(0.5 * abs(up - down), allowed, words)


def _weights(problem: Any, case: Case) -> list[Any]:
    """Feasible duals: uniform weights, and weights on as few margins as the cap allows."""
    margins = problem.margins()
    m, cap = margins.size, margins.cap
    few = np.zeros(m)
    count = min(m, math.ceil(1.0 / cap))
    few[case.rng.permutation(m)[:count]] = 1.0 / count
    return [np.full(m, 1.0 / m), few]


@check("problem", "0.1", needs={Ability.MARGINS})
def margins_dual(problem: Any, case: Case) -> Deviations:
    """F(M) = −⟨w, a⟩ at the weights w that attain it, >= −⟨w, a⟩ at all others; combination(w) is −Σ w_r A_r."""
    evaluation: Any = point_of(problem, case)
    Y, n, margins = evaluation.factor, problem.n, problem.margins()
    a = margins.values(evaluation)
    w = CappedMargin(margins.size, margins.cap).weights(a)
    unit = norm(a) + abs(evaluation.value)
    V = case.direction(Y)
    both = margins.values(problem.at(np.concatenate([Y, V], axis=1)))
    b = margins.values(problem.at(V))
    yield compare("−⟨w, a⟩", -inner(w, a), evaluation.value, unit, len(w))
    yield compare("margins of M + VVᵀ", both, a + b, norm(a) + norm(b), n)
    yield compare("margins on the span", margins.squares(evaluation).forms(np.eye(Y.shape[1])), a, unit, n)
    for other in _weights(problem, case):
        below = -inner(other, a) - evaluation.value
        yield Deviation(below, rounding_of(unit, len(w)), "a feasible w has a greater bound than F(M)")
        form = float(np.sum(row_dots(V, np.asarray(margins.combination(other) @ V))))
        yield compare("⟨combination(w), VVᵀ⟩", form, -inner(other, b), norm(b), len(w))


@check("problem", "0.1", needs={Ability.CONVEX})
def subgradient_bound(problem: Problem, case: Case) -> Deviations:
    """(S, epsilon) = subgradient(M, dual): F(N) >= F(M) − epsilon + ⟨S, N − M⟩ for every N, whatever the dual."""
    here, there = point_of(problem, case), point_of(problem, case)
    duals: list[Any] = [None]
    if Ability.MARGINS in problem.abilities and isinstance(problem, HasMargins):
        duals += [*_weights(problem, case), case.rng.standard_normal(problem.margins().size)]
    for dual in duals:
        S, epsilon = problem.duality.subgradient(here, dual)
        if not epsilon >= 0.0:
            return failed(f"epsilon is {epsilon}")
        SN, SM = np.asarray(S @ there.factor), np.asarray(S @ here.factor)
        forms = inner(SN, there.factor), inner(SM, here.factor)
        excess = here.value - epsilon + forms[0] - forms[1] - there.value
        unit = (
            abs(here.value) + abs(there.value) + epsilon + norm(SN) * norm(there.factor) + norm(SM) * norm(here.factor)
        )
        handed = "" if dual is None else ", for weights that were handed in"
        words = f"S with epsilon = {epsilon:.3g} is no subgradient: F lies below F(M) - epsilon + <S, N - M> by "
        words += f"{excess:.3g}{handed}; where a gradient check fails as well, S is what is wrong"
        yield Deviation(excess, rounding_of(unit, problem.n, 8.0), words)


@check("problem", "0.1", needs={STREAM})
def batch_gradient(problem: Any, case: Case) -> Deviations:
    """batch_gradient gives (S_b Y, F_b): 2 ⟨S_b Y, D⟩ is the slope of F_b along D, and F_b does not see YQ from Y."""
    Y = case.factor(problem.n)
    batches = list(problem.stream.sample(2, 8))
    if not batches:
        raise Trivial("the stream holds no batch")
    Q = case.orthogonal(Y.shape[1])
    for batch in batches:
        SY, loss = problem.batch_gradient(batch, Y)
        turned, other = problem.batch_gradient(batch, Y @ Q)
        unit = abs(loss) + norm(SY) * norm(Y)
        along = [case.direction(Y) for _ in range(3)]

        def losses(h: float, batch: Any = batch, along: list[Any] = along) -> list[float]:
            return [problem.batch_gradient(batch, Y + h * D)[1] for D in along]

        found = [2.0 * inner(SY, D) for D in along]
        yield compare_slope("batch gradient", found, losses, unit, problem.n)
        yield compare("batch loss at YQ", other, loss, unit, problem.n)
        yield compare("batch gradient at YQ", turned, SY @ Q, norm(SY), problem.n)


@check("problem", "0.1", needs={STREAM}, regimes=FEW)
def stream_repeats(problem: Any, case: Case) -> Deviation:
    """Reading on at any position gives the batches that reading through gives; looking ahead uses none up."""
    stream, size = problem.stream, 8
    ahead = list(stream.sample(4, size))
    through = list(stream.take(size, 0, 5))
    start = int(case.rng.integers(1, 4))
    on = list(stream.take(size, start, 5 - start))
    if stream.repeatable:
        for k, (one, two) in enumerate(zip(through[start:], on, strict=True)):
            if not _same(one, two):
                return failed(f"batch {start + k} is another one when reading begins at {start}")
    for k, (one, two) in enumerate(zip(ahead, through, strict=False)):
        if not _same(one, two):
            return failed(f"batch {k} is another one after looking ahead")
    rows = sum(len(batch.targets) for batch in through)
    return Deviation(0.0, 0.0) if rows else failed("the stream holds no batch")


def _same(one: Any, two: Any) -> bool:
    dense = [np.asarray(rows.todense() if hasattr(rows, "todense") else rows) for rows, *_ in (one, two)]
    return np.array_equal(dense[0], dense[1]) and np.array_equal(one[1], two[1])
