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
    - *j > p >= k.* No eigenvalue on the complement of the first p vectors is above b_p if
      theta_{p+1} + |R_{p+1..j}|^2 / (b_p - c) <= b_p, by the same inequality.
    - *j >= k, small residuals.* Each eigenvalue is at most max(theta_i, c) + |R_j|: where k |R_j| <= goal / 2,
      c = theta_k + goal / (2 k), whatever the distance of the k-th value to the next.
    - *j < k.* Half of `goal` is for the first j values and half for the others, each at most c.

    Cost O(J k + (J - k)^2). Squares must neither overflow nor vanish: divide values, residuals and goal by a scale.
    """
    J, S = len(theta), np.append(0.0, np.cumsum(r * r))
    few = np.arange(min(k, J + 1))
    c = np.empty(J + 1)
    c[: len(few)] = np.minimum(0.5 * goal / (k - few), np.append(math.inf, theta)[few] - 2.0 * S[few] / goal)
    if k <= J:
        p, S = np.arange(J + 1 - k), S[k:]
        b = theta[k - 1 :] - S / goal
        room = b - np.append(theta[k:], -math.inf)
        behind = (S - S[:, None]) / np.where(room > 0.0, room, 1.0)[:, None]  # by p and j
        inside = (p[:, None] == p) | ((p[:, None] < p) & (room[:, None] > 0.0))
        small = np.where(k * np.sqrt(S) <= 0.5 * goal, theta[k - 1] + 0.5 * goal / k, -math.inf)
        c[k:] = np.maximum(np.where(inside, b[:, None] - behind, -math.inf).max(axis=0), small)
    return c
