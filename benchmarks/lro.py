"""LRO: KTA on a rank-limited factor against pymanopt and SciPy, then top-k eigenpairs against eigsh and lobpcg.

    PSDOPT_DATA=<folder> psdopt bench lro [--sets letters optdigits ...] [--lam 1e-3 1 10] [--topk dense2000 ...]

Seconds are processor time of one thread. Every solver gets the same cost, start, rank and products (the Gram matrix
XᵀX where psdopt forms it, X and Xᵀ where not; forming it is left out of everybody's time, psdopt's eigendecomposition
is not). The optimum of the rank-limited problem is taken as the best value that any run found. Ratios are of one run on
one machine. Where solve() without a named method takes another one (the closed form where the rank is no limit, the
block form of conjugate gradient beyond d = 2000), both are shown.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import lro_topk
import numpy as np
from data import training_part
from lro_peers import KTACost, pymanopt_peer, scipy_lbfgsb
from lro_topk import CASES
from race import Curve, ratio, table
from rich.console import Console
from rich.table import Table

from psdopt import ConjugateGradient, FlatQuotient, Method, Problem, solve
from psdopt.choose import choose, starting_point
from psdopt.run import Snapshot
from psdopt_plugins.metric_learning.kta_problem import kta_problem

SETS = {"letters": 16, "optdigits": 40, "w1a": 40, "isolet": 40, "mnist10k": 40, "news20": 20}
ACCURACIES = (1e-6, 1e-9)


def run_own(
    title: str, limit: float, problem: Problem, geometry: FlatQuotient, method: Method | None, start: Any
) -> Curve:
    """Curve of a run of solve(), cut after `limit` seconds."""
    curve = Curve(title, limit=limit)
    clock = time.process_time()

    def note(snapshot: Snapshot) -> bool:
        seconds = time.process_time() - clock
        curve.add(seconds, snapshot.value, snapshot.iteration)
        return seconds > limit

    solve(problem, geometry, method, start=start, tol=1e-13, callback=note)
    return curve


def race(name: str, rank: int, lam: float, limit: float, factor: float) -> dict[str, object]:
    """All solvers on one set and lam."""
    X, y = training_part(name)
    m, d = X.shape
    one_hot = np.eye(int(y.max()) + 1)[y]
    one_hot = one_hot[:, one_hot.any(axis=0)]
    dense = isinstance(X, np.ndarray)
    problem = kta_problem(X, y, lam, gram=dense or d <= 1024)
    geometry = FlatQuotient(d, rank)
    start = starting_point(geometry, problem, None, np.random.default_rng(0))
    solve(problem, geometry, ConjugateGradient(), start=start, max_iterations=2)  # imports and first calls
    runs = [("psdopt CG", ConjugateGradient())]
    default = choose(problem, geometry, None)[1]
    if not isinstance(default, ConjugateGradient):
        runs.append((f"psdopt default ({type(default).__name__})", None))
    own = []
    for title, method in runs:
        fresh = kta_problem(X, y, lam, gram=dense or d <= 1024)  # nothing decomposed yet
        own.append(run_own(title, limit, fresh, geometry, method, start))
    ours = own[-1]

    Z = np.asarray(X.T @ one_hot)
    if dense or d <= 1024:
        K = np.asarray((X.T @ X).todense() if not dense else X.T @ X)
        product = lambda Y: K @ Y  # noqa: E731
    else:
        XT = X.T.tocsr()
        product = lambda Y: XT @ (X @ Y)  # noqa: E731
    constant = d + lam * float(np.sum((one_hot.T @ one_hot) ** 2))
    rough = ours.reached(ours.values[-1] * (1 + 1e-9)) or (limit, 0)
    peer_limit = max(2.0, factor * rough[0])
    peers = [
        scipy_lbfgsb(KTACost(product, Z, lam, constant), start, peer_limit),
        pymanopt_peer("ConjugateGradient", KTACost(product, Z, lam, constant), start, peer_limit),
        pymanopt_peer("TrustRegions", KTACost(product, Z, lam, constant), start, peer_limit),
    ]
    best = min(curve.values[-1] for curve in (*own, *peers))
    return {
        "set": name, "m": m, "d": d, "rank": rank, "lam": lam, "optimum": best, "peer_limit": peer_limit,
        "rows": table([*own, *peers], best, ACCURACIES),
        "ratios": {f"{a:g}": ratio(own[0], peers, best + a * abs(best)) for a in ACCURACIES},
        "default": {f"{a:g}": ratio(own[-1], peers, best + a * abs(best)) for a in ACCURACIES},
    }  # fmt: skip


def show(results: list[dict[str, object]], console: Console) -> None:
    """Table of seconds (work) to each accuracy, and ratios."""
    view = Table(title="KTA: seconds (iterations or evaluations) to relative suboptimality", title_justify="left")
    for column in ("set", "lam", "solver", *(f"{a:g}" for a in ACCURACIES), "at its end"):
        view.add_column(column, justify="left" if column in ("set", "solver") else "right")
    for result in results:
        for k, row in enumerate(result["rows"]):  # type: ignore[arg-type, var-annotated]
            cells = [
                "> limit" if row[f"{a:g}"] is None else f"{row[f'{a:g}'][0]:.3f} ({row[f'{a:g}'][1]})"
                for a in ACCURACIES
            ]
            head = (str(result["set"]), f"{result['lam']:g}") if k == 0 else ("", "")
            view.add_row(*head, str(row["solver"]), *cells, f"{row['end']:.1e}")
    console.print(view)
    for a, kind in [(a, kind) for a in ACCURACIES for kind in ("ratios", "default")]:
        found = [result[kind][f"{a:g}"] for result in results]  # type: ignore[index]
        title = "psdopt CG" if kind == "ratios" else "psdopt default"
        reached = [item for item in found if item is not None]
        if reached:
            geometric = math.exp(sum(math.log(item[0]) for item in reached) / len(reached))
            bounds = sum(item[1] for item in reached)
            console.print(
                f"best peer / {title} to {a:g}: least {min(item[0] for item in reached):.1f}, geometric mean "
                f"{geometric:.1f} over {len(reached)} of {len(found)} cases ({bounds} are lower bounds: peers cut off)"
            )


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark; returns the exit code."""
    parser = argparse.ArgumentParser(prog="psdopt bench lro", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--sets", nargs="*", default=list(SETS), help=f"of {', '.join(SETS)}; none: no race")
    parser.add_argument("--lam", nargs="+", type=float, default=[1e-3, 1.0, 10.0])
    parser.add_argument("--limit", type=float, default=30.0, help="seconds for psdopt")
    parser.add_argument("--factor", type=float, default=12.0, help="peers get this many times psdopt's time to 1e-9")
    parser.add_argument("--topk", nargs="*", default=list(CASES), help=f"of {', '.join(CASES)}; none: not run")
    parser.add_argument("--output", type=Path, help="JSON file for the results")
    options = parser.parse_args(argv)
    for name, known in ((options.sets, SETS), (options.topk, CASES)):
        unknown = [each for each in name if each not in known]
        if unknown:
            parser.error(f"unknown {', '.join(unknown)}; known: {', '.join(known)}")
    console = Console()
    results = []
    for name in options.sets:
        for lam in options.lam:
            results.append(race(name, SETS[name], lam, options.limit, options.factor))
            show(results[-1:], console)
    if results:
        show(results, console)
    if options.output:
        options.output.write_text(json.dumps(results, indent=1))
    if options.topk:
        lro_topk.main(["--cases", *options.topk])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
