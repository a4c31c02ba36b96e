"""Checks of one term: its value, gradient, Hessian, line and plane against each other, away from any problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from psdopt.contracts.images import Images
from psdopt.contracts.problem import Problem
from psdopt.linalg.arrays import Array, append_columns, inner, norm
from psdopt.linalg.operators import LinearMap
from psdopt.problems import TermSum
from psdopt.terms.base import Term, combine
from psdopt.terms.losses import Loss
from psdopt.terms.measurements import Measurement as Linear
from psdopt.testing.checks.common import (
    PASSED,
    bend_unit,
    compare,
    compare_slope,
    defined,
    failed,
    lost,
    plane_slopes,
    point_of,
    rounding_of,
    value_unit,
)
from psdopt.testing.checks.problem_models import plane_derivative
from psdopt.testing.registry import FEW, Case, Deviation, Deviations, Trivial, check, checks_of
from psdopt.testing.units import Unit
from psdopt.testing.untouched import changes, snapshot

#: Directions per sample, and steps along a line.
DIRECTIONS, STEPS = 4, (0.0, 0.4, -0.7, 1.5)
#: Points (alpha, beta) of a plane.
WEIGHTS = ((1.0, 0.0), (0.6, 0.8), (0.0, 1.0), (1.7, 0.3))


class Look:
    """A term at M = Y Yᵀ: its features, value and the magnitudes in which its rounding is measured.

    `alone` is the term as a problem, of which the rounding is sampled where it decides, as that of any problem is.
    """

    def __init__(self, term: Term, Y: Array) -> None:
        self.term, self.Y = term, Y
        self.images = Images(term.maps, Y)
        self.features = term.features(self.images)
        self.value = float(term.value(self.features))
        if not math.isfinite(self.value):
            raise Trivial("the term is not finite at the sampled points")

    def of(self, Y: Array) -> Images:
        return Images(self.term.maps, Y)

    def gradient(self, V: Array) -> Array:
        """∇f(M) V."""
        return combine(self.term.gradient(self.images, self.features, self.of(V)), V.shape)

    def hessian(self, D: Array, V: Array) -> Array:
        """∇²f(M)[Y Dᵀ + D Yᵀ] V."""
        return combine(self.term.hessian(self.images, self.features, self.of(D), self.of(V)), V.shape)

    @cached_property
    def alone(self) -> TermSum:
        return TermSum([self.term])

    def unit(self) -> Unit:
        """|f(M)|, |f(0)| and |∇f(M)||M| together, and a sampled part."""
        return value_unit(self.alone, self.alone.at(self.Y))

    def gradient_unit(self, V: Array) -> Unit:
        """Magnitude in which rounding of ∇f(M) V is measured: its own size, and a sampled part."""
        return Unit.of(norm(self.gradient(V)), lambda: lost(self.alone, self.Y, lambda e: e.gradient @ V))


def look(term: Term, case: Case) -> Look:
    """The term at a point of the case's regime, within its domain."""
    return Look(term, point_of(TermSum([term]), case).factor)


def _value(term: Term, Y: Array) -> float:
    return float(term.value(term.features(Images(term.maps, Y))))


@check("term", "0.2")
def gradient_slope(term: Term, case: Case) -> Deviation:
    """d/dh f((Y + hD)(Y + hD)ᵀ) at h = 0 equals 2 ⟨∇f(M) Y, D⟩ for every D."""
    at = look(term, case)
    G = 2.0 * at.gradient(at.Y)
    along = [case.direction(at.Y) for _ in range(DIRECTIONS)]

    def values(h: float) -> list[float]:
        return [_value(term, at.Y + h * D) for D in along]

    unit = at.unit()
    return compare_slope("gradient", [inner(G, D) for D in along], values, unit, term.n, unit)


