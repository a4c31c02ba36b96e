"""A feasible matrix that the constraints alone determine: Gauss–Newton steps on the factor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np

from psdopt.constraints.allowed import Allowed
from psdopt.constraints.faces.face import Face
from psdopt.constraints.measurements import SparseForms
from psdopt.constraints.violation import relative, row_scales
from psdopt.contracts.images import Images
from psdopt.devices import Device, on_host, placed
from psdopt.linalg import deadline
from psdopt.linalg.arrays import Array, beside, norm
from psdopt.linalg.least_squares import lsqr
from psdopt.linalg.limits import MOST_PRODUCTS, MOST_STEPS
from psdopt.linalg.tolerances import MINOR, SLIGHT
from psdopt.terms.base import combine
from psdopt.terms.measurements import Measurement

#: Largest violation of a constraint, relative to its own scale, at which M counts as feasible here.
REACHED = 1e-10
#: The factor has at least this many columns.
FEWEST = 8


def feasible_factor(
    measurement: Measurement,
    allowed: Allowed,
    norms: Array,
    face: Face | None,
    forms: SparseForms | None,
    start: Array | None = None,
    device: Device | None = None,
) -> Array | None:
    """Y (n, r) with A(Y Yᵀ) in the set `allowed`, to 1e-10, found by a fixed seed; None where none is found.

    From `start`, or from a random factor, each step D is the least one that takes ⟨A_t, Y Yᵀ + 2 Y Dᵀ⟩ to the nearest
    allowed value for every t that is an equation or violated. F is not used. `norms` (m,), the |A_t|, and `forms`,
    their entries if known, make Y independent of the scale of each constraint. If a `face` is given, Y lies on it;
    a random factor is on the `device`.
    Cost: up to 60 solutions by LSQR.
    """
    if face is not None and face.order == 0:
        return None

    def measured(Y: Array) -> Array:
        images = Images(measurement.maps, Y)
        return np.asarray(on_host(measurement.pair(images, images)))

    norms = np.where(norms > 0.0, norms, 1.0)
    if start is None:
        start = as_large(measurement, allowed, norms, random_directions(measurement, face, device=device))
    Y = _on_face(face, start)
    for _ in range(MOST_STEPS):
        a = measured(Y)
        v, scales = allowed.violation(a), row_scales(forms, norms, allowed.nearest(a), Y)
        if np.max(relative(*allowed.relative(v, scales)), initial=0.0) <= REACHED:
            return Y
        units = 1.0 / np.where(scales > 0.0, scales, norms)
        off = norm(v * units)
        active = np.where((allowed.lower == allowed.upper) | (v != 0.0), units, 0.0)
        D = _on_face(face, least_move(measurement, Y, v, active, SLIGHT * min(1.0, off)))  # an inexact Newton step
        share = 1.0
        while share > MINOR:
            nearer = Y + share * D
            there = measured(nearer)
            if norm(allowed.violation(there) * units) < off:
                break
            share *= 0.5
        else:
            return None
        Y = nearer
    return None


def as_large(measurement: Measurement, allowed: Allowed, norms: Array, Y: Array) -> Array:
    """A multiple of Y for which A(Y Yᵀ) is as large as the bounds, each over |A_t|."""
    images = Images(measurement.maps, Y)
    reached = float(norm(on_host(measurement.pair(images, images)) / norms))
    aimed = norm(allowed.nearest(np.zeros(measurement.size)) / norms)
    return Y * math.sqrt(aimed / reached) if reached > 0.0 and aimed > 0.0 else Y


def random_directions(
    measurement: Measurement, face: Face | None = None, device: Device | None = None, r: int | None = None
) -> Array:
    """Y (n, r) on the face, by default r > √(2 m), its rows of any lengths."""
    r = r or min(measurement.n, max(math.isqrt(2 * measurement.size) + 1, FEWEST))
    Y = _on_face(face, np.random.default_rng(0).standard_normal((measurement.n, r)) / math.sqrt(r))
    return Y if device is None else cast(Array, placed(Y, device))


def _on_face(face: Face | None, V: Array) -> Array:
    return V if face is None else face.onto(V)


def least_move(measurement: Measurement, Y: Array, v: Array, scale: Array, accuracy: float = 1e-14) -> Array:
    """The least D (n, r) with 2 ⟨A_t, Y Dᵀ⟩ = −v_t, every t times scale_t, up to `accuracy` |scale · v|."""
    push, pull = moved_measurements(measurement, Y, scale)
    return lsqr(push, pull, beside(-0.5 * scale * v, Y), MOST_PRODUCTS, 1e-14, accuracy)


def moved_measurements(
    measurement: Measurement, Y: Array, scale: Array
) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """D (n, r) ↦ (scale_t ⟨A_t, Y Dᵀ⟩)_t, (m,), and its adjoint, both on the device of Y."""
    images, scale = Images(measurement.maps, Y), beside(scale, Y)

    def push(D: Array) -> Array:
        deadline.ask()
        return scale * measurement.pair(images, Images(measurement.maps, D))

    def pull(x: Array) -> Array:
        return combine(measurement.adjoint(scale * x, images), Y.shape)

    return push, pull
