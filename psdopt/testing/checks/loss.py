"""Checks of losses phi(a) of measured values: derivatives, degree, many at once, shape, one number a measurement."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize

from psdopt.linalg.arrays import Array, norm
from psdopt.terms.measured import MeasuredCurve
from psdopt.testing.checks.common import PASSED, compare, compare_slope, failed, rounding_of
from psdopt.testing.registry import REGIMES, Case, Deviation, Deviations, Trivial, check
from psdopt.testing.untouched import changes, snapshot

PLAIN = ("full-rank",)
#: Regimes of measured values: of order one, large and small.
SCALES = ("full-rank", "scale-up", "scale-down")
#: Measurements tried on a loss that takes any number, and steps along a line.
FEW_VALUES, STEPS = 7, (0.0, 0.5, -0.3, 1.3)
#: Number of measurements tried, besides a few, on a loss that takes any number.
MANY_VALUES = 10_000
#: Distances from 0 and from the loss's own numbers at which slopes are compared.
LADDER = np.concatenate([-(2.0 ** np.arange(26.0, -27.0, -1.0)), [0.0], 2.0 ** np.arange(-26.0, 27.0)])
#: Doublings of a bracket, halvings of it, and starts of a search for a minimum.
DOUBLINGS, HALVINGS, STARTS = 60, 120, 3
claim = partial(check, "loss")


def size_of(loss: Any) -> int:
    return FEW_VALUES if loss.size is None else int(loss.size)


def values_of(loss: Any, case: Case, size: int | None = None) -> Array:
    """Measured values of both signs, in the scale of the regime; samples where phi is not finite do not count."""
    a = _drawn(loss, case, size)
    if not np.isfinite(loss.value(a.copy())):
        raise Trivial("phi is not finite at values of this scale")
    return a


def _drawn(loss: Any, case: Case, size: int | None = None) -> Array:
    return REGIMES[case.regime].scale * case.rng.standard_normal(size_of(loss) if size is None else size)


def _direction(loss: Any, case: Case) -> Array:
    """A change of only a few values: if many change, a kink is always near."""
    d = _drawn(loss, case)
    d[case.rng.permutation(len(d))[FEW_VALUES:]] = 0.0
    return d


def unit_of(loss: Any, a: Array) -> float:
    g = loss.derivative(a)
    return abs(float(loss.value(a))) + abs(float(loss.value(np.zeros_like(a)))) + norm(g) * norm(a)


@claim("0.2", regimes=SCALES)
def slope(loss: Any, case: Case) -> Deviation:
    """derivative(a) has shape (m,), and ⟨derivative(a), d⟩ is the slope of value along d."""
    a = values_of(loss, case)
    g = loss.derivative(a)
    if np.shape(g) != a.shape:
        return failed(f"derivative has shape {np.shape(g)}, expected {a.shape}")
    along = [_direction(loss, case) for _ in range(4)]

    def values(h: float) -> list[float]:
        return [float(loss.value(a + h * d)) for d in along]

    return compare_slope("derivative", [float(g @ d) for d in along], values, unit_of(loss, a), len(a), width=0.05)


@claim("0.2", regimes=SCALES)
def bend(loss: Any, case: Case) -> Deviations:
    """curvature(a, d) is the derivative of derivative along d, and derivatives and expansion say the same."""
    a, d = values_of(loss, case), _direction(loss, case)
    found = np.asarray(loss.curvature(a, d))
    g = loss.derivative(a)
    unit = norm(g) + norm(found)
    first, (bent,) = loss.expansion(a, d)
    yield compare_slope("curvature", found, lambda h: loss.derivative(a + h * d), unit, len(a), width=0.05)
    yield compare("the gradient of expansion", first, g, unit, len(a))
    yield compare("the curvature of expansion", bent, found, unit, len(a))
    if loss.separable:
        together = loss.derivatives(a)
        yield compare("the first of derivatives", together[0], g, unit, len(a))
        yield compare("the second of derivatives, times d", together[1] * d, found, unit, len(a))


@claim(
    "0.2", regimes=SCALES, when=lambda loss: loss.degree is not None, reason="says that it is no polynomial (degree)"
)
def degree(loss: Any, case: Case) -> Deviation:
    """The difference of order degree + 1 of phi along a line vanishes."""
    a, d = values_of(loss, case), values_of(loss, case)
    left = float(np.max(np.abs(np.diff([loss.value(a + t * d) for t in (-1.0, 0.0, 1.0, 2.0)], int(loss.degree) + 1))))
    unit = sum(unit_of(loss, a + t * d) for t in (-1.0, 0.0, 1.0, 2.0))
    words = f"degree = {loss.degree} is declared; a difference of order {int(loss.degree) + 1} is {left:.3g}"
    return Deviation(left, rounding_of(unit, len(a), 8.0), words)


@claim("0.2", regimes=PLAIN, when=lambda loss: loss.separable, reason="says that it is not separable")
def separable(loss: Any, case: Case) -> Deviations:
    """phi_t does not see the values of other measurements: derivative is the same, entry by entry, when they change."""
    a, b = values_of(loss, case), values_of(loss, case)
    if len(a) < 2:
        raise Trivial("there is one measurement")
    even = np.arange(len(a)) % 2 == 0
    mixed = np.where(even, a, b)
    g, other = loss.derivative(a), loss.derivative(mixed)
    yield compare("derivative of unchanged values", other[even], g[even], norm(g) + norm(other), len(a))
    second, changed = loss.second(a), loss.second(mixed)
    yield compare("second of unchanged values", changed[even], second[even], norm(second), len(a))


@claim("0.2", regimes=PLAIN, when=lambda loss: loss.size is None, reason="is made for a number of measurements")
def any_number(loss: Any, case: Case) -> Deviation:
    """A loss with size None takes 1, 9 and MANY_VALUES values."""
    for m in (1, 9, MANY_VALUES):
        a = _drawn(loss, case, m)
        if np.shape(loss.derivative(a)) != (m,) or not np.isfinite(loss.value(a)):
            return failed(f"size is None, but {m} values are not taken")
    return PASSED


def _takes_many(loss: Any) -> bool:
    return loss.size is None or loss.size >= MANY_VALUES


@claim("0.2", regimes=PLAIN, when=_takes_many, reason="is made for few measurements")
def many_measurements(loss: Any, case: Case) -> Deviations:
    """The line through many values is the line: value and derivatives are those of the loss."""
    m = MANY_VALUES if loss.size is None else int(loss.size)
    a0, a1, a2 = (values_of(loss, case, m) for _ in range(3))
    curve = MeasuredCurve(loss, 0.7, a0, a1, a2)
    for mu in STEPS:
        a = a0 + mu * (a1 + mu * a2)
        velocity = a1 + 2.0 * mu * a2
        g, h = loss.derivative(a), loss.curvature(a, velocity)
        unit = abs(float(loss.value(a))) + norm(g) * (norm(velocity) + norm(a2)) + norm(h) * norm(velocity)
        first, second = 0.7 * float(g @ velocity), 0.7 * float(h @ velocity + 2.0 * g @ a2)
        yield compare(f"value at mu = {mu}", curve.value(mu), 0.7 * float(loss.value(a)), unit, m)
        yield compare(f"derivatives at mu = {mu}", curve.derivatives(mu), [first, second], unit, m)


@claim("0.2", regimes=PLAIN)
def values_untouched(loss: Any, case: Case) -> Deviation:
    """No call changes the measured values that it is given, or the data of the loss."""
    a, d = values_of(loss, case), values_of(loss, case)
    before = snapshot({"a": a, "d": d, "loss": loss})
    loss.value(a)
    loss.derivative(a)
    loss.curvature(a, d)
    loss.derivatives(a) if loss.separable else loss.expansion(a, d)
    changed = changes(before, snapshot({"a": a, "d": d, "loss": loss}), caches=True)
    return failed(f"changed in place: {', '.join(changed[:3])}") if changed else PASSED


def _convex(loss: Any) -> bool:
    return bool(loss.convex)


@claim("0.2", regimes=SCALES, when=_convex, reason="says that it is not convex")
def convexity(loss: Any, case: Case) -> Deviations:
    """phi(t a + (1−t) b) ≤ t phi(a) + (1−t) phi(b)."""
    a, b = values_of(loss, case), values_of(loss, case)
    unit = unit_of(loss, a) + unit_of(loss, b)
    for t in (0.2, 0.5, 0.9):
        excess = float(loss.value(t * a + (1.0 - t) * b)) - t * loss.value(a) - (1.0 - t) * loss.value(b)
        yield Deviation(excess, rounding_of(unit, len(a)), f"phi lies above its chord by {excess:.3g}")


def _numbers(loss: Any) -> list[Array]:
    """0, and the loss's own numbers, one in all or one per measurement: targets, margins."""
    m = size_of(loss)
    held = [np.asarray(x, dtype=float) for x in vars(loss).values() if isinstance(x, (float, int, np.ndarray))]
    return [np.zeros(m), *(np.broadcast_to(x, (m,)) for x in held if x.shape in ((), (1,), (m,)))]


