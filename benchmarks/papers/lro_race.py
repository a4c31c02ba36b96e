"""Table 5 of Yuan et al. with today's peers: KTA on a rank-limited factor against SciPy's L-BFGS-B and pymanopt.

Every solver gets the same cost, start, rank and products (the Gram matrix XᵀX where psdopt forms it, X and Xᵀ where
not; forming it is left out of everybody's time, eigendecompositions are not). L-BFGS-B takes part a second time where
the Gram matrix is formed, in coordinates in which the quadratic part of the cost is the identity. The optimum of the
rank-limited problem is the best value that any run found.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.papers.data import training_part
from benchmarks.papers.lro_peers import KTACost, pymanopt_peer, scaled_lbfgsb, scipy_lbfgsb
from benchmarks.papers.race import Curve, ratio, table
from benchmarks.reproduction.experiments import Comparison, Experiment, ExperimentCase, Findings, ResultTable
from psdopt import ConjugateGradient, FlatQuotient, Method, Problem, Snapshot, solve, starting_point
from psdopt_plugins.metric_learning import kta_problem

RANKS = {"letters": 16, "optdigits": 40, "isolet": 40, "mnist10k": 40, "w1a": 40, "news20": 20}
#: Table 5: seconds of conjugate gradient and of L-BFGS.
PAPER = {"optdigits": (5.14, 5.88), "w1a": (4.55, 5.57), "isolet": (184.41, 176.76), "letters": (17.15, 13.23)}
ACCURACIES = (1e-6, 1e-9)


def gradient_against_lbfgs() -> Experiment:
    """Seconds to relative suboptimality of 1e-6 and 1e-9."""
    return Experiment(_cases, _measure, _present)


def _cases(quick: bool) -> list[ExperimentCase]:
    if quick:
        return [ExperimentCase("wine, λ = 1", _settings("wine", 8, 1.0, 0.5, 4.0, 0.2))]
    cases = []
    for name, rank in RANKS.items():
        for lam in (1.0,) if name == "news20" else (1e-3, 1.0, 10.0):
            limits = (12.0, 3.0) if name == "news20" else (8.0, 6.0)
            cases.append(ExperimentCase(f"{name}, λ = {lam:g}", _settings(name, rank, lam, *limits), (name,)))
    return cases


def _settings(name: str, rank: int, lam: float, limit: float, factor: float, least: float = 2.0) -> dict[str, Any]:
    """`limit`: seconds for psdopt; peers get `factor` times those that psdopt took to 1e-9, `least` at least."""
    return {"set": name, "rank": rank, "lam": lam, "limit": limit, "factor": factor, "least": least}


def _measure(case: ExperimentCase) -> dict[str, Any]:
    rank, lam, limit = case.settings["rank"], case.settings["lam"], case.settings["limit"]
    X, y = training_part(case.settings["set"])
    m, d = X.shape
    gram = isinstance(X, np.ndarray) or d <= 1024
    one_hot = np.eye(int(y.max()) + 1)[y]
    one_hot = one_hot[:, one_hot.any(axis=0)]
    problem, geometry = kta_problem(X, y, lam, gram=gram), FlatQuotient(d, rank)
    start = starting_point(geometry, problem, None, np.random.default_rng(0))
    solve(problem, geometry, ConjugateGradient(), start=start, max_iterations=2)  # imports and first calls
    runs: list[tuple[str, Method | None]] = [("psdopt, its choice", None), ("psdopt CG", ConjugateGradient())]
    own = [  # a problem for each: nothing decomposed yet
        _run_own(title, limit, kta_problem(X, y, lam, gram=gram), geometry, method, start) for title, method in runs
    ]
    Z = np.asarray(X.T @ one_hot)
    constant = d + lam * float(np.sum((one_hot.T @ one_hot) ** 2))
    if gram:
        K = X.T @ X if isinstance(X, np.ndarray) else np.asarray((X.T @ X).todense())
        cost = KTACost(lambda Y: K @ Y, Z, lam, constant)
    else:
        XT = X.T.tocsr()
        cost = KTACost(lambda Y: XT @ (X @ Y), Z, lam, constant)
    mine = own[0].reached(own[0].values[-1] * (1 + 1e-9)) or (limit, 0)
    peer_limit = max(case.settings["least"], case.settings["factor"] * mine[0])
    peers = [
        scipy_lbfgsb(cost, start, peer_limit),
        pymanopt_peer("ConjugateGradient", cost, start, peer_limit),
        pymanopt_peer("TrustRegions", cost, start, peer_limit),
    ]
    if gram:
        peers.append(scaled_lbfgsb(K, cost, start, peer_limit))
    best = min(curve.values[-1] for curve in (*own, *peers))
    targets = {f"{a:g}": best + a * abs(best) for a in ACCURACIES}
    return {
        "m": m,
        "d": d,
        "peer_limit": peer_limit,
        "rows": table([*own, *peers], best, ACCURACIES),
        "ratios": {a: ratio(own[0], peers, target) for a, target in targets.items()},
    }


def _run_own(
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


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows: list[tuple[str, ...]] = []
    comparisons: list[Comparison] = []
    least: dict[str, list[float]] = {f"{a:g}": [] for a in ACCURACIES}
    bounds = 0
    for name, found in measured.items():
        rows += [
            (name if k == 0 else "", row["solver"], *(_reached(row[f"{a:g}"]) for a in ACCURACIES), f"{row['end']:.0e}")
            for k, row in enumerate(found["rows"])
        ]
        for accuracy, value in found["ratios"].items():
            if value is not None:
                least[accuracy].append(value[0])
                bounds += bool(value[1])
        paper = PAPER.get(name.partition(",")[0])
        if paper and name.endswith("λ = 1") and found["ratios"]["1e-06"]:
            what = f"L-BFGS / ours to 1e-6, {name}"
            comparisons.append(Comparison(what, found["ratios"]["1e-06"][0], paper[1] / paper[0], "more", level=0.1))
    columns = ("set, λ", "solver", "seconds (work) to 1e-6", "to 1e-9", "relative suboptimality at its end")
    facts = {"cases": str(len(measured)), "bounds": str(bounds)}
    for accuracy, ratios in least.items():
        if ratios:
            middle = math.exp(sum(map(math.log, ratios)) / len(ratios))
            facts |= {f"least-{accuracy}": f"{min(ratios):.1f}", f"mean-{accuracy}": f"{middle:.1f}"}
    caption = "Processor seconds (iterations or evaluations); >: cut off before"
    return Findings((ResultTable(caption, columns, tuple(rows)),), tuple(comparisons), facts=facts)


def _reached(found: Any) -> str:
    return "> limit" if found is None else f"{found[0]:.3f} ({found[1]})"
