"""Waivers: a reason for one regime or for all, strict, and shown wherever a record is."""

import pytest

from psdopt import FlatQuotient
from psdopt.errors import InvalidInputError, UnknownNameError
from psdopt.testing import CheckStatus, run_checks
from psdopt.testing.cli import run_check
from tests.testing.zoo.geometries import GradientHalf
from tests.testing.zoo.problems import Healthy

REASON = "left as it is, to see what a waiver does"


class WrongWhenLarge(FlatQuotient):
    """Wrong where |Y| is beyond 1000, which only the regime scale-up reaches."""

    def __init__(self):
        super().__init__(5, 3)

    def gradient(self, point, S):
        factor = 1.5 if (point**2).sum() > 1e6 else 1.0
        return factor * super().gradient(point, S)


def test_one_regime_is_waived_and_the_others_are_not():
    plain, waived = (
        run_checks(WrongWhenLarge(), only=["geometry.gradient_slope"], waivers=waivers)[0]
        for waivers in (None, {"geometry.gradient_slope": {"scale-up": REASON}})
    )
    assert plain.verdict is CheckStatus.FAILED
    assert 'regime="scale-up"' in plain.example
    assert waived.verdict is CheckStatus.PASSED
    assert waived.waived == (f"scale-up: {REASON}",)
    assert REASON in str(waived)


def test_a_check_waived_in_every_regime_is_neither_passed_nor_failed():
    waivers = {"geometry.gradient_slope": REASON}
    (record,) = run_checks(GradientHalf(), only=["geometry.gradient_slope"], waivers=waivers)
    assert record.verdict is CheckStatus.WAIVED
    assert record.ok
    assert "waived in rank-one: left as it is" not in str(record)  # the geometry has no points there
    assert "waived in full-rank: left as it is" in str(record)


def test_a_waiver_that_is_not_needed_fails():
    (record,) = run_checks(
        FlatQuotient(4, 2), only=["geometry.metric"], waivers={"geometry.metric": {"full-rank": REASON}}
    )
    assert record.verdict is CheckStatus.FAILED
    assert "remove the waiver" in record.diagnosis


@pytest.mark.parametrize(
    ("waivers", "error", "words"),
    [
        ({"geometry.metrik": REASON}, UnknownNameError, "geometry.metric"),
        ({"geometry.metrik*": REASON}, UnknownNameError, "geometry.metric"),
        ({"geometry.metric": {"scale-upp": REASON}}, UnknownNameError, "scale-up"),
        ({"geometry.metric": {"scale-up": " "}}, InvalidInputError, "needs a reason"),
    ],
)
def test_wrong_waivers_are_refused(waivers, error, words):
    with pytest.raises(error, match=words):
        run_checks(FlatQuotient(4, 2), waivers=waivers)


SEVERAL = {"geometry.retraction_[bf]*": REASON}


def test_a_waiver_of_more_than_one_check_warns_and_names_them():
    names = "geometry.retraction_first_order, geometry.retraction_both_sides"
    with pytest.warns(UserWarning, match=rf"matches 2 checks: {names}; write one waiver for each"):
        (record,) = run_checks(FlatQuotient(4, 2), only=["geometry.retraction_first_order"], waivers=SEVERAL)
    assert "remove the waiver" in record.diagnosis  # and each of them must be needed


def test_a_pattern_of_one_check_does_not_warn():
    """Checks that are newer than the version that is pinned do not count."""
    waivers = {"geometry.gradient_slop?": REASON}
    (record,) = run_checks(GradientHalf(), only=["geometry.gradient_slope"], waivers=waivers)
    assert record.verdict is CheckStatus.WAIVED
    (record,) = run_checks(FlatQuotient(4, 2), only=["geometry.retraction_both_sides"], waivers=SEVERAL, up_to="0.1")
    assert record.verdict is CheckStatus.SKIPPED


class Waiving(Healthy):
    """Brings its own waiver, as a plugin's problem does."""

    conformance_waivers = {"problem.strong_convexity": REASON}  # noqa: RUF012

    def __init__(self):
        super().__init__()
        self.lower_curvature = 1e3


def test_the_command_honours_an_objects_own_waivers_and_prints_them(tmp_path, monkeypatch, capsys):
    (tmp_path / "waivingkit.py").write_text("from tests.testing.test_waivers import Waiving\nproblem = Waiving()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run_check("waivingkit") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "problem.strong_convexity is waived in full-rank: left as it is" in printed
    assert "1 waived" in printed
