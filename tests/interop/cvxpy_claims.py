"""Random CVXPY programs, Clarabel as judge: ``python -m tests.interop.cvxpy_claims --runs 500 --seed 0``.

One or two PSD variables, free and nonnegative scalars beside them, equations, inequalities, linear and convex quadratic
objectives; one in ten contradicts itself.
"""

import argparse
import warnings
from collections import Counter
from collections.abc import Sequence

import cvxpy as cp
import numpy as np

from psdopt.interop.cvxpy import PSDOPT

#: Two values agree to this share of the larger of 1 and the value.
AGREE = 1e-4


def program(seed: int) -> cp.Problem:
    """A program whose feasible set is bounded, around a point that is drawn with it."""
    rng = np.random.default_rng(seed)
    orders = rng.integers(2, 7, rng.integers(1, 3))
    matrices = [cp.Variable((n, n), PSD=True) for n in orders]
    values = [H @ H.T for H in (rng.standard_normal((n, rng.integers(1, n + 1))) for n in orders)]
    free = cp.Variable(rng.integers(1, 4)) if rng.random() < 0.5 else None
    nonneg = cp.Variable(rng.integers(1, 4), nonneg=True) if rng.random() < 0.5 else None
    scalars = [(v, rng.standard_normal(v.size)) for v in (free, nonneg) if v is not None]
    scalars = [(v, np.abs(at) if v is nonneg else at) for v, at in scalars]

    def form():
        """A random linear function, and its value at the point."""
        A = [rng.standard_normal((n, n)) for n in orders]
        a = [rng.standard_normal(v.size) for v, _ in scalars]
        function = sum(cp.trace((B + B.T) @ X) for B, X in zip(A, matrices, strict=True))
        function += sum(c @ v for c, (v, _) in zip(a, scalars, strict=True))
        value = sum(np.sum((B + B.T) * M) for B, M in zip(A, values, strict=True))
        return function, value + sum(c @ at for c, (_, at) in zip(a, scalars, strict=True))

    held = [function == value for function, value in (form() for _ in range(rng.integers(1, 5)))]
    held += [function <= value + max(0.0, rng.uniform(-0.3, 0.7))
             for function, value in (form() for _ in range(rng.integers(0, 4)))]  # fmt: skip
    room = 2.0 * sum(map(np.trace, values)) + 1.0
    held += [sum(map(cp.trace, matrices)) <= room, *(cp.abs(v) <= 9.0 for v, _ in scalars)]
    objective = form()[0]
    if rng.random() < 0.5:
        objective += cp.sum_squares(matrices[0] - rng.standard_normal(values[0].shape))
        objective += sum(cp.sum_squares(v) for v, _ in scalars)
    if rng.random() < 0.1:
        function, value = form()
        held += [function == value, function == value + 1.0]
    return cp.Problem(cp.Minimize(objective), held)


def judged(seed: int, agree: float = AGREE, **options: float) -> str:
    """ "agrees", "inaccurate" where one of the two says that it is, "failed" where Clarabel has none, or "false"."""
    found = []
    for solver in ("CLARABEL", PSDOPT(**options)):
        model = program(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the status says it
            try:
                model.solve(solver=solver)
            except cp.SolverError:
                if solver != "CLARABEL":
                    raise
                return "failed"
        found.append((model.status, model.value))
    (peer, expected), (own, value) = found
    if peer.removesuffix("_inaccurate") != own.removesuffix("_inaccurate"):
        return "false"
    if np.isfinite(expected) and abs(value - expected) > agree * max(1.0, abs(expected)):
        return "false"
    return "agrees" if peer == own else "inaccurate"


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0 if no verdict is false; prints the seeds of those that do not agree, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    counts: Counter[str] = Counter()
    for seed in range(arguments.seed, arguments.seed + arguments.runs):
        verdict = judged(seed)
        counts[verdict] += 1
        if verdict != "agrees":
            print(f"seed {seed}: {verdict}", flush=True)
    print(dict(counts))
    return int(counts["false"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
