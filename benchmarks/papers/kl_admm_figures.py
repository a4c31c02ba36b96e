"""Figures 1 to 4 of Hu and Kwok: convergence, residuals, seconds against the numbers of patterns and of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.papers.data import needs
from benchmarks.papers.pair_peers import simple_npkl
from benchmarks.papers.pair_sets import PROVEN, gaussians, instance, least, samples, timed
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt import ADMM, BILGO, EntryFit, FlatQuotient, PSDCone, Status, solve
from psdopt.plugins import COLOURS, MARKERS, new_figure

METHODS = {
    "default: splitting, then polish": ADMM(),
    "splitting alone, rho auto": ADMM(polish=None),
    "splitting alone, rho 100 adapted": ADMM(rho=100.0, polish=None),
    "splitting alone, rho 100 fixed": ADMM(rho=100.0, adapt=False, polish=None),
}
#: Solvers of figures 3 and 4; BILGO up to n = 1,000, SimpleNPKL (two eigendecompositions an iteration) up to 500.
SOLVERS = ("ADMM, rank by the paper's rule", "ADMM, adaptive rank", "BILGO (hybrid)", "SimpleNPKL, 100 iterations")
MARKS = (10, 25, 50, 100)


def convergence() -> Experiment:
    """Figures 1 and 2."""
    return Experiment(_course_cases, _measure_course, _present_course)


def seconds_by_patterns() -> Experiment:
    """Figure 3: n from 250 to 4,000 at 1,000 pairs."""
    return Experiment(_pattern_cases, _measure_sizes, lambda measured: _present_sizes(measured, "n"))


def seconds_by_pairs() -> Experiment:
    """Figure 4: 250 to 4,000 pairs at n = 1,000."""
    return Experiment(_pair_cases, _measure_sizes, lambda measured: _present_sizes(measured, "pairs"))


def _course_cases(quick: bool) -> list[ExperimentCase]:
    names = ("iris",) if quick else ("soybean_small", "glass")
    return [ExperimentCase(name, {"iterations": 100 if quick else 300}, needs(name)) for name in names]


def _measure_course(case: ExperimentCase) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    problem, _, r = instance(*samples(case.name, rng), rng)
    geometry = FlatQuotient(problem.n, r)
    best = solve(problem, geometry, ADMM(), rng=0, tol=1e-8, max_iterations=5000).value
    found: dict[str, Any] = {}
    for label, method in METHODS.items():
        budget = case.settings["iterations"]
        history = solve(problem, geometry, method, rng=0, tol=1e-7, max_iterations=budget).history
        split = int(np.flatnonzero(history["phase"] == 0.0)[-1])
        found[label] = {
            "error": (history["value"] - best) / (problem.value_at_zero() - best),
            "split": split,
            "primal": history["primal_residual"],
            "dual": history["dual_residual"],
        }
    return {"n": problem.n, "r": r, "courses": found}


def _present_course(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows = []
    for name, found in measured.items():
        for label, course in found["courses"].items():
            errors = course["error"]
            cells = [f"{errors[k]:.0e}" if k < len(errors) else "" for k in MARKS]
            rows.append((name, label, str(course["split"]), *cells, f"{errors[-1]:.0e} ({len(errors) - 1})"))
    columns = ("data", "method", "splitting steps", *(f"error after {k}" for k in MARKS), "at the end (steps)")
    tables = (ResultTable("(F − F*) / (F(0) − F*)", columns, tuple(rows)),)
    figures = {"convergence": lambda: _draw_errors(measured), "residuals": lambda: _draw_residuals(measured)}
    return Findings(tables, figures=figures if measured else {})


def _draw_errors(measured: Mapping[str, Mapping[str, Any]]) -> Any:
    figure = new_figure(5 * len(measured), 3.8)
    axes = figure.subplots(1, len(measured), squeeze=False, sharey=True)[0]
    for axis, (name, found) in zip(axes, measured.items(), strict=True):
        for k, (label, course) in enumerate(found["courses"].items()):
            error = np.maximum(np.array(course["error"], dtype=float), 1e-13)
            axis.semilogy(error, color=COLOURS[k], label=label)
            if k == 0:
                axis.plot(course["split"], error[course["split"]], "o", color=COLOURS[0], ms=5)
        axis.axvline(25, color="0.8", lw=0.8, zorder=0)
        axis.set(title=name, xlabel="iteration")
    axes[0].set_ylabel("(F − F*) / (F(0) − F*)")
    axes[-1].legend(fontsize=8)
    return figure


def _draw_residuals(measured: Mapping[str, Mapping[str, Any]]) -> Any:
    figure = new_figure(5 * len(measured), 3.8)
    axes = figure.subplots(1, len(measured), squeeze=False, sharey=True)[0]
    for axis, (name, found) in zip(axes, measured.items(), strict=True):
        for k, (label, course) in enumerate(found["courses"].items()):
            if k:
                for residual, style in (("primal", "-"), ("dual", "--")):
                    values = np.array(course[residual], dtype=float)
                    axis.semilogy(values, style, color=COLOURS[k], label=f"{residual}, {label.split(', ')[1]}")
        axis.set(title=name, xlabel="iteration")
    axes[0].set_ylabel("|V − U| and rho |U⁺ − U|")
    axes[-1].legend(fontsize=8, ncol=2)
    return figure


def _pattern_cases(quick: bool) -> list[ExperimentCase]:
    sizes = (100, 200) if quick else (250, 500, 1000, 2000, 4000)
    count = 200 if quick else 1000
    return [ExperimentCase(f"n = {n}", {"n": n, "pairs": count, "limit": 30.0}) for n in sizes]


def _pair_cases(quick: bool) -> list[ExperimentCase]:
    counts = (100, 200) if quick else (250, 500, 1000, 2000, 4000)
    n = 200 if quick else 1000
    return [ExperimentCase(f"{count} pairs", {"n": n, "pairs": count, "limit": 30.0}) for count in counts]


def _measure_sizes(case: ExperimentCase) -> dict[str, Any]:
    n, pairs = case.settings["n"], case.settings["pairs"]
    rng = np.random.default_rng(0)
    problem, L, r = instance(*gaussians(rng, n), rng, count=pairs / 2)
    seconds, ends = _race(problem, L, r, case.settings["limit"])
    return {"n": n, "pairs": pairs, "r": r, "seconds": seconds, "ends": ends}


def _race(problem: EntryFit, L: Any, r: int, limit: float) -> tuple[dict[str, float | None], dict[str, str]]:
    """(seconds of each solver to the end of its run, None for those left out or stopped by the limit; how it ended)."""
    n = problem.n
    problem.split()
    result, seconds = least(lambda: solve(problem, FlatQuotient(n, r), ADMM(), rng=0))
    grown, fewer = least(lambda: solve(problem, FlatQuotient(n, 6), ADMM(), rng=0, escape=True))
    found = [seconds if result.status in PROVEN else None, fewer if grown.status in PROVEN else None, None, None]
    ends = {SOLVERS[0]: result.status.label, SOLVERS[1]: grown.status.label}
    if n <= 1000:
        hybrid, spent = least(lambda: solve(problem, PSDCone(n), BILGO(), rng=0, max_time=limit))
        found[2] = spent if hybrid.status in PROVEN else None
        ends[SOLVERS[2]] = hybrid.status.label
    if n <= 500:
        found[3] = timed(lambda: simple_npkl(problem, L, 30.0 * n, max_iterations=100))[1]
    return dict(zip(SOLVERS, found, strict=True)), ends


def _present_sizes(measured: Mapping[str, Mapping[str, Any]], by: str) -> Findings:
    rows = []
    for name, found in measured.items():
        ends = found["ends"]
        cells = (_cell(spent, ends.get(solver)) for solver, spent in found["seconds"].items())
        rows.append((name, str(found["r"]), *cells))
    table = ResultTable(
        "Least processor seconds to the certified optimum; within: to optimal_within",
        ("", "rank by the rule", *SOLVERS),
        tuple(rows),
    )
    return Findings((table,), figures={"seconds": lambda: _draw_sizes(measured, by)} if measured else {})


def _cell(seconds: float | None, end: str | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.2f}{' within' if end == Status.OPTIMAL_WITHIN.label else ''}"


def _draw_sizes(measured: Mapping[str, Mapping[str, Any]], by: str) -> Any:
    figure = new_figure(6, 3.8)
    axis = figure.subplots()
    for k, solver in enumerate(SOLVERS):
        points = [(found[by], found["seconds"][solver]) for found in measured.values()]
        points = [(x, seconds) for x, seconds in points if seconds is not None]
        if points:
            axis.loglog(*np.transpose(points), marker=MARKERS[k], color=COLOURS[k], label=solver, ms=5)
    ticks = [found[by] for found in measured.values()]
    axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axis.minorticks_off()
    axis.set(xlabel=by, ylabel="seconds to the end of the run")
    if axis.lines:
        axis.legend(fontsize=8)
    return figure
