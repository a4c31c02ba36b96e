"""Checks of splits: the sum of the parts is the unsplit problem, for every partition of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from psdopt.certificates.certify import certify
from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import norm
from psdopt.problems.distributed.resident import made
from psdopt.testing.checks.common import PASSED, compare, failed, point_of, value_unit
from psdopt.testing.registry import Case, Deviation, Deviations, check
from psdopt.testing.splits import Split
from psdopt.testing.units import Unit
from psdopt.testing.untouched import changes, snapshot

FEW = ("full-rank", "rank-one")
#: Where lines and planes are compared.
STEPS = (-0.7, 0.35, 1.5)
WEIGHTS = ((0.3, 0.9), (2.0, 0.0))

#: (noun, of the sum, of the unsplit problem, magnitude in which rounding is measured) -> how far both are apart
Same = Callable[[str, Any, Any, Unit], Deviation]
claim = partial(check, "split", regimes=FEW)


def _has(ability: Ability) -> Callable[[Split], bool]:
    return lambda split: ability in split.whole.abilities


def _over(split: Split, case: Case) -> Iterator[tuple[Evaluation, Evaluation, Unit, Same]]:
    """For each partition the sum and the unsplit F at one M, the unit of values there, and how to compare them."""
    whole = point_of(split.whole, case)
    for partition in split.drawn(case.rng):
        sizes = ", ".join(str(len(items)) for items in partition)

        def same(noun: str, found: Any, expected: Any, unit: Unit, sizes: str = sizes) -> Deviation:
            return compare(f"{noun} over parts of {sizes} items", found, expected, unit, split.whole.n)

        # if parts cancel, the sum is no more accurate than the parts
        parts = [split.local, *(made(split.part(np.sort(items))) for items in partition)]
        units = (value_unit(part, part.at(whole.factor)) for part in parts if part is not None)
        yield split.summed(partition).at(whole.factor), whole, sum(units, 4.0 * value_unit(split.whole, whole)), same


@claim("0.2")
def value(split: Split, case: Case) -> Deviations:
    """Σ_k F_k(M) + local is F(M), at M and at 0."""
    for total, whole, unit, same in _over(split, case):
        yield same("F", total.value, whole.value, unit)
        yield same("F(0)", total.problem.value_at_zero(), whole.problem.value_at_zero(), unit)


@claim("0.2")
def gradient(split: Split, case: Case) -> Deviations:
    """Σ_k S_k is S, on the factor and on other columns."""
    V = case.rng.standard_normal((split.whole.n, 2))
    V /= norm(V)
    for total, whole, unit, same in _over(split, case):
        slope = unit / norm(whole.factor)
        yield same("the gradient 2 S Y", total.factor_gradient(), whole.factor_gradient(), slope)
        yield same("S V", total.gradient @ V, whole.gradient @ V, slope / norm(whole.factor))


@claim("0.2", when=_has(Ability.EXACT_LINE), reason="the unsplit problem has no lines")
def line(split: Split, case: Case) -> Deviations:
    """The line of the sum has the values, the two derivatives and the new points of the unsplit line."""
    D = case.direction(case.factor(split.whole.n))
    for total, whole, unit, same in _over(split, case):
        size = norm(whole.factor)
        mine, theirs = (evaluation.along(D * (size / norm(D))) for evaluation in (total, whole))
        for mu in STEPS:
            moved = theirs.step(mu)
            at = unit + 4.0 * (1.0 + abs(mu)) ** 4 * value_unit(split.whole, moved)
            G, expected = mine.step(mu).factor_gradient(), moved.factor_gradient()
            yield same(f"F at the step {mu:g} of the line", mine.value(mu), theirs.value(mu), at)
            yield same(f"the derivatives at {mu:g} of the line", mine.derivatives(mu), theirs.derivatives(mu), 8.0 * at)
            yield same(f"the gradient after the step {mu:g}", G, expected, at / size)


@claim("0.2", when=_has(Ability.EXACT_PLANE), reason="the unsplit problem has no planes")
def plane(split: Split, case: Case) -> Deviations:
    """The plane of the sum has the values, gradients, Hessians and new points of the unsplit plane."""
    v = case.rng.standard_normal(split.whole.n)
    for total, whole, unit, same in _over(split, case):
        size = norm(whole.factor)
        mine, theirs = (evaluation.along_atom(v * (size / norm(v))) for evaluation in (total, whole))
        for x in WEIGHTS:
            moved, (g, H), expected = theirs.step(*x), mine.derivatives(*x), theirs.derivatives(*x)
            at, words = 16.0 * (unit + value_unit(split.whole, moved)), f"({x[0]:g}, {x[1]:g}) of the plane"
            yield same(f"F at {words}", mine.value(*x), theirs.value(*x), at)
            yield same(f"the gradient at {words}", g, expected[0], at)
            yield same(f"the Hessian at {words}", H, expected[1], 4.0 * at)
            yield same(f"2 S Y after {words}", mine.step(*x).factor_gradient(), moved.factor_gradient(), at / size)


@claim("0.2")
def moves(split: Split, case: Case) -> Deviations:
    """Y T and [Y, V] of the sum are those of the unsplit problem, and refresh() changes nothing."""
    r = case.width(split.whole.n)
    T, V = case.rng.standard_normal((r, r)), case.rng.standard_normal((split.whole.n, 2))
    ways: dict[str, Callable[[Evaluation], Evaluation]] = {
        "Y T": lambda evaluation: evaluation.mix(T / norm(T)),
        "[Y, V]": lambda evaluation: evaluation.append(V * (norm(evaluation.factor) / norm(V))),
        "refresh()": lambda evaluation: evaluation.refresh(),
    }
    for total, whole, unit, same in _over(split, case):
        for words, move in ways.items():
            mine, theirs = move(total), move(whole)
            at = 16.0 * (unit + value_unit(split.whole, theirs))
            yield same(f"F after {words}", mine.value, theirs.value, at)
            slope = at / norm(whole.factor)
            yield same(f"2 S Y after {words}", mine.factor_gradient(), theirs.factor_gradient(), slope)


@claim("0.2", when=_has(Ability.HESSIAN), reason="the unsplit problem has no Hessian")
def hessian(split: Split, case: Case) -> Deviations:
    """Σ_k of the parts' Hessian products is the Hessian product of F(Y Yᵀ)."""
    D = case.direction(case.factor(split.whole.n))
    for total, whole, unit, same in _over(split, case):
        scaled, size = D * (norm(whole.factor) / norm(D)), 16.0 * unit / norm(whole.factor)
        yield same("the Hessian product", total.hessian_vector(scaled), whole.hessian_vector(scaled), size)


