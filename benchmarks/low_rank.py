"""Large semidefinite programs with solutions of low rank: seconds, status, gap, violation and rank for each.

python -m benchmarks low-rank --completion 250 1000 --theta 1000 --torus 10000 --synchronisation 3000
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from benchmarks.papers.sdp_graphs import theta, torus
from benchmarks.papers.sdp_low_rank import LOW_RANK
from psdopt import Constrained, solve


def sparse_theta(n: int, seed: int = 0) -> Constrained:
    """Lovász's number of a random graph of degree 20."""
    return theta(n, share=20.0 / n, seed=seed)


FAMILIES = {**LOW_RANK, "theta": sparse_theta, "torus": torus}
HEAD = f"{'program':24}      n      m method              process s status            gap      off rank"
#: Orders if none are named: seconds on one core for each.
DEFAULT = {
    "completion": [250],
    "near_completion": [60],
    "noisy_completion": [60],
    "synchronisation": [900],
    "theta": [300],
    "torus": [2000],
}


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0; prints a row for each program."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks low-rank", description=__doc__)
    for family in FAMILIES:
        parser.add_argument(f"--{family.replace('_', '-')}", type=int, nargs="*", default=[], metavar="N")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--max-time", type=float, default=120.0, help="seconds for each program")
    parser.add_argument("--tol", type=float, default=1e-6)
    arguments = parser.parse_args(argv)
    named = {family: getattr(arguments, family) for family in FAMILIES}
    print(HEAD)
    for family, sizes in (named if any(named.values()) else DEFAULT).items():
        for n in sizes:
            for seed in arguments.seeds:
                row = measured(FAMILIES[family](n, seed=seed), arguments.tol, arguments.max_time)
                print(f"{f'{family} {n}-{seed}':24} {row}", flush=True)
    return 0


def measured(problem: Constrained, tol: float, max_time: float) -> str:
    """A line of the table for one run of :func:`psdopt.solve`, proof included."""
    start = time.process_time()
    result = solve(problem, tol=tol, max_time=max_time)
    seconds = time.process_time() - start
    proof, off = result.certificate, "-"
    gap = "-" if proof is None or proof.gap_relative is None else format(proof.gap_relative, ".1e")
    if proof is not None and proof.constraints is not None:
        off = format(proof.constraints.primal_infeasibility, ".1e")
    numbers = f"{problem.n:6} {problem.m:6} {result.method:19} {seconds:9.2f}"
    return f"{numbers} {result.status.label:12} {gap:>8} {off:>8} {result.matrix.rank:4}"


if __name__ == "__main__":
    raise SystemExit(main())
