"""The command psdopt check: refused pieces make it fail, and --list prints every check with its claim."""

from types import SimpleNamespace

import pytest

from psdopt.cli.main import main
from psdopt.plugins import GeometrySpec, Parameter, PluginManager, hookimpl
from psdopt.testing import CHECKS, CheckStatus, Record
from psdopt.testing.cli import run_check
from psdopt.testing.record import by_cause

BROKEN = """
from psdopt import FlatQuotient
from psdopt.plugins import GeometrySpec, Parameter, hookimpl

@hookimpl
def psdopt_components():
    yield GeometrySpec("flat-square", make, "square factors", "", {parameters}, lambda: FlatQuotient(3, 3))
    {more}

def make(n):
    return FlatQuotient(n, n)
"""


@pytest.mark.parametrize(
    ("parameters", "more", "words"),
    [
        ("(Parameter('width', int, 2, 'columns'),)", "", "takes no keyword 'width'"),
        ("()", "yield GeometrySpec('flat-square', make, 'again')", "has that name already"),
        ("()", "yield GeometrySpec('psd-cone', make, 'a name that the core has')", "has that name already"),
        ("()", "raise OSError('disk')", "disk"),
    ],
)
def test_a_module_that_would_be_refused_fails(tmp_path, monkeypatch, capsys, parameters, more, words):
    name = f"refusedkit{abs(hash((parameters, more)))}"
    (tmp_path / f"{name}.py").write_text(BROKEN.format(parameters=parameters, more=more))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run_check(name) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "not loaded" in printed
    assert words in printed


def test_a_plugin_that_was_refused_fails_by_its_name(capsys):
    class Twice:
        @hookimpl
        def psdopt_components(self):
            yield GeometrySpec(
                "psd-cone", lambda n: None, "a name that the core has", "", (Parameter("k", int, 1, "k"),)
            )

    entry = SimpleNamespace(name="twice", value="twice", dist=None, load=Twice)
    assert run_check("twice", manager=PluginManager([entry])) == 1
    printed = capsys.readouterr().out
    assert "twice" in printed
    assert "not loaded" in printed


def test_list_prints_every_claim(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["check", "--list"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for check in CHECKS.values():
        assert check.name in printed
        assert " ".join(check.statement.split()[:4]) in printed


CAUSE = """
from dataclasses import dataclass
from psdopt import ConjugateGradient, FlatQuotient

@dataclass(frozen=True)
class Careless(ConjugateGradient):
    def step(self, state):
        state.evaluation.gradient()

method, other = Careless(), Careless()
"""


def test_failures_with_one_cause_are_told_once(tmp_path, monkeypatch, capsys):
    (tmp_path / "onecause.py").write_text(CAUSE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run_check("onecause") == 1
    printed = capsys.readouterr().out
    assert printed.count("raised at:") == 1
    path = tmp_path / "onecause.py"
    assert f'File "{path}", line 8, in step' in printed  # whole, however narrow the terminal
    number = int(printed.split(" passed, ")[1].split(" failed")[0])
    assert number > 20
    assert f"{number} failed for 1 cause, " in printed
    assert f"for the same cause fail {number - 1} more:" in printed


def test_only_equal_exceptions_from_one_place_are_one_cause():
    def record(name, diagnosis, traceback):
        return Record(name, "obj", CheckStatus.FAILED, 1.0, 0.0, "Claim.", diagnosis, traceback=traceback)

    here, there = '  File "a.py", line 3, in step\n    x()', '  File "a.py", line 9, in step\n    y()'
    records = [
        record("a", "raises TypeError: x, in step 1", f'  File "k.py", line 1, in run\n    f()\n{here}'),
        record("b", "the gradient is off", ""),
        record("c", "raises TypeError: x, on quadratic", here),
        record("d", "raises ValueError: x", here),
        record("e", "raises TypeError: x", there),
        record("f", "the gradient is off", ""),
    ]
    assert [[one.name for one in group] for group in by_cause(records)] == [["a", "c"], ["b"], ["d"], ["e"], ["f"]]
