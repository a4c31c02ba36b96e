"""More columns: when they are asked for, what they do to F, how long the next ones wait."""

from dataclasses import replace

import numpy as np
import pytest

from psdopt import QuadraticSDP, Status, certify
from psdopt.running.escape import SETTLING, Escape, clearly_bound, explained, rank_binds, widened


def test_widening_goes_down_and_keeps_the_matrix_it_started_from():
    problem = QuadraticSDP(None, 1.0, np.diag([-1.0, -2.0, -3.0, 1.0]))
    here = problem.at(np.eye(4)[:, :1])  # stationary at value −1
    wider = widened(here, 4, -6.0)
    assert wider.value < here.value - 1.0
    assert wider.factor.shape[1] == 2
    np.testing.assert_array_equal(wider.factor[:, 0], here.factor[:, 0])
    assert widened(here, 1, -6.0) is None  # no room
    optimal = problem.at(np.diag(np.sqrt([1.0, 2.0, 3.0, 0.0]))[:, :3])
    assert widened(optimal, 4, -1e-12) is None or widened(optimal, 4, -1e-12).value >= optimal.value - 1e-12


def test_negligible_columns_make_room():
    problem = QuadraticSDP(None, 1.0, np.diag([-1.0, -2.0]))
    Y = np.zeros((2, 2))
    Y[0, 0] = 1.0
    wider = widened(problem.at(Y), 2, -4.0)
    assert wider.factor.shape[1] == 2
    assert wider.value == pytest.approx(-5.0)
    zero = widened(problem.at(np.zeros((2, 2))), 2, -4.0)
    assert zero.value < 0.0
    assert not rank_binds(problem.at(Y), 1e-6)
    assert rank_binds(problem.at(np.eye(2)), 1e-6)


def test_widening_along_an_unbounded_ray_still_moves():
    here = QuadraticSDP(np.diag([1.0, 0.0]), None, -np.eye(2)).at(np.array([[1.0], [0.0]]))
    assert widened(here, 2, -2.0).value < here.value


def failing(infeasible: float):
    """A certificate of a convex problem whose relative dual infeasibility is `infeasible`, all else in order."""
    proven = certify(QuadraticSDP(None, 1.0, -np.eye(3)), np.eye(3))
    return replace(proven, dual_infeasibility_relative=infeasible, stationarity_relative=0.0)


def always() -> bool:
    return True


def never() -> bool:
    return False


@pytest.mark.parametrize(
    ("infeasible", "stationarity", "binds", "wanted"),
    [
        (1e-7, 0.0, always, False),  # below tol
        (2e-6, 1e-6, never, False),  # what stationarity explains
        (2e-6, 1e-6, always, True),  # but every column is in use
        (2e-5, 1e-6, never, True),  # more than stationarity explains
        (4e-6, 2e-6, never, False),
    ],
)
def test_columns_are_wanted_where_the_rank_is_to_blame(infeasible, stationarity, binds, wanted):
    assert Escape(True, 5).wants(failing(infeasible), stationarity, 1e-6, binds) is wanted
    assert Escape(False, 5).wants(failing(infeasible), stationarity, 1e-6, binds) is False


def test_infeasibility_within_the_stationarity_of_the_certificate_asks_for_nothing():
    assert not Escape(True, 5).wants(replace(failing(1.0), stationarity_relative=1.0), 0.0, 1e-6, always)


def test_widenings_that_do_not_help_wait_longer():
    escape = Escape(True, 5)
    escape.note(7, failing(1e-3), spare=True)
    assert (escape.last, escape.wait, escape.last_infeasibility) == (7, SETTLING, 1e-3)
    assert escape.settles(7 + SETTLING - 1)
    assert not escape.settles(7 + SETTLING)
    escape.note(20, failing(0.9e-3), spare=True)  # hardly less, with columns to spare
    assert escape.wait == 2 * SETTLING
    assert not escape.settles(20 + SETTLING)  # it is the widening that waits, not the certificate
    assert escape.waits(20 + SETTLING, never)
    assert not escape.waits(20 + SETTLING, always)
    assert not escape.waits(20 + 2 * SETTLING, never)
    escape.note(50, failing(0.1e-3), spare=True)
    assert escape.wait == SETTLING
    escape.note(70, failing(0.1e-3), spare=False)
    assert escape.wait == SETTLING


def test_what_is_clearly_the_rank_is_far_above_tolerance_and_stationarity():
    assert clearly_bound(failing(1e-2), 0.0, 1e-6)
    assert not clearly_bound(failing(1e-5), 0.0, 1e-6)
    assert not clearly_bound(failing(1e-2), 1e-3, 1e-6)


def test_words_for_a_stationary_point_say_whether_more_columns_are_an_option():
    said = Status.STATIONARY.value  # one text for one status
    assert explained(failing(0.5), 5, 5, True, 1e-6) == f"{said}: at full rank 5 the relative dual infeasibility is 0.5"
    assert explained(failing(0.5), 2, 5, False, 1e-6).startswith(f"{said}: at full rank 2")
    limited = explained(failing(0.5), 2, 5, True, 1e-6)
    assert limited.startswith(said)
    assert "pass escape=True or a larger rank" in limited
