"""Random programs under linear constraints, and whether what is said of them is true, against a conic solver.

    python -m tests.integration.constrained_claims --runs 300 --seed 0

Constraints are equations, bounds on one side or on two, norms, repeated, redundant, contradictory, scaled by 1e-6 to
1e6, or leave a face; F is linear, quadratic, written for autograd, or far larger at 0 than where M is feasible. Of
every run the words `optimal`, `infeasible` and `unbounded` are compared with Clarabel's, and what is proven is
recomputed with dense arrays.
"""

import argparse
import math
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from psdopt import Constrained, Constraint, Problem, Status, compatible, constraints, solve
from psdopt.contracts.method import Method
from psdopt.linalg.arrays import Array
from psdopt.methods import AugmentedLagrangian, BoundaryPoint
from psdopt.problems import AutogradProblem, QuadraticSDP, TermSum
from psdopt.running.choose import choose
from psdopt.running.result import Result
from psdopt.terms import Entries, LeastSquares, MeasuredTerm, QuadraticForms
from psdopt.testing.constrained import DenseConstraints

#: Relative error of the conic solver that is forgiven, and traces up to which its M is a witness of feasibility.
FORGIVEN, WITNESS = 2e-5, 1e6
#: Tolerances of the conic solver: optima near zero are sums of larger numbers. One in three programs does not reach
#: the first, and is solved to the next; the optimum is then known to that only.
FINE = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-10, "tol_feas": 1e-11}
COARSER = (1e-9, 1e-8)
#: Steps of a run: a run that ends by this limit claims nothing.
STEPS = 1500
METHODS: tuple[Method | None, ...] = (None, AugmentedLagrangian(), BoundaryPoint())
Range = tuple[Any, float, float]


@dataclass(frozen=True)
class Instance:
    """A program, F as an expression of cvxpy, and what it was made of."""

    seed: int
    problem: Constrained
    objective: Any
    kinds: str

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.problem!r}, {self.kinds}"


