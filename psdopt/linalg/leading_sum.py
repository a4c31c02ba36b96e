"""What residuals, and a bound on the other eigenvalues, prove of the sum of the leading ones."""

import math

import numpy as np

from psdopt.linalg.arrays import Array


def ceilings(theta: Array, r: Array, k: int, goal: float) -> Array:
    """c (J + 1,): c_j bounds the rest of K such that the first j of J Ritz pairs prove the sum of k values to `goal`.

    `theta` (J,), descending, are the Ritz values and `r` (J,) the residuals |K u_i - theta_i u_i| of orthonormal u_i,
    orthogonal to all of them. Let K have no eigenvalue above c_j on the complement of the first j vectors. Then the sum
    of the k largest eigenvalues of K, those below 0 counted as 0, exceeds that of the first k of these j values, or of
    all if there are fewer, by at most `goal`. The best of these bounds is taken, where R_p holds the first p residuals
    and Theta the j values:

    - *j = p >= k.* For any f > 0, K <= U (Theta + R'R / f) U' + (c + f) (I - U U'). With f = theta_p - c the p largest
      eigenvalues of the right-hand side are those of Theta + R'R / f, so that their sum grows by at most
      |R_p|^2 / (theta_p - c): c = theta_p - |R_p|^2 / goal, called b_p.
    - *j > p >= k.* No eigenvalue on the complement of the first p vectors is above b_p if, by a Schur complement,
      c + sum_i r_i^2 / (b_p - theta_i) <= b_p over the pairs i = p+1..j behind them.
    - *j >= k, small residuals.* Each eigenvalue is at most max(theta_i, c) + |R_j|: where k |R_j| <= goal / 2,
      c = theta_k + goal / (2 k), whatever the distance of the k-th value to the next.
    - *j < k.* Half of `goal` is for the first j values and half for the others, each at most c.

    Cost O(J k + (J - k)^2). Squares must neither overflow nor vanish: divide values, residuals and goal by a scale.
    """
    J, S = len(theta), np.concatenate(([0.0], np.cumsum(r * r)))
    few, c = np.arange(min(k, J + 1)), np.empty(J + 1)
    c[: len(few)] = 0.5 * goal / (k - few)
    c[1 : len(few)] = np.minimum(c[1 : len(few)], theta[: len(few) - 1] - 2.0 * S[1 : len(few)] / goal)
    if k <= J:
        p, S = np.arange(k, J + 1), S[k:]
        b = theta[k - 1 :] - S / goal
        room = np.where(np.arange(J) < p[:, None], math.inf, b[:, None] - theta)
        terms = np.divide(r * r, room, out=np.full_like(room, math.inf), where=room > 0.0)
        behind = np.where(p < p[:, None], math.inf, np.cumsum(terms, axis=1)[:, k - 1 :])  # by p and j
        small = np.where(k * np.sqrt(S) <= 0.5 * goal, theta[k - 1] + 0.5 * goal / k, -math.inf)
        c[k:] = np.maximum((b[:, None] - behind).max(axis=0), small)
    return c
