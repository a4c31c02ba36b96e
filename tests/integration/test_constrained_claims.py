"""Words about random constrained programs are true, and words that are not are seen."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cvxpy")

from psdopt import LowRankPSD, Status, solve
from psdopt.certificates.constrained.scales import GapUnits, range_on_ray
from psdopt.testing.constrained import DenseConstraints
from tests.integration.constrained_claims import Reference, drawn, examine, false_claims, reference


@pytest.mark.parametrize("seed", [1, 2, 3, 5, 6, 7, 10, 13, 21, 29, 45])
def test_words_about_random_programs_are_true(seed: int) -> None:
    counts: Counter[str] = Counter()
    assert examine(seed, counts, steps=200) == []
    assert counts["runs"] >= 2


def test_a_run_to_infinity_proves_nothing() -> None:
    """At a trace of 1e33 rounding of the gradient hides the direction in which F falls without end."""
    assert examine(22190, Counter(), steps=500) == []


@pytest.mark.parametrize("seed", [103, 151])
def test_a_unit_that_looks_at_infeasible_points_is_seen(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """F is up to 1e8 times as large at 0 as on the feasible set: by its range on the ray worse points are `optimal`."""
    assert examine(seed, Counter(), steps=300) == []
    monkeypatch.setattr(GapUnits, "__call__", lambda self, bound: range_on_ray(self.problem, self.evaluation, bound))
    assert examine(seed, Counter(), steps=300)


def test_words_that_are_not_true_are_seen() -> None:
    instance = next(i for i in map(drawn, range(40)) if solve(i.problem, max_iterations=200).status is Status.OPTIMAL)
    dense = DenseConstraints(instance.problem)
    known, result = reference(instance, dense), solve(instance.problem)
    assert false_claims(instance, result, known, dense) == []
    empty = replace(result.certificate.constraints, infeasibility_proof=np.zeros(len(dense.A)))
    nothing = replace(result.certificate, constraints=empty)
    lies = [
        replace(result, status=Status.INFEASIBLE, certificate=nothing),
        replace(result, status=Status.UNBOUNDED),
        replace(result, matrix=LowRankPSD(2.0 * result.matrix.factor + 1.0)),
        replace(result, value=result.value + 1e-3 * abs(result.value) + 1e-3),
        replace(result, certificate=replace(result.certificate, dual_value=known.value + abs(known.value) + 1.0)),
    ]  # fmt: skip
    for lie in lies:
        assert false_claims(instance, lie, known, dense)
    assert false_claims(instance, result, Reference("unbounded", -np.inf, None), dense)
