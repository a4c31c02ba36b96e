"""One step of the primal-dual path: predictor and corrector from one factor of each matrix and of the Schur complement.

Linearising A(X) = b, A*(v) + Z = C and X Z = t I in the HKM direction gives, with R = C − A*(v) − Z,

    dZ = R − A*(dv),    dX = t Z⁻¹ − X − (X dZ Z⁻¹ + T),    A(X A*(dv) Z⁻¹) = b − A(X) + A(X − t Z⁻¹ + X R Z⁻¹ + T),

T = dX' dZ' Z⁻¹ of the predictor in the corrector, each dX taken by its symmetric part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from psdopt.constraints.central_path.coupled_systems import CoupledSystem, RootedSystem, SchurSystem, affordable
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.limits import NEGLIGIBLE
from psdopt.linalg.arrays import Array, inner, norm
from psdopt.linalg.cone_steps import cone_step, inverse_of, lower_factor, triangular_inverse
from psdopt.linalg.limits import MOST_STEPS, ROUNDS
from psdopt.linalg.tolerances import SLIGHT, rounding


@dataclass
class Iterate:
    """X, Z by blocks and x, z of the linear part, with X = Lx Lxᵀ and Z = Lz Lzᵀ; v (rows,)."""

    X: list[Array]
    Z: list[Array]
    x: Array
    z: Array
    v: Array
    Lx: list[Array]
    Lz: list[Array]

    @staticmethod
    def of(X: list[Array], Z: list[Array], x: Array, z: Array, v: Array) -> Iterate:
        """The iterate with its factors; numpy.linalg.LinAlgError if X or Z is not definite."""
        return Iterate(X, Z, x, z, v, [lower_factor(P) for P in X], [lower_factor(S) for S in Z])


def first_iterate(form: StandardForm) -> tuple[list[Array], list[Array], Array, Array]:
    """X, Z, x, z of SDPT3's start (Toh, Todd, Tutuncu 1999), block by block."""
    X, Z = [], []
    for block in form.blocks:
        squares = block.B.multiply(block.B) @ np.where(block.i == block.j, 1.0, 0.5)
        sizes = np.sqrt(np.asarray(squares, dtype=np.float64))[block.used]
        reach = float(np.max((1.0 + np.abs(form.b[block.used])) / (1.0 + sizes), initial=0.0))
        s = block.size
        X.append(np.eye(s) * max(10.0, math.sqrt(s), s * reach))
        Z.append(np.eye(s) * max(10.0, math.sqrt(s), float(sizes.max(initial=0.0)), norm(block.C)))
    x, z = np.full(len(form.c), 10.0), np.full(len(form.c), 10.0)
    return X, Z, x, z


