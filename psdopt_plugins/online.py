"""Learning from batches: averaged Gauss–Newton steps on losses of squared lengths |Yᵀx|², without parameters to set."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

from psdopt import Geometry, MomentPreconditioner, Polar
from psdopt.linalg import Array
from psdopt_plugins.limits import SPECTRUM_ORDER

#: Samples per update unless the user says otherwise.
BATCH = 32
#: Eigenvalues of YᵀCY count as at least this share of its trace.
LEAST_SHARE = 0.1
#: Share of a new batch in the running slope and curvature.
NEWEST = 0.1
#: Samples per entry of Y after which steps begin to shrink.
SAMPLES_PER_ENTRY = 50
#: The mean of the iterates weights the k-th one like k to this power.
GROWTH = 3

#: slice of the samples ↦ the vectors x of these samples as rows, an array or sparse array (q, d)
Rows = Callable[[slice], Any]
#: (φ, V) ↦ a second derivative, at least 0, of F along D: φ (q,) the slopes of the squares, V (q, r) the images of D
Curvature = Callable[[Array, Array], float]
#: (slice, squares |Yᵀx|² (q,)) ↦ F, the sum of the losses of these samples; F' (q,), by the squares; its curvature
BatchLoss = Callable[[slice, Array], tuple[float, Array, Curvature]]


def moment_of(problem: Any) -> Array | None:
    """C (n, n), or its diagonal, of the terms that a :class:`~psdopt.MomentPreconditioner` measures; else None."""
    measured = [term for term in problem.terms if MomentPreconditioner.measured(term)]
    return MomentPreconditioner(measured).moment if measured else None


@dataclass
class OnlineModel:
    """A factor Y (n, r) that learns one batch at a time, and the mean of its iterates.

    Y⁺ = Y − s D, D = C⁻¹ (S Y) (Q + tr(Q)/10 I)⁻¹, with S Y = Σ_t F'_t x_t (x_tᵀY) the gradient of the batch, C the
    second moment of the x so far, and Q = YᵀCY. For Gaussian x this inverts the leading term of the Hessian
    (:class:`~psdopt.MomentPreconditioner`), so that units and correlations do not matter.
    C and Q are renewed from a batch whenever the number of samples has doubled. Of C only the diagonal is known above
    order 1500.

    The step s is the slope along D over the Gauss–Newton curvature along D, both of them running means, and at most
    that ratio for the batch itself, so that a few samples cannot spoil the model. Where residuals are larger than
    predictions, xᵀY changes by at most its own length. After t samples s is shorter by the factor (1 + t/(50 n r))^-½;
    a model known from m samples makes steps that are shorter by p / (p + m), p the size of a batch.

    Iterates hover about the minimiser at a distance given by s, their mean does not (Polyak, Juditsky 1992). The k-th
    one has a weight like k³ in the mean, which therefore forgets the beginning (Shamir, Zhang 2013, section 4).

    A range or spectrum that a geometry keeps (:class:`psdopt.Polar` of weight 0 or 1) is kept; then C = I in D. Other
    geometries have the matrices of :class:`psdopt.FlatQuotient`, and the factor moves as there.

    Cost of a batch of p samples: one evaluation of its loss, three products with its rows and one with C⁻¹,
    O(p n r + n² min(p, r)). Memory O(n r + n²), O(n r) above order 1500; no sample is kept. All that changes is in the
    attributes, so that a saved model goes on with the same iterates.
    """

    point: Any
    mean: Any
    samples: int
    known: int
    geometry: Polar | None
    moment: Any
    counted: int
    nonzero: Any = 0
    renewal: float = 0.0
    inverse: Any = None
    gram: Any = None
    level: float = 0.0
    slope: float = 0.0
    curve: float = 0.0
    ahead: Any = 0.0  # the iterate minus the mean, of a factor alone; a geometry has `mean`

    @classmethod
    def begun(cls, geometry: Geometry, point: Any, samples: int = 0, moment: Array | None = None) -> Self:
        """A model at `point`, known from `samples` samples with second moment `moment`, C (n, n) or its diagonal."""
        sums, counted = (0.0, 0) if moment is None else (samples * moment, samples)
        if isinstance(geometry, Polar) and geometry.restricted:
            return cls(point, point, samples, samples, geometry, sums, counted, counted)
        Y = np.ascontiguousarray(geometry.factor(point))
        return cls(Y, None, samples, samples, None, sums, counted, counted)

    @property
    def factor(self) -> Array:
        """Y (n, r), the mean of the iterates."""
        return self.point - self.ahead if self.geometry is None else self.geometry.factor(self.mean)

    def learn(self, rows: Rows, loss: BatchLoss, count: int, batch_size: int = BATCH) -> float:
        """One update per `batch_size` of `count` samples, in their order.

        Returns their mean loss, each before its update. Warns (ConvergenceWarning) where 32 batches, evenly spread or
        all if there are no more, have more than twice the loss that they had at the beginning of the call. Raises
        FloatingPointError where a loss is not finite.
        """
        some = slice(0, count, -(-count // (BATCH * batch_size)))
        seen = rows(some)
        before = _value(seen, some, loss, self.factor)
        total = self._updated(rows, loss, count, batch_size)
        after = _value(seen, some, loss, self.factor)
        if not (math.isfinite(total) and math.isfinite(after)):
            raise FloatingPointError("the loss of a batch is not finite")
        if after > 2.0 * before:
            size = len(range(count)[some])
            text = f"partial_fit raised the mean loss of its rows from {before / size:.3g} to {after / size:.3g}"
            warnings.warn(f"{text}: the batches contradict each other; raise batch_size", ConvergenceWarning, 3)
        return total / count

    def _updated(self, rows: Rows, loss: BatchLoss, count: int, batch_size: int) -> float:
        """One update per batch. Returns the sum of the losses of all samples, each before its update.

        Python and NumPy calls are most of the cost of a small batch: hence local names, and methods for operators.
        """
        geometry, point, mean, samples = self.geometry, self.point, self.mean, self.samples
        mean_slope, mean_curve, total, ahead = self.slope, self.curve, 0.0, self.ahead + 0.0
        ones = np.ones(self.factor.shape[1])  # sums rows of a few entries in half the time of np.sum
        share = batch_size / (batch_size + self.known)
        for first in range(0, count, batch_size):
            part = slice(first, first + batch_size)
            X, size = rows(part), batch_size if first + batch_size <= count else count - first
            Y: Array = point if geometry is None else geometry.factor(point)
            if samples >= self.renewal:
                self._renew(X, Y, samples, size)
            samples += size
            Z = X.dot(Y)
            value, slopes, curvature = loss(part, (Z * Z).dot(ones))
            total += value
            W = (slopes[:, None] * Z).dot(self.gram)
            if geometry is not None:
                D = geometry.velocity(point, geometry.from_velocity(point, X.T.dot(W)))
            elif self.inverse.ndim == 1:
                D = self.inverse[:, None] * X.T.dot(W)
            else:
                D = self.inverse.dot(X.T.dot(W)) if Y.shape[1] <= size else X.dot(self.inverse).T.dot(W)
            V = X.dot(D)
            along = (Z * V).dot(ones)
            slope = float(slopes.dot(along))
            curve = 2.0 * curvature(along, V)
            if not (slope > 0.0 and value + curve < math.inf):
                continue
            mean_slope += NEWEST * (slope - mean_slope)
            mean_curve += NEWEST * (curve - mean_curve)
            step = share * mean_slope / mean_curve / math.sqrt(1.0 + samples / (SAMPLES_PER_ENTRY * Y.size))
            if step * curve > slope:
                step = slope / curve
            if 2.0 * value > size * self.level**2:
                step = min(step, math.sqrt(float(np.vdot(Z, Z)) / float(np.vdot(V, V))))
            D *= -step
            weight = (GROWTH + 1) * size / (samples + GROWTH * size)
            if geometry is None:
                point = Y + D
                ahead += D
                ahead *= 1.0 - weight
            else:
                point = geometry.retract(point, geometry.from_velocity(point, D))
                D = weight * (geometry.factor(point) - geometry.factor(mean))
                mean = geometry.retract(mean, geometry.from_velocity(mean, D))
        self.point, self.mean, self.ahead, self.samples = point, mean, ahead, samples
        self.slope, self.curve = mean_slope, mean_curve
        return total

    def _renew(self, X: Any, Y: Array, samples: int, size: int) -> None:
        """C and Q with the rows X (q, n), that come after `samples` samples.

        The variance of a feature that was k times not zero is raised by the mean variance over 2^k, and correlations
        are reduced while the rows are fewer than the features.
        """
        self.renewal = samples + max(size, samples - self.known)
        self.counted += X.shape[0]
        if self.geometry is not None:
            C_Y = X.T @ (X @ Y) * (self.counted / X.shape[0])
        else:
            sparse: bool = issparse(X)
            diagonal = X.shape[1] > SPECTRUM_ORDER
            new = (X.multiply(X) if sparse else X * X).sum(axis=0) if diagonal else X.T @ X
            self.moment = self.moment + np.asarray(new.toarray() if sparse and not diagonal else new)
            self.nonzero = self.nonzero + np.asarray((X != 0.0).sum(axis=0))
            squares = self.moment if diagonal else np.diagonal(self.moment)
            units = np.sqrt(squares + (squares.mean() or 1.0) * np.exp2(-self.nonzero))
            if diagonal:
                C_Y, self.inverse = self.moment[:, None] * Y, self.counted / units**2
            else:
                scaled = self.moment / units / units[:, None]
                scaled.flat[:: len(scaled) + 1] = 1.0 + max(1, len(scaled) - self.counted) / self.counted
                C_Y, self.inverse = self.moment @ Y, self.counted * np.linalg.inv(scaled) / units / units[:, None]
        Q = Y.T @ C_Y / self.counted
        self.level = float(np.trace(Q))
        self.gram = np.linalg.inv(Q + (LEAST_SHARE * self.level or 1.0) * np.eye(len(Q)))


def _value(X: Any, part: slice, loss: BatchLoss, Y: Array) -> float:
    Z = X @ Y
    return loss(part, np.vecdot(Z, Z))[0]
