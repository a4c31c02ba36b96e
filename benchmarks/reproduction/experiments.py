"""Tables and figures of a paper as data: the cases to measure, and how results are shown next to the paper's.

There is an :class:`ExperimentSpec` for each table or figure. ``python -m benchmarks reproduce`` measures its cases,
stores the results as JSON, and makes the report from the stored results: a table can be drawn again without a new
measurement, and an interrupted run continues with the next case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: Values of `better` in :class:`Comparison`.
DIRECTIONS = ("less", "more")


@dataclass(frozen=True)
class ExperimentCase:
    """One row, or one curve, of an experiment, measured and stored as a whole.

    name : unique in its experiment.
    settings : JSON values on which the outcome depends (repetitions, sizes, limits); if they change, the case is
        measured again.
    data : names of required data sets (``NAME.npz`` in the folder that PSDOPT_DATA names). If one is missing, the case
        is left out.
    packages : importable names of required optional packages; likewise.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    data: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class ResultTable:
    """A table to be shown: caption, column names, rows of text, all of one length."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Comparison:
    """One of our numbers and the paper's.

    what : the quantity and the case. better : "less" or "more". level : the two count as equal if they differ by no
    more than this, in units of the numbers (the paper's spread, if it gives one).
    """

    what: str
    ours: float
    paper: float
    better: str = "less"
    level: float = 0.0
    unit: str = ""

    @property
    def outcome(self) -> str:
        """ahead, equal or behind."""
        if abs(self.ours - self.paper) <= self.level:
            return "equal"
        return "ahead" if (self.ours < self.paper) == (self.better == "less") else "behind"

    @property
    def ratio(self) -> float | None:
        """ours / paper; None if the paper's is 0."""
        return self.ours / self.paper if self.paper else None


@dataclass(frozen=True)
class Findings:
    """The presentation of an experiment, made from the results of its cases.

    figures : name -> function without arguments that draws a ``matplotlib.figure.Figure``.
    facts : name -> text, numbers that the prose of a page quotes.
    """

    tables: tuple[ResultTable, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """cases(quick) lists the cases, measure(case) measures one, present(measured) shows the results.

    cases : `quick` requests sizes that take seconds and, if possible, no data folder.
    measure : returns a mapping of JSON values; NumPy numbers and arrays are converted, values not finite become None.
    present : gets {case name: its result}, in the order of `cases`, without the cases that were left out.
    """

    cases: Callable[[bool], Sequence[ExperimentCase]]
    measure: Callable[[ExperimentCase], Mapping[str, Any]]
    present: Callable[[Mapping[str, Mapping[str, Any]]], Findings]


@dataclass(frozen=True)
class ExperimentSpec:
    """A table or figure of a paper; `factory()` makes its :class:`Experiment`.

    name : lower-case words joined by hyphens, unique. summary : one line. reference : the paper. paper : its short
    name, as ``reproduce --paper`` takes it. title : heading of its section. differences : sentences on why our figures
    differ from the paper's; "" if there is nothing to say.
    """

    name: str
    factory: Callable[[], Experiment]
    summary: str
    reference: str = ""
    paper: str = ""
    title: str = ""
    differences: str = ""
