"""Checks of splits: the sum of the parts is the unsplit problem, for every partition of the data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from psdopt.certificates.certify import certify
from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Evaluation, Problem
from psdopt.linalg.arrays import norm
from psdopt.problems.distributed.engine import made
from psdopt.testing.checks.common import PASSED, compare, failed, point_of, simplest, value_unit
from psdopt.testing.registry import Case, Deviation, check
from psdopt.testing.splits import Items, Split
from psdopt.testing.units import Unit
from psdopt.testing.untouched import changes, snapshot

FEW = ("full-rank", "rank-one")
#: Where lines and planes are compared.
STEPS = (-0.7, 0.35, 1.5)
WEIGHTS = ((0.3, 0.9), (2.0, 0.0))

#: (noun, of the sum, of the unsplit problem, magnitude in which rounding is measured)
Compared = tuple[str, Any, Any, Unit]
claim = partial(check, "split", regimes=FEW)


def _has(ability: Ability) -> Callable[[Split], bool]:
    return lambda split: ability in split.whole.abilities


def _over(split: Split, case: Case, pairs: Callable[[Evaluation, Evaluation, Unit], list[Compared]]) -> Deviation:
    """`pairs` of (evaluation of the sum, of the unsplit problem, unit of values) over the partitions of the case."""
    whole, results = point_of(split.whole, case), []
    for partition in split.drawn(case.rng):
        total = split.summed(partition)
        for noun, found, expected, unit in pairs(total.at(whole.factor), whole, _unit(split, partition, whole)):
            one = compare(f"{noun} over parts of {_sizes(partition)} items", found, expected, unit, split.whole.n)
            results.append(one)
    return simplest(results)


def _unit(split: Split, partition: list[Items], whole: Evaluation) -> Unit:
    """Magnitude of F and of all F_k at M: sums of parts that cancel are no more exact than the parts."""
    unit = value_unit(split.whole, whole)
    parts = [split.local, *(made(split.part(np.sort(items))) for items in partition)]
    return sum((value_unit(part, part.at(whole.factor)) for part in parts if part is not None), 4.0 * unit)


def _sizes(partition: list[Items]) -> str:
    return ", ".join(str(len(items)) for items in partition)


def _slope_unit(unit: Unit, evaluation: Evaluation) -> Unit:
    return unit / norm(evaluation.factor)


@claim("0.2")
def value(split: Split, case: Case) -> Deviation:
    """Σ_k F_k(M) + local is F(M), at M and at 0."""

    def pairs(total: Evaluation, whole: Evaluation, unit: Unit) -> list[Compared]:
        zeros = total.problem.value_at_zero(), whole.problem.value_at_zero()
        return [("F", total.value, whole.value, unit), ("F(0)", *zeros, unit)]

    return _over(split, case, pairs)


@claim("0.2")
def gradient(split: Split, case: Case) -> Deviation:
    """Σ_k S_k is S, on the factor and on other columns."""
    V = case.rng.standard_normal((split.whole.n, 2))
    V /= norm(V)

    def pairs(total: Evaluation, whole: Evaluation, unit: Unit) -> list[Compared]:
        size = _slope_unit(unit, whole)
        return [
            ("the gradient 2 S Y", total.factor_gradient(), whole.factor_gradient(), size),
            ("S V", total.gradient @ V, whole.gradient @ V, size / norm(whole.factor)),
        ]

    return _over(split, case, pairs)


@claim("0.2", when=_has(Ability.EXACT_LINE), reason="the unsplit problem has no lines")
def line(split: Split, case: Case) -> Deviation:
    """The line of the sum has the values, the two derivatives and the new points of the unsplit line."""
    D = case.direction(case.factor(split.whole.n))

    def pairs(total: Evaluation, whole: Evaluation, unit: Unit) -> list[Compared]:
        scaled = D * (norm(whole.factor) / norm(D))
        mine, theirs = total.along(scaled), whole.along(scaled)
        found: list[Compared] = []
        for mu in STEPS:
            moved = theirs.step(mu)
            at = unit + 4.0 * (1.0 + abs(mu)) ** 4 * value_unit(split.whole, moved)
            found += [
                (f"F at the step {mu:g} of the line", mine.value(mu), theirs.value(mu), at),
                (f"the derivatives at {mu:g} of the line", mine.derivatives(mu), theirs.derivatives(mu), 8.0 * at),
                (
                    f"the gradient after the step {mu:g}",
                    mine.step(mu).factor_gradient(),
                    moved.factor_gradient(),
                    _slope_unit(at, whole),
                ),
            ]
        return found

    return _over(split, case, pairs)


@claim("0.2", when=_has(Ability.EXACT_PLANE), reason="the unsplit problem has no planes")
def plane(split: Split, case: Case) -> Deviation:
    """The plane of the sum has the values, gradients, Hessians and new points of the unsplit plane."""
    v = case.rng.standard_normal(split.whole.n)

    def pairs(total: Evaluation, whole: Evaluation, unit: Unit) -> list[Compared]:
        scaled = v * (norm(whole.factor) / norm(v))
        mine, theirs = total.along_atom(scaled), whole.along_atom(scaled)
        found: list[Compared] = []
        for x in WEIGHTS:
            moved = theirs.step(*x)
            at = 16.0 * (unit + value_unit(split.whole, moved))
            words = f"({x[0]:g}, {x[1]:g}) of the plane"
            found += [
                (f"F at {words}", mine.value(*x), theirs.value(*x), at),
                (f"the gradient at {words}", mine.derivatives(*x)[0], theirs.derivatives(*x)[0], at),
                (f"the Hessian at {words}", mine.derivatives(*x)[1], theirs.derivatives(*x)[1], 4.0 * at),
                (
                    f"2 S Y after {words}",
                    mine.step(*x).factor_gradient(),
                    moved.factor_gradient(),
                    _slope_unit(at, whole),
                ),
            ]
        return found

    return _over(split, case, pairs)


@claim("0.2")
def moves(split: Split, case: Case) -> Deviation:
    """Y T and [Y, V] of the sum are those of the unsplit problem, and refresh() changes nothing."""
    r = case.width(split.whole.n)
    T, V = case.rng.standard_normal((r, r)), case.rng.standard_normal((split.whole.n, 2))
    T, V = T / norm(T), V / norm(V)

    def pairs(total: Evaluation, whole: Evaluation, unit: Unit) -> list[Compared]:
        added = V * norm(whole.factor)
        found: list[Compared] = []
        for words, mine, theirs in (
            ("Y T", total.mix(T), whole.mix(T)),
            ("[Y, V]", total.append(added), whole.append(added)),
            ("refresh()", total.refresh(), whole),
        ):
            at = 16.0 * (unit + value_unit(split.whole, theirs))
            found += [
                (f"F after {words}", mine.value, theirs.value, at),
                (f"2 S Y after {words}", mine.factor_gradient(), theirs.factor_gradient(), _slope_unit(at, whole)),
            ]
        return found

    return _over(split, case, pairs)


@claim("0.2", when=_has(Ability.HESSIAN), reason="the unsplit problem has no Hessian")
def hessian(split: Split, case: Case) -> Deviation:
    """Σ_k of the parts' Hessian products is the Hessian product of F(Y Yᵀ)."""
    D = case.direction(case.factor(split.whole.n))

    def pairs(total: Evaluation, whole: Evaluation, unit: Unit) -> list[Compared]:
        scaled = D * (norm(whole.factor) / norm(D))
        size = 16.0 * _slope_unit(unit, whole)
        return [("the Hessian product", total.hessian_vector(scaled), whole.hessian_vector(scaled), size)]

    return _over(split, case, pairs)


