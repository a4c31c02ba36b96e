"""A comparison says which of two numbers is better, and by what factor."""

import dataclasses

import pytest

from benchmarks.reproduction.experiments import DIRECTIONS, Comparison, ExperimentCase, Findings


@pytest.mark.parametrize(
    ("ours", "paper", "better", "level", "outcome"),
    [
        (1.0, 2.0, "less", 0.0, "ahead"),
        (2.0, 1.0, "less", 0.0, "behind"),
        (2.0, 1.0, "more", 0.0, "ahead"),
        (1.0, 2.0, "more", 0.0, "behind"),
        (1.0, 1.0, "less", 0.0, "equal"),
        (0.0, 0.0, "less", 0.0, "equal"),
        (2.0, 1.0, "more", 0.5, "ahead"),
        (2.0, 1.0, "less", 1.0, "equal"),
        (1.5, 1.0, "less", 0.5, "equal"),
        (1.51, 1.0, "less", 0.5, "behind"),
        (-1.0, 1.0, "less", 0.5, "ahead"),
    ],
)
def test_outcomes(ours, paper, better, level, outcome):
    assert better in DIRECTIONS
    comparison = Comparison("seconds", ours, paper, better, level)
    assert comparison.outcome == outcome
    swapped = dataclasses.replace(comparison, ours=paper, paper=ours)
    assert swapped.outcome == {"ahead": "behind", "behind": "ahead", "equal": "equal"}[outcome]


def test_ratio():
    assert Comparison("seconds", 3.0, 2.0).ratio == 1.5
    assert Comparison("seconds", 3.0, 0.0).ratio is None


def test_cases_and_findings_share_no_mutable_default():
    assert ExperimentCase("a").settings is not ExperimentCase("b").settings
    assert Findings().facts is not Findings().facts