@check("term", "0.2")
def gradient_operator(term: Term, case: Case) -> Deviations:
    """∇f(M) is symmetric and linear, and the same on a block as on its columns."""
    at, n = look(term, case), term.n
    V, W = case.rng.standard_normal((n, 3)), case.rng.standard_normal((n, 3))
    SV, SW = at.gradient(V), at.gradient(W)
    unit = at.gradient_unit(V) + at.gradient_unit(W)
    symmetric = compare("∇f", V.T @ SW, (W.T @ SV).T, unit * norm(V), n)
    if not symmetric.ok:
        return Deviation(symmetric.error, symmetric.tolerance, "∇f(M) is not symmetric: ⟨V, ∇f W⟩ ≠ ⟨∇f V, W⟩")
    yield symmetric
    yield compare("∇f applied to a combination", at.gradient(2.0 * V - W), 2.0 * SV - SW, unit, n)
    yield compare("∇f applied to one column", at.gradient(V[:, :1]), SV[:, :1], unit, n)


@check("term", "0.2")
def representative_invariance(term: Term, case: Case) -> Deviations:
    """f and ∇f see M only: they are the same at YQ, Q orthogonal, and at [Y, 0]."""
    at, n = look(term, case), term.n
    r = at.Y.shape[1]
    Q = case.orthogonal(r) if r > 1 else -np.ones((1, 1))
    V = case.rng.standard_normal((n, 2))
    SV, unit = at.gradient(V), at.unit()
    for words, Y in (("YQ", at.Y @ Q), ("[Y, 0]", append_columns(at.Y, np.zeros((n, 1))))):
        other = Look(term, Y)
        yield compare(f"f at {words}", other.value, at.value, unit, n)
        size = at.gradient_unit(V) + unit * (norm(V) / norm(at.Y) ** 2)
        yield compare(f"∇f at {words}", other.gradient(V), SV, size, n)


@check("term", "0.2")
def line_model(term: Term, case: Case) -> Deviations:
    """along(D) is mu ↦ f at Y + mu D: constant, slope, value, both derivatives, and features where they are offered."""
    at, n = look(term, case), term.n
    D = case.direction(at.Y)
    curve = term.along(at.images, at.features, at.of(D))
    unit = at.unit() + sum((_size(at.alone, at.Y + mu * D) for mu in STEPS), Unit(0.0))
    slope = 2.0 * inner(at.gradient(at.Y), D)
    bent = _line_units(at, D, 0.0)
    yield compare("the constant of the line, value(0)", curve.value(0.0), at.value, unit, n)
    yield compare("the slope of the line at mu = 0", curve.derivatives(0.0)[0], slope, unit + bent[0], n)
    for mu in STEPS:
        yield compare(f"the line at mu = {mu}", curve.value(mu), _value(term, at.Y + mu * D), unit, n)
        bent = _line_units(at, D, mu)
        functions = (curve.value, lambda t: curve.derivatives(t)[0])
        values = (Unit(0.0, unit.sampled), bent[0])
        for k, found in enumerate(curve.derivatives(mu)):
            words, shifted = f"derivative {k + 1} of the line at mu = {mu}", partial(_shifted, functions[k], mu)
            yield compare_slope(words, found, shifted, unit + bent[k], n, values[k], width=0.05)
        yield from _features(term, curve.features_at(mu), at.Y + mu * D, f"on the line at mu = {mu}")
    if curve.coefficients is not None:
        c = curve.coefficients
        yield compare("coefficients 0 and 1 of the line", c[:2], [at.value, slope], unit + bent[0], n)
    elif term.degree is not None:
        yield failed(f"a term of degree {term.degree} has a line without coefficients")


def _size(alone: Problem, Y: Array) -> Unit:
    """|f| at Y Yᵀ, and the sampled part of its rounding."""
    return Unit.of(abs(alone.at(Y).value), lambda: lost(alone, Y, lambda e: e.value))


def _line_units(at: Look, D: Array, mu: float) -> tuple[Unit, Unit]:
    """The sampled rounding of both derivatives of the line along D at Y + mu D."""
    wide = append_columns(D, np.zeros((len(D), 1)))

    def derivative(k: int, e: Any) -> float:
        return float(e.along(wide[:, : e.factor.shape[1]]).derivatives(0.0)[k])

    first, second = (Unit.of(0.0, partial(lost, at.alone, at.Y + mu * D, partial(derivative, k))) for k in (0, 1))
    return first, second


def _shifted(function: Callable[[float], float], mu: float, h: float) -> float:
    return function(mu + h)


