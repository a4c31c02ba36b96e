"""Records of reports do not share what they hold, and cannot be changed."""

import dataclasses

import numpy as np
import pytest

import psdopt
from psdopt.reports.record import Report, Table


def test_a_report_has_no_tables_figures_or_arrays_unless_given():
    result = psdopt.solve(psdopt.QuadraticSDP(B=1.0, C=-np.eye(2)))
    first, second = (Report("title", [("a", "b")], result, True) for _ in range(2))
    assert (first.tables, first.figure, dict(first.arrays)) == ((), None, {})
    assert first.arrays is not second.arrays


def test_records_are_frozen():
    table = Table("title", ["column"], [["cell"]])
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.title = "another"
