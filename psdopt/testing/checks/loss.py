"""Checks of losses phi(a) of measured values: derivatives, degree, and many measurements at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.linalg.arrays import Array, norm
from psdopt.testing.checks.common import PASSED, compare, compare_slope, failed, rounding_of
from psdopt.testing.registry import REGIMES, Case, Deviation, Deviations, Trivial, check
from psdopt.testing.untouched import changes, snapshot

#: Regimes of measured values: of order one, large and small.
SCALES = ("full-rank", "scale-up", "scale-down")
#: Measurements tried on a loss that takes any number, and steps along a line.
FEW_VALUES, STEPS = 7, (0.0, 0.5, -0.3, 1.3)
#: Measurements by which a loss for any number is tried beside a few.
MANY_VALUES = 10_000


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
    """A change of a few of the values: where many change, a kink is always near."""
    d = _drawn(loss, case)
    d[case.rng.permutation(len(d))[FEW_VALUES:]] = 0.0
    return d


def unit_of(loss: Any, a: Array) -> float:
    g = loss.derivative(a)
    return abs(float(loss.value(a))) + abs(float(loss.value(np.zeros_like(a)))) + norm(g) * norm(a)


@check("loss", "0.2", regimes=SCALES)
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


@check("loss", "0.2", regimes=SCALES)
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


@check(
    "loss",
    "0.2",
    regimes=SCALES,
    when=lambda loss: loss.degree is not None,
    reason="says that it is no polynomial (degree)",
)
def degree(loss: Any, case: Case) -> Deviation:
    """The difference of order degree + 1 of phi along a line vanishes."""
    a, d = values_of(loss, case), values_of(loss, case)
    left = float(np.max(np.abs(np.diff([loss.value(a + t * d) for t in (-1.0, 0.0, 1.0, 2.0)], int(loss.degree) + 1))))
    unit = sum(unit_of(loss, a + t * d) for t in (-1.0, 0.0, 1.0, 2.0))
    return Deviation(
        left,
        rounding_of(unit, len(a), 8.0),
        f"degree = {loss.degree} is declared; a difference of order {int(loss.degree) + 1} is {left:.3g}",
    )


@check("loss", "0.2", regimes=("full-rank",), when=lambda loss: loss.separable, reason="says that it is not separable")
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


@check(
    "loss",
    "0.2",
    regimes=("full-rank",),
    when=lambda loss: loss.size is None,
    reason="is made for a number of measurements",
)
def any_number(loss: Any, case: Case) -> Deviation:
    """A loss with size None takes 1, 9 and MANY_VALUES values."""
    for m in (1, 9, MANY_VALUES):
        a = _drawn(loss, case, m)
        if np.shape(loss.derivative(a)) != (m,) or not np.isfinite(loss.value(a)):
            return failed(f"size is None, but {m} values are not taken")
    return PASSED


@check(
    "loss",
    "0.2",
    regimes=("full-rank",),
    when=lambda loss: loss.size is None or loss.size >= MANY_VALUES,
    reason="is made for few measurements",
)
def many_measurements(loss: Any, case: Case) -> Deviations:
    """The line through many values is the line: value and derivatives are those of the loss."""
    from psdopt.terms.measured import MeasuredCurve

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


@check("loss", "0.2", regimes=("full-rank",))
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