def drawn(seed: int) -> Instance:
    """The program of a seed."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 13) if rng.random() < 0.3 else rng.integers(2, 7))
    H = rng.standard_normal((n, int(rng.integers(1, n + 1))))
    kinds = []
    ranges: list[Range] = []
    if rng.random() < 0.3:  # a face, which M0 is moved onto
        U = np.eye(n)[:, : int(rng.integers(1, max(2, n // 2)))] if rng.random() < 0.5 else _linked(n, rng)
        H = H - U @ np.linalg.lstsq(U, H, rcond=None)[0]
        ranges += [(np.outer(u, u), 0.0, 0.0) for u in U.T]
        kinds.append("face")
    M = H @ H.T
    for _ in range(int(rng.integers(1, n + 3))):
        A = _form(n, rng)
        a = float(np.sum(A * M))
        spread = abs(a) + 0.1
        how = rng.integers(4)
        low, high = [(a, a), (a - spread * rng.random(), math.inf), (-math.inf, a + spread * rng.random()),
                     (a - spread * rng.random(), a + spread * rng.random())][how]  # fmt: skip
        ranges.append((A, low, high))
    if rng.random() < 0.5:
        tr = float(np.trace(M)) * (1.0 + rng.random()) + 0.1
        ranges.append((np.eye(n), -math.inf, tr))
        kinds.append("trace")
    ranges += _changed(ranges, rng, kinds)
    if rng.random() < 0.3:
        scales = 10.0 ** rng.integers(-6, 7, len(ranges))
        ranges = [(s * A, s * low, s * high) for s, (A, low, high) in zip(scales, ranges, strict=True)]
        kinds.append("scaled")
    F, objective, kind = _objective(n, rng)
    if seed % 8 == 7:
        F, objective, kind = _thin(n, M, ranges, np.random.default_rng([seed, 1]))
    groups = [constraints.sparse_forms([A], lower=low, upper=high) for A, low, high in ranges]
    groups = [_merged(groups)] if rng.random() < 0.5 else groups
    if seed % 8 == 5:
        groups += _in_cones(n, M, np.random.default_rng([seed, 2]), kinds)
    problem = Constrained(F, groups)
    return Instance(seed, problem, objective, " ".join([kind, *kinds]))


def _linked(n: int, rng: np.random.Generator) -> Array:
    i, j = rng.choice(n, 2, replace=False)
    return np.asarray((np.eye(n)[i] - np.eye(n)[j]).reshape(-1, 1))


def _form(n: int, rng: np.random.Generator) -> Array:
    kind, (i, j) = rng.integers(4), rng.integers(0, n, 2)
    A = np.zeros((n, n))
    if kind == 0:
        A[i, i] = 1.0
    elif kind == 1:
        A[i, j] += 0.5
        A[j, i] += 0.5
    elif kind == 2:
        x = rng.standard_normal(n)
        A = np.outer(x, x)
    else:
        G = rng.standard_normal((n, n))
        A = (G + G.T) / 2.0
    return A


def _changed(ranges: list[Range], rng: np.random.Generator, kinds: list[str]) -> list[Range]:
    """Further constraints: one again, a sum of two, or one that contradicts another."""
    A, low, high = ranges[int(rng.integers(len(ranges)))]
    how = rng.random()
    if how < 0.15:
        kinds.append("repeated")
        return [(A, low, high)]
    if how < 0.3 and low == high:
        B, under, over = ranges[int(rng.integers(len(ranges)))]
        if under == over:
            kinds.append("redundant")
            return [(A + 2.0 * B, low + 2.0 * under, low + 2.0 * under)]
    if how > 0.85:
        kinds.append("contradicted")
        shift = 0.5 + abs(low if math.isfinite(low) else high)
        return [(A, high + shift, math.inf)] if math.isfinite(high) else [(A, -math.inf, low - shift)]
    return []


def _merged(groups: list[Constraint]) -> Constraint:
    matrices = [group.measurement.matrix(np.ones(1)).toarray() for group in groups]
    lower, upper = (np.concatenate([getattr(group, name) for group in groups]) for name in ("lower", "upper"))
    return constraints.sparse_forms(matrices, lower=lower, upper=upper)


def _in_cones(n: int, M: Array, rng: np.random.Generator, kinds: list[str]) -> list[Constraint]:
    """Cones that hold M, on the boundary or inside, or that little or nothing meets; the first form may be zero."""
    found = []
    for _ in range(int(rng.integers(1, 4))):
        forms = [_form(n, rng) for _ in range(int(rng.integers(2, 7)))]
        forms[0] = forms[0] * float(rng.random() < 0.5)
        a, u = np.array([np.sum(A * M) for A in forms]), rng.standard_normal(len(forms))
        length = float(np.linalg.norm(u[1:]))
        slack = rng.random() * float(rng.random() < 0.7) if rng.random() < 0.9 else -0.9 * length
        offset, scale = np.append(a[0] - length - slack, a[1:] - u[1:]), 10.0 ** rng.integers(-3, 4)
        measurement = constraints.SparseForms.of([scale * A for A in forms])
        found.append(Constraint(measurement, constraints.SecondOrder(scale * offset), name="cone"))
    kinds.append("cones")
    return found


def _objective(n: int, rng: np.random.Generator) -> tuple[Problem, Any, str]:
    """F, a function of the variable M that makes the expression, and its name."""
    G = rng.standard_normal((n, n))
    C = G @ G.T if rng.random() < 0.4 else G + G.T
    kind = ("linear", "quadratic", "autograd")[rng.integers(3)]
    if kind == "linear":
        return QuadraticSDP(C=C / 2.0), lambda M: cp.trace(C @ M), kind
    if kind == "quadratic":
        R = rng.standard_normal((int(rng.integers(1, n + 1)), n))
        return QuadraticSDP(A=R.T @ R, C=C / 2.0), lambda M: cp.sum_squares(R @ M @ R.T) + cp.trace(C @ M), kind
    K = G + G.T
    F = AutogradProblem(lambda M: ((M - K) ** 2).sum() + (C * M).sum(), n, convex=True)
    return F, lambda M: cp.sum_squares(M - K) + cp.trace(C @ M), kind


def _thin(n: int, M: Array, ranges: list[Range], rng: np.random.Generator) -> tuple[Problem, Any, str]:
    """|M − K|² entry by entry plus ((⟨A, M⟩ − a)/eps)², with |⟨A, M⟩ − a| <= eps as one more constraint.

    F(0) is up to 1e8 times what F is where M is feasible: a unit that looks at F(0) calls any M optimal.
    """
    eps, x, K = 10.0 ** rng.uniform(-4.0, -1.0), rng.standard_normal(n), rng.standard_normal((n, n))
    A, K = np.outer(x, x), K + K.T
    a = float(np.sum(A * M)) + 0.1
    ranges.append((A, a - eps, a + eps))
    i, j = np.triu_indices(n)
    fit = MeasuredTerm(Entries(i, j, n), LeastSquares(K[i, j]))
    F = TermSum([fit, MeasuredTerm(QuadraticForms(x.reshape(1, n)), LeastSquares(np.array([a]), np.array([eps**-2])))])
    upper = np.triu(np.ones((n, n)))

    def objective(N: Any) -> Any:
        return cp.sum_squares(cp.multiply(upper, N - K)) + cp.square((cp.sum(cp.multiply(A, N)) - a) / eps)

    return F, objective, "thin"


@dataclass(frozen=True)
class Reference:
    """What Clarabel says: its status, value and M (n, n); `error` of the value beyond what is forgiven."""

    status: str
    value: float
    M: Array | None
    error: float = 0.0


def allowed_columns(dense: DenseConstraints) -> Array:
    """W (n, q) with M = W N Wᵀ for every feasible M: ⟨A, M⟩ = 0 with A ⪰ 0 leaves the null space of A.

    Without it no M is strictly feasible, and Clarabel's leaves such constraints by far more than its tolerance.
    """
    n = dense.A[0].shape[0]
    held = np.zeros((n, n))
    for A, low, high, size in zip(dense.A, dense.lower, dense.upper, dense.norms, strict=True):
        values = np.linalg.eigvalsh(A) / (size or 1.0)
        if high == 0.0 and values[0] >= -1e-12 and values[-1] > 1e-6:
            held += A / size
        elif low == 0.0 and values[-1] <= 1e-12 and values[0] < -1e-6:
            held -= A / size
    values, V = np.linalg.eigh(held)
    return np.asarray(V[:, values <= 1e-9])


def reference(instance: Instance, dense: DenseConstraints) -> Reference:
    W = allowed_columns(dense)
    if W.shape[1] == 0:
        W = np.eye(instance.problem.n)  # M = 0 alone, or nothing: that is for Clarabel to find
    whole = W.shape[1] == W.shape[0]
    N = cp.Variable((W.shape[1], W.shape[1]), PSD=True)
    M = N if whole else W @ N @ W.T
    rows = []
    for A, low, high, size in zip(dense.A, dense.lower, dense.upper, dense.norms, strict=True):
        a = cp.sum(cp.multiply(A / (size or 1.0), M))
        if not whole and np.linalg.norm(W.T @ A @ W) <= 1e-9 * size and low <= 0.0 <= high:
            continue  # met on the face
        if low == high:
            rows.append(a == low / (size or 1.0))
            continue
        rows += [a >= low / size] if math.isfinite(low) else []
        rows += [a <= high / size] if math.isfinite(high) else []
    for row, b in dense.cones:
        size = float(np.max(dense.norms[row]))
        w = cp.hstack([cp.sum(cp.multiply(dense.A[t] / size, M)) for t in row]) - b / size
        rows.append(cp.SOC(w[0], w[1:]))
    model = cp.Problem(cp.Minimize(instance.objective(M)), rows)
    found = _solved(model, M, FINE, 0.0)
    for tol in COARSER:
        if found.status in (cp.OPTIMAL_INACCURATE, "failed"):
            found = _solved(model, M, dict.fromkeys(FINE, tol), 10.0 * tol)
    return found


def _solved(model: cp.Problem, M: cp.Expression, options: dict[str, float], error: float) -> Reference:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = model.solve(solver=cp.CLARABEL, **options)
    except cp.SolverError:
        return Reference("failed", math.nan, None)
    point = None if M.value is None else np.asarray(M.value)
    return Reference(model.status, float(value), point, error * (1.0 + abs(value)) if error else 0.0)


def false_claims(instance: Instance, result: Result, known: Reference, dense: DenseConstraints) -> list[str]:
    """What of the words of a result is not true."""
    problem, certificate = instance.problem, result.certificate
    found = []
    if result.status is Status.OPTIMAL:
        M = result.matrix.to_dense()
        violation = dense.relative_violation(M)
        if violation > 1.01e-6:
            found.append(f"optimal at a violation of {violation:.2g}")
        slope = np.linalg.norm(problem.at(np.zeros((problem.n, 1))).gradient @ np.eye(problem.n))
        if "thin" in instance.kinds:
            size = max(1.0, abs(result.value))
        else:
            size = max(abs(result.value), abs(result.value - problem.value_at_zero()), 1e-6 * slope)
        if known.status == cp.OPTIMAL:
            size = max(
                size, abs(known.value), abs(known.value - problem.value_at_zero()) * ("thin" not in instance.kinds)
            )
            if certificate.dual_value > known.value + FORGIVEN * size + known.error:
                found.append(f"dual value {certificate.dual_value:.9g} above the optimum {known.value:.9g}")
            if result.value > known.value + FORGIVEN * size + known.error:
                found.append(f"optimal at {result.value:.9g}, the optimum is {known.value:.9g}")
        if known.status == cp.UNBOUNDED:
            found.append("optimal, but unbounded")
    if result.status in (Status.INFEASIBLE, Status.UNBOUNDED) and known.status == cp.OPTIMAL and known.M is not None:
        feasible = dense.relative_violation(known.M) <= 1e-6 and np.trace(known.M) <= WITNESS
        if feasible or result.status is Status.UNBOUNDED:
            found.append(f"{result.status.label}, but {known.value:.9g} is reached at trace {np.trace(known.M):.3g}")
    if result.status is Status.INFEASIBLE and problem.face is None and problem.trace_limit is None:
        y = certificate.constraints.infeasibility_proof
        values = np.linalg.eigvalsh(dense.adjoint(y))
        if not (dense.support(y) < 0.0 and values[0] >= -1e-12 * float((np.abs(y) * dense.norms).sum())):
            found.append(
                f"infeasible by a proof with sigma {dense.support(y):.2g} and least eigenvalue {values[0]:.2g}"
            )
    return found


def examine(seed: int, counts: Counter[str], steps: int = STEPS) -> list[str]:
    """The false claims about the program of a seed, by all methods that take it, in at most so many steps each."""
    instance = drawn(seed)
    dense = DenseConstraints(instance.problem)
    known = reference(instance, dense)
    counts[f"clarabel {known.status}"] += 1
    found = []
    for method in METHODS:
        geometry, chosen, _ = choose(instance.problem, None, method)
        if not compatible(instance.problem, geometry, chosen):
            continue
        result = solve(instance.problem, method=method, max_iterations=steps)
        counts["runs"] += 1
        counts[result.status.label] += 1
        if method is None and known.status in (cp.OPTIMAL, cp.INFEASIBLE) and result.status.label != known.status:
            counts[f"default {result.status.label} where {known.status}"] += 1
        found += [f"{instance}, {result.method}: {claim}" for claim in false_claims(instance, result, known, dense)]
    return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="programs, each solved by several methods")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program")
    options = parser.parse_args(argv)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in range(options.seed, options.seed + options.runs):
        wrong += examine(seed, counts)
    for claim in wrong:
        print("FALSE:", claim)
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())), f"; false {len(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