@claim("0.2")
def certificate(split: Split, case: Case) -> Deviations:
    """The sum is certified as F is (λ_min(S), |S Y|, ⟨S, M⟩), and F has the strong convexity that the sum claims."""
    other = split.whole.at(case.factor(split.whole.n))
    for total, whole, unit, same in _over(split, case):
        mine, theirs = certify(total.problem, whole.factor), certify(split.whole, whole.factor)
        slope = unit / norm(whole.factor)
        difference = other.matrix.to_dense() - whole.matrix.to_dense()
        bend = other.value - whole.value - float(np.sum((whole.gradient @ np.eye(split.whole.n)) * difference))
        claimed = 0.5 * total.problem.lower_curvature * norm(difference) ** 2
        least = 16.0 * slope / norm(whole.factor)
        yield same("lambda_min(S)", mine.smallest_eigenvalue, theirs.smallest_eigenvalue, least)
        yield same("|S Y|", mine.stationarity, theirs.stationarity, slope)
        yield same("|<S, M>|", mine.complementarity, theirs.complementarity, unit)
        yield same("F(0) of the certificate", mine.value_at_zero, theirs.value_at_zero, unit)
        yield same("what strong convexity claims for F(N)", claimed, min(claimed, bend), unit + abs(other.value))


def _leaves(total: Any, answers: Sequence[Any]) -> Iterator[tuple[Any, Any, float]]:
    """(number or array of a total, the sum of these members of the answers, its size), None where one is unknown."""
    if any(answer is None for answer in answers):
        yield total, None, 0.0
    elif isinstance(answers[0], (tuple, list)):
        members = list(total) if isinstance(total, (tuple, list)) else []
        for k, each in enumerate(zip(*answers, strict=True)):
            yield from _leaves(members[k] if k < len(members) else None, each)
    else:
        stacked = np.array(answers, dtype=float)
        yield total, stacked.sum(axis=0), norm(np.abs(stacked).sum(axis=0))


@claim("0.3")
def totals(split: Split, case: Case) -> Deviations:
    """Engine.total is the sum of what ask answers, unknown where an answer is, and names parts that lack something."""
    Y, n = case.factor(split.whole.n), split.whole.n
    V = case.direction(Y)
    asked: list[tuple[str, tuple[Any, ...]]] = [("at", (0, Y)), ("product", (0, V)), ("entries", (0,)), ("items", ())]
    asked += [("along", (1, 0, V))] if _has(Ability.EXACT_LINE)(split) else []
    asked += [("along_atom", (2, 0, V[:, 0]))] if _has(Ability.EXACT_PLANE)(split) else []
    for partition in split.drawn(case.rng):
        engine = split.engine()
        engine.place([split.part(np.sort(items)) for items in partition])
        own = [k for k, known in enumerate(engine.about(len(partition))) if known is not None]
        for name, arguments in asked:
            answers = [reply.result for reply in engine.ask([(k, name, arguments, ()) for k in own])]
            total = engine.total((own, name, arguments, ()))
            if total.parts != len(own) or total.forgotten:
                return failed(f"{name}: adds {total.parts} answers of {len(own)}; lost {dict(total.forgotten)}")
            for found, expected, size in _leaves(total.result, answers):
                if (found is None) != (expected is None):
                    return failed(f"{name}: the total is {found!r}, the sum of the answers {expected!r}")
                if expected is not None:
                    yield compare(f"the total of {name} over {len(own)} parts", found, expected, size, n)
        engine.ask([(own[0], "at", (3, Y), ())])
        total = engine.total((own, "product", (3, V), ()))
        if total.parts != 1 or dict(total.forgotten) != dict.fromkeys(own[1:], 3):
            return failed(f"adds {total.parts} products, and names {dict(total.forgotten)}; {own[1:]} lack the point")
    return None


@check("split", "0.2", regimes=("full-rank",))
def parts_apart(split: Split, case: Case) -> Deviation:
    """What one part is asked changes no other part, no earlier evaluation, and no array that the parts are made of."""
    before = snapshot(split.part, skip=(Problem,))
    Y, Z = case.factor(split.whole.n), case.factor(split.whole.n)
    V = case.rng.standard_normal((split.whole.n, 2))
    for partition in split.drawn(case.rng):
        total = split.summed(partition)
        first = total.at(Y)
        kept = first.gradient @ V
        second = total.at(Z)
        other = second.gradient @ V
        if not np.array_equal(first.gradient @ V, kept):
            return failed("S V at one point is another after an evaluation at a second point")
        if not (np.array_equal(split.summed(partition).at(Z).gradient @ V, other)):
            return failed("S V is another than in a sum that was made anew: a part remembers what it was asked")
    changed = changes(before, snapshot(split.part, skip=(Problem,)), caches=True)
    if changed:
        return failed(f"changed in place by making or asking parts: {', '.join(changed[:3])}")
    return PASSED
