"""Programs whose coefficients and bounds differ by many decades, with known minima, and whether what is said is true.

    python -m tests.integration.scaled_claims --runs 300 --seed 0

The minimum of every program is known in closed form, or by a generalised eigenvalue: bounded programs with coefficients
over 2 to 12 decades, bounds from 1e-3 to 1e10, programs that are feasible in the limit only or attain their infimum in
the limit only, and programs with an exact ray. Rows are scaled at random, and so are the units of M.
"""

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from psdopt import Constrained, QuadraticSDP, Status, constraints, solve
from psdopt.contracts.method import Method
from psdopt.linalg.arrays import Array
from psdopt.methods import AugmentedLagrangian, BoundaryPoint, InteriorPoint
from psdopt.testing.constrained import DenseConstraints

METHODS: tuple[Method | None, ...] = (None, AugmentedLagrangian(), BoundaryPoint(), InteriorPoint())
#: Steps of a run: one that ends by this limit claims nothing.
STEPS = 200
#: Error of an optimal value beyond tol, relative to the sizes of the terms of ⟨C, M⟩: rows may be off by tol each.
TOL, FORGIVEN = 1e-6, 2e-5
#: A ray may be seen by a constraint to this share of the sizes of the terms.
SEEN = 1e-11
Row = tuple[Array, float, float]


@dataclass(frozen=True)
class Program:
    """min ⟨C, M⟩ under `rows` (A, lower, upper); `least` is the infimum, −inf or inf (infeasible), None if unknown."""

    kind: str
    C: Array
    rows: list[Row]
    least: float | None


def unit(n: int, i: int, j: int) -> Array:
    """The symmetric E with ⟨E, M⟩ = M_ij."""
    E = np.zeros((n, n))
    E[i, j] += 0.5
    E[j, i] += 0.5
    return E


def prices(rng: np.random.Generator) -> Program:
    """Σ p_i M_ii = 1 with p over 2 to 12 decades: min c_i / p_i."""
    n = int(rng.integers(2, 7))
    p, c = 10.0 ** rng.uniform(-rng.uniform(2.0, 12.0), 0.0, n), rng.standard_normal(n)
    return Program("prices", np.diag(c), [(np.diag(p), 1.0, 1.0)], float(np.min(c / p)))


def pencil(rng: np.random.Generator) -> Program:
    """⟨A, M⟩ = b with A = D G D ≻ 0, D over up to 5 decades: b λ_min(C, A)."""
    n = int(rng.integers(2, 6))
    d = 10.0 ** rng.uniform(-rng.uniform(1.0, 5.0), 0.0, n)
    G, C = rng.standard_normal((n, 2 * n)), rng.standard_normal((n, n))
    A, C = np.outer(d, d) * (G @ G.T), (C + C.T) * (np.outer(d, d) if rng.random() < 0.5 else 1.0)
    b = 10.0 ** rng.uniform(-3.0, 6.0)
    inner = scipy.linalg.eigvalsh(C / np.outer(d, d), G @ G.T)
    return Program("pencil", C, [(A, b, b)], b * float(inner[0]))


def mixed(rng: np.random.Generator) -> Program:
    """Diagonal entries from 1e-3 to 1e10, and one price for an entry beside it: Σ c_i b_i − Σ |q_k| √(b_i b_j)."""
    pairs = int(rng.integers(1, 4))
    n = 2 * pairs
    b, c, q = 10.0 ** rng.uniform(-3.0, 10.0, n), rng.standard_normal(n), rng.standard_normal(pairs)
    C = np.diag(c / (b if rng.random() < 0.5 else 1.0))
    weight = 1.0 / np.sqrt(b[::2] * b[1::2]) if rng.random() < 0.5 else np.ones(pairs)
    for k in range(pairs):
        C[2 * k, 2 * k + 1] = C[2 * k + 1, 2 * k] = 0.5 * q[k] * weight[k]
    least = float(np.diag(C) @ b - np.abs(q * weight) @ np.sqrt(b[::2] * b[1::2]))
    return Program("mixed", C, [(unit(n, i, i), b[i], b[i]) for i in range(n)], least)


def boxes(rng: np.random.Generator) -> Program:
    """lower <= M_ii <= upper, some without an upper bound: a sum, or −inf where a price is negative without one."""
    n = int(rng.integers(1, 6))
    low, c = 10.0 ** rng.uniform(-3.0, 8.0, n) * (rng.random(n) < 0.7), rng.standard_normal(n)
    high = np.where(rng.random(n) < 0.8, low + 10.0 ** rng.uniform(-3.0, 10.0, n), np.inf)
    low = np.where((low == 0.0) & np.isinf(high), 1.0, low)
    at = np.where(c > 0.0, low, high)
    return Program("boxes", np.diag(c), [(unit(n, i, i), low[i], high[i]) for i in range(n)], float(c @ at))


def weak(rng: np.random.Generator) -> Program:
    """M_11 = 0 and M_12 = s, seen or hidden in two rows: feasible in the limit only."""
    s = 10.0 ** rng.uniform(-3.0, 3.0)
    hidden = [(unit(3, 0, 0) + unit(3, 2, 2), 1.0, 1.0), (unit(3, 2, 2), 1.0, 1.0)]
    rows: list[Row] = [*(hidden if rng.random() < 0.5 else [(unit(3, 0, 0), 0.0, 0.0)]), (unit(3, 0, 1), s, s)]
    return Program("weak", np.diag(rng.standard_normal(3)), rows, math.inf)


def unattained(rng: np.random.Generator) -> Program:
    """min M_11 with M_12 = s: the infimum 0 is not attained."""
    s = 10.0 ** rng.uniform(-3.0, 3.0)
    return Program("unattained", np.diag([1.0, 0.0]), [(unit(2, 0, 1), s, s)], 0.0)


