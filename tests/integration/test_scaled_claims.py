"""Programs over many decades with known minima: a few of each family, and that a false claim would be seen."""

from collections import Counter

import numpy as np
import pytest

from psdopt import LagrangeNewton, Status, certify, solve
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
        assert examine(6200307, Counter(), LagrangeNewton()) == []


def test_false_claims_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that calls a wrong matrix optimal, or a bounded program unbounded, is reported."""
    program = drawn(0)
    result = solve(posed(program))

    def answering(status: Status, share: float):
        wrong = certify(posed(program), share * result.matrix.factor)

        class Answer:
            matrix, certificate, value = wrong_matrix(share), wrong, share**2 * result.value

        Answer.status = status
        return lambda *args, **options: Answer

    def wrong_matrix(share: float):
        return type(result.matrix)(share * result.matrix.factor)

    monkeypatch.setattr(scaled_claims, "solve", answering(Status.OPTIMAL, 0.9))
    assert any("violation" in claim for claim in examine(0, Counter(), None))
    assert any("minimum" in claim for claim in examine(0, Counter(), None))
    monkeypatch.setattr(scaled_claims, "solve", answering(Status.INFEASIBLE, 1.0))
    assert any("infeasible, but" in claim for claim in examine(0, Counter(), None))
    assert np.isfinite(program.least)
