"""Constants that decide something: which runs of a panel change when one constant is four times as large, or a quarter.

    python -m benchmarks.neutral
    python -m benchmarks.neutral --match 'methods|margins'

Each run of the panel ends with a status, a method, a number of iterations and a number of products of its certificate.
These are compared with those of the unmoved constants, in a process of its own for each move. A constant that changes
none of them in either direction decides nothing on this panel. It is a candidate to go, or to be one with another,
after a look at the families for which it was made (:mod:`benchmarks.tuned` says which tests read it). Seconds are not
compared: limits of memory and of flops show here only where they choose another way.

Printed: each constant with the runs that a move up and a move down change; at the end those that change none.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import re
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_iris, load_wine

import psdopt_plugins
from benchmarks.tuned import Constant, Move, constants
from psdopt import (
    AutogradProblem,
    Constrained,
    FlatQuotient,
    Polar,
    PositiveDefinite,
    PSDCone,
    QuadraticSDP,
    Spectraplex,
    TermSum,
    methods,
    solve,
)
from psdopt import constraints as bounds
from psdopt.terms import LeastSquares, MeasuredTerm, PairDistances
from psdopt_plugins.kernel_learning import PairwiseKernel
from psdopt_plugins.manifold_learning import SSTRESS, MaximumVarianceUnfolding
from psdopt_plugins.metric_learning import KTA, LMNN, DistanceRegression, PSDBoost
from psdopt_plugins.relaxations import CommunityDetection, MaxCut

FACTORS = (4.0, 0.25)
ROOT = Path(psdopt_plugins.__file__).resolve().parents[1]
#: Seconds after which a panel with a moved constant counts as changed.
LIMIT = 400.0
#: Sources whose numbers are no tuning: texts, pictures, the kit.
LEFT_OUT = ("testing", "cli", "reports", "plotting")

Ending = tuple[Any, ...]


def panel() -> dict[str, Callable[[], Any]]:
    """Name -> a run. The data are drawn by one seed, so that every process has the same."""
    rng = np.random.default_rng(0)

    def symmetric(n: int) -> Any:
        A = rng.standard_normal((n, n))
        return 0.5 * (A + A.T)

    n = 30
    root = rng.standard_normal((n, n))
    A, C = root @ root.T / n, symmetric(n)
    quadratic, flat = QuadraticSDP(A=A, B=0.1, C=C), QuadraticSDP(A=A, C=C)
    i, j = np.triu_indices(20, 1)
    points = rng.standard_normal((20, 2))
    d = np.sum((points[i] - points[j]) ** 2, axis=1) * (1.0 + 0.1 * rng.standard_normal(len(i)))
    some = rng.choice(len(i), 80, replace=False)
    fit = TermSum([MeasuredTerm(PairDistances(i[some], j[some], n=20), LeastSquares(d[some]))])
    graph = np.triu((rng.random((40, 40)) < 0.2) * 1.0, 1)
    graph = graph + graph.T
    laplacian = np.diag(graph.sum(0)) - graph
    ones, unit = bounds.quadratic_forms(np.ones((1, 40)), 0.0), bounds.diagonal(40, 1.0)
    cut = Constrained(QuadraticSDP(C=-laplacian / 8), unit)
    nearest = Constrained(QuadraticSDP(B=0.5, C=-symmetric(25)), bounds.diagonal(25, 1.0))
    off = bounds.entries(np.arange(14), np.arange(1, 15), 15, upper=0.05)
    hidden = bounds.entries([0, 0, 1], [0, 1, 1], 4, [0.0, 0.0, 1.0])
    linear = {
        "max-cut": cut,
        "bisection": Constrained(QuadraticSDP(C=laplacian / 8), [unit, ones]),
        "inequalities": Constrained(QuadraticSDP(C=symmetric(15)), [bounds.trace(15, 2.0), off]),
        "infeasible": Constrained(QuadraticSDP(C=symmetric(8)), [bounds.trace(8, 1.0), bounds.trace(8, 2.0)]),
        "open": Constrained(QuadraticSDP(C=-np.eye(6)), bounds.entries([0], [1], 6, 0.0)),
    }
    others = {
        "nearest": nearest,
        "curved": Constrained(flat, bounds.diagonal(n, 1.0)),
        "centred fit": Constrained(fit, bounds.quadratic_forms(np.ones((1, 20)), 0.0)),
        "hidden face": Constrained(QuadraticSDP(C=symmetric(4)), hidden),
    }
    quartic = AutogradProblem(lambda M: ((M - np.diag(np.arange(6.0))) ** 4).sum(), 6, convex=True)
    large = QuadraticSDP(A=sp.diags_array(np.linspace(1.0, 9.0, 600)).tocsr(), C=-symmetric(600))
    small = QuadraticSDP(A=A[:8, :8] + np.eye(8), B=0.1, C=-np.eye(8))
    iris, wine = load_iris(return_X_y=True), load_wine(return_X_y=True)
    scaled = (wine[0] - wine[0].mean(0)) / wine[0].std(0)
    jittered = iris[0][:60] + 1e-3 * rng.standard_normal((60, 4))
    unit_trace = Spectraplex(n, 3.0)
    found: dict[str, Callable[[], Any]] = {
        "quadratic": lambda: solve(quadratic),
        "closed form": lambda: solve(flat),
        "rank 3": lambda: solve(quadratic, FlatQuotient(n, 3)),
        "growing rank": lambda: solve(quadratic, FlatQuotient(n, 2), escape=True),
        "L-BFGS": lambda: solve(flat, FlatQuotient(n, n), methods.LBFGS()),
        "block": lambda: solve(flat, FlatQuotient(n, 10), methods.BlockConjugateGradient()),
        "truncated Newton": lambda: solve(quartic, FlatQuotient(6, 6), methods.TruncatedNewton()),
        "trust regions": lambda: solve(quadratic, FlatQuotient(n, 4), methods.TrustRegions()),
        "gradient": lambda: solve(quadratic, FlatQuotient(n, 3), methods.ConjugateGradient("none"), max_iterations=300),
        "polar": lambda: solve(quadratic, Polar(n, 3), methods.ConjugateGradient(), max_iterations=200),
        "definite": lambda: solve(small, PositiveDefinite(8), methods.ConjugateGradient(), max_iterations=200),
        "BILGO": lambda: solve(flat, PSDCone(n), methods.BILGO()),
        "Frank-Wolfe": lambda: solve(quadratic, unit_trace, methods.FrankWolfe(), tol=1e-4, max_iterations=300),
        "projected": lambda: solve(quadratic, PSDCone(n), methods.ProjectedGradient()),
        "projected, fixed trace": lambda: solve(quadratic, unit_trace, methods.ProjectedGradient()),
        "fit": lambda: solve(fit),
        "fit, rank 5": lambda: solve(fit, FlatQuotient(20, 5), methods.ConjugateGradient()),
        "quartic": lambda: solve(quartic),
        "large": lambda: solve(large, max_iterations=200),
        "unbounded": lambda: solve(QuadraticSDP(C=C)),
        "max-cut by splitting": lambda: solve(cut, method=methods.BoundaryPoint()),
        "KTA": lambda: KTA().fit(scaled, wine[1]).result_,
        "LMNN": lambda: LMNN().fit(*iris).result_,
        "PSDBoost": lambda: PSDBoost().fit(iris[0][::3], iris[1][::3]).result_,
        "distances": lambda: DistanceRegression(random_state=0).fit(*iris).result_,
        "pairs": lambda: PairwiseKernel(n_clusters=3).fit(*iris).result_,
        "unfolding": lambda: MaximumVarianceUnfolding(n_neighbors=5).fit(jittered).result_,
        "SSTRESS": lambda: SSTRESS().fit(iris[0][:40]).result_,
        "MaxCut": lambda: MaxCut().fit(graph).result_,
        "communities": lambda: CommunityDetection().fit(graph).result_,
    }
    found |= {name: partial(solve, problem) for name, problem in {**linear, **others}.items()}
    rounds = methods.AugmentedLagrangian()
    return found | {f"{name} by rounds": partial(solve, problem, method=rounds) for name, problem in linear.items()}


def endings() -> dict[str, Ending]:
    """How each run of the panel ends; an exception is an ending, too."""
    found: dict[str, Ending] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, run in panel().items():
            try:
                result = run()
                products = result.certificate and result.certificate.products
                found[name] = (result.status.name, result.method, result.iterations, products)
            except Exception as error:
                found[name] = (type(error).__name__,)
    return found


def moved_endings(move: Move | None) -> dict[str, Ending]:
    """:func:`endings` in a process of its own, after the move; empty if it takes longer than LIMIT."""
    context = multiprocessing.get_context("fork")
    answer, theirs = context.Pipe(duplex=False)

    def work() -> None:
        if move is not None:
            move.change()
        theirs.send(endings())

    process = context.Process(target=work)
    process.start()
    found: dict[str, Ending] = answer.recv() if answer.poll(LIMIT) else {}
    process.terminate()
    process.join()
    return found


def changed(constant: Constant, usual: Mapping[str, Ending]) -> list[list[str]]:
    """The runs that each of FACTORS changes."""
    answer = []
    for factor in FACTORS:
        found = moved_endings(Move(constant, factor, [], 0.0))
        answer.append([name for name, ending in usual.items() if found.get(name) != ending])
    return answer


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.neutral", description=__doc__.split("\n")[0])
    parser.add_argument("--match", default="", help="regular expression of paths and names")
    chosen = re.compile(parser.parse_args(argv).match)
    sources = [path for folder in ("psdopt", "psdopt_plugins") for path in sorted((ROOT / folder).rglob("*.py"))]
    sources = [path for path in sources if not set(LEFT_OUT) & set(path.parts)]
    found = [constant for constant in constants(sources, ROOT) if chosen.search(str(constant))]
    for constant in found:
        importlib.import_module(constant.path.removesuffix(".py").replace("/", "."))
    usual, none = moved_endings(None), []
    for constant in found:
        up, down = changed(constant, usual)
        print(f"{constant}: up {', '.join(up) or '-'}; down {', '.join(down) or '-'}", flush=True)
        none += [] if up or down else [str(constant)]
    print(f"{len(none)} of {len(found)} change nothing: {', '.join(none)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
