"""A paper of two tables whose measuring is counted, with text that HTML and Markdown must escape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.reproduction.experiments import (
    Comparison,
    Experiment,
    ExperimentCase,
    ExperimentSpec,
    Findings,
    ResultTable,
)
from psdopt.plugins import new_figure

NASTY = '<b onclick="x">a | b & *c*</b>'


class ToyPaper:
    """`measured` lists the cases in the order in which they were measured; `before(name)` runs before each."""

    def __init__(self, before: Callable[[str], None] = lambda name: None) -> None:
        self.measured: list[str] = []
        self.before = before
        self.size = 3

    def experiment(self) -> Experiment:
        return Experiment(self.cases, self.measure, self.present)

    def cases(self, quick: bool) -> list[ExperimentCase]:
        plain = [ExperimentCase(name, {"size": 1 if quick else self.size}) for name in ("first", "second")]
        return [
            *plain,
            ExperimentCase("stored", {}, data=("no_such_set",)),
            ExperimentCase("wide", {}, (), ("nopack",)),
        ]

    def measure(self, case: ExperimentCase) -> dict[str, Any]:
        self.before(case.name)
        self.measured.append(case.name)
        return {"error": 2.0 * case.settings["size"], "seconds": 0.5, "text": NASTY}

    def present(self, measured: Mapping[str, Mapping[str, Any]]) -> Findings:
        rows = tuple((name, f"{found['error']:.1f}", found["text"]) for name, found in measured.items())
        comparisons = [Comparison(f"error of {name}", found["error"], 4.0) for name, found in measured.items()]
        timed = [Comparison("seconds", found["seconds"], 5.0, unit="s") for found in measured.values()]
        return Findings(
            (ResultTable(f"Errors {NASTY}", ("case", "error", NASTY), rows),), (*comparisons, *timed),
            {"course": draw}, {"cases": str(len(measured))},
        )  # fmt: skip

    def specs(self) -> list[ExperimentSpec]:
        return [
            ExperimentSpec(
                name, self.experiment, f"errors {NASTY}", "A. Author: a paper", paper="toy", title=f"Table {NASTY}",
                differences=f"None {NASTY}.",
            )
            for name in ("toy-table-1", "toy-table-2")
        ]  # fmt: skip


def draw() -> Any:
    figure = new_figure(1, 1)
    figure.subplots().plot([1, 2])
    return figure
