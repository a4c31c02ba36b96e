"""Second derivatives on the definite cone: Hessians in all three metrics, geodesics of the von Neumann metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from psdopt.geometries.square_root import symmetric_part
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.limits import ROUNDS
from psdopt.linalg.tolerances import EPS

#: Relative accuracy of the integrated geodesics.
ACCURACY = 1e-12


def second_exp(A: Array, E: Array, H: Array) -> Array:
    """D² exp(A)[E, H] for symmetric A, E, H: a corner of the exponential of a block triangular matrix (Van Loan 1978).

    The other half, with E and H exchanged, is the transpose of this corner.
    """
    n = len(A)
    blocks = np.zeros((3, n, 3, n))
    blocks[0, :, 0], blocks[1, :, 1], blocks[2, :, 2], blocks[0, :, 1], blocks[1, :, 2] = A, A, A, E, H
    whole = scipy.linalg.expm(blocks.reshape(3 * n, 3 * n))
    return np.asarray(2.0 * symmetric_part(whole[:n, 2 * n :]))


def divided(G: Array, product: Any) -> Array:
    """The symmetric A (n, n) with the known product A G; G (n, n) invertible. O(n³)."""
    return symmetric_part(np.linalg.solve(G.T, np.asarray(product).T).T)


def matrix_hessian(G: Array, S: Any, factor_hessian: Callable[[Array], Array], moved: Array) -> Array:
    """∇²F[Ẇ] (n, n) from D ↦ 2 (S D + ∇²F[G Dᵀ + D Gᵀ] G), at the D = ½ Ẇ G⁻ᵀ that moves W by Ẇ."""
    D: Array = np.asarray(0.5 * np.linalg.solve(G, moved).T, dtype=np.float64)
    return divided(G, 0.5 * factor_hessian(D) - S @ D)


def von_neumann_exp(A: Array, L: Array, invert: Callable[[Array, Array], Array]) -> Array:
    """log W at time one of the geodesic from log W = A with velocity L: A'' = −½ (D exp(A))⁻¹ D² exp(A)[A', A'].

    The metric is the Hessian of tr exp(A); `invert` (A, E) is (D exp(A))⁻¹ E. No closed form is known: integrated
    to ACCURACY by an explicit Runge-Kutta method of order eight.
    """
    n = len(A)
    size = norm(L)
    if size == 0.0:
        return A

    def slope(_: float, state: Array) -> Array:
        at, velocity = state[: n * n].reshape(n, n), state[n * n :].reshape(n, n)
        at = symmetric_part(A + at)
        bent = -0.5 * invert(at, second_exp(at, velocity, velocity))
        return np.concatenate([velocity.ravel(), bent.ravel()])

    begin = np.concatenate([np.zeros(n * n), L.ravel()])
    from scipy.integrate import solve_ivp  # slow to import and rarely needed

    answer = solve_ivp(slope, (0.0, 1.0), begin, method="DOP853", first_step=1.0, rtol=ACCURACY, atol=ACCURACY * size)
    return symmetric_part(A + answer.y[: n * n, -1].reshape(n, n))


def von_neumann_log(A: Array, A1: Array, invert: Callable[[Array, Array], Array]) -> Array:
    """The velocity of the geodesic from A to a nearby A1: their difference, corrected until the geodesic ends at A1.

    The corrections are those of Anderson's acceleration (1965) over the last ROUNDS steps.
    """
    L = A1 - A
    moves: list[Array] = []
    changes: list[Array] = []
    before: tuple[Array, Array] | None = None
    for _ in range(40):
        miss = A1 - von_neumann_exp(A, L, invert)
        if before is not None:
            moves, changes = [*moves, L - before[0]][-ROUNDS:], [*changes, miss - before[1]][-ROUNDS:]
        before, step = (L, miss), miss
        if changes:
            weights = np.linalg.lstsq(np.array([each.ravel() for each in changes]).T, miss.ravel(), rcond=None)[0]
            step = miss - np.tensordot(weights, np.array(moves) + np.array(changes), 1)
        L = L + step
        if norm(miss) <= max(10.0 * ACCURACY, 8.0 * EPS) * norm(L):
            break
    return L
