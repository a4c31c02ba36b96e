"""Chebyshev filter: a few products amplify the low modes of a positive semidefinite matrix."""

from __future__ import annotations

from collections.abc import Callable

from psdopt.linalg.arrays import Array


def low_pass(apply: Callable[[Array], Array], Y: Array, largest: float, degree: int, cut: float = 0.1) -> Array:
    """T_k((2 L − (1 + c) b I) / ((1 − c) b)) Y, T_k the Chebyshev polynomial of degree k, for L ⪰ 0 with λ_max(L) <= b.

    The component of Y along an eigenvector with eigenvalue in [c b, b] is multiplied by a number of at most 1 in size,
    below c b by a factor that increases towards T_k((1 + c) / (1 − c)) at the eigenvalue 0.

    `apply` is V ↦ L V for V (n, r), `largest` b > 0, `cut` c in (0, 1), `degree` k >= 1. Cost: k applications.
    """
    scale, shift = 2.0 / ((1.0 - cut) * largest), (1.0 + cut) / (1.0 - cut)
    last, current = Y, scale * apply(Y) - shift * Y
    for _ in range(degree - 1):
        following = (2.0 * scale) * apply(current)
        following -= (2.0 * shift) * current
        following -= last
        last, current = current, following
    return current
