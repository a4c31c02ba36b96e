"""Patience: how long a run that holds within a trace goes on for a proof on the whole cone."""

import math
from dataclasses import replace

import numpy as np
import pytest

from psdopt import QuadraticSDP, certify
from psdopt.running.patience import PATIENT_STEPS, Patience

TOL = 1e-6


def within(shortfall: float = 0.0, provable: bool = True):
    """A certificate that holds up to a trace, of a problem of this order, and proves nothing on the whole cone."""
    proven = certify(QuadraticSDP(None, 1.0, -np.eye(3)), np.eye(3))
    weak = replace(proven, gap=None, gap_relative=None, shortfall=shortfall, provable=provable)
    assert weak.holds_within(TOL)
    assert not weak.proves(TOL)
    return weak


def test_a_certificate_that_does_not_hold_ends_nothing():
    patience = Patience()
    failing = replace(within(provable=False), stationarity_relative=1.0)
    assert not patience.ends(failing, 10_000, TOL)
    assert patience.since == -1


def test_where_no_proof_can_come_the_run_ends_at_once():
    assert not Patience().ends(within(), 3, TOL)
    assert Patience().ends(within(provable=False), 3, TOL)


@pytest.mark.parametrize("since", [0, 7, PATIENT_STEPS, 100])
def test_the_run_at_most_doubles(since):
    patience = Patience()
    last = since + max(since, PATIENT_STEPS)
    assert not patience.ends(within(), since, TOL)
    assert not patience.ends(within(), last - 1, TOL)
    assert patience.ends(within(), last, TOL)


def test_a_shortfall_that_stays_ends_the_run_and_one_that_falls_does_not():
    patience = Patience()
    assert not patience.ends(within(0.2), 5, TOL)
    assert not patience.ends(within(0.1), 6, TOL)
    assert patience.ends(within(0.099), 7, TOL)


def test_a_shortfall_within_tol_is_no_reason_to_end():
    patience = Patience(since=5, shortfall=TOL)
    assert not patience.ends(within(TOL), 6, TOL)
    assert patience.shortfall == TOL
    assert Patience().shortfall == math.inf


def test_a_search_that_failed_is_repeated_at_a_clearly_smaller_shortfall():
    patience = Patience()
    assert patience.worth_trying == math.inf
    patience.note(within(), TOL)  # S was semidefinite, or nothing was searched for
    assert patience.tried == math.inf
    patience.note(replace(within(0.2), complementarity_relative=0.0), TOL)
    assert patience.tried == 0.2
    patience.note(replace(within(0.19), complementarity_relative=0.0), TOL)
    assert patience.tried == 0.2
    patience.note(replace(within(0.1), complementarity_relative=0.5 * TOL), TOL)  # half of the tolerance was left
    assert patience.tried == 0.2
    patience.note(replace(within(0.08), complementarity_relative=0.5 * TOL), TOL)
    assert patience.tried == pytest.approx(0.16)