@claim("0.2")
def certificate(split: Split, case: Case) -> Deviation:
    """The sum is certified as F is (λ_min(S), |S Y|, ⟨S, M⟩), and F has the strong convexity that the sum claims."""
    other = split.whole.at(case.factor(split.whole.n))

    def pairs(total: Evaluation, whole: Evaluation, unit: Unit) -> list[Compared]:
        mine, theirs = certify(total.problem, whole.factor), certify(split.whole, whole.factor)
        slope = _slope_unit(unit, whole)
        difference = other.matrix.to_dense() - whole.matrix.to_dense()
        bend = other.value - whole.value - float(np.sum((whole.gradient @ np.eye(split.whole.n)) * difference))
        claimed = 0.5 * total.problem.lower_curvature * norm(difference) ** 2
        return [
            ("lambda_min(S)", mine.smallest_eigenvalue, theirs.smallest_eigenvalue, 16.0 * slope / norm(whole.factor)),
            ("|S Y|", mine.stationarity, theirs.stationarity, slope),
            ("|<S, M>|", mine.complementarity, theirs.complementarity, unit),
            ("F(0) of the certificate", mine.value_at_zero, theirs.value_at_zero, unit),
            ("what strong convexity claims for F(N)", claimed, min(claimed, bend), unit + abs(other.value)),
        ]

    return _over(split, case, pairs)


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
