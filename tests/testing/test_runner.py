"""What the runner reports of a crash: the trap on which a method was tried, and the traceback, on replay as well."""

from dataclasses import dataclass

import pytest

from psdopt import ConjugateGradient, FlatQuotient
from psdopt.testing import parametrize_with_checks, replay, run_checks, yield_checks
from psdopt.testing.registry import CHECKS, FIRST, checks_of


class Crashes(FlatQuotient):
    """The metric raises."""

    def inner(self, point, left, right):
        raise ZeroDivisionError("nothing to divide by")


def test_a_crash_shows_where_it_arose():
    (record,) = run_checks(Crashes(4, 2), only=["geometry.metric"])
    assert not record.ok
    assert "ZeroDivisionError: nothing to divide by" in record.diagnosis
    assert "in inner" in record.traceback
    assert "raised at" in str(record)


def test_replay_shows_it_again(capsys):
    record = replay("geometry.metric", Crashes(4, 2))
    assert "in inner" in record.traceback
    assert "nothing to divide by" in capsys.readouterr().out


def test_a_crash_on_a_trap_names_the_trap():
    @dataclass(frozen=True)
    class Touchy(ConjugateGradient):
        def step(self, state):
            raise ValueError("no direction")

    (record,) = run_checks(Touchy(), only=["method.optimal_is_true_on_hostile"])
    assert "raises ValueError: no direction, on clustered spectrum, over" in record.diagnosis
    (record,) = run_checks(Touchy(), only=["method.step_is_pure"])
    assert "in step 1 on quadratic over" in record.diagnosis


def test_what_explains_other_failures_comes_first():
    assert set(FIRST) <= set(CHECKS)
    order = [bound.name for bound in yield_checks(FlatQuotient(3, 2))]
    assert order[:3] == ["geometry.abilities_kept", "geometry.points_valid", "geometry.vectors_valid"]
    assert sorted(order) == sorted(check.name for check in checks_of("geometry"))


def test_a_check_that_cannot_apply_is_not_made_a_test():
    def test_conformance(check):
        check()

    (mark,) = parametrize_with_checks([FlatQuotient(3, 2)])(test_conformance).pytestmark
    names = {parameter.values[0].name for parameter in mark.args[1]}
    assert "geometry.metric" in names
    assert "geometry.projection" not in names
    with pytest.raises(TypeError):
        parametrize_with_checks([FlatQuotient(3, 2)], waiver={})
