"""Table 3 and figures 3 and 4 of Hao et al.: unfolding beside accelerated projected gradient on the same F."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.datasets import make_swiss_roll

from benchmarks.papers.data import dense, load
from benchmarks.reproduction.experiments import Comparison, Experiment, ExperimentCase, Findings, ResultTable
from psdopt import ProjectedGradient, PSDCone, Snapshot
from psdopt.plugins import COLOURS, new_figure
from psdopt_plugins.manifold_learning.graph import Edges, nearest_neighbour_edges, smallest_connecting
from psdopt_plugins.manifold_learning.mvu_problem import mvu_problem
from psdopt_plugins.manifold_learning.unfolding import unfold

#: (set, n): seconds of BILGO-LS and of Nesterov's projected gradient.
PAPER = {
    ("w1a", 500): (23.67, 28.07),
    ("w1a", 1000): (124.81, 207.01),
    ("mnist", 500): (20.57, 22.96),
    ("mnist", 1000): (123.28, 203.57),
    ("mnist", 2000): (437.90, 1527.46),
}
#: "The same value" means within this fraction of |F|.
SAME = 1e-3
NEIGHBOURS, EDGE_ERROR = 5, 0.05


def unfolding_against_projected_gradient() -> Experiment:
    """Ours, and projected gradient until it has the same value or its time is over."""
    return Experiment(_cases, _measure, _present)


def _cases(quick: bool) -> list[ExperimentCase]:
    if quick:
        return [ExperimentCase("roll, n = 100", {"set": "roll", "n": 100, "factor": 3.0, "most": 2.0})]
    sizes = {"roll": (500, 3000), "w1a": (500, 1000), "mnist10k": (500, 1000, 2000)}
    return [
        ExperimentCase(
            f"{name}, n = {n}", {"set": name, "n": n, "factor": 10.0, "most": 25.0}, () if name == "roll" else (name,)
        )
        for name, each in sizes.items()
        for n in each
    ]


def graph_of(data: str, n: int) -> Edges:
    """5 neighbours, or as few more as connect the graph, of n points; repeated rows are dropped."""
    if data == "roll":
        X = make_swiss_roll(n, random_state=0)[0]
    else:
        X = load(data)[0][:n]
        X = np.unique(dense(X), axis=0)
    edges = nearest_neighbour_edges(X, NEIGHBOURS)
    return edges if edges.components()[0] == 1 else nearest_neighbour_edges(X, smallest_connecting(X, NEIGHBOURS))


class _Course:
    """(processor seconds, F) after each step of the stage at the last nu: F is another function at every nu."""

    def __init__(self) -> None:
        self.begin = time.process_time()
        self.points: list[tuple[float, float]] = []

    def __call__(self, snapshot: Snapshot) -> None:
        if snapshot.iteration == 1:
            self.points = []
        self.points.append((time.process_time() - self.begin, snapshot.value))


def _measure(case: ExperimentCase) -> dict[str, Any]:
    edges = graph_of(case.settings["set"], case.settings["n"])
    own = _Course()
    ours = unfold(edges, None, EDGE_ERROR, options={"callback": own})
    seconds = time.process_time() - own.begin
    value, certificate = ours.result.value, ours.result.certificate
    target, limit = value + SAME * abs(value), min(case.settings["factor"] * seconds, case.settings["most"])
    course: list[tuple[float, float]] = []
    begin = time.process_time()
    method, problem = ProjectedGradient(), mvu_problem(edges.matrix(), ours.nu)
    state = method.init(problem, PSDCone(edges.n), np.zeros((edges.n, 1)))
    while not course or (course[-1][1] > target and course[-1][0] <= limit):
        state = method.step(state)  # without the final certificate, which a comparison of times should not pay for
        course.append((time.process_time() - begin, state.evaluation.value))
    return {
        "n": edges.n,
        "edges": len(edges.i),
        "nu": ours.nu,
        "rank": ours.result.rank,
        "value": value,
        "status": ours.result.status.label,
        "certificate": certificate.relative if certificate else None,
        "edge_error": float(np.median(ours.errors)),
        "seconds": seconds,
        "reached": course[-1][1] <= target,
        "bound": certificate.dual_value if certificate else None,
        "zero": certificate.value_at_zero if certificate else None,
        "own": own.points,
        "course": course[:: max(1, len(course) // 200)] + course[-1:],
        "steps": len(course),
    }


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows, comparisons = [], []
    for name, found in measured.items():
        spent, value = found["course"][-1]
        ratio = spent / found["seconds"]
        more = "" if found["reached"] else "> "
        rows.append(
            (
                name.partition(",")[0],
                f"{found['n']:,}",
                f"{found['edges']:,}",
                str(found["rank"]),
                f"{found['certificate']:.1e}",
                f"{found['value']:.6g}",
                f"{found['seconds']:.2f}",
                f"{value:.5g} after {spent:.1f} s, {found['steps']} steps",
                f"{more}{ratio:.1f}",
            )
        )
        data, n = name.split(", n = ")
        paper = PAPER.get((data.removesuffix("10k"), int(n)))
        if paper and (found["reached"] or ratio > paper[1] / paper[0]):  # a lower bound below the paper's says nothing
            bound = "" if found["reached"] else " (a lower bound)"
            what = f"projected gradient / ours, {name}{bound}"
            comparisons.append(Comparison(what, ratio, paper[1] / paper[0], "more"))
    columns = ("data", "n", "edges", "rank", "certificate", "F, ours", "seconds", "projected gradient", "ratio")
    caption = f"{NEIGHBOURS} neighbours, median edge error at most {100 * EDGE_ERROR:.0f} %, processor seconds"
    figures = {"height": lambda: _draw(measured)} if measured else {}
    return Findings((ResultTable(caption, columns, tuple(rows)),), tuple(comparisons), figures)


def _draw(measured: Mapping[str, Mapping[str, Any]]) -> Any:
    """Height above the proven bound, as a fraction of that of F(0), against seconds; a panel for each case."""
    columns = min(3, len(measured))
    rows = -(-len(measured) // columns)
    figure = new_figure(4.2 * columns, 3.1 * rows)
    axes = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
    for axis in axes[len(measured) :]:
        axis.set_visible(False)
    for axis, (name, found) in zip(axes, measured.items(), strict=False):
        height = found["zero"] - found["bound"]
        for k, (label, points) in enumerate((("projected gradient", found["course"]), ("ours", found["own"]))):
            times, values = np.array(points, dtype=float).T
            axis.loglog(times, (values - found["bound"]) / height, ".-", ms=4, color=COLOURS[k], label=label)
        axis.set(title=name, xlabel="processor seconds")
    for axis in axes[::columns]:
        axis.set_ylabel("(F − bound) / (F(0) − bound)")
    axes[0].legend(fontsize=8)
    return figure
