"""The sentence under a table is computed from the numbers."""

from __future__ import annotations

import pytest

from benchmarks.reproduction.experiments import Comparison
from benchmarks.reproduction.verdicts import number, verdict


def test_outcomes_are_counted_and_what_is_behind_is_named() -> None:
    found = [Comparison("a", 1, 2), Comparison("b", 1, 2), Comparison("c", 1, 1), Comparison("d", 3.14159, 2)]
    assert verdict(found) == (
        "Of 4 figures 2 are better than the paper's, 1 equals the paper's and 1 is worse than the paper's. "
        "Behind: d (3.14 against 2.00)."
    )


def test_seconds_are_a_ratio_and_no_merit() -> None:
    found = [Comparison("a", 1.0, 10.0, unit="s"), Comparison("b", 1.0, 1000.0, unit="s")]
    assert verdict(found) == (
        "The paper's seconds, on a machine of its time, are 10.0 to 1,000 times ours (geometric mean 100)."
    )


def test_nothing_to_compare_says_nothing() -> None:
    assert verdict([]) == ""
    assert verdict([Comparison("a", 0.0, 1.0, unit="s")]) == ""


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (12345.6, "12,346"), (0.0123, "0.0123"), (99.96, "100.0"), (1e-5, "1.0e-05")]
)
def test_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_a_ratio_needs_a_paper_that_is_not_zero() -> None:
    assert Comparison("a", 1.0, 0.0).ratio is None
    assert Comparison("a", 1.0, 4.0).ratio == 0.25