def _features(term: Term, found: Any, Y: Array, words: str) -> list[Deviation]:
    """Features that a line or plane offers must be those that the images give."""
    expected = term.features(Images(term.maps, Y))
    if found is None or not isinstance(expected, (float, int, np.ndarray)):
        return []
    unit = norm(np.asarray(expected, dtype=float)) + norm(np.asarray(term.features(Images(term.maps, 2.0 * Y))))
    return [compare(f"features {words}", found, expected, 4.0 * unit, term.n)]


@check("term", "0.2")
def plane_model(term: Term, case: Case) -> Deviations:
    """along_atom(v) is (alpha, beta) ↦ f(alpha M + beta v vᵀ): value, gradient, Hessian, features where offered."""
    at, n = look(term, case), term.n
    v = case.direction(at.Y)[:, :1]
    surface = term.along_atom(at.images, at.features, at.of(v))
    grown = [(x, append_columns(math.sqrt(x[0]) * at.Y, math.sqrt(x[1]) * v)) for x in WEIGHTS]
    points = [(x, Y) for x, Y in grown if defined(at.alone, Y) is not None]
    unit = at.unit() + sum((_size(at.alone, Y) for _, Y in points), Unit(0.0))
    yield compare("the plane", [surface.value(*x) for x, _ in points], [_value(term, Y) for _, Y in points], unit, n)
    for x, Y in points:
        yield from _features(term, surface.features_at(*x), Y, f"on the plane at {x}")
    middle = np.array([0.8, 0.6])
    moved = (partial(plane_derivative, v[:, 0], middle, k) for k in (0, 1))
    first, second = (Unit.of(0.0, partial(lost, at.alone, at.Y, each)) for each in moved)
    values = Unit(0.0, unit.sampled)
    yield from plane_slopes(surface, middle, n, [(unit + first, values), (unit + second, first)])


@check("term", "0.2", when=lambda term: term.has_hessian, reason="says that it has no Hessian")
def hessian_slope(term: Term, case: Case) -> Deviations:
    """hessian(D, V) = d/dh ∇f((Y + hD)(Y + hD)ᵀ) V at h = 0, for V other than Y; factor_hessian(D) agrees."""
    at = look(term, case)
    D, V = case.direction(at.Y), case.rng.standard_normal((term.n, 2))
    found = at.hessian(D, V)

    def hessian(e: Any) -> Array:
        return Look(term, e.factor).hessian(append_columns(D, np.zeros((term.n, 1)))[:, : e.factor.shape[1]], V)

    slope = at.gradient_unit(V)
    unit = slope + Unit.of(norm(found), lambda: lost(at.alone, at.Y, hessian))
    values = Unit(0.0, slope.sampled)
    yield compare_slope("Hessian", found, lambda h: Look(term, at.Y + h * D).gradient(V), unit, term.n, values)
    along = combine(term.factor_hessian(at.images, at.features, at.of(D)), D.shape)
    unit = bend_unit(at.alone, at.alone.at(at.Y), D)
    yield compare("factor_hessian(D)", along, at.gradient(D) + at.hessian(D, at.Y), unit, term.n)


@check("term", "0.2", when=lambda term: term.convex, reason="says that it is not convex")
def convexity(term: Term, case: Case) -> Deviations:
    """f(t M₁ + (1−t) M₀) ≤ t f(M₁) + (1−t) f(M₀)."""
    first, second = look(term, case), look(term, case)
    unit = first.unit() + second.unit()
    for t in (0.1, 0.5, 0.8):
        between = _value(term, append_columns(math.sqrt(1.0 - t) * first.Y, math.sqrt(t) * second.Y))
        excess = between - (1.0 - t) * first.value - t * second.value
        yield Deviation(excess, rounding_of(unit, term.n), f"f lies above its chord by {excess:.3g}")


