"""The help of one application: its data and parameters; other words get the help of the command."""

import pytest

from psdopt.cli.main import main
from psdopt.cli.run_help import application_help
from psdopt.plugins.manager import plugin_manager


def helped(capsys, *words: str) -> str:
    assert main(["run", *words]) == 0
    return capsys.readouterr().out


def test_sdp_has_its_own_help(capsys) -> None:
    text = helped(capsys, "sdp", "--help")
    assert "usage: psdopt run sdp" in text
    assert "trace_bound=FLOAT" in text
    assert ".dat-s[.gz]" in text
    assert "digits" not in text


def test_an_application_names_its_parameters_and_their_defaults(capsys) -> None:
    text = helped(capsys, "metric-kta", "-h")
    assert "lam=FLOAT" in text
    assert "(default: 0.01)" in text
    assert "(default: digits)" in text


@pytest.mark.parametrize("words", [("--help",), ("nonsense", "--help"), ("--help", "sdp")])
def test_without_a_known_name_before_it_the_help_is_that_of_the_command(capsys, words) -> None:
    text = helped(capsys, *words)
    assert "--max-iterations" in text
    assert "exit codes" in text.lower()


def test_all_helps_fit_a_narrow_screen(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "79")
    for spec in plugin_manager().specs("application"):
        text = application_help(spec)
        assert all(name.name in text for name in spec.parameters)
        assert max(map(len, text.splitlines())) <= 79
