"""Mutants: what is changed, that lines keep their numbers, and that functions in memory get the changed code."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType

from benchmarks import mutant_tests, mutants
from benchmarks.mutant_forks import changed
from benchmarks.mutant_tests import Calls

SOURCE = b"""LIMIT = 3


def total(a, b=2):
    return (a
            + b)


class Box:
    def fits(self, size):
        return not size or any(part < LIMIT for part in [size])
"""


def written(folder: Path, monkeypatch) -> tuple[Path, list[mutants.Mutant]]:
    path = folder / "boxes.py"
    path.write_bytes(SOURCE)
    monkeypatch.setattr(mutants, "ROOT", folder)
    return path, list(mutants.mutants_of("boxes", path))


def test_what_is_changed_in_a_source(tmp_path, monkeypatch):
    found = {(mutant.function, mutant.before.split()[0], mutant.text) for mutant in written(tmp_path, monkeypatch)[1]}
    assert found == {
        ("", "3", "(4)"),
        ("", "2", "(3)"),
        ("total", "a", "(a - b)"),
        ("Box.fits", "not", "(not size and any((part < LIMIT for part in [size])))"),
        ("Box.fits", "not", "(size)"),
        ("Box.fits", "part", "(part >= LIMIT)"),
    }


def test_functions_in_memory_get_the_code_of_the_changed_source(tmp_path, monkeypatch):
    path, found = written(tmp_path, monkeypatch)
    space: dict = {}
    exec(compile(SOURCE, str(path), "exec"), space)
    functions = [space["total"], space["Box"].fits]
    answers = {}
    for mutant in found:
        text = mutant.applied(SOURCE)
        assert text.count(b"\n") == SOURCE.count(b"\n")
        codes = changed(functions, str(path), text)
        assert [function.__qualname__ for function, _ in codes] == ([mutant.function] if mutant.function else [])
        for function, code in codes:
            other = FunctionType(code, space, argdefs=function.__defaults__)
            answers[mutant.text] = other(5, 1) if mutant.function == "total" else other(None, 5)
    assert answers["(a - b)"] == 4
    assert answers["(part >= LIMIT)"] is True
    assert answers["(size)"] == 5
    assert changed(functions, "another.py", SOURCE) == []


def test_a_function_that_is_new_is_called_by_the_tests_of_its_file():
    calls = Calls(
        {"a.py::f": ["one"], "a.py::g": ["two"], "b.py::f": ["three"]}, {"one": 2.0, "two": 1.0, "three": 0.1}
    )
    assert calls.of("a.py", "f") == ["one"]
    assert calls.of("a.py", "") == calls.of("a.py", "new") == ["two", "one"]
    assert calls.of("c.py", "f") == []


def test_a_recording_is_made_once_and_read_afterwards(tmp_path, monkeypatch):
    made = []

    def record(copy, tests, output):
        made.append(tests)
        return Calls({"a.py::f": ["t"]}, {"t": 0.5})

    monkeypatch.setattr(mutant_tests, "record", record)
    path = tmp_path / "calls.json"
    for _ in range(2):
        assert mutant_tests.recorded(path, tmp_path, ["tests/t.py"]).of("a.py", "f") == ["t"]
    assert made == [["tests/t.py"]]
    mutant_tests.recorded(None, tmp_path, ["tests/u.py"])
    assert made[1:] == [["tests/u.py"]]
