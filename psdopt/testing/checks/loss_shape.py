"""Checks of what a loss says of its shape and data: convex, nonnegative, one number per measurement."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy.optimize import minimize

from psdopt.linalg.arrays import Array, norm
from psdopt.testing.checks.common import compare, failed, rounding_of
from psdopt.testing.checks.loss import SCALES, size_of, unit_of, values_of
from psdopt.testing.registry import Case, Deviation, Deviations, Trivial, check

#: Distances from 0 and from the loss's own numbers at which slopes are compared.
LADDER = np.concatenate([-(2.0 ** np.arange(26.0, -27.0, -1.0)), [0.0], 2.0 ** np.arange(-26.0, 27.0)])
#: Doublings of a bracket, halvings of it, and starts of a search for a minimum.
DOUBLINGS, HALVINGS, STARTS = 60, 120, 3
PLAIN = ("full-rank",)


def _convex(loss: Any) -> bool:
    return bool(loss.convex)


@check("loss", "0.2", regimes=SCALES, when=_convex, reason="says that it is not convex")
def convexity(loss: Any, case: Case) -> Deviations:
    """phi(t a + (1−t) b) ≤ t phi(a) + (1−t) phi(b)."""
    a, b = values_of(loss, case), values_of(loss, case)
    unit = unit_of(loss, a) + unit_of(loss, b)
    for t in (0.2, 0.5, 0.9):
        excess = float(loss.value(t * a + (1.0 - t) * b)) - t * loss.value(a) - (1.0 - t) * loss.value(b)
        yield Deviation(excess, rounding_of(unit, len(a)), f"phi lies above its chord by {excess:.3g}")


def _numbers(loss: Any) -> list[Array]:
    """0, and what the loss holds as a number or as one number per measurement: targets, margins."""
    m = size_of(loss)
    held = [np.asarray(x, dtype=float) for x in vars(loss).values() if isinstance(x, (float, int, np.ndarray))]
    return [np.zeros(m), *(np.broadcast_to(x, (m,)) for x in held if x.shape in ((), (1,), (m,)))]


@check("loss", "0.2", regimes=PLAIN, when=_convex, reason="says that it is not convex")
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


@check("loss", "0.2", regimes=PLAIN, when=lambda loss: loss.nonnegative, reason="does not say that it is nonnegative")
def nonnegative(loss: Any, case: Case) -> Deviation:
    """phi >= 0 where it is least, which zeros of its derivative tell: lower bounds rest on it."""
    unit = unit_of(loss, values_of(loss, case))
    values = [float(loss.value(a)) for a in _lowest(loss, case)]
    least = min((value for value in values if not np.isnan(value)), default=0.0)
    words = f"nonnegative is declared, but phi falls to {least:.6g}"
    return Deviation(-least, rounding_of(unit, size_of(loss)), words)


def _declares(loss: Any) -> bool:
    return vars(type(loss)).get("per_measurement") is not None


@check("loss", "0.2", regimes=PLAIN, when=_declares, reason="stays on the host (per_measurement)")
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
