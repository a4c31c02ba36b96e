"""Tables and figures of a paper as data: what is measured, case by case, and how it is shown beside the paper's.

A plugin yields an :class:`ExperimentSpec` for each table or figure; ``psdopt reproduce`` measures its cases, keeps
them, and makes the report. What a case measured is kept as JSON and shown from there: a table is drawn anew without
being measured anew, and an interrupted run goes on with the next case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psdopt.plugins.specs import Spec

#: What :class:`Comparison` may say is better.
DIRECTIONS = ("less", "more")


@dataclass(frozen=True)
class ExperimentCase:
    """One row, or one curve, of an experiment: what is measured in one go and kept.

    name : unique in its experiment.
    settings : JSON values on which the outcome depends (repetitions, sizes, limits); with other settings it is
        measured again.
    data : names of the data sets (``NAME.npz`` in the folder that PSDOPT_DATA names) without which it is left out.
    packages : importable names of optional packages without which it is left out.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    data: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()


@dataclass(frozen=True)
class ResultTable:
    """A table to be shown: caption, column names, rows of text, all of one length."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Comparison:
    """One number of ours beside the paper's.

    what : the quantity and the case. better : "less" or "more". level : the two count as equal if they differ by no
    more than this, in units of the numbers (the paper's spread, where it gives one).
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
        """ours / paper; None where the paper's is 0."""
        return self.ours / self.paper if self.paper else None


@dataclass(frozen=True)
class Findings:
    """What is shown of an experiment, made from what its cases measured.

    figures : name -> function without arguments that draws a ``matplotlib.figure.Figure``.
    facts : name -> text, numbers that the prose of a page quotes.
    """

    tables: tuple[ResultTable, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """cases(quick) lists what there is to measure, measure(case) measures one, present(measured) shows those there are.

    cases : `quick` asks for sizes of seconds that need no data folder where that is possible.
    measure : returns a mapping of JSON values; NumPy numbers and arrays are converted, what is not finite becomes None.
    present : gets {case name: what it measured}, without the cases that were left out, in the order of `cases`.
    """

    cases: Callable[[bool], Sequence[ExperimentCase]]
    measure: Callable[[ExperimentCase], Mapping[str, Any]]
    present: Callable[[Mapping[str, Mapping[str, Any]]], Findings]


@dataclass(frozen=True)
class ExperimentSpec(Spec):
    """A table or figure of a paper; `factory()` makes its :class:`Experiment`. ``psdopt reproduce`` runs it.

    paper : short name of the paper, as ``psdopt reproduce --paper`` takes it. title : heading of its section.
    differences : why our figures are not the paper's, in sentences; "" if there is nothing to say.
    """

    paper: str = ""
    title: str = ""
    differences: str = ""
