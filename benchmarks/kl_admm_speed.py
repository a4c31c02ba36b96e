"""Speed of kernel learning from pairs: against n, the number of pairs and the printed loop."""

from __future__ import annotations

import numpy as np
from kl_admm_peers import loop_iteration, pattern
from kl_admm_sets import GAMMA, gaussians, instance, timed

from psdopt import FlatQuotient, solve
from psdopt.methods.admm import ADMM


def seconds_per_iteration(problem, r, iterations=10):
    """Median seconds of a splitting iteration, value and gradient of the mean included."""
    method, geometry = ADMM(polish=None), FlatQuotient(problem.n, r)
    state = method.init(problem, geometry, geometry.random_point(np.random.default_rng(0)) * np.sqrt(problem.n / r))
    spent = []
    for _ in range(iterations):
        state, seconds = timed(lambda: method.step(state))  # noqa: B023
        spent.append(seconds)
    return float(np.median(spent))


def seconds_by_size(sizes, r=30, turns=4):
    """{n: (Laplacian, seconds per iteration)} at 2.4 pairs per pattern; the least of several turns."""
    instances = []
    for n in sizes:
        rng = np.random.default_rng(0)
        instances.append(instance(*gaussians(rng, n), rng)[:2])
        instances[-1][0].split()
    # in turns: a shared machine has fast and slow minutes
    spent = np.min([[seconds_per_iteration(problem, r) for problem, _ in instances] for _ in range(turns)], axis=0)
    return {n: (L, seconds) for n, (_, L), seconds in zip(sizes, instances, spent, strict=True)}


def scaling(sizes=(1000, 2000, 5000, 10_000, 20_000, 50_000)):
    """Figure 3: seconds per iteration against n at fixed rank."""
    found = seconds_by_size(sizes)
    for n, (L, seconds) in found.items():
        print(f"n={n:6d} nnz(L)={L.nnz:7d} {1e3 * seconds:8.2f} ms per iteration", flush=True)
    spent = [seconds for _, seconds in found.values()]
    print(f"exponent {np.polyfit(np.log(sizes), np.log(spent), 1)[0]:.2f}")


def constraints(n=1000, counts=(250, 500, 1000, 2000, 4000)):
    """Figure 4: seconds to the optimum against the number of pairs, the rank growing with it."""
    for count in counts:
        rng = np.random.default_rng(0)
        problem, _, r = instance(*gaussians(rng, n), rng, count=count / 2)
        full, low = FlatQuotient(n, r), FlatQuotient(n, 6)
        result, seconds = timed(lambda: solve(problem, full, ADMM(), rng=0))  # noqa: B023
        grown, fewer = timed(lambda: solve(problem, low, ADMM(), rng=0, escape=True))  # noqa: B023
        print(f"pairs={count:5d} r={r:3d} {seconds:6.2f} s {result.status.label} ({result.iterations} iterations); "
              f"adaptive rank {grown.matrix.factor.shape[1]}: {fewer:.2f} s {grown.status.label}",
              flush=True)  # fmt: skip


def loop(n=2000, repetitions=5):
    """Batched updates against the pattern-by-pattern loop, at one rank and penalty."""
    rng = np.random.default_rng(0)
    problem, L, rule = instance(*gaussians(rng, n), rng)
    rows, columns, targets = pattern(problem)
    order = np.argsort(rows, kind="stable")
    cuts = np.searchsorted(rows[order], np.arange(1, n))
    neighbours, wanted = np.split(columns[order], cuts), np.split(targets[order], cuts)
    split = problem.split()
    for r in (30, rule):
        U = rng.standard_normal((n, r)) / np.sqrt(r)
        rho, Lam = 1.25 * split.coupling_bound, np.zeros((n, r))
        arguments = (L, neighbours, wanted, GAMMA, rho, U, U, Lam)

        def batched():
            work = Lam * (-1.0 / rho)  # noqa: B023
            work += U  # noqa: B023
            V = split.update(U, split.image(U), work, rho)  # noqa: B023
            np.multiply(Lam, 1.0 / rho, out=work)  # noqa: B023
            work += V
            new = split.update(V, split.image(V), work, rho)  # noqa: B023
            multiplier = V - new
            multiplier *= rho  # noqa: B023
            multiplier += Lam  # noqa: B023
            return V, new, multiplier

        runs = [
            (timed(lambda: loop_iteration(*arguments)),  # noqa: B023
             timed(lambda: loop_iteration(*arguments, woodbury=False)),  # noqa: B023
             min((timed(batched) for _ in range(5)), key=lambda run: run[1]))
            for _ in range(repetitions)
        ]  # fmt: skip
        # the least of each, taken in turns: what is measured is a machine that is shared
        slow, plain, fast = (min(run[k][1] for run in runs) for k in range(3))
        (V1, U1, _), (V2, U2, _) = runs[0][0][0], runs[0][2][0]
        error = max(np.abs(V1 - V2).max(), np.abs(U1 - U2).max())
        print(f"n={n} r={r}: loop with (25) {slow:.3f} s, with (r, r) systems {plain:.3f} s, batched {fast:.4f} s: "
              f"ratios {slow / fast:.0f} and {plain / fast:.0f}, difference {error:.0e}", flush=True)  # fmt: skip
