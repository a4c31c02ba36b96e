"""The race of small problems: every kind is run, and ends where it should."""

from __future__ import annotations

import pytest

from benchmarks import small

KINDS = ["random, n = 30", "spoilt, n = 20", "degree 8, n = 30", "iris", "d = 5"]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_each_kind_are_solved(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    races = [race for race in small.races() if kind in race.name]
    assert len(races) == 1
    for race in races:
        ours, peer, result = small.measured(race, 0.0)
        assert ours > 0.0
        assert peer > 0.0
        assert result.status.label in ("optimal", "stationary")
        assert result.optimal or race.rank is not None
    assert small.main(["--seconds", "0", "--only", kind]) == 0
    assert kind in " ".join(capsys.readouterr().out.split())
