"""NearestCorrelation against Qi and Sun's Newton method in NumPy and against SCS through CVXPY: seconds, distance, gap.

    OPENBLAS_NUM_THREADS=1 python benchmarks/relaxations.py 20 100 300 600

Processor seconds, the least of at least five runs up to n = 100 and of two beyond, tolerance 1e-6 of half the squared
distance for psdopt and for Newton; SCS, up to n = 300, gets a fresh problem and eps 1e-6.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.linalg import eigh

from psdopt_plugins.relaxations import NearestCorrelation


def spoilt(n: int) -> np.ndarray:
    """A correlation matrix of three factors and noise, its entries moved by up to 0.5."""
    rng = np.random.default_rng(n)
    C = np.corrcoef(rng.standard_normal((n, 3)) @ rng.standard_normal((3, 2 * n)) + rng.standard_normal((n, 2 * n)))
    E = np.triu(rng.uniform(-0.5, 0.5, (n, n)), 1)
    return np.clip(C + E + E.T, -1.0, 1.0)


def uniform(n: int) -> np.ndarray:
    """Entries uniform in [-1, 1]."""
    E = np.triu(np.random.default_rng(n).uniform(-1.0, 1.0, (n, n)), 1)
    return E + E.T + np.eye(n)


def newton(G: np.ndarray, tol: float) -> tuple[np.ndarray, float]:
    """(M, lower bound on the distance): semismooth Newton on min ½ |(G + Diag y)₊|² − eᵀy (Qi, Sun 2006).

    M is (G + Diag y)₊ with its rows scaled to a unit diagonal; it ends where its gap to the dual is tol ½ |M − G|².
    """
    n, y = len(G), 1.0 - np.diagonal(G)

    def at(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        w, V = eigh(G + np.diag(y), driver="evd", check_finite=False)
        positive = np.maximum(w, 0.0)
        return w, V, float(0.5 * positive @ positive - y.sum())

    w, V, value = at(y)
    while True:
        k = int(np.count_nonzero(w <= 0.0))
        Q, P, Y = V[:, :k], V[:, k:], V[:, k:] * np.sqrt(w[k:])
        lengths = (Y * Y).sum(axis=1)
        g, Z = lengths - 1.0, Y / np.sqrt(lengths)[:, None]
        M = Z @ Z.T
        half, bound = 0.5 * np.sum((M - G) ** 2), 0.5 * np.sum(G * G) - value
        if half - bound <= tol * half:
            return M, float(np.sqrt(2.0 * max(bound, 0.0)))
        few = P.shape[1] <= n // 2
        share = w[k:, None] / (w[k:, None] - w[:k])
        A, B, S = (P, Q, share) if few else (Q, P, 1.0 - share.T)
        size = float(np.linalg.norm(g))
        damping = min(1e-2, 0.1 * size)
        diagonal = (A * A).sum(axis=1) ** 2 + 2.0 * (((A * A) @ S) * (B * B)).sum(axis=1)
        scaling = np.maximum(diagonal if few else 1.0 - diagonal, 0.0) + damping
        x, r = np.zeros(n), -g
        z = r / scaling
        p, rz = z, float(r @ z)
        for _ in range(100):
            T = A.T * p
            image = ((A @ (T @ A)) * A).sum(axis=1) + 2.0 * ((A @ (S * (T @ B))) * B).sum(axis=1)
            Hp = (image if few else p - image) + damping * p
            alpha = rz / float(p @ Hp)
            x, r = x + alpha * p, r - alpha * Hp
            if np.linalg.norm(r) <= min(0.1, size) * size:
                break
            z = r / scaling
            p, rz = z + (float(r @ z) / rz) * p, float(r @ z)
        t = 1.0
        while True:
            trial = at(y + t * x)
            if trial[2] <= value + 1e-4 * t * float(g @ x) + 1e-14 * abs(value) or t < 1e-8:
                break
            t *= 0.5
        y = y + t * x
        w, V, value = trial


def scs(G: np.ndarray) -> np.ndarray:
    M = cp.Variable(G.shape, PSD=True)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(M - G)), [cp.diag(M) == 1.0])
    problem.solve(solver="SCS", eps_abs=1e-6, eps_rel=1e-6, max_iters=20_000)
    return np.asarray(M.value)


def timed(solve: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """The least processor seconds of `runs` runs, of more where they take a moment, and the last result."""
    seconds, found, done, first = np.inf, None, 0, time.process_time()
    while done < runs or (runs > 1 and time.process_time() - first < 0.3):
        begun = time.process_time()
        found = solve()
        seconds, done = min(seconds, time.process_time() - begun), done + 1
    return seconds, found


def main(argv: Sequence[str] | None = None) -> int:
    for n in [int(word) for word in (sys.argv[1:] if argv is None else argv)] or [20, 100, 300]:
        for kind in (uniform, spoilt):
            G, runs = kind(n), 5 if n <= 100 else 2
            ours, model = timed(lambda G=G: NearestCorrelation().fit(G), runs)  # type: ignore[misc]
            theirs, (M, bound) = timed(lambda G=G: newton(G, 1e-6), runs)  # type: ignore[misc]
            distance = float(np.linalg.norm(M - G))
            print(
                f"n = {n}, {kind.__name__}: psdopt {ours:.4f} s, |M - G| {model.distance_:.8f}, proven gap "
                f"{model.distance_ / model.distance_bound_ - 1.0:.1e}; Newton {theirs:.4f} s, {distance:.8f}, "
                f"{distance / bound - 1.0:.1e}; ratio {ours / theirs:.2f}"
            )
            if n <= 300:
                slow, M = timed(lambda G=G: scs(G), 1)  # type: ignore[misc]
                off, low = np.abs(np.diagonal(M) - 1.0).max(), np.linalg.eigvalsh(M)[0]
                print(f"  SCS {slow:.2f} s, {np.linalg.norm(M - G):.8f}, diagonal off by {off:.0e}, λ_min {low:.0e}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
