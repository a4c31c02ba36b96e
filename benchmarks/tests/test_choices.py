"""Problems of the race of choices: each family is drawn, alike for a seed, and the choice solves small ones."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import choices


@pytest.mark.parametrize("k", range(len(choices.FAMILIES)))
def test_problems_are_of_their_family_and_alike_for_a_seed(k: int) -> None:
    one, other = choices.drawn(5, k), choices.drawn(5, k)
    assert one.case.startswith(choices.FAMILIES[k])
    assert one.case == other.case != choices.drawn(6, k).case
    Y = np.random.default_rng(0).standard_normal((one.problem.n, 2))
    assert one.problem.at(Y).value == other.problem.at(Y).value


def test_a_default_that_fails_or_is_late_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = {"default": choices.Run("slow", 1.0, "optimal", -1.0, True)}
    best = choices.Run("fast", 0.1, "optimal", -1.0, True)
    monkeypatch.setattr(choices, "race", lambda seed, k, limit: (choices.drawn(seed, k), runs["default"], [best]))
    assert choices.main(["--problems", "1"]) == 1
    assert "1 of 1 problems" in capsys.readouterr().out
    runs["default"] = choices.Run("level", 0.2, "optimal", -1.0, True)
    assert choices.main(["--problems", "1"]) == 0
    runs["default"] = choices.Run("fails", 0.1, "time_limit", -1.0, False)
    assert choices.main(["--problems", "1"]) == 1
