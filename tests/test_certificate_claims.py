"""What a certificate of given numbers says: its claims at, below and above each limit, and its rows."""

from __future__ import annotations

import inspect
import math
from dataclasses import MISSING, fields, replace

import numpy as np
import pytest

from psdopt import solve
from psdopt.certificate import DIGITS, Certificate, certify
from psdopt.linalg.tolerances import EPS

BASE = Certificate(
    value=2.0, value_at_zero=10.0, trace=4.0, stationarity=0.3, smallest_eigenvalue=-0.25, lower_bound=-0.5,
    dual_infeasibility=0.5, complementarity=1.0, gap=None, stationarity_relative=0.02,
    dual_infeasibility_relative=0.03, complementarity_relative=0.04, gap_relative=None, convex=True, fixed_trace=None,
    eigenvector=np.ones(2), failure_probability=0.0, products=7, unit=8.0, decrease=0.0,
)  # fmt: skip


def test_the_residual_is_the_largest():
    assert BASE.residual == 0.04
    assert replace(BASE, stationarity_relative=0.5).residual == 0.5
    assert replace(BASE, dual_infeasibility_relative=0.5).residual == 0.5
    assert replace(BASE, decrease=4.0).residual == 0.5
    assert replace(BASE, decrease=0.08).residual == 0.04
    assert BASE.omega == 0.25


def test_a_gap_decides_where_there_is_one():
    gapped = replace(BASE, gap=0.8, gap_relative=0.1)
    assert (BASE.relative, BASE.proof) == (0.04, "residuals")
    assert (gapped.relative, gapped.proof) == (0.1, "gap")


def test_a_gap_proves_up_to_its_own_size_and_only_of_a_convex_function():
    gapped = replace(BASE, gap=0.8, gap_relative=0.1)
    assert gapped.proves(0.1)
    assert gapped.proves(0.2)
    assert not gapped.proves(0.0999)
    assert not replace(gapped, convex=False).proves(1.0)
    assert not BASE.proves(1.0)
    assert not replace(gapped, gap=None).proves(1.0)
    assert not replace(gapped, gap_relative=None).proves(1.0)


def test_a_gap_that_is_large_beside_the_value_proves_only_at_a_loose_tolerance():
    scaled = replace(BASE, gap=0.8, gap_relative=1e-6, value_scale=40.0)
    assert scaled.proves(1e-3) is (DIGITS * 40.0 >= 0.8)
    assert replace(scaled, gap=DIGITS * 40.0).proves(1e-3)
    assert not replace(scaled, gap=1.01 * DIGITS * 40.0).proves(1e-3)
    assert replace(scaled, gap=1.01 * DIGITS * 40.0).proves(1.02 * DIGITS)


def test_how_far_a_matrix_is_best():
    """R = (tol · unit − |⟨S, M⟩|) / max(0, −λ): the trace up to which nothing is better by more than tol · unit."""
    assert BASE.reach(0.5) == (0.5 * 8.0 - 1.0) / 0.5
    assert BASE.reach(0.125) == 0.0  # tol · unit = |⟨S, M⟩|
    assert BASE.reach(0.1) == 0.0
    assert replace(BASE, dual_infeasibility=0.0).reach(0.5) == math.inf
    assert replace(BASE, dual_infeasibility=0.0).reach(0.125) == math.inf
    assert replace(BASE, dual_infeasibility=0.0).reach(0.1) == 0.0
    assert replace(BASE, convex=False).reach(0.5) == 0.0
    assert replace(BASE, fixed_trace=4.0).reach(0.5) == 0.0
    assert replace(BASE, gap=0.8, gap_relative=0.1).reach(0.1) == math.inf


def test_holding_within_a_reach_needs_every_condition():
    """reach(0.375) = (3 − 1) / 0.5 = 4 = tr M."""
    assert BASE.holds_within(0.375)
    assert BASE.holds_within(0.5)
    assert not BASE.holds_within(0.374)
    assert not replace(BASE, trace=4.01).holds_within(0.375)
    assert not replace(BASE, trace=0.0).holds_within(0.375)
    assert not replace(BASE, convex=False, gap=0.0, gap_relative=0.0).holds_within(0.375)
    assert replace(BASE, stationarity_relative=0.375).holds_within(0.375)
    assert not replace(BASE, stationarity_relative=0.376).holds_within(0.375)
    assert not replace(BASE, decrease=3.1).holds_within(0.375)
    assert not replace(BASE, value=10.1).holds_within(0.375)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e12])
def test_what_is_above_zero_is_so_beyond_rounding(size):
    """F(M) > F(0) on the cone; a difference of some ulps is none, and at a fixed trace M = 0 is not in the set."""
    for value, zero, expected in ((2.0, 1.0, True), (1.0, 2.0, False), (1.0, 1.0, False), (-1.0, -2.0, True)):
        assert replace(BASE, value=size * value, value_at_zero=size * zero).above_zero is expected
        assert not replace(BASE, value=size * value, value_at_zero=size * zero, fixed_trace=1.0).above_zero
    assert not replace(BASE, value=size * (1.0 + EPS), value_at_zero=size).above_zero
    assert not replace(BASE, value=size, value_at_zero=size * (1.0 - EPS)).above_zero
    assert replace(BASE, value=size * (1.0 + 1e-6), value_at_zero=size).above_zero
    assert replace(BASE, value=size * 1.0, value_at_zero=0.0).above_zero
    above = replace(BASE, value=2.0, value_at_zero=1.0)
    assert above.residual == math.inf
    assert above.rows()[-1][1:] == (1.0, math.inf)


def test_rows_name_what_decides():
    names = [name for name, _, _ in BASE.rows()]
    assert [name.endswith("(decides)") for name in names] == [True] * 3
    assert [row[1:] for row in BASE.rows()] == [(0.3, 0.02), (0.5, 0.03), (1.0, 0.04)]
    gapped = replace(BASE, gap=0.8, gap_relative=0.1, decrease=4.0)
    assert [name.endswith("(decides)") for name, _, _ in gapped.rows()] == [False, False, False, True, False]
    assert gapped.rows()[3][1:] == (0.8, 0.1)
    assert gapped.rows()[4][1:] == (4.0, 0.5)


def test_plain_numbers():
    plain = replace(BASE, descent=np.ones(2)).as_dict()
    assert "eigenvector" not in plain
    assert "descent" not in plain
    assert (plain["omega"], plain["relative"], plain["proof"]) == (0.25, 0.04, "residuals")
    assert (plain["value"], plain["products"]) == (2.0, 7)


def test_what_a_certificate_says_where_nothing_was_measured():
    required = {field.name: getattr(BASE, field.name) for field in fields(Certificate) if field.default is MISSING}
    bare = Certificate(**required)
    assert (bare.decrease, bare.shortfall, bare.value_scale, bare.dual_value, bare.descent) == (
        0.0,
        0.0,
        math.inf,
        None,
        None,
    )
    assert math.isnan(bare.unit)
    assert bare.provable
    assert len(replace(BASE, decrease=0.5).rows()) == len(BASE.rows()) + 1


def test_a_certificate_by_itself_decides_at_the_tolerance_of_a_run():
    own, of_runs = (inspect.signature(function).parameters for function in (certify, solve))
    assert own["tol"].default == of_runs["tol"].default == 1e-6
