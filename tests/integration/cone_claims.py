"""Random programs over products of cones, each end judged: what is called optimal, infeasible or unbounded must be so.

    python -m tests.integration.cone_claims --runs 10000 --seed 0

Programs have equations, inequalities, second-order cones and PSD blocks, in units that differ by up to six decades; a
quarter has a quadratic objective. They are drawn with an optimum, degenerate or not, without a point, with a ray, or at
random. `optimal` is refuted by a point that is known to be better than the value less the tolerance, by rows that are
missed, or by multipliers whose own bound is off; `infeasible` and `unbounded` by a known point or bound, and by proofs
that are none.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from psdopt import Status
from psdopt.interop.conic import ConicProgram

TOL = 1e-6
KINDS = ("optimal", "degenerate", "empty", "falling", "any")


@dataclass
class Drawn:
    """A program, and what is known of it: the value of an optimum, or None."""

    kind: str
    c: np.ndarray
    A: np.ndarray
    b: np.ndarray
    cones: dict[str, Any]
    P: np.ndarray | None
    value: float | None


def triangle(S: np.ndarray) -> np.ndarray:
    column, row = np.triu_indices(len(S))
    return np.where(row == column, 1.0, np.sqrt(2.0)) * S[row, column]


def square(rows: np.ndarray, k: int) -> np.ndarray:
    column, row = np.triu_indices(k)
    S = np.zeros((k, k))
    S[row, column] = S[column, row] = np.where(row == column, 1.0, np.sqrt(0.5)) * rows
    return S


def pair(rng: np.random.Generator, cones: dict[str, Any], tight: bool) -> tuple[np.ndarray, np.ndarray]:
    """s and y in the cones and their duals with sᵀy = 0 if `tight`, complementary strictly or not; else both inside."""
    s, y = [np.zeros(cones["zero"])], [rng.standard_normal(cones["zero"])]
    for _ in range(cones["nonneg"]):
        a, b = rng.random(2) + 0.1
        if tight:
            a, b = [(a, 0.0), (0.0, b), (0.0, 0.0)][rng.choice(3, p=[0.45, 0.45, 0.1])]
        s.append(np.array([a]))
        y.append(np.array([b]))
    for d in cones["second_order"]:
        u, v = rng.standard_normal((2, d - 1))
        a, b = np.r_[np.linalg.norm(u) + 0.1, u], np.r_[np.linalg.norm(v) + 0.1, v]
        if tight:
            u /= np.linalg.norm(u)
            on, off = rng.random() + 0.1, rng.random() + 0.1
            a, b = [(np.r_[on, on * u], np.r_[off, -off * u]), (a, 0.0 * b), (0.0 * a, b)][rng.integers(3)]
        s.append(a)
        y.append(b)
    for k in cones["psd"]:
        Q = np.linalg.qr(rng.standard_normal((k, k)))[0]
        values, others = rng.random((2, k)) + 0.1
        if tight:
            r = int(rng.integers(0, k + 1))
            values[r:], others[:r] = 0.0, 0.0
            if rng.random() < 0.2 and 0 < r < k:
                values[r - 1] = 0.0
        s.append(triangle((Q * values) @ Q.T))
        y.append(triangle((Q * others) @ Q.T))
    return np.concatenate(s), np.concatenate(y)


def cleared(A: np.ndarray) -> np.ndarray:
    """A without what cancellation left, which is no number of a program."""
    return np.where(np.abs(A) > 1e-12, A, 0.0)


def draw(seed: int) -> Drawn:
    """A program of one of the KINDS."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    cones: dict[str, Any] = {
        "zero": int(rng.integers(0, 3)),
        "nonneg": int(rng.integers(0, 5)),
        "second_order": [int(d) for d in rng.integers(2, 8, size=rng.integers(0, 4))],
        "psd": [int(k) for k in rng.integers(1, 6, size=rng.integers(0, 4))],
    }
    if not (cones["second_order"] or cones["psd"] or cones["nonneg"]):
        cones["psd"] = [3]
    s, y = pair(rng, cones, tight=kind in ("optimal", "degenerate"))
    R = len(s)
    N = int(rng.integers(cones["zero"] + 1, max(cones["zero"] + 2, min(R, 9))))
    A = np.where(rng.random((R, N)) < 0.8, rng.standard_normal((R, N)), 0.0)
    x, P, value = rng.standard_normal(N), None, None
    if kind == "optimal":  # x + e_0 and another y are inside the cones
        inner, other = pair(rng, cones, tight=False)
        other[: cones["zero"]] = y[: cones["zero"]]
        inner *= 1.0 + 2.0 * max(0.0, float(s @ other)) / float(inner @ other)
        other[cones["zero"] :] *= max(float(inner @ y), 0.1) / float((inner - s) @ other)
        A[:, 0], off = s - inner, other - y  # (s − inner) @ off = 0
        A[:, 1:] -= np.outer(off, off @ A[:, 1:]) / (float(off @ off) or 1.0)
        A = cleared(A)
    if kind == "degenerate":
        A[:, -1] = A[:, 0] if N > 1 and rng.random() < 0.5 else A[:, -1]
    c, b = -A.T @ y, A @ x + s
    if kind == "empty":  # yᵀ(A x + s − b) > 0 for all x and s
        A = cleared(A - np.outer(y, A.T @ y) / (y @ y))
        b = A @ x - (0.1 + rng.random()) * y / (y @ y)
        c = -A.T @ pair(rng, cones, tight=False)[1]
    elif kind == "falling":  # x = d keeps −A d in the cones, and cᵀd < 0
        d = rng.standard_normal(N)
        A = cleared(A - np.outer(A @ d + s, d) / (d @ d))
        c = rng.standard_normal(N)
        c -= d * (c @ d + 0.1 + rng.random()) / (d @ d)
    elif kind == "any":
        c, b = rng.standard_normal(N), rng.standard_normal(R)
    elif rng.random() < 0.25:
        G = rng.standard_normal((int(rng.integers(1, N + 1)), N))
        P = G.T @ G
        c = c - P @ x
    if kind in ("optimal", "degenerate"):
        value = float(c @ x + (0.0 if P is None else 0.5 * x @ P @ x))
    unit, units = 10.0 ** rng.integers(-3, 4), 10.0 ** rng.integers(-2, 3, size=N)
    if rng.random() < 0.5:  # x in other units, and b and the objective
        A, c = A * units * 1.0, c * units
        P = None if P is None else P * np.outer(units, units)
        A, b = A * unit, b * unit
    return Drawn(kind, c, A, b, cones, P, value)


