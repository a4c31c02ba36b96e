"""Verdicts of given numbers: which word at which limit, and where a refuted run may go on."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from psdopt import Ability, FlatQuotient, Polar, PSDCone, QuadraticSDP, Status
from psdopt.linalg.limits import MOST_STEPS
from psdopt.running import verdicts
from tests.test_certificate_claims import BASE

PROVEN = replace(BASE, gap=0.0, gap_relative=0.0)
#: No proof: the gap is unknown, λ_min(S) = −ω = −0.25, tr M = 4.
OPEN = replace(BASE, stationarity_relative=0.9)
FLAT_BOTTOM = QuadraticSDP(B=1.0, C=-np.eye(2))


def test_words_that_settle_a_run():
    assert verdicts.settled(PROVEN, 1e-6)[0] is Status.OPTIMAL
    assert "tol = 1e-06" in verdicts.settled(PROVEN, 1e-6)[1]
    status, words = verdicts.settled(BASE, 0.375)
    assert status is Status.OPTIMAL_WITHIN
    assert "traces up to 4; tr M is 4" in words
    assert verdicts.settled(BASE, 0.374) is None
    assert verdicts.proven_verdict(PROVEN, 1e-6)[0] is Status.OPTIMAL
    assert verdicts.proven_verdict(BASE, 0.375) is None


@pytest.mark.parametrize(("size", "word"), [(1.0, Status.UNBOUNDED), (1e-2, Status.UNBOUNDED), (1e-4, Status.DIVERGED)])
def test_a_matrix_that_has_grown_out_of_sight_needs_a_fall_in_proportion(size, word):
    """F(start) − F(M) >= 1e-3 tr M ω = 1e-3."""
    grown = replace(OPEN, value=10.0 - size)
    run = SimpleNamespace(values=[10.0, 9.0])
    assert verdicts.unbounded(grown, run, FLAT_BOTTOM, 1e-6, True)[0] is word


def test_growth_along_no_direction_of_descent_is_divergence():
    run = SimpleNamespace(values=[10.0])
    assert (
        verdicts.unbounded(replace(OPEN, smallest_eigenvalue=0.0), run, FLAT_BOTTOM, 1e-6, True)[0] is Status.DIVERGED
    )
    assert (
        verdicts.unbounded(replace(OPEN, smallest_eigenvalue=0.3), run, FLAT_BOTTOM, 1e-6, True)[0] is Status.DIVERGED
    )
    semidefinite = replace(OPEN, dual_infeasibility=0.0)
    assert verdicts.unbounded(semidefinite, run, FLAT_BOTTOM, 1e-6, True)[0] is Status.NO_PROGRESS
    assert verdicts.unbounded(replace(semidefinite, convex=False), run, FLAT_BOTTOM, 1e-6, True)[0] is Status.UNBOUNDED
    assert verdicts.unbounded(PROVEN, run, FLAT_BOTTOM, 1e-6, True)[0] is Status.OPTIMAL


@pytest.mark.parametrize(("relative", "kept"), [(0.3, True), (0.2, False), (0.19, False)])
def test_what_a_restricted_geometry_keeps_back(relative, kept):
    """Twice the larger of tol and the stationarity that is left: 0.2."""
    certificate = replace(BASE, stationarity_relative=relative)
    for tol, left in ((0.1, 0.01), (0.01, 0.1)):
        assert verdicts.blocked_by_geometry(certificate, Polar(3, 2, 0.0), left, tol) is kept
        assert not verdicts.blocked_by_geometry(certificate, Polar(3, 2, 0.5), left, tol)


class Recorded(SimpleNamespace):
    def go_on(self, method, geometry, point, evaluation):
        self.went = geometry, point, evaluation
        return method is None


def run_at(Y, certificate, recoveries=0):
    evaluation = FLAT_BOTTOM.at(Y)
    escape = SimpleNamespace(allowed=True, max_rank=2)
    return Recorded(
        certificate=certificate, recoveries=recoveries, geometry=FlatQuotient(2, 1), escape=escape,
        state=SimpleNamespace(evaluation=evaluation), went=None,
    )  # fmt: skip


def test_a_step_that_refutes_is_taken_once_it_gains_more_than_the_tolerance():
    """Unit 8, tol 0.1: a decrease above 0.8. F = ½ |M|² − tr M falls from 0 towards −1 as M grows from 0 to I."""
    Y, v = np.array([[1.0], [0.0]]), np.array([0.0, 1.0])
    refuted = replace(BASE, decrease=0.81, descent=v)
    run = run_at(Y, refuted)
    assert verdicts.recovered(FLAT_BOTTOM, None, run, 0.1)
    assert run.recoveries == 1
    geometry, point, evaluation = run.went
    assert geometry.rank == 2
    assert not verdicts.recovered(FLAT_BOTTOM, object(), run_at(Y, refuted), 0.1)  # a method that keeps to its path
    np.testing.assert_allclose(point @ point.T, np.eye(2), atol=1e-12)
    assert evaluation.value < FLAT_BOTTOM.at(Y).value
    for certificate, recoveries in (
        (None, 0), (replace(refuted, descent=None), 0), (replace(refuted, decrease=0.8), 0),
        (refuted, MOST_STEPS),
    ):  # fmt: skip
        run = run_at(Y, certificate, recoveries)
        assert not verdicts.recovered(FLAT_BOTTOM, None, run, 0.1)
        assert run.went is None
        assert run.recoveries == recoveries
    assert verdicts.recovered(FLAT_BOTTOM, None, run_at(Y, refuted, MOST_STEPS - 1), 0.1)
    best = run_at(np.eye(2), refuted)  # no plane leads down from the minimum
    assert not verdicts.recovered(FLAT_BOTTOM, None, best, 0.1)
    assert best.went is None


def test_a_rank_is_named_as_the_limit_wherever_more_columns_are_an_option():
    """Of a geometry of factors, or of one that can grow by itself, but not of a whole cone."""
    factor = np.zeros((5, 2))
    state = SimpleNamespace(evaluation=SimpleNamespace(factor=factor))
    for geometry, limited in ((FlatQuotient(5, 2), True), (Polar(5, 2), True), (PSDCone(5), False)):
        words = verdicts.why_stationary(BASE, SimpleNamespace(geometry=geometry, state=state), 0.0, 0.1)
        assert ("escape=True" in words) is limited
    stuck = SimpleNamespace(can_grow=False, abilities=frozenset({Ability.FACTOR}), restricted=False)
    grows = SimpleNamespace(can_grow=True, abilities=frozenset(), restricted=False)
    for geometry in (stuck, grows):
        words = verdicts.why_stationary(BASE, SimpleNamespace(geometry=geometry, state=state), 0.0, 0.1)
        assert "at rank 2 of 5" in words
