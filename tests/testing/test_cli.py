"""The command psdopt check: refused pieces make it fail, and --list prints every check with its claim."""

from types import SimpleNamespace

import pytest

from psdopt.cli.main import main
from psdopt.plugins import GeometrySpec, Parameter, PluginManager, hookimpl
from psdopt.testing import CHECKS
from psdopt.testing.cli import run_check

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