def outside(v: np.ndarray, cones: dict[str, Any], dual: bool) -> float:
    """How far v is from the cones or their duals, relative to |v| of each cone."""
    first, far = cones["zero"], 0.0
    if not dual:
        far = float(np.abs(v[:first]).max(initial=0.0))
    rest = v[first : first + cones["nonneg"]]
    far = max(far, float(np.max(-rest, initial=0.0)))
    first += cones["nonneg"]
    for d in cones["second_order"]:
        far = max(far, float(np.linalg.norm(v[first + 1 : first + d]) - v[first]))
        first += d
    for k in cones["psd"]:
        S = square(v[first : first + k * (k + 1) // 2], k)
        far = max(far, -float(np.linalg.eigvalsh(S)[0]))
        first += k * (k + 1) // 2
    return far


def judged(seed: int) -> str:
    """The end of the program of this seed, or "false: " and why."""
    p = draw(seed)
    answer = ConicProgram(p.c, p.A, p.b, p.cones, p.P).solve(tol=TOL, max_time=20.0)
    status, said = answer.status, answer.status.name.lower()
    if status is Status.INFEASIBLE:
        if p.kind in ("optimal", "degenerate", "falling"):
            return f"false: {p.kind} is called infeasible"
        y = answer.proof
        if y is not None:
            size = np.linalg.norm(y)
            if np.abs(p.A.T @ y).max() > 1e-6 * np.linalg.norm(p.A) * size or outside(y, p.cones, True) > 1e-6 * size:
                return "false: no proof of infeasibility"
    elif status is Status.UNBOUNDED:
        if p.kind in ("optimal", "degenerate", "empty"):
            return f"false: {p.kind} is called unbounded"
        x = answer.proof
        far = outside(-p.A @ x, p.cones, False)
        if far > 1e-6 * np.linalg.norm(p.A) * np.linalg.norm(x) or p.c @ x > -0.5:
            return "false: no ray"
    elif status is Status.OPTIMAL:
        if p.kind in ("empty", "falling"):
            return f"false: {p.kind} is called optimal"
        x, y, s = answer.x, answer.y, answer.s
        gradient = p.c if p.P is None else p.c + p.P @ x
        scale = 1.0 + np.abs(p.b).max() + np.abs(p.A @ x).max()
        if outside(s, p.cones, False) > 1e-4 * scale:
            return f"false: rows are missed by {outside(s, p.cones, False) / scale:.1e}"
        room = 1.0 + abs(answer.value) + float(np.abs(p.c) @ np.abs(x))
        if p.value is not None and abs(answer.value - p.value) > 1e-4 * room:
            return f"false: value {answer.value} for {p.value}"
        if np.abs(gradient + p.A.T @ y).max() > 1e-3 * (1.0 + np.abs(p.c).max() + np.abs(p.A.T @ y).max()):
            return "false: multipliers miss the gradient"
    return f"{p.kind} {said}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.runs):
        end = judged(seed)
        counts[end] += 1
        if end.startswith("false"):
            print(f"seed {seed}: {end}", flush=True)
    print(", ".join(f"{end} {count}" for end, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
