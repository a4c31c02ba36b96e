"""The system of derivatives for a curvature that is a multiple of the identity, in the eigenvectors of S and M."""

from __future__ import annotations

from copy import copy

import numpy as np
import scipy.linalg
from scipy.linalg import solve_triangular

from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.tolerances import ROOT_EPS, VANISHED
from psdopt.running.derivatives.conditions import Conditions


class Spectral:
    """The inverse of X ↦ S X + κ G (X YᵀG Y + Y XᵀG Y) on horizontal X, for a metric G = C Cᵀ; None for G = I.

    κ is the curvature of F in this metric along one direction. In the coordinates CᵀX, for G = I, S and M commute, as
    S M = 0, and Y XᵀY = M X. With eigenvectors V of M, σ_i = κ λ_i, and beyond its range those of S with their σ_i, and
    W of YᵀY, d its eigenvalues, the map multiplies (VᵀX W)_ij by σ_i + κ d_j. Unless all of these are positive and
    exact, |σ_i| takes the place of σ_i. About 4 n³ + 9 (n − r)³ flops, then 4 n² r a use.

    Attributes: `exact`, whether F bends along it as a multiple of I would, and all σ_i + κ d_j are positive.
    """

    def __init__(self, at: Conditions, C: Array | None = None) -> None:
        Y, S = at.Y, at.slack
        Z = Y if C is None else C.T @ Y
        kappa, multiple = curvature(at, C)
        if C is not None:
            half = solve_triangular(C, S, lower=True)
            S = solve_triangular(C, half.T, lower=True)
        d, self._W = np.linalg.eigh(Z.T @ Z)
        V = scipy.linalg.qr(Z @ self._W)[0]
        beyond = V[:, len(d) :]
        rest = beyond.T @ S @ beyond
        values, axes = np.linalg.eigh(0.5 * (rest + rest.T))
        V = np.hstack([V[:, : len(d)], beyond @ axes])
        self._least = least = VANISHED * at.unit
        self.exact = multiple and (not len(values) or bool(values[0] + kappa * d[0] > least))
        self._kappa, self._d, self._Y = kappa, d, Y
        self._values = np.concatenate([kappa * d, values if self.exact else np.abs(values)])
        self._scale = np.maximum(self._values[:, None] + kappa * d, least)
        self._axes = V if C is None else solve_triangular(C, V, lower=True, trans=1)

    def __call__(self, R: Array, q: Array) -> tuple[Array, Array]:
        return self._axes @ ((self._axes.T @ (R @ self._W)) / self._scale) @ self._W.T, q

    def stepped(self) -> tuple[Spectral, list[tuple[Array, Array]]]:
        """The map L with the d_j of each octave replaced by their geometric mean, for G = I, and pairs of P, Q (n, n).

        For symmetric A, L(A Y) Yᵀ is the sum of the Q A P: a pair for each octave, n³ flops.
        """
        d = np.maximum(self._d, VANISHED * self._d[-1])
        octave, Z, pairs = np.floor(np.log2(d / d[-1])), self._Y @ self._W, []
        for each in np.unique(octave):
            part = octave == each
            d[part] = mean = np.exp(np.mean(np.log(d[part])))
            P, Q = Z[:, part], self._axes / np.sqrt(np.maximum(self._values + self._kappa * mean, self._least))
            pairs.append((P @ P.T, Q @ Q.T))
        there = copy(self)
        there._scale = np.maximum(self._values[:, None] + self._kappa * d, self._least)
        return there, pairs


def curvature(at: Conditions, C: Array | None = None) -> tuple[float, bool]:
    """κ of :class:`Spectral` along one direction, and whether ∇²F maps it to κ times itself."""
    probe = at.horizontal(at.probe if C is None else solve_triangular(C, at.probe, lower=True, trans=1))
    bent = at.evaluation.curvature_product(probe)
    image, Z = (probe, at.Y) if C is None else (C.T @ probe, C.T @ at.Y)
    along = image @ (Z.T @ Z) + Z @ (image.T @ Z)
    along = along if C is None else C @ along
    kappa = max(inner(probe, bent) / inner(probe, along), 0.0)
    return kappa, kappa > 0.0 and norm(bent - kappa * along) <= ROOT_EPS * norm(bent)
