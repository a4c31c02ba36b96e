"""Ends of random cone programs are true, and ends that are not are seen."""

from dataclasses import replace

import pytest

from psdopt import Status
from psdopt.interop.conic import ConicProgram
from tests.integration import cone_claims
from tests.integration.cone_claims import KINDS, judged

SOLVED = {"optimal": "optimal optimal", "empty": "empty infeasible", "falling": "falling unbounded"}


@pytest.mark.parametrize("seed", range(40))
def test_ends_of_random_programs_are_true(seed) -> None:
    end = judged(seed)
    assert not end.startswith("false"), end
    assert end == SOLVED.get(KINDS[seed % len(KINDS)], end)  # with points inside the cones, an end is found


def lying(change):
    """ConicProgram whose answers are changed."""

    class Liar(ConicProgram):
        def solve(self, **options):
            return change(super().solve(**options))

    return Liar


@pytest.mark.parametrize(("seed", "change", "words"), [
    (0, lambda a: replace(a, status=Status.INFEASIBLE), "optimal is called infeasible"),
    (0, lambda a: replace(a, status=Status.UNBOUNDED), "optimal is called unbounded"),
    (0, lambda a: replace(a, value=a.value + 1.0 + abs(a.value)), "value"),
    (0, lambda a: replace(a, y=-a.y), "multipliers miss the gradient"),
    (0, lambda a: replace(a, s=a.s - 1.0), "rows are missed"),
    (2, lambda a: replace(a, status=Status.OPTIMAL), "empty is called optimal"),
    (2, lambda a: replace(a, proof=-a.proof), "no proof of infeasibility"),
    (3, lambda a: replace(a, status=Status.INFEASIBLE), "falling is called infeasible"),
    (3, lambda a: replace(a, proof=-a.proof), "no ray"),
])  # fmt: skip
def test_a_false_end_is_seen(seed, change, words, monkeypatch) -> None:
    monkeypatch.setattr(cone_claims, "ConicProgram", lying(change))
    assert judged(seed).startswith(f"false: {words}")
