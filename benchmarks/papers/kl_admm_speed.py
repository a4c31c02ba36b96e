"""One iteration of Hu and Kwok's splitting: milliseconds against n, and against the loop as it is printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.papers.data import Array
from benchmarks.papers.pair_peers import loop_iteration
from benchmarks.papers.pair_sets import gaussians, instance, pattern, timed
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt import ADMM, EntryFit, FlatQuotient
from psdopt.plugins import BLUE, new_figure

RANK = 30


def milliseconds_by_size() -> Experiment:
    """Figure 3, right: one iteration at 1.2 pairs per pattern and rank 30, n from 1,000 to 50,000."""
    return Experiment(_size_cases, _measure_sizes, _present_sizes)


def batched_against_loop() -> Experiment:
    """Batched updates against the pattern-by-pattern loop, at one rank and penalty."""
    return Experiment(_loop_cases, _measure_loop, _present_loop)


def _size_cases(quick: bool) -> list[ExperimentCase]:
    sizes = [500, 1000] if quick else [1000, 2000, 5000, 10_000, 20_000, 50_000]
    return [ExperimentCase("all sizes", {"sizes": sizes, "turns": 1 if quick else 3})]


def _measure_sizes(case: ExperimentCase) -> dict[str, Any]:
    problems, entries = [], []
    for n in case.settings["sizes"]:
        rng = np.random.default_rng(0)
        problem, L, _ = instance(*gaussians(rng, n), rng)
        problem.split()
        problems.append(problem)
        entries.append(L.nnz)
    # in turns: a shared machine has fast and slow minutes
    spent = [[_per_iteration(problem) for problem in problems] for _ in range(case.settings["turns"])]
    return {"sizes": case.settings["sizes"], "entries": entries, "seconds": np.min(spent, axis=0)}


def _per_iteration(problem: EntryFit, iterations: int = 10) -> float:
    """Median seconds of a splitting iteration, value and gradient of the mean included."""
    method, geometry = ADMM(polish=None), FlatQuotient(problem.n, RANK)
    point = geometry.random_point(np.random.default_rng(0)) * np.sqrt(problem.n / RANK)
    state, spent = method.init(problem, geometry, point), []
    for _ in range(iterations):
        state, seconds = timed(lambda: method.step(state))  # noqa: B023
        spent.append(seconds)
    return float(np.median(spent))


def _present_sizes(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    columns = ("n", "entries of L", "ms per iteration")
    caption = "One splitting iteration, value and gradient included"
    if not measured:
        return Findings((ResultTable(caption, columns, ()),))
    found = measured["all sizes"]
    sizes, seconds = np.array(found["sizes"]), np.array(found["seconds"])
    exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    rows = tuple(
        (f"{n:,}", f"{entries:,}", f"{1e3 * spent:.2f}")
        for n, entries, spent in zip(found["sizes"], found["entries"], seconds, strict=True)
    )
    return Findings(
        (ResultTable(caption, columns, rows),),
        figures={"sizes": lambda: _draw(sizes, 1e3 * seconds, exponent)},
        facts={"exponent": f"{exponent:.2f}"},
    )


def _draw(sizes: Array, milliseconds: Array, exponent: float) -> Any:
    figure = new_figure(6, 3.8)
    axis = figure.subplots()
    axis.loglog(sizes, milliseconds, "o-", color=BLUE, label=f"rank {RANK}: exponent {exponent:.2f}")
    axis.loglog(sizes, milliseconds[0] * sizes / sizes[0], "--", color="0.6", label="linear")
    axis.set(xlabel="n", ylabel="ms per splitting iteration")
    axis.legend(fontsize=8)
    return figure


def _loop_cases(quick: bool) -> list[ExperimentCase]:
    n = 200 if quick else 2000
    ranks = (10,) if quick else (30, 116)
    return [ExperimentCase(f"r = {r}", {"n": n, "r": r, "repetitions": 2 if quick else 5}) for r in ranks]


def _measure_loop(case: ExperimentCase) -> dict[str, Any]:
    n, r = case.settings["n"], case.settings["r"]
    rng = np.random.default_rng(0)
    problem, L, _ = instance(*gaussians(rng, n), rng)
    rows, columns, targets = pattern(problem)
    order = np.argsort(rows, kind="stable")
    cuts = np.searchsorted(rows[order], np.arange(1, n))
    neighbours, wanted = np.split(columns[order], cuts), np.split(targets[order], cuts)
    split = problem.split()
    U = rng.standard_normal((n, r)) / np.sqrt(r)
    rho, Lam = 1.25 * split.coupling_bound, np.zeros((n, r))

    def batched() -> tuple[Array, Array]:
        work = Lam * (-1.0 / rho)
        work += U
        V = split.update(U, split.image(U), work, rho)
        np.multiply(Lam, 1.0 / rho, out=work)
        work += V
        return V, split.update(V, split.image(V), work, rho)

    spent: dict[str, list[float]] = {"loop with (25)": [], "loop with (r, r) systems": [], "batched": []}
    for _ in range(case.settings["repetitions"]):
        looped, seconds = timed(lambda: loop_iteration(L, neighbours, wanted, rho, U, U, Lam))
        spent["loop with (25)"].append(seconds)
        spent["loop with (r, r) systems"].append(
            timed(lambda: loop_iteration(L, neighbours, wanted, rho, U, U, Lam, woodbury=False))[1]
        )
        found = [timed(batched) for _ in range(5)]
        spent["batched"] += [seconds for _, seconds in found]
    difference = max(float(np.abs(a - b).max()) for a, b in zip(looped, found[0][0], strict=False))
    return {"seconds": {name: min(values) for name, values in spent.items()}, "difference": difference}


def _present_loop(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows: list[tuple[str, ...]] = []
    facts: dict[str, str] = {}
    for name, found in measured.items():
        seconds = found["seconds"]
        plain, woodbury = (
            seconds[loop] / seconds["batched"] for loop in ("loop with (r, r) systems", "loop with (25)")
        )
        rows.append(
            (name, f"{1e3 * seconds['batched']:.1f}", f"{plain:.0f}", f"{woodbury:.0f}", f"{found['difference']:.0e}")
        )
        rank = name.removeprefix("r = ")
        facts |= {f"plain-{rank}": f"{plain:.0f}", f"woodbury-{rank}": f"{woodbury:.0f}"}
    columns = ("rank", "batched, ms", "loop as printed / batched", "loop with (25) / batched", "difference")
    return Findings((ResultTable("One iteration: least seconds, and their ratios", columns, tuple(rows)),), facts=facts)
