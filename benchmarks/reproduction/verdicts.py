"""The sentence under a table that compares our figures with the paper's, computed from the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.reproduction.experiments import Comparison

OUTCOMES = ("ahead", "equal", "behind")


def verdict(comparisons: Sequence[Comparison]) -> str:
    """Counts of figures ahead, equal and behind, a list of those behind, and the ratios of seconds. "" if none.

    The paper's seconds are from another machine, so that ratios of seconds are stated and not counted.
    """
    sentences = []
    timed = [comparison for comparison in comparisons if comparison.unit == "s"]
    others = [comparison for comparison in comparisons if comparison.unit != "s"]
    if others:
        counts = {outcome: sum(c.outcome == outcome for c in others) for outcome in OUTCOMES}
        parts = [_counted(counts[outcome], outcome) for outcome in OUTCOMES if counts[outcome]]
        sentences.append(f"Of {len(others)} figures {_joined(parts)}.")
        behind = [f"{c.what} ({number(c.ours)} against {number(c.paper)})" for c in others if c.outcome == "behind"]
        if behind:
            sentences.append(f"Behind: {'; '.join(behind)}.")
    ratios = sorted(c.paper / c.ours for c in timed if c.ours > 0.0 and c.paper > 0.0)
    if ratios:
        middle = math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
        sentences.append(
            f"The paper's seconds, on a machine of its time, are {number(ratios[0])} to {number(ratios[-1])} times "
            f"ours (geometric mean {number(middle)})."
        )
    return " ".join(sentences)


def number(value: float) -> str:
    """Three digits, without exponent between 0.001 and 100,000."""
    if value == 0.0 or 1e-3 <= abs(value) < 1e5:
        digits = 0 if value == 0.0 else max(0, 2 - math.floor(math.log10(abs(value))))
        return f"{value:,.{digits}f}"
    return f"{value:.1e}"


def _counted(count: int, outcome: str) -> str:
    one, many = {
        "ahead": ("is better than the paper's", "are better than the paper's"),
        "equal": ("equals the paper's", "equal the paper's"),
        "behind": ("is worse than the paper's", "are worse than the paper's"),
    }[outcome]
    return f"{count} {one if count == 1 else many}"


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
