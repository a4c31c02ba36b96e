"""X and Z as functions of W = X − Z: Newton's method on W needs no interior point, so that it may begin at a solution.

The X, Z with X − Z = W and X Z = t I have the eigenvectors of W and the eigenvalues (√(w² + 4t) ± w)/2 of its w. At
t = 0 a solution is a root W, v of A(X) = b, A*(v) + Z = C; for t > 0 these equations are smooth. There X and Z commute,
the derivative of X and Z is that of the HKM direction, and dW = dX − dZ: a step needs what one of an interior point
needs, but it is never shortened for X or Z to remain in their cones.

Chen, Harker (1993); Smale (1986); Kanzow, Nagel (2002).
"""

from __future__ import annotations

from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.limits import NEGLIGIBLE
from psdopt.linalg.arrays import Array, length_of, norm
from psdopt.linalg.tolerances import ROOT_EPS, VANISHED

#: mu over |X||Z|/order is this power of the error. Active constraints that change by an error e ask for mu of order e,
#: Newton's method on a smooth solution for one of order e².
POWER = 1.75


class Pair:
    """W = X/unit − unit Z by parts, for X and Z near a solution, and v (rows,).

    `off` : what X Z = 0 leaves of A(X) = b, relative to |X|, and of A*(v) + Z = C, relative to |Z|, their sum. `mu` :
    that of the next step. `least` : the mu which steps aim at. `most` : that from which interior steps are tried where
    the boundary stops them at `mu`. `allowed` : `off` of the next pair has to be at most
    that, half of the larger of the last two, or 1 for the first two. `ended` : whether there is no next one, since
    `off` is negligible or a step was taken at `least`.

    Raises numpy.linalg.LinAlgError where W has no eigenvalues.
    """

    def __init__(
        self, form: StandardForm, X: list[Array], Z: list[Array], v: Array, unit: float, old: Pair | None = None
    ) -> None:
        self.v, self.unit = v, unit
        W = [P / unit - unit * S for P, S in zip(X, Z, strict=True)]
        self.smoothed = [part.smoothed(each) for part, each in zip(form.parts, W, strict=True)]
        P, D = self.at(0.0)
        sizes = [max(length_of(parts), VANISHED) for parts in (P, D)]
        dual = length_of(S - each for S, each in zip(form.slacks(v), D, strict=True))
        self.off: float = norm(form.missed(P, v)) / sizes[0] + dual / sizes[1]
        size = sizes[0] * sizes[1] / form.order
        self.least: float = ROOT_EPS * size
        self.mu: float = max(min(self.off, 1.0) ** POWER * size, self.least)
        self.most: float = max(min(self.off, 1.0) * size, self.least)
        self.allowed = 1.0 if old is None else 0.5 * max(self.off, old.off)
        self.ended = self.off <= NEGLIGIBLE or (old is not None and old.mu <= old.least)

    def at(self, mu: float) -> tuple[list[Array], list[Array]]:
        """X, Z with X Z = mu I."""
        pairs = [of(mu) for of in self.smoothed]
        return [self.unit * X for X, _ in pairs], [Z / self.unit for _, Z in pairs]