@check("term", "0.2", when=lambda term: term.degree is not None, reason="says that it is no polynomial in M (degree)")
def degree(term: Term, case: Case) -> Deviation:
    """The difference of order degree + 1 of f along a segment of matrices vanishes."""
    first, second = look(term, case), look(term, case)
    weights = [(1.0, 0.0), (2.0 / 3.0, 1.0 / 3.0), (1.0 / 3.0, 2.0 / 3.0), (0.0, 1.0)]
    values = [_value(term, append_columns(math.sqrt(a) * first.Y, math.sqrt(b) * second.Y)) for a, b in weights]
    left = float(np.max(np.abs(np.diff(values, int(term.degree or 0) + 1))))
    words = f"degree = {term.degree} is declared, but a difference of order {int(term.degree or 0) + 1} is {left:.3g}"
    return Deviation(left, rounding_of(first.unit() + second.unit(), term.n, 8.0), words)


@check("term", "0.2", regimes=("full-rank",))
def data_untouched(term: Term, case: Case) -> Deviation:
    """No call changes the term's own arrays, the factor, or the features that it is given."""
    at = look(term, case)
    D, V = at.of(case.direction(at.Y)), at.of(case.rng.standard_normal((term.n, 1)))
    data = [*(A.data for A in term.maps), {k: v for k, v in vars(term).items() if not k.startswith("_")}]
    held = {"data": data, "Y": at.Y, "features": at.features, "D": D.factor, "v": V.factor}
    before = snapshot(held, skip=(LinearMap,))
    term.value(at.features)
    combine(term.gradient(at.images, at.features, V), V.factor.shape)
    term.along(at.images, at.features, D).derivatives(0.5)
    term.along_atom(at.images, at.features, V).derivatives(0.5, 0.5)
    if term.has_hessian:
        combine(term.hessian(at.images, at.features, D, V), V.factor.shape)
    changed = changes(before, snapshot(held, skip=(LinearMap,)))
    return failed(f"changed in place: {', '.join(changed[:3])}") if changed else PASSED


def _formula(term: Any) -> Any:
    return getattr(term, "reference", None)


@check("term", "0.2", when=lambda term: callable(_formula(term)), reason="has no formula to compare with (reference)")
def formula(term: Any, case: Case) -> Deviation:
    """f(M) is what the formula reference()(M) says, M dense."""
    at = look(term, case)
    direct = _formula(term)()
    expected = float(direct(at.Y @ at.Y.T))
    unit = at.unit() + Unit.of(abs(expected), lambda: lost(at.alone, at.Y, lambda e: direct(e.factor @ e.factor.T)))
    return compare("f(M)", at.value, expected, unit, term.n)


def _measured(term: Any) -> bool:
    return isinstance(getattr(term, "loss", None), Loss) and isinstance(getattr(term, "measurement", None), Linear)


@check("term", "0.2", regimes=("full-rank", "scale-up"), when=_measured, reason="is no loss of a measurement")
def parts(term: Any, case: Case) -> Deviations:
    """The measurement and the loss of a measured term pass the checks of their own."""
    return _all_pass([("measurement", "its measurement", term.measurement), ("loss", "its loss", term.loss)], case)


def _all_pass(pieces: list[tuple[str, str, Any]], case: Case) -> Deviations:
    """What the checks of every piece, (kind, words, object), find in this regime."""
    for kind, words, piece in pieces:
        for one in checks_of(kind):
            if one.newer_than(case.up_to) or one.applies(piece) or case.regime not in one.regimes:
                continue
            try:
                answer = one.function(piece, Case(case.regime, case.seed, case.up_to))
            except Trivial:
                continue
            except Exception as error:
                error.add_note(f"in {one.name} on {words}, {type(piece).__name__}")
                raise
            diagnosis = f"{one.name} fails on {words}, {type(piece).__name__}: {answer.diagnosis}"
            yield Deviation(answer.error, answer.tolerance, diagnosis)
    yield PASSED


def _terms(problem: Any) -> tuple[Term, ...]:
    return tuple(term for term in getattr(problem, "terms", ()) if isinstance(term, Term))


@check("problem", "0.2", regimes=FEW, when=lambda problem: bool(_terms(problem)), reason="is no sum of terms")
def terms(problem: Any, case: Case) -> Deviations:
    """Every term of the sum passes the checks of terms, each by itself."""
    named = [("term", f"term {k}", term) for k, term in enumerate(_terms(problem))]
    return _all_pass(named, case)
