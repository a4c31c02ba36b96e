"""One step of the primal-dual path: predictor and corrector from one factor of each matrix and of the Schur complement.

Linearising A(X) = b, A*(v) + Z = C and X Z = t I in the HKM direction gives, with R = C − A*(v) − Z,

    dZ = R − A*(dv),    dX = t Z⁻¹ − X − (X dZ Z⁻¹ + T),    A(X A*(dv) Z⁻¹) = b + A(X R Z⁻¹ + T − t Z⁻¹),

T = dX' dZ' Z⁻¹ of the predictor in the corrector, each dX taken by its symmetric part. The parts of the cone are
independent: a part knows the map D ↦ X D Z⁻¹, its products with the A_t, and Z⁻¹. A block with −ν log det in the
objective has X Z = (t + ν) I on its path: the same equations with t + ν in the place of t.
Of soft rows A(X) + δ ∘ v = b is linearised: diag(δ) is added to the system, and δ ∘ v taken off b.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from psdopt.constraints.central_path.coupled_systems import RootedSystem, affordable, schur_solver
from psdopt.constraints.central_path.smoothing import Pair
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.limits import NEGLIGIBLE
from psdopt.linalg.arrays import Array, inner, length_of, norm
from psdopt.linalg.limits import MOST_STEPS, ROUNDS
from psdopt.linalg.tolerances import EPS, SLIGHT, rounding

#: dX and dZ by parts, and dv.
Direction = tuple[list[Array], list[Array], Array]


@dataclass
class Iterate:
    """X and Z by parts of the standard form, v (rows,), what they leave of the equations, and factors of X and Z.

    `rp` : b − A(X) − δ ∘ v, (rows,). `R` : C − A*(v) − Z by parts. `primal`, `dual` : their norms. `Lx`, `Lz` : the
    factors that the parts have. `pair` : that of X and Z where the next step is tried on W = X − Z.
    """

    X: list[Array]
    Z: list[Array]
    v: Array
    rp: Array
    R: list[Array]
    primal: float
    dual: float
    Lx: list[Array]
    Lz: list[Array]
    pair: Pair | None = None

    @staticmethod
    def near(form: StandardForm, pair: Pair) -> Iterate:
        """The iterate at the mu of `pair`; numpy.linalg.LinAlgError if rounding takes it out of the interior."""
        return replace(Iterate.of(form, *pair.at(pair.mu), pair.v), pair=None if pair.ended else pair)

    @staticmethod
    def of(form: StandardForm, X: list[Array], Z: list[Array], v: Array) -> Iterate:
        """The iterate with its factors; numpy.linalg.LinAlgError if X or Z is not in the interior."""
        factors = ([part.factor(P) for part, P in zip(form.parts, each, strict=True)] for each in (X, Z))
        return Iterate.at(form, X, Z, v, *factors)

    @staticmethod
    def at(form: StandardForm, X: list[Array], Z: list[Array], v: Array, Lx: list[Array], Lz: list[Array]) -> Iterate:
        """The iterate with these factors."""
        rp, R = form.missed(X, v), [D - S for D, S in zip(form.slacks(v), Z, strict=True)]
        return Iterate(X, Z, v, rp, R, norm(rp), length_of(R), Lx, Lz)


def first_iterate(form: StandardForm) -> tuple[list[Array], list[Array]]:
    """X and Z of the start of each part."""
    starts = [part.start(form.b) for part in form.parts]
    return [X for X, _ in starts], [Z for _, Z in starts]


def path(form: StandardForm, share: float) -> Iterator[Iterate]:
    """The iterates of :func:`newton_step` from :func:`first_iterate`, at most MOST_STEPS.

    They end where there is no step, or a negligible one, or where ⟨X, Z⟩ is rounding.
    """
    at, careful = Iterate.of(form, *first_iterate(form), np.zeros(form.m)), False
    for _ in range(MOST_STEPS):
        try:
            at, length, careful = newton_step(form, at, share, careful)
        except np.linalg.LinAlgError:
            return
        yield at
        if length < NEGLIGIBLE or sum(inner(P, S) for P, S in zip(at.X, at.Z, strict=True)) < EPS:
            return


def newton_step(
    form: StandardForm, at: Iterate, share: float, careful: bool = False, last: bool = False
) -> tuple[Iterate, float, bool]:
    """(next iterate, the longer of its two step lengths, whether it was careful) by Mehrotra's predictor and corrector.

    The step goes at least `share` of the way to the boundary. `careful` : factor the root of the system
    (:class:`~psdopt.constraints.central_path.coupled_systems.RootedSystem`) and refine the direction. If rounding
    leaves no plain step, or spoils its direction, and the root is affordable, the step is repeated as a careful one.
    `last` : whether nothing else is left to try.

    A step takes one factor of each block of X and Z, one inverse of those of Z, one Schur complement and one
    factor of it; three products of n x n matrices, and two more for each block as long as the dual equation is off.
    Raises numpy.linalg.LinAlgError where there is no step.
    """
    try:
        return _newton_step(form, at, share, careful, last)
    except np.linalg.LinAlgError:
        if careful or not affordable(form, last):
            raise
        return _newton_step(form, at, share, True, last)


def _newton_step(
    form: StandardForm, at: Iterate, share: float, careful: bool, last: bool
) -> tuple[Iterate, float, bool]:
    step = LinearisedEquations(form, at, careful)
    if step.mu == 0.0 and form.conic.weights is None:
        raise np.linalg.LinAlgError("<X, Z> has fallen to zero")
    dX, dZ, _ = step.direction(0.0)
    ap, ad = step.reaches(dX, dZ, SLIGHT)
    new_X = [P + ap * dP for P, dP in zip(at.X, dX, strict=True)]
    after = form.mean_product(new_X, [S + ad * dS for S, dS in zip(at.Z, dZ, strict=True)])
    power = max(1.0, 3.0 * min(ap, ad) ** 2)
    sigma = min(1.0, max(after / step.mu, 0.0) ** power) if after > 0.0 and step.mu > 0.0 else 0.1
    near = share + 0.09 * min(ap, ad)
    if step.off:  # no step goes further, and one of length 1 leaves nothing of the dual equation
        sigma = max(sigma, 1.0 - near)
    for part, dP, dS in zip(step.parts, dX, dZ, strict=True):
        part.correct(dP, dS)
    if at.pair is not None and not careful:
        dX, dZ, dv = step.direction(at.pair.least)
        X, Z = ([P + dP for P, dP in zip(*each, strict=True)] for each in ((at.X, dX), (at.Z, dZ)))
        pair = Pair(form, X, Z, at.v + dv, at.pair.unit, at.pair)
        if pair.off <= at.pair.allowed:
            return Iterate.near(form, pair), 1.0, False
    dX, dZ, dv = step.direction(sigma * step.mu)
    if careful or not step.sound(dX, dv):
        if not careful and affordable(form, last):
            return _newton_step(form, at, share, True, last)
        dX, dZ, dv = step.refined(dX, dZ, dv)
    # lengths of the step, and directions, are accurate to two digits, those of the predictor to one
    ap, ad = step.reaches(dX, dZ, SLIGHT**2, near)
    X, Lx, ap = definite_move(form, at.X, dX, ap)
    Z, Lz, ad = definite_move(form, at.Z, dZ, ad)
    return Iterate.at(form, X, Z, at.v + ad * dv, Lx, Lz), max(ap, ad), careful


class LinearisedEquations:
    """The linearised equations at one iterate, with the factors that predictor and corrector share."""

    def __init__(self, form: StandardForm, at: Iterate, careful: bool) -> None:
        self.form, self.at = form, at
        #: Whether the dual equation is off by more than rounding.
        self.off = at.dual > rounding(form.cost, 2) and at.dual > rounding(form.cost + length_of(at.Z), 2)
        R = at.R if self.off or careful else [None] * len(at.R)
        states = zip(form.parts, at.X, at.Z, at.Lx, at.Lz, R, strict=True)
        self.parts = [part.local(X, Z, L, K, rest, careful) for part, X, Z, L, K, rest in states]
        self.right = form.b if form.softness is None else form.b - form.softness * at.v
        self.inverse = sum([part.inverse for part in self.parts], np.zeros(form.m))
        self.mu = form.mean_product(at.X, at.Z)
        metrics = [part.metric for part in self.parts]
        self.solve = RootedSystem(form, metrics).solve if careful else schur_solver(form, metrics)

    def direction(self, target: float) -> Direction:
        """dX, dZ and dv towards X Z = target I."""
        right = self.right - target * self.inverse
        for part in self.parts:
            for term in part.terms:
                right += term
        dv = self.solve(right)
        dX, dZ = zip(*[part.along(target, dv) for part in self.parts], strict=True)
        return list(dX), list(dZ), dv

    def reaches(self, dX: list[Array], dZ: list[Array], accuracy: float, share: float = 1.0) -> tuple[float, float]:
        """A `share` of the way to the boundary along dX and dZ, or a little less, at most 1 each."""
        found = [part.reaches(dP, dS, accuracy) for part, dP, dS in zip(self.parts, dX, dZ, strict=True)]
        ap, ad = map(min, zip(*found, strict=True))
        return min(1.0, share * ap), min(1.0, share * ad)

    def refined(self, dX: list[Array], dZ: list[Array], dv: Array) -> Direction:
        """The direction with a smaller residual of A(dX) = b − A(X), which rounding of X dZ Z⁻¹ spoils."""
        form = self.form
        rest = self._rest(dX, dv)
        for _ in range(ROUNDS):
            if norm(rest) <= SLIGHT**2 * self.at.primal:
                break
            w = self.solve(rest)
            new_X = [dP + part.metric.moved(w) for part, dP in zip(self.parts, dX, strict=True)]
            left = self._rest(new_X, dv + w)
            if not norm(left) < 0.5 * norm(rest):
                break
            dZ = [dS - part.adjoint(w) for part, dS in zip(form.parts, dZ, strict=True)]
            dX, dv, rest = new_X, dv + w, left
        return dX, dZ, dv

    def _rest(self, dX: list[Array], dv: Array) -> Array:
        """What dX and dv leave of b − A(X) − δ ∘ v."""
        moved = self.form.measure(dX)
        return self.at.rp - (moved if self.form.softness is None else moved + self.form.softness * dv)

    def sound(self, dX: list[Array], dv: Array) -> bool:
        """Whether the direction removes nearly all of b − A(X), measured by its size or by its effect on bᵀv."""
        off, v = norm(self._rest(dX, dv)), self.at.v + dv
        return off <= SLIGHT**2 * self.at.primal or off * norm(v) <= NEGLIGIBLE * abs(float(self.form.b @ v))


def definite_move(
    form: StandardForm, X: list[Array], moves: list[Array], step: float
) -> tuple[list[Array], list[Array], float]:
    """(all P + step dP, their factors, step), the step shortened where rounding takes one of them out of its cone."""
    for _ in range(MOST_STEPS):
        moved = [P + step * dP for P, dP in zip(X, moves, strict=True)]
        try:
            return moved, [part.factor(P) for part, P in zip(form.parts, moved, strict=True)], step
        except np.linalg.LinAlgError:
            step *= 1.0 - SLIGHT
    raise np.linalg.LinAlgError("no step keeps the matrix definite")
