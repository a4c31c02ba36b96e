"""``psdopt list``: what is there, by plugin, and what could not be loaded."""

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from psdopt.cli.main import main
from psdopt.plugins import PluginManager
from psdopt.plugins.core import psdopt_components


def test_everything_is_listed_with_plugin_and_summary(psdopt_command: Any) -> None:
    code, out, err = psdopt_command("list")
    assert (code, err) == (0, "")
    for title in ("Applications", "Problems", "Geometries", "Methods", "Datasets"):
        assert title in out
    for spec in psdopt_components():
        line = next(line for line in out.splitlines() if line.split()[:1] == [spec.name])
        assert line.split()[1] == "psdopt"
        assert spec.summary in line
    assert any(line.split()[:2] == ["scatter", "fake"] for line in out.splitlines())


def test_the_command_for_files_of_semidefinite_programs_is_listed(psdopt_command: Any) -> None:
    _, out, _ = psdopt_command("list", "applications")
    assert any(line.split()[:2] == ["sdp", "psdopt"] for line in out.splitlines())


@pytest.mark.parametrize("word", ["method", "methods"])
def test_one_kind(psdopt_command: Any, word: str) -> None:
    code, out, _ = psdopt_command("list", word)
    assert code == 0
    assert "Methods" in out
    assert "Geometries" not in out


def test_broken_plugins_are_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    broken = PluginManager([EntryPoint("absent", "no_such_module_of_psdopt", "psdopt")], core=False)
    assert main(["list", "applications"], broken) == 0
    out, err = capsys.readouterr()
    assert out == (
        "No applications installed.\n\n! not loaded: plugin 'absent': cannot import no_such_module_of_psdopt: "
        "ModuleNotFoundError: No module named 'no_such_module_of_psdopt'\n"
    )
    assert err == ""


def test_other_commands_warn_of_broken_plugins_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    broken = PluginManager([EntryPoint("absent", "no_such_module_of_psdopt", "psdopt")], core=False)
    assert main(["run", "scatter"], broken) == 2
    assert capsys.readouterr().err.splitlines() == [
        "psdopt: warning: not loaded: plugin 'absent': cannot import no_such_module_of_psdopt: "
        "ModuleNotFoundError: No module named 'no_such_module_of_psdopt'",
        "psdopt: error: unknown application 'scatter'; known: none; not loaded: 'absent' (`psdopt list` says why)",
    ]


def test_an_unknown_kind_is_refused(psdopt_command: Any) -> None:
    code, _, err = psdopt_command("list", "ovens")
    assert code == 2
    assert err.startswith("psdopt: error: argument KIND: invalid choice: 'ovens'")