def newton_step(
    form: StandardForm,
    at: Iterate,
    share: float,
    careful: bool = False,
    last: bool = False,
) -> tuple[Iterate, float, bool]:
    """(next iterate, the longer of its two step lengths, whether it was careful) by Mehrotra's predictor and corrector.

    The step goes at least `share` of the way to the boundary. `careful` : factor the root of the system
    (:class:`~psdopt.constraints.central_path.coupled_systems.RootedSystem`) and refine the direction. If rounding
    spoils the direction of a plain step and the root is affordable, the step is repeated as a careful one. `last` :
    whether nothing else is left to try.

    A step takes one Cholesky factor of each block of X and Z, one inverse of those of Z, one Schur complement and one
    factor of it; three products of n x n matrices, and two more for each block as long as the dual equation is off.
    Raises numpy.linalg.LinAlgError where there is no step.
    """
    step = _Step(form, at, careful)
    if step.mu == 0.0:
        raise np.linalg.LinAlgError("<X, Z> has fallen to zero")
    dX, dZ, dx, dz, _ = step.direction(0.0)
    ap = min(1.0, _reach(at.Lx, dX, at.x, dx, SLIGHT))
    ad = min(1.0, _reach(at.Lz, dZ, at.z, dz, SLIGHT))
    after = sum(inner(P + ap * dP, S + ad * dS) for P, dP, S, dS in zip(at.X, dX, at.Z, dZ, strict=True))
    after = (after + float((at.x + ap * dx) @ (at.z + ad * dz))) / max(form.order, 1)
    power = max(1.0, 3.0 * min(ap, ad) ** 2)
    sigma = min(1.0, max(after / step.mu, 0.0) ** power) if after > 0.0 else 0.1
    near = share + 0.09 * min(ap, ad)
    step.correct(dX, dx, dz)
    dX, dZ, dx, dz, dv = step.direction(sigma * step.mu)
    if careful:
        dX, dZ, dx, dz, dv = step.refined(dX, dZ, dx, dz, dv)
    elif affordable(form, last) and not step.sound(dX, dx, dv):
        return newton_step(form, at, share, careful=True)
    # lengths of the step, and directions, are accurate to two digits, those of the predictor to one
    ap = min(1.0, near * _reach(at.Lx, dX, at.x, dx, SLIGHT**2))
    ad = min(1.0, near * _reach(at.Lz, dZ, at.z, dz, SLIGHT**2))
    X, Lx, ap = definite_move(at.X, dX, ap)
    Z, Lz, ad = definite_move(at.Z, dZ, ad)
    return Iterate(X, Z, at.x + ap * dx, at.z + ad * dz, at.v + ad * dv, Lx, Lz), max(ap, ad), careful


