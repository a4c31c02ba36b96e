"""Moved constants: by how much, which functions read them, and that a changed source holds the moved value."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.mutant_tests import Calls
from benchmarks.tuned import FACTORS, Constant, Move, constants, moved, moves_of, with_new

SIZES = b'''"""Sizes."""
LARGE, SMALL = 8, (0.1, 0.9)  # of boxes
NAMES = ("a", "b")


def fits(size):
    return size < LARGE


class Box:
    most: int = LARGE

    def holds(self, share):
        return share < SMALL[0]
'''
USERS = b"""from folder.sizes import SMALL as LEAST


def least():
    return LEAST
"""


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        (3, 4, 2), (1, 2, 1), (30, 40, 20), (-3, -2, -4), (0.3, 0.4, 0.225), (12.0, 16.0, 9.0), (0.7, 0.6, 0.775),
        (1.6, 1.8, 1.45), ((2, "a"), (3, "a"), (1, "a")), ({"k": [6, None]}, {"k": [8, None]}, {"k": [4, None]}),
        (True, True, True), (len, len, len),
    ],
)  # fmt: skip
def test_numbers_move_by_a_third_and_shares_stay_below_one(value, up, down):
    for factor, expected in zip(FACTORS, (up, down), strict=True):
        found = moved(value, factor)
        assert type(found) is type(value)
        assert found == (pytest.approx(expected, rel=1e-12) if isinstance(value, float) else expected)


def test_arrays_move_entry_by_entry():
    np.testing.assert_allclose(moved(np.array([[0.3, 0.7], [6.0, 1.0]]), 4 / 3), [[0.4, 0.6], [8.0, 1.0]])


def found(folder: Path) -> dict[str, Constant]:
    (folder / "folder").mkdir()
    for name, text in (("sizes", SIZES), ("users", USERS)):
        (folder / "folder" / f"{name}.py").write_bytes(text)
    return {constant.name: constant for constant in constants(sorted(folder.rglob("*.py")), folder)}


def test_what_reads_a_constant_is_found_under_any_name(tmp_path):
    named = found(tmp_path)
    assert set(named) == {"LARGE", "SMALL"}
    assert named["LARGE"].readers == (("folder/sizes.py", ""), ("folder/sizes.py", "fits"))
    assert named["LARGE"].read_by_imports
    assert named["SMALL"].readers == (("folder/sizes.py", "Box.holds"), ("folder/users.py", "least"))
    assert named["SMALL"].copies == (("folder/users.py", "LEAST"),)
    assert not named["SMALL"].read_by_imports


def test_a_changed_source_and_changed_modules_hold_the_moved_value(tmp_path, monkeypatch):
    named = found(tmp_path)
    text = Move(named["LARGE"], 4 / 3, [], 0.0).source(SIZES.decode())
    assert text.count("\n") == SIZES.decode().count("\n")
    space: dict = {}
    exec(compile(text, "sizes.py", "exec"), space)
    assert (space["LARGE"], space["SMALL"], space["Box"].most) == (11, (0.1, 0.9), 11)
    monkeypatch.syspath_prepend(str(tmp_path))
    import folder.users as users

    try:
        Move(named["SMALL"], 4 / 3, [], 0.0).change()
        assert users.least() == pytest.approx((0.1 * 4 / 3, 1.0 - 0.1 * 4 / 3))
        assert not sys.modules["folder.sizes"].Box().holds(0.2)
        assert sys.modules["folder.sizes"].Box().holds(0.13)
    finally:
        for name in ("folder", "folder.sizes", "folder.users"):
            sys.modules.pop(name)


def test_the_tests_of_the_readers_are_run_the_fastest_up_to_the_budget(tmp_path):
    constant = found(tmp_path)["SMALL"]
    calls = Calls(
        {"folder/users.py::least": ["b", "a"], "folder/sizes.py::Box.holds": ["c"], "folder/sizes.py::fits": ["d"]},
        {"a": 1.0, "b": 0.5, "c": 3.0, "d": 0.1},
    )
    moves = moves_of(constant, calls, 2.0)
    assert [(move.factor, move.tests, move.seconds) for move in moves] == [(f, ["a", "b"], 1.5) for f in FACTORS]


def test_newer_tests_call_what_the_others_of_their_file_call_and_tests_that_are_gone_none():
    calls = Calls({"a.py::f": ["x.py::old", "x.py::gone"], "a.py::g": ["y.py::old"]}, dict.fromkeys(
        ("x.py::old", "x.py::gone", "y.py::old"), 1.0))  # fmt: skip
    now = with_new(calls, ["x.py::old", "x.py::new", "y.py::old"])
    assert now.of("a.py", "f") == ["x.py::new", "x.py::old"]
    assert now.of("a.py", "g") == ["y.py::old"]
    assert now.seconds == {"x.py::old": 1.0, "x.py::new": 0.0, "y.py::old": 1.0}
