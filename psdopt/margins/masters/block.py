"""The block master: its weights are a small PSD matrix, found by a feasible primal-dual interior-point method."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from dataclasses import dataclass

import numpy as np

from psdopt.linalg.arrays import Array, inner
from psdopt.linalg.definite import factor_above
from psdopt.linalg.limits import MOST_STEPS
from psdopt.linalg.subset import least_eigenvalue
from psdopt.linalg.tolerances import EPS, SLIGHT
from psdopt.margins.loss import CappedMargin
from psdopt.margins.masters.base import MasterSolution
from psdopt.margins.masters.newton_system import NewtonSystem
from psdopt.margins.structure import SignedSquares

#: Fraction of the longest step that stays inside.
INSIDE = 0.98


@dataclass(frozen=True)
class BlockMaster:
    """max ρ − cap Σ ξ over T ⪰ 0, tr T = 1, ξ, s >= 0, ⟨VᵀA_rV, T⟩ − ρ = s_r − ξ_r; T a (k, k) matrix.

    Its dual is min π over 0 <= w <= cap, Σ w = 1, Z = π I − Σ w_r VᵀA_rV ⪰ 0. Both have known interior points, so every
    iterate is feasible, ⟨T, Z⟩ + ⟨w, s⟩ + ⟨cap − w, ξ⟩ is the gap, and stopping early is safe: with a gap about as
    large as the remaining gap of the outer run, the duals w are centred, and this stabilises column generation
    (Gondzio, González-Brevis, Munari 2013). Nesterov-Todd directions, Mehrotra's corrector.

    Cost per step: see :class:`~psdopt.margins.masters.newton_system.NewtonSystem`, plus O(p k²) products.
    """

    def solve(
        self, squares: SignedSquares, loss: CappedMargin, gap: float, start: tuple[Array, Array] | None = None
    ) -> MasterSolution:
        """T and w with a duality gap of at most `gap` (absolute), or the best that rounding allows.

        `start` is (T, w) to begin near: of a master with fewer columns, say, padded.
        """
        m, k = squares.size, squares.order
        uniform = np.full(m, 1.0 / m)
        scale = float(np.mean(squares.sizes()))
        if scale == 0.0:
            return MasterSolution(np.eye(k) / k, uniform, 0)
        scaled = squares.transformed(np.eye(k) / np.sqrt(scale))
        if loss.cap * m <= 1.0 + 4.0 * EPS * m:  # only one w is feasible: the leading eigenvector solves it
            v = np.linalg.eigh(scaled.combination(uniform))[1][:, -1:]
            return MasterSolution(v @ v.T, uniform, 0)
        goal = max(gap / scale, EPS)
        point, steps = _Interior(scaled, loss, start), 0
        with suppress(np.linalg.LinAlgError):
            while steps < MOST_STEPS and point.gap > goal and (after := point.advanced()) is not None:
                point, steps = after, steps + 1
        w = np.clip(point.w, 0.0, loss.cap)
        return MasterSolution(point.T / np.trace(point.T), w, steps)


class _Interior:
    """A strictly feasible (T, s, ξ, ρ; w, π, Z) and the predictor-corrector step from it."""

    def __init__(self, squares: SignedSquares, loss: CappedMargin, start: tuple[Array, Array] | None) -> None:
        self.squares, self.cap = squares, loss.cap
        m, k = squares.size, squares.order
        self.T, self.w = np.eye(k) / k, np.full(m, 1.0 / m)
        if start is not None:  # moved slightly towards the centre of both feasible sets, to be well inside them
            self.T = (1.0 - SLIGHT) * start[0] / np.trace(start[0]) + SLIGHT * self.T
            self.w = (1.0 - SLIGHT) * start[1] + SLIGHT * self.w
        H = squares.combination(self.w)
        top = float(np.linalg.eigvalsh(H)[-1])
        a = squares.forms(self.T)
        self.rho = loss.margin(a)
        apart = max(top + loss.value(a), EPS * float(np.max(np.abs(a))) + EPS)
        self.pi = top + 0.5 * apart / k
        self.Z = self.pi * np.eye(k) - H
        # slacks that satisfy a − ρ = s − ξ, about centred: w s = (cap − w) ξ = gap / number of conditions
        mean = apart / (k + 2 * m)
        over, under = mean / self.w, mean / (self.cap - self.w)
        self.s, self.xi = np.where(a > self.rho, under, over), np.where(a > self.rho, under, over)
        self._match(a)

    def _match(self, a: Array) -> None:
        """Restore a − ρ = s − ξ by changing the larger of the two."""
        d = a - self.rho
        up = d > 0.0
        self.s = np.where(up, d + self.xi, self.s)
        self.xi = np.where(up, self.xi, self.s - d)

    @property
    def gap(self) -> float:
        """Duality gap of the iterate."""
        return inner(self.T, self.Z) + inner(self.w, self.s) + inner(self.cap - self.w, self.xi)

    def advanced(self) -> _Interior | None:
        """The iterate after one step; None, or a LinAlgError, if working precision allows no more."""
        k, m, w, s, xi = self.squares.order, self.squares.size, self.w, self.s, self.xi
        room = self.cap - w
        L, R = np.linalg.cholesky(self.T), np.linalg.cholesky(self.Z)
        _, d, Qt = np.linalg.svd(R.T @ L)
        P = (L @ Qt.T) / np.sqrt(d)  # P⁻¹ T P⁻ᵀ = Pᵀ Z P = Diag(d)
        scaled, unit = self.squares.transformed(P), P.T @ P
        system = NewtonSystem(scaled, xi / room + s / w)
        g = scaled.forms(unit)
        along_pi, along_rho = system.solve(g), system.solve(np.ones(m))
        corner = np.array(
            [[inner(g, along_pi) - inner(unit, unit), inner(g, along_rho)], [along_pi.sum(), along_rho.sum()]]
        )

        def direction(target: Array, ws: Array, wx: Array) -> tuple[Array, float, float, Array, Array, Array, Array]:
            """(dw, dπ, dρ, dZ, dT, ds, dξ) with dT + dZ = target (scaled) and the linearised products ws, wx."""
            base = system.solve(ws / w - wx / room - scaled.forms(target))
            sides = -np.array([inner(unit, target) + inner(g, base), base.sum()])
            dpi, drho = np.linalg.solve(corner, sides)
            dw = base + dpi * along_pi + drho * along_rho
            dZ = dpi * unit - scaled.combination(dw)
            return dw, dpi, drho, dZ, target - dZ, (ws - s * dw) / w, (wx + xi * dw) / room

        def length(dw: Array, dZ: Array, dT: Array, ds: Array, dx: Array) -> float:
            slacks = min(_reach(s, ds), _reach(xi, dx), _reach(w, dw), _reach(room, -dw))
            return min(1.0, INSIDE * min(slacks, _matrix_reach(d, dT), _matrix_reach(d, dZ)))

        D = np.diag(d)
        dw, _, _, dZ, dT, ds, dx = direction(-D, -w * s, -room * xi)
        # this direction keeps both problems feasible, and a step of length t leaves 1 − t of the gap
        left = 1.0 - length(dw, dZ, dT, ds, dx)
        mean = max(left**3, EPS) * self.gap / (k + 2 * m)
        cross = dT @ dZ
        target = (2.0 * (mean * np.eye(k) - D * D) - cross - cross.T) / (d[:, None] + d[None, :])
        dw, dpi, drho, dZ, dT, ds, dx = direction(target, mean - w * s - dw * ds, mean - room * xi + dw * dx)
        return self._moved(length(dw, dZ, dT, ds, dx), P @ dT @ P.T, (dw, dpi, drho, ds, dx))

    def _moved(self, step: float, dT: Array, others: tuple[Array, float, float, Array, Array]) -> _Interior | None:
        """The iterate after a step of this length, if it is inside and its gap is smaller."""
        (dw, dpi, drho, ds, dx), new = others, copy(self)
        T, w = self.T + step * 0.5 * (dT + dT.T), self.w + step * dw
        new.T, new.w, new.pi = T / np.trace(T), w / w.sum(), self.pi + step * dpi
        new.Z = new.pi * np.eye(len(T)) - self.squares.combination(new.w)
        new.rho, new.s, new.xi = self.rho + step * drho, self.s + step * ds, self.xi + step * dx
        new._match(self.squares.forms(new.T))
        inside = min(new.s.min(), new.xi.min(), new.w.min(), (new.cap - new.w).min()) > 0.0
        definite = all(factor_above(X, 0.0) is not None for X in (T, new.Z))
        return new if inside and new.gap < self.gap and definite else None


def _reach(x: Array, dx: Array) -> float:
    """Largest step with x + step dx >= 0."""
    down = dx < 0.0
    return float(np.min(-x[down] / dx[down])) if np.any(down) else np.inf


def _matrix_reach(d: Array, dX: Array) -> float:
    """Largest step with Diag(d) + step dX ⪰ 0."""
    root = np.sqrt(d)
    least = least_eigenvalue(dX / root[:, None] / root)
    return -1.0 / least if least < 0.0 else np.inf
