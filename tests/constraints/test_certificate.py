"""What multipliers prove, and wrong proofs that must be refused: the animals of the constraints' zoo."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from psdopt import Constrained, certify
from psdopt.constraints.certificate import Multipliers
from psdopt.constraints.dual_bound import dual_bound


def test_the_bound_is_reached_and_binding_multipliers_have_their_sign(solved) -> None:
    _, result = solved
    y = result.certificate.multipliers
    assert y[1] > 0.1
    assert result.certificate.proves(1e-7)


def test_a_multiplier_of_the_wrong_sign_proves_nothing(solved) -> None:
    problem, result = solved
    y = result.certificate.multipliers * np.array([1.0, -1.0])
    certificate = certify(problem, result.matrix, dual=y)
    assert certificate.multipliers[1] == 0.0  # σ would be infinite: it counts as zero
    assert not certificate.proves(1e-3)
    assert certificate.dual_value < result.value - 1e-3


def test_a_bound_that_forgets_the_support_function_is_none(solved) -> None:
    problem, result = solved
    y = result.certificate.multipliers
    found = dual_bound(problem, problem.at(result.matrix.factor), 0.0, y, 1e-9)
    forgetful = found.bound + problem.support(y)
    assert found.bound == pytest.approx(result.value, rel=1e-6)
    assert abs(forgetful - result.value) > 1e-3


def test_too_small_a_trace_bound_is_seen_in_the_gap(solved) -> None:
    problem, result = solved
    wrong = Constrained(problem.problem, problem.constraints[1], trace_bound=0.5)
    certificate = certify(wrong, result.matrix, dual=np.array([result.certificate.multipliers[1]]))
    assert certificate.trace_source == "given"
    assert not certificate.proves(1e-3)  # a feasible M below the "bound": the distance of both counts, not its sign


def test_the_best_multipliers_count_and_are_checked(solved) -> None:
    problem, result = solved
    best = result.certificate.multipliers
    worse = best + np.array([0.5, 0.2])
    both = certify(problem, result.matrix, dual=Multipliers(worse, best=best))
    assert both.dual_value == pytest.approx(result.certificate.dual_value, abs=1e-7)
    assert certify(problem, result.matrix, dual=worse).dual_value < both.dual_value - 1e-3


def test_an_infeasible_point_is_never_optimal(solved) -> None:
    problem, result = solved
    shorter = certify(problem, result.matrix.factor * 0.99, dual=result.certificate.multipliers)
    assert not shorter.proves(1e-3)
    assert not replace(result.certificate, primal_infeasibility=1e-2).proves(1e-3)
    assert not replace(result.certificate, gap_relative=None).proves(1.0)
