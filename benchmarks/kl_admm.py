"""KL-ADMM: kernel learning from pairs against the paper's figures and small baselines.

    psdopt bench kl_admm [--parts tables convergence scaling constraints loop conic conic-sets adult] [--repetitions 5]

`tables`, `conic-sets` and `adult` need the data folder in PSDOPT_DATA. Ratios are of one run on one machine.
"""

from __future__ import annotations

import argparse

import numpy as np
from kl_admm_conic import against_conic, against_conic_on_sets
from kl_admm_sets import PAPER, SMALL, instance, samples
from kl_admm_speed import constraints, loop, scaling
from kl_admm_tables import adult, tables

from psdopt import FlatQuotient, solve
from psdopt.methods.admm import ADMM


def convergence():
    """Figures 1 and 2: relative distance to the global value and residuals, splitting alone and with polish."""
    for name in ("soybean_small", "glass"):
        rng = np.random.default_rng(0)
        X, y = samples(name, rng)
        problem, _, r = instance(X, y, rng)
        geometry = FlatQuotient(problem.n, r)
        best = solve(problem, geometry, ADMM(), rng=0, tol=1e-8, max_iterations=5000).value
        decrease = problem.value_at_zero() - best
        for label, method in (
            ("rho 'auto', no polish", ADMM(polish=None)),
            ("rho 100, no polish", ADMM(rho=100.0, polish=None)),
            ("rho 100 fixed, no polish", ADMM(rho=100.0, adapt=False, polish=None)),
            ("default", ADMM()),
        ):
            history = solve(problem, geometry, method, rng=0, max_iterations=500).history
            marks = [k for k in (10, 25, 50, 100, 200, 500) if k < len(history)] + [len(history) - 1]
            error = " ".join(f"{k}:{(history['value'][k] - best) / decrease:.0e}" for k in marks)
            split = np.flatnonzero(history["phase"] == 0.0)[-1]
            residuals = f"primal {history['primal_residual'][split]:.0e} dual {history['dual_residual'][split]:.0e}"
            print(f"{name:14s} {label:26s} {error}  after {split} split iterations: {residuals}", flush=True)


def main(argv: list[str] | None = None) -> int:
    """Run the parts asked for; returns the exit code."""
    parts = {
        "tables": lambda a: tables(a.repetitions, a.sets or SMALL),
        "adult": lambda a: adult(a.sets or ("a1a", "a2a", "a3a", "a4a", "a6a"), a.repetitions),
        "convergence": lambda a: convergence(),
        "scaling": lambda a: scaling(),
        "constraints": lambda a: constraints(),
        "loop": lambda a: loop(),
        "conic": lambda a: against_conic(tuple(a.sizes), tuple(a.solvers)),
        "conic-sets": lambda a: against_conic_on_sets(a.sets),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="*", choices=parts, default=list(parts))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--sets", nargs="*", choices=PAPER)
    parser.add_argument("--sizes", nargs="*", type=int, default=[50, 100, 200, 400], help="orders for `conic`")
    parser.add_argument("--solvers", nargs="*", choices=["SCS", "CLARABEL"], default=["SCS", "CLARABEL"])
    arguments = parser.parse_args(argv)
    for part in arguments.parts:
        print(f"# {part}")
        parts[part](arguments)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