def ray(rng: np.random.Generator) -> Program:
    """Integer forms that do not see v vᵀ, bounds met by I, and a C that falls along v: −inf; with tr M <= τ unknown;
    with a contradiction infeasible."""
    n = int(rng.integers(2, 6))
    v = rng.integers(-2, 3, n).astype(float)
    v[0] = 1.0
    rows: list[Row] = []
    for _ in range(int(rng.integers(1, n + 1))):
        G = rng.integers(-3, 4, (n, n)).astype(float)
        A = G + G.T
        A[0, 0] -= v @ A @ v
        if np.any(A):
            a = float(np.trace(A))
            rows.append([(A, a, a), (A, a, math.inf), (A, -math.inf, a)][rng.integers(3)])
    G = rng.standard_normal((n, n))
    C = G + G.T
    C -= np.outer(v, v) * (v @ C @ v + 10.0 ** rng.uniform(-3.0, 1.0)) / float(v @ v) ** 2
    kind, least = "ray", -math.inf
    how = rng.random()
    if how < 0.3:
        rows.append((np.eye(n), -math.inf, 10.0 ** rng.uniform(2.0, 9.0)))
        kind, least = "ray, trace bounded", math.nan
    elif how < 0.5:
        w = rng.integers(-2, 3, n).astype(float)
        rows.append((np.outer(w, w) if np.any(w) else np.eye(n), -math.inf, -1.0))
        kind, least = "ray, infeasible", math.inf
    if not rows:
        rows.append((np.eye(n) - np.outer(v, v) * n / float(v @ v) ** 2 * (v @ v) / n, -math.inf, math.inf))
    return Program(kind, C, rows, None if math.isnan(least) else least)


FAMILIES: tuple[Callable[[np.random.Generator], Program], ...] = (
    prices, pencil, mixed, boxes, weak, unattained, ray, ray,
)  # fmt: skip


def drawn(seed: int) -> Program:
    """The program of a seed: rows scaled by 1e-6 to 1e6, M in other units, in one of two each."""
    rng = np.random.default_rng(seed)
    program = FAMILIES[seed % len(FAMILIES)](rng)
    rows, C = program.rows, program.C
    if rng.random() < 0.5:
        scales = 10.0 ** rng.integers(-6, 7, len(rows))
        rows = [(s * A, s * low, s * high) for s, (A, low, high) in zip(scales, rows, strict=True)]
    if rng.random() < 0.5 and program.kind in ("prices", "mixed", "boxes"):
        d = 2.0 ** rng.integers(-8, 9, len(C))
        rows, C = [(A * np.outer(d, d), low, high) for A, low, high in rows], C * np.outer(d, d)
    return Program(program.kind, C, rows, program.least)


def posed(program: Program) -> Constrained:
    """The program, every row a group of its own."""
    groups = [constraints.sparse_forms([A], lower=low, upper=high) for A, low, high in program.rows]
    return Constrained(QuadraticSDP(C=program.C / 2.0), groups)


def examine(seed: int, counts: Counter[str], method: Method | None) -> list[str]:
    """What is false in the claims of one run."""
    program = drawn(seed)
    problem = posed(program)
    result = solve(problem, method=method, tol=TOL, max_iterations=STEPS, max_time=2.0)
    word = result.status.label
    named = "default" if method is None else type(method).__name__
    counts[f"{program.kind} / {word}"] += 1
    found = []
    certificate, M = result.certificate, result.matrix.to_dense()
    least = program.least
    if result.status is Status.OPTIMAL:
        violation = DenseConstraints(problem).relative_violation(M)
        sizes = float(np.sum(np.abs(program.C) * np.sqrt(np.outer(np.diag(M), np.diag(M)))))
        if violation > 1.01 * TOL:
            found.append(f"optimal at a violation of {violation:.2g}")
        if least is not None and not abs(result.value - least) <= FORGIVEN * max(sizes, abs(least)):
            found.append(f"optimal at {result.value:.9g}, minimum {least:.9g}")
        if least == math.inf or (least is not None and not math.isfinite(least)):
            found.append("optimal without a minimum")
    elif result.status is Status.UNBOUNDED:
        R = certificate.constraints.ray
        D = R @ R.T
        if least != -math.inf or certificate.dual_value is not None or certificate.constraints.trace_bound is not None:
            found.append(f"unbounded, but the infimum is {least} (bound {certificate.dual_value})")
        for A, low, high in program.rows:
            seen = float(np.sum(A * D)) / max(
                float(np.sum(np.abs(A) * np.sqrt(np.outer(np.diag(D), np.diag(D))))), 1e-300
            )
            if (math.isfinite(low) and seen < -SEEN) or (math.isfinite(high) and seen > SEEN):
                found.append(f"a ray that a constraint sees: {seen:.2g}")
        if not np.sum(program.C * D) < 0.0:
            found.append("a ray along which F does not fall")
    elif result.status is Status.INFEASIBLE and least != math.inf:
        found.append(f"infeasible, but the infimum is {least}")
    if least == -math.inf and certificate.dual_value is not None:
        found.append(f"a bound {certificate.dual_value:.9g} of what has none")
    return [f"seed {seed}, {program.kind}, {named}: {claim}" for claim in found]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for k in range(options.runs):
        # of two runs one is by default
        method = None if k % 2 == 0 else METHODS[(k // 2) % len(METHODS)]
        wrong += examine(options.seed + k // 2, counts, method)
    for claim in wrong:
        print("FALSE:", claim)
    print(
        *(f"{name} {count}" for name, count in sorted(counts.items())),
        f"false {len(wrong)} of {options.runs}",
        sep="\n",
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
