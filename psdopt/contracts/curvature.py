"""A lower bound on the curvature of F, from which a bound on F(M) − min F follows at any M."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from psdopt.checks import number
from psdopt.linalg.arrays import Array


@dataclass(frozen=True, eq=False)
class Curvature:
    """F(N) >= F(M) + ⟨S, N − M⟩ + modulus/2 · |Cᵀ(N − M) C|² for every N ⪰ 0, S = ∇F(M).

    `modulus` : positive. `root` : C (n, n), lower triangular and invertible; None for the identity, for which `modulus`
    is the modulus of strong convexity. With G = C Cᵀ, |CᵀEC|² = tr(G E G E): a tr((A M)²) has the curvature
    (2a, Cholesky factor of A).
    `form` : R (q, q), upper triangular, q = n (n + 1)/2, if ½ |R svec(Cᵀ(N − M) C)|² is known as well, a larger term:
    RᵀR ⪰ modulus · I. svec is the upper triangle by rows with √2 times the entries beside the diagonal.
    """

    modulus: float
    root: Array | None = None
    form: Array | None = None

    def __post_init__(self) -> None:
        number(self.modulus, "modulus", above=0.0)


class CurvedRows(NamedTuple):
    """Curvature that some rows of a sum prove: F(N) >= F(M) + ⟨S, N − M⟩ + ½ Σ_t w_t (d_tᵀ(N − M)d_t)².

    `others` : the curvature of the terms that are no sums over rows. `directions` : d_t as rows (k, n). `weights` :
    w (k,), not scaled up to all rows. The rows that are left out have a convex loss, and can only add to the sum.
    """

    others: list[Curvature]
    directions: Array
    weights: Array


def added(curvatures: Iterable[Curvature], declared: float = 0.0) -> list[Curvature]:
    """Curvatures of a sum of convex functions from those of its parts: each by itself, the moduli of identities added.

    `declared` : a modulus of strong convexity that is known of the sum.
    """
    found = list(curvatures)
    plain = max(sum(each.modulus for each in found if each.root is None), declared)
    others = [each for each in found if each.root is not None]
    return ([Curvature(plain)] if 0.0 < plain < math.inf else []) + others