class _Step:
    """The linearised equations at one iterate, with the factors that predictor and corrector share."""

    def __init__(self, form: StandardForm, at: Iterate, careful: bool) -> None:
        self.form, self.at = form, at
        self.Zi = [inverse_of(L) for L in at.Lz]
        self.rp = form.b - form.measure(at.X, at.x)
        self.rd = form.c - form.At @ at.v - at.z
        self.RZi: list[Array | None] = []
        self.PRZi: list[Array | None] = []
        self.T: list[Array | None] = [None] * len(form.blocks)
        self.t = np.zeros(len(at.x))
        self.Rd: list[Array | None] = []
        self.known = self.rp + form.A @ (at.x + at.x * self.rd / at.z)
        for block, P, S, Q in zip(form.blocks, at.X, at.Z, self.Zi, strict=True):
            A = block.adjoint(at.v)
            R = block.C - A - S
            zero = not careful and norm(R) <= rounding(norm(block.C) + norm(A) + norm(S), 1)
            RZi = None if zero else R @ Q
            self.Rd.append(None if zero else R)
            PRZi = None if RZi is None else P @ RZi
            self.RZi.append(RZi)
            self.PRZi.append(PRZi)
            self.known += block.measure(P if PRZi is None else P + PRZi)
        self.of_inverse = [block.measure(Q) for block, Q in zip(form.blocks, self.Zi, strict=True)]
        pairs = zip(at.X, at.Z, strict=True)
        self.mu = (sum(inner(P, S) for P, S in pairs) + float(at.x @ at.z)) / max(form.order, 1)
        self.system: CoupledSystem
        if careful:
            self.system = RootedSystem(form, at.Lx, [triangular_inverse(L) for L in at.Lz], at.x / at.z)
        else:
            self.system = SchurSystem(form, at.X, self.Zi, at.x / at.z)

    def direction(self, target: float) -> tuple[list[Array], list[Array], Array, Array, Array]:
        """dX, dZ, dx, dz, dv towards X Z = target I."""
        form, at = self.form, self.at
        right = self.known - form.A @ (target / at.z - self.t)
        for block, T, measured in zip(form.blocks, self.T, self.of_inverse, strict=True):
            right -= target * measured
            if T is not None:
                right += block.measure(T)
        dv = self.system.solve(right)
        return self._along(target, dv)

    def _along(self, target: float, dv: Array) -> tuple[list[Array], list[Array], Array, Array, Array]:
        """dX, dZ, dx, dz that follow from dv, and dv."""
        form, at = self.form, self.at
        dXs, dZs, self.dZZi = [], [], []
        for k, block in enumerate(form.blocks):
            R, RZi, PRZi, T = self.Rd[k], self.RZi[k], self.PRZi[k], self.T[k]
            dZ = block.adjoint(-dv)
            if R is not None:
                dZ += R
            W = self.system.right(k, dv)
            dX = self.system.through(k, dv, W)
            if PRZi is not None:
                dX -= PRZi
            if T is not None:
                dX -= T
            dX = dX + dX.T
            dX *= 0.5
            dX += target * self.Zi[k]
            dX -= at.X[k]
            dXs.append(dX)
            dZs.append(dZ)
            self.dZZi.append(-W if RZi is None else RZi - W)
        dz = self.rd - form.At @ dv
        dx = target / at.z - at.x - at.x * dz / at.z - self.t
        return dXs, dZs, dx, dz, dv

    def refined(
        self, dX: list[Array], dZ: list[Array], dx: Array, dz: Array, dv: Array
    ) -> tuple[list[Array], list[Array], Array, Array, Array]:
        """The direction with a smaller residual of A(dX) + A dx = b − A(X) − A x, which rounding of X dZ Z⁻¹ spoils."""
        form, at = self.form, self.at
        rest = self.rp - form.measure(dX, dx)
        for _ in range(ROUNDS):
            if norm(rest) <= SLIGHT**2 * norm(self.rp):
                break
            w = self.system.solve(rest)
            new_X, new_Z = [], []
            for k, (block, dP, dS) in enumerate(zip(form.blocks, dX, dZ, strict=True)):
                more = self.system.through(k, w, self.system.right(k, w))
                new_X.append(dP + 0.5 * (more + more.T))
                new_Z.append(dS - block.adjoint(w))
            new_x = dx + at.x * (form.At @ w) / at.z
            left = self.rp - form.measure(new_X, new_x)
            if not norm(left) < 0.5 * norm(rest):
                break
            dX, dZ, dx, dz, dv, rest = new_X, new_Z, new_x, dz - form.At @ w, dv + w, left
        return dX, dZ, dx, dz, dv

    def sound(self, dX: list[Array], dx: Array, dv: Array) -> bool:
        """Whether the direction removes nearly all of b − A(X), measured by its size or by its effect on bᵀv."""
        off, v = norm(self.rp - self.form.measure(dX, dx)), self.at.v + dv
        return off <= SLIGHT**2 * norm(self.rp) or off * norm(v) <= NEGLIGIBLE * abs(float(self.form.b @ v))

    def correct(self, dX: list[Array], dx: Array, dz: Array) -> None:
        """Add the second-order terms dX dZ Z⁻¹ of the last direction, the predictor, to all later directions."""
        self.T = [dP @ W for dP, W in zip(dX, self.dZZi, strict=True)]
        self.t = dx * dz / self.at.z


def definite_move(blocks: list[Array], moves: list[Array], step: float) -> tuple[list[Array], list[Array], float]:
    """(all P + step dP, their factors, step), the step shortened where rounding makes one of them indefinite."""
    for _ in range(MOST_STEPS):
        moved = [P + step * dP for P, dP in zip(blocks, moves, strict=True)]
        try:
            return moved, [lower_factor(P) for P in moved], step
        except np.linalg.LinAlgError:
            step *= 1.0 - SLIGHT
    raise np.linalg.LinAlgError("no step keeps the matrix definite")


def _reach(factors: list[Array], moves: list[Array], x: Array, dx: Array, accuracy: float) -> float:
    """The largest alpha, or a little less, with P + alpha dP ⪰ 0 for all blocks P = L Lᵀ, and x + alpha dx >= 0."""
    if not all(np.isfinite(each).all() for each in (*moves, dx)):
        raise np.linalg.LinAlgError("the direction is not finite")
    least = float(np.min(dx / x, initial=0.0)) if len(x) else 0.0
    reach = -1.0 / least if least < 0.0 else math.inf
    return min([reach, *(cone_step(L, dP, accuracy) for L, dP in zip(factors, moves, strict=True))])
