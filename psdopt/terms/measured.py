"""Terms weight · phi(⟨A_1, M⟩, ..., ⟨A_m, M⟩): a measurement under a loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from psdopt.checks import instance, number
from psdopt.contracts.curvature import Curvature
from psdopt.contracts.images import Images
from psdopt.devices import Device, DeviceArray, once
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, inner
from psdopt.linalg.limits import SMALL_ORDER
from psdopt.linalg.tolerances import SLIGHT
from psdopt.terms.base import Forces, Term
from psdopt.terms.curvature import FEW_FLOPS, MOST_FLOPS, fourth_moment_curvature
from psdopt.terms.losses import Loss
from psdopt.terms.measurement import Measurement, RankOne
from psdopt.terms.models import Curve, PolynomialCurve, QuadraticSurface, Surface


class Tally:
    """How many measurements a term and the samples drawn from it have taken or put together so far."""

    number = 0

    def __getstate__(self) -> dict[str, int]:
        return {}  # a count belongs to a process, not to the term


class MeasuredTerm(Term):
    """f(M) = weight · phi(a), a_t = ⟨A_t, M⟩, for any :class:`~psdopt.terms.losses.Loss` phi.

    The features are the measured vector a (m,). Along Y + mu D it is a0 + mu a1 + mu² a2, and over
    alpha M + beta vvᵀ it is alpha a + beta b. A search therefore works on vectors of length m and applies no map:
    O(m r) per line, O(m) per trial. For a loss of degree 2 the line is an exact quartic.

    Parameters
    ----------
    measurement : M ↦ a. loss : phi. weight : finite; negative makes f concave.
    """

    def __init__(self, measurement: Measurement, loss: Loss, weight: float = 1.0) -> None:
        measurement, loss = instance(measurement, "measurement", Measurement), instance(loss, "loss", Loss)
        if loss.size is not None and loss.size != measurement.size:
            raise InvalidInputError(
                f"loss must be made for {measurement.size} measurements; found arrays of length {loss.size}"
            )
        self.measurement, self.loss, self.weight = measurement, loss, number(weight, "weight")
        self.n, self.maps, self.degree = measurement.n, measurement.maps, loss.degree
        self.has_entries, self.hermitian = measurement.has_entries, measurement.hermitian
        self.device = measurement.device or loss.device
        self.linear_features = type(self).features is MeasuredTerm.features
        self.tally = Tally()
        self._losses: dict[Device, Loss] = {}
        self._curvatures: dict[float, list[Curvature]] = {}
        self.nonnegative = loss.nonnegative and weight >= 0.0
        self.convex = loss.degree == 1 or (loss.convex and weight >= 0.0)

    def loss_at(self, features: Array) -> Loss:
        """The loss with its data on the device of the features."""
        if isinstance(features, DeviceArray):
            device = features.device
            return once(self._losses, device, lambda: self.loss.on(device))
        return self.loss

    def features(self, U: Images) -> Array:
        self.tally.number += self.measurement.size
        return self.measurement.pair(U, U)

    def fleeting_features(self, U: Images) -> Array:
        if not self.linear_features:
            return self.features(U)
        self.tally.number += self.measurement.size
        return self.measurement.at(U)

    def value(self, features: Array) -> float:
        return self.weight * self.loss_at(features).value(features)

    def gradient(self, U: Images, features: Array, V: Images) -> Forces:
        self.tally.number += self.measurement.size
        return self.measurement.adjoint(self.weight * self.loss_at(features).derivative(features), V)

    def add_gradient_to(self, S: Array, U: Images, features: Array) -> None:
        self.tally.number += self.measurement.size
        self.measurement.add_to(S, self.weight * self.loss.derivative(features))

    def hessian(self, U: Images, features: Array, D: Images, V: Images) -> Forces:
        if self.degree == 1:
            return []
        self.tally.number += 2 * self.measurement.size
        moved = 2.0 * self.measurement.pair(U, D)
        return self.measurement.adjoint(self.weight * self.loss_at(features).curvature(features, moved), V)

    @property
    def data(self) -> Mapping[str, Any]:
        """Numbers of a separable loss: `target`, `margin`, `weights`."""
        if not self.loss.separable or self.device is not None or not _of_one_class(self.loss, "sensitivities"):
            return {}
        return {name: getattr(self.loss, name) for name in self.loss.sensitivities(np.zeros(self.measurement.size))}

    def data_gradient(self, U: Images, features: Array, D: Images | None) -> Mapping[str, Any]:
        along = 1.0 if D is None else 2.0 * self.measurement.pair(U, D)
        found = {}
        for name, each in self.loss.sensitivities(features).items() if self.data else ():
            numbers = self.weight * each[0 if D is None else 1] * along
            found[name] = numbers if np.ndim(getattr(self.loss, name)) else float(numbers.sum())
        return found

    def data_forces(self, U: Images, features: Array, tangents: Mapping[str, Any]) -> Forces:
        rates = [second * tangents[n] for n, (_, second) in self.loss.sensitivities(features).items() if n in tangents]
        return self.measurement.adjoint(self.weight * sum(rates), U) if rates else []

    @property
    def items(self) -> int:
        """m, if :meth:`sample` can draw some of the measurements, else 0."""
        return self.measurement.size if self.measurement.has_parts and self.loss.has_parts else 0

    def sample(self, share: float, rng: np.random.Generator) -> Term:
        """The term on a `share` of its measurements, at least one, drawn without replacement, with weight / share."""
        m = self.measurement.size
        return SampledTerm(self, np.sort(rng.choice(m, max(1, math.ceil(share * m)), replace=False)))

    def corner(self, features: Array) -> float:
        return self.loss.corner(features) if self.weight != 0.0 else math.inf

    def curvatures(self, U: Images, features: Array, thorough: bool) -> list[Curvature]:
        """From the fourth moments of measurements a_t = x_tᵀMx_t >= 0, weighted by the curvature of the loss there."""
        m, n, loss = self.measurement.size, self.n, self.loss
        again = SLIGHT if self.degree != 2 else 1.0  # weights that depend on M: once for each M
        flops = max(again * MOST_FLOPS, FEW_FLOPS) if thorough else FEW_FLOPS
        flops = min(flops, m * (n * (n + 1) // 2) ** 2)  # all rows: more flops give the same bound
        small = self.convex and self.device is None and n <= SMALL_ORDER and m * n <= flops / n
        if not (small and isinstance(self.measurement, RankOne) and all(each.is_matrix for each in self.maps)):
            return []
        weights = loss.least_curvature(features, 0.0) if _of_one_class(loss) else None
        if weights is None or np.count_nonzero(weights) < n * (n + 1) // 2:
            return []

        def found() -> list[Curvature]:
            return fourth_moment_curvature(_Directions(self.measurement), self.weight * weights, flops)

        if self.degree != 2:
            return found()
        if flops not in self._curvatures:
            self._curvatures[flops] = found()
        return self._curvatures[flops]

    def along(self, U: Images, features: Array, D: Images) -> Curve:
        self.tally.number += self.measurement.size
        a1, a2 = self.measurement.along(U, D)
        loss = self.loss_at(features)
        if self.degree is None:
            return MeasuredCurve(loss, self.weight, features, a1, a2)
        g, (h1, h2) = loss.expansion(features, a1, a2)
        second, fourth = inner(g, a2) + 0.5 * inner(h1, a1), 0.5 * inner(h2, a2)
        coefficients = [self.weight * c for c in (loss.value(features), inner(g, a1), second, inner(h1, a2), fourth)]
        return PolynomialCurve(coefficients, lambda mu: features + mu * (a1 + mu * a2))

    def along_atom(self, U: Images, features: Array, v: Images) -> Surface:
        self.tally.number += self.measurement.size
        atom, loss = self.measurement.pair(v, v), self.loss_at(features)
        surface = MeasuredSurface(loss, self.weight, features, atom)
        if self.degree is None:
            return surface
        return QuadraticSurface(surface.value(0.0, 0.0), *surface.derivatives(0.0, 0.0), surface.features_at)


class SampledTerm(MeasuredTerm):
    """The measurements `chosen` (k,) of the term `whole`, with the weight of all: its expectation is `whole`."""

    def __init__(self, whole: MeasuredTerm, chosen: Any) -> None:
        scaled = whole.weight * (whole.measurement.size / len(chosen))
        super().__init__(whole.measurement.part(chosen), whole.loss.part(chosen), scaled)
        self.tally, self.share = whole.tally, whole.weight / scaled if scaled else 1.0

    def curved_rows(self, features: Array) -> tuple[Array, Array]:
        """(d_t as rows (k, n), w (k,)) with `whole` >= its tangent at M + ½ Σ_t w_t (d_tᵀ(N − M)d_t)²; none: no rows.

        Each convex loss is at least its tangent, so that measurements that were not drawn may be left out.
        """
        measurement, n = self.measurement, self.n
        curved = self.convex and isinstance(measurement, RankOne) and _of_one_class(self.loss)
        weights = self.loss.least_curvature(features, 0.0) if curved else None
        if weights is None:
            return np.empty((0, n)), np.empty(0)
        return directions_of(measurement), (self.weight * self.share) * np.broadcast_to(weights, features.shape)


class _Directions:
    """x_t (m, n) of measurements x_tᵀMx_t, of which ``self[rows]`` forms some; all at once if it has no parts."""

    def __init__(self, measurement: Measurement) -> None:
        self.measurement, self.shape = measurement, (measurement.size, measurement.n)
        own = all(_of_one_class(measurement, "part", name) for name in ("pair", "directions"))
        self._all = None if measurement.has_parts and own else directions_of(measurement)

    def __getitem__(self, rows: Array) -> Array:
        return directions_of(self.measurement.part(rows)) if self._all is None else self._all[rows]


def directions_of(measurement: Measurement) -> Array:
    """x_t (m, n) of measurements x_tᵀMx_t."""
    return np.asarray(measurement.directions(Images(measurement.maps, np.eye(measurement.n))))


def _of_one_class(loss: Loss | Measurement, method: str = "least_curvature", other: str = "derivative") -> bool:
    """Whether `method` was written for this derivative: no subclass has overridden only the latter."""
    owners = [next(c for c in type(loss).__mro__ if name in vars(c)) for name in (method, other)]
    return owners[0] is Loss or issubclass(*owners)


class MeasuredCurve(Curve):
    """mu ↦ weight · phi(a0 + mu a1 + mu² a2)."""

    def __init__(self, loss: Loss, weight: float, a0: Array, a1: Array, a2: Array) -> None:
        self.loss, self.weight, self.a0, self.a1, self.a2 = loss, weight, a0, a1, a2

    def features_at(self, mu: float) -> Array:
        return self.a0 + mu * (self.a1 + mu * self.a2)

    def value(self, mu: float) -> float:
        return self.weight * self.loss.value(self.features_at(mu))

    def derivatives(self, mu: float) -> tuple[float, float]:
        velocity = self.a1 + 2.0 * mu * self.a2
        g, (h,) = self.loss.expansion(self.features_at(mu), velocity)
        return self.weight * inner(g, velocity), self.weight * (inner(h, velocity) + 2.0 * inner(g, self.a2))


class MeasuredSurface(Surface):
    """(alpha, beta) ↦ weight · phi(alpha a + beta b)."""

    def __init__(self, loss: Loss, weight: float, a: Array, b: Array) -> None:
        self.loss, self.weight, self.a, self.b = loss, weight, a, b

    def features_at(self, alpha: float, beta: float) -> Array:
        return alpha * self.a + beta * self.b

    def value(self, alpha: float, beta: float) -> float:
        return self.weight * self.loss.value(self.features_at(alpha, beta))

    def derivatives(self, alpha: float, beta: float) -> tuple[Array, Array]:
        g, (ha, hb) = self.loss.expansion(self.features_at(alpha, beta), self.a, self.b)
        cross = inner(ha, self.b)
        gradient = np.array([inner(g, self.a), inner(g, self.b)])
        hessian = np.array([[inner(ha, self.a), cross], [cross, inner(hb, self.b)]])
        return self.weight * gradient, self.weight * hessian
