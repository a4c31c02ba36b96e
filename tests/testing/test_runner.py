"""What the runner reports of a crash, in which order checks run, and which versions' checks run at all."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, QuadraticSDP
from psdopt.cli.main import main
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.testing import CheckStatus, Deviation, parametrize_with_checks, replay, run_checks, yield_checks
from psdopt.testing.registry import CHECKS, FIRST, checks_of


class Crashes(FlatQuotient):
    """The metric raises."""

    def inner(self, point, left, right):
        raise ZeroDivisionError("nothing to divide by")


def test_a_crash_shows_where_it_arose_and_replay_shows_it_again(capsys):
    (record,) = run_checks(Crashes(4, 2), only=["geometry.metric"])
    assert not record.ok
    assert "ZeroDivisionError: nothing to divide by" in record.diagnosis
    assert "raised at" in str(record)
    for each in (record, replay("geometry.metric", Crashes(4, 2))):
        assert "in inner" in each.traceback
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


def test_every_check_has_a_sentence_and_the_version_that_added_it():
    assert [check.name for check in CHECKS.values() if not check.statement.endswith(".")] == []
    assert {one.since for one in CHECKS.values()} <= {"0.1", "0.2", "0.3"}  # add the version that is being written
    assert CHECKS["geometry.metric"].since == "0.1"
    assert CHECKS["geometry.with_rank"].since == "0.2"


def test_newer_checks_do_not_run():
    old, new = CHECKS["geometry.metric"], CHECKS["geometry.with_rank"]
    assert [new.newer_than(version) for version in ("0.1", "0.1.9", "0.2", "0.2.0", "0.10", "1.0", None)] == [
        True, True, False, False, False, False, False
    ]  # fmt: skip
    assert not replace(old, since="").newer_than("0.1")  # one of another package runs whatever is pinned
    records = {record.name: record for record in run_checks(FlatQuotient(3, 2), up_to="0.1")}
    assert records[old.name].verdict is CheckStatus.PASSED
    assert records[new.name].diagnosis == "is new in 0.2, after up_to='0.1'"
    ran = {name for name, record in records.items() if record.samples}
    assert ran
    assert {CHECKS[name].since for name in ran} == {"0.1"}


def never(piece, case):
    return Deviation(1.0, 0.0, "asks more than before")


def test_a_newer_check_breaks_no_package_that_pins(monkeypatch, capsys):
    monkeypatch.setitem(CHECKS, "geometry.never", replace(CHECKS["geometry.metric"], name="geometry.never",
                        function=never, since="0.4"))  # fmt: skip
    assert [each.name for each in run_checks(FlatQuotient(3, 2)) if not each.ok] == ["geometry.never"]
    assert all(each.ok for each in run_checks(FlatQuotient(3, 2), up_to="0.3"))

    @parametrize_with_checks([FlatQuotient(3, 2)], up_to="0.3")
    def test_conformance(check):
        check()

    (mark,) = test_conformance.pytestmark
    assert "geometry.never" not in {parameter.values[0].name for parameter in mark.args[1]}
    assert main(["check", "flat-quotient", "--up-to", "0.3"]) == 0
    assert "do not apply or are newer than 0.3" in capsys.readouterr().out
    assert main(["check", "flat-quotient"]) == 1
    assert main(["check", "flat-quotient", "--up-to", "soon"]) == 2
    assert "psdopt: error: --up-to must be a version such as '0.3'" in capsys.readouterr().err


def test_the_checks_of_parts_are_pinned_too(monkeypatch):
    problem = QuadraticSDP(np.eye(3), None, np.diag([1.0, -1.0, 0.0]))
    newer = replace(CHECKS["term.gradient_slope"], name="term.never", function=never, since="0.4")
    monkeypatch.setitem(CHECKS, "term.never", newer)
    assert not run_checks(problem, only=["problem.terms"])[0].ok
    assert run_checks(problem, only=["problem.terms"], up_to="0.3")[0].verdict is CheckStatus.PASSED


@pytest.mark.parametrize(
    ("up_to", "error"),
    [(0.3, InvalidTypeError), ("three", InvalidInputError), ("0.3rc1", InvalidInputError), ("3", InvalidInputError),
     ("0.0", InvalidInputError), ("", InvalidInputError)],
)  # fmt: skip
def test_what_is_no_version_is_refused(up_to, error):
    with pytest.raises(error, match=rf"^up_to must be a version such as '0.3', from '0.1' on.*; found {up_to!r}$"):
        run_checks(FlatQuotient(3, 2), up_to=up_to)


def test_a_check_that_cannot_apply_is_not_made_a_test():
    def test_conformance(check):
        check()

    (mark,) = parametrize_with_checks([FlatQuotient(3, 2)])(test_conformance).pytestmark
    names = {parameter.values[0].name for parameter in mark.args[1]}
    assert "geometry.metric" in names
    assert "geometry.projection" not in names
    with pytest.raises(TypeError):
        parametrize_with_checks([FlatQuotient(3, 2)], waiver={})
