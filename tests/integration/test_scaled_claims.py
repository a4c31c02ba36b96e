"""Programs over many decades with known minima: a few of each family, and that a false claim would be seen."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from psdopt import AugmentedLagrangian, LowRankPSD, Status, certify, solve
from tests.integration import scaled_claims
from tests.integration.scaled_claims import FAMILIES, drawn, examine, posed


@pytest.mark.parametrize("seed", [*range(len(FAMILIES) + 1), 10, 170, 274])
def test_what_is_said_is_true(seed: int) -> None:
    counts: Counter[str] = Counter()
    assert examine(seed, counts, None) == []
    if seed in (0, 1, 2, 8, 10):  # bounded, with coefficients over many decades
        assert counts[f"{drawn(seed).kind} / optimal"] == 1


def test_a_restart_where_the_penalty_is_no_number_ends_the_run() -> None:
    with np.errstate(all="ignore"):
        assert examine(6200307, Counter(), AugmentedLagrangian()) == []


def test_false_claims_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that calls a wrong matrix optimal, or a bounded program infeasible, is reported."""
    problem = posed(drawn(0))
    result = solve(problem)
    short = LowRankPSD(0.9 * result.matrix.factor)
    wrong = replace(result, matrix=short, value=0.81 * result.value, certificate=certify(problem, short))
    empty = replace(result, status=Status.INFEASIBLE)
    for lie, words in ((wrong, "violation"), (wrong, "minimum"), (empty, "infeasible, but")):
        monkeypatch.setattr(scaled_claims, "solve", lambda *args, lie=lie, **options: lie)
        assert any(words in claim for claim in examine(0, Counter(), None))