@claim("0.2", regimes=PLAIN, when=_convex, reason="says that it is not convex")
def convex_far(loss: Any, case: Case) -> Deviations:
    """No slope of a convex phi falls on the way to the right, from far left of its own numbers to far beyond."""
    for centre in _numbers(loss):
        d = np.ones(size_of(loss)) if loss.separable else np.abs(values_of(loss, case))
        before: Any = None
        for t in LADDER:
            a = centre + t * d
            g, bend = loss.derivative(a), loss.curvature(a, np.abs(a))
            slopes = (g, np.abs(g) + np.abs(bend)) if loss.separable else (g @ d, np.abs(g) @ d + np.abs(bend) @ d)
            now = tuple(map(np.atleast_1d, slopes))
            if before is not None:
                both = np.isfinite(now[0]) & np.isfinite(before[0]) & np.isfinite(now[1]) & np.isfinite(before[1])
                fall = np.where(both, before[0] - now[0], 0.0)
                allowed = rounding_of(1.0, len(a)) * np.where(both, before[1] + now[1], 1.0)
                k = int(np.argmax(fall - allowed))
                words = f"the slope falls by {fall[k]:.3g} up to {t:.3g} beside {centre[min(k, len(a) - 1)]:.3g}"
                yield Deviation(float(fall[k]), float(allowed[k]), words)
            before = now


