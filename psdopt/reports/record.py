"""The record that a report function returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psdopt.running.result import Result


@dataclass(frozen=True)
class Table:
    """A small table: `title`, `columns` (headings), `rows` of as many texts each."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Report:
    """The report of a run.

    title : one line. rows : (label, text) pairs of the main table. tables : further ones.
    figure : callable without arguments that returns a ``matplotlib.figure.Figure`` of the data and the answer, or None.
    run_figure : the same for the run, its convergence and certificate; None: that of :func:`psdopt.plugins.plot_run`.
    result : of :func:`psdopt.solve`. success : whether the run may be called a success.
    arrays : further arrays that ``--output`` writes, by name.
    """

    title: str
    rows: Sequence[tuple[str, str]]
    result: Result
    success: bool
    tables: Sequence[Table] = ()
    figure: Callable[[], Any] | None = None
    arrays: Mapping[str, Any] = field(default_factory=dict)
    run_figure: Callable[[], Any] | None = None