def _lowest(loss: Any, case: Case) -> list[Array]:
    """Values a near minima of phi: zeros of the derivatives if it is separable, else where searches end."""
    m = size_of(loss)
    if not loss.separable:
        starts = [case.rng.standard_normal(m) * 10.0**k for k in range(STARTS)]
        return [np.asarray(minimize(loss.value, a, jac=loss.derivative, method="L-BFGS-B").x) for a in starts]
    low, high = np.full(m, -1.0), np.full(m, 1.0)
    for _ in range(DOUBLINGS):
        low = np.where(loss.derivative(low) > 0.0, 2.0 * low, low)
        high = np.where(loss.derivative(high) < 0.0, 2.0 * high, high)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        right = loss.derivative(middle) > 0.0
        low, high = np.where(right, low, middle), np.where(right, middle, high)
    return [low, high]


@claim("0.2", regimes=PLAIN, when=lambda loss: loss.nonnegative, reason="does not say that it is nonnegative")
def nonnegative(loss: Any, case: Case) -> Deviation:
    """phi >= 0 where it is least, which zeros of its derivative tell: lower bounds rest on it."""
    unit = unit_of(loss, values_of(loss, case))
    values = [float(loss.value(a)) for a in _lowest(loss, case)]
    least = min((value for value in values if not np.isnan(value)), default=0.0)
    words = f"nonnegative is declared, but phi falls to {least:.6g}"
    return Deviation(-least, rounding_of(unit, size_of(loss)), words)


def _declares(loss: Any) -> bool:
    return vars(type(loss)).get("per_measurement") is not None


@claim("0.2", regimes=PLAIN, when=_declares, reason="stays on the host (per_measurement)")
def per_measurement(loss: Any, case: Case) -> Deviations:
    """per_measurement names all arrays that the loss holds: in another order they are the loss of reordered values."""
    m, named = size_of(loss), tuple(type(loss).per_measurement)
    for name in named:
        if not hasattr(loss, name) or np.shape(getattr(loss, name)) not in ((), (m,)):
            return failed(f"per_measurement names {name!r}, which is no number and no array of {m} numbers")
    forgotten = [k for k, x in vars(loss).items() if isinstance(x, np.ndarray) and x.ndim and k not in named]
    if forgotten:
        return failed(f"per_measurement does not name {forgotten[0]!r}, which would not be taken to a device")
    a = values_of(loss, case)
    if m < 2:
        raise Trivial("there is one measurement")
    order = np.roll(case.rng.permutation(m), 1)
    there = copy.copy(loss)
    for name in named:
        if np.ndim(getattr(loss, name)):
            setattr(there, name, getattr(loss, name)[order])
    g = loss.derivative(a)
    yield compare("phi of reordered values", there.value(a[order]), loss.value(a), unit_of(loss, a), m)
    yield compare("the derivative at reordered values", there.derivative(a[order]), g[order], norm(g), m)
    if loss.has_parts:
        parts = [(loss.part(some), some) for some in (order[: m // 3 + 1], order[m // 3 + 1 :]) if len(some)]
        yield compare("phi of parts", sum(each.value(a[t]) for each, t in parts), loss.value(a), unit_of(loss, a), m)
        slopes = np.concatenate([each.derivative(a[t]) for each, t in parts])
        yield compare("the derivative of parts", slopes, g[order], norm(g), m)
