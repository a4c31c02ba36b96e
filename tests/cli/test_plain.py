"""Output where the terminal lacks our letters: replaced by plain ones, never an error."""

import io
import sys
from typing import Any

import pytest

from psdopt.cli.main import main
from psdopt.cli.plain import plain, plain_streams
from psdopt.plugins import PluginManager
from psdopt.plugins.core import psdopt_components


def test_letters_become_words_base_letters_or_question_marks() -> None:
    assert plain("M ⪰ 0, ∇F(M) − λ², tr(YᵀY)", "ascii") == "M >= 0, grad F(M) - lambda^2, tr(Y^TY)"
    assert plain("Müller é 漢 \udcff", "ascii") == "Mueller e ? ?"
    assert plain("Müller × λ²", "latin-1") == "Müller × lambda²"
    assert plain("⪰ λ", "utf-8") == "⪰ λ"
    assert plain("a \udcff", "utf-8") == "a ?"


def test_every_summary_has_a_plain_form() -> None:
    for spec in psdopt_components():
        assert "?" not in plain(spec.summary, "ascii")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
@pytest.mark.parametrize(
    "argv", [["--help"], ["run", "--help"], ["list"], ["env"], ["run", "metric-kta", "--data", "iris"]]
)
def test_commands_print_in_any_encoding(encoding: str, argv: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert main(argv) == 0
    out.flush()
    err.flush()
    assert err.buffer.getvalue() == b""  # type: ignore[attr-defined]
    text = out.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    assert len(text) > 100
    assert max(map(len, text.splitlines())) <= 120
    assert len(text.splitlines()) <= 45 or argv == ["list"]


def test_streams_are_as_before_afterwards() -> None:
    class Plain:
        """A stream without errors and reconfigure, as some notebooks have."""

    before: Any = sys.stdout
    with plain_streams():
        pass
    assert sys.stdout is before
    sys.stdout = Plain()  # type: ignore[assignment]
    try:
        with plain_streams():
            pass
    finally:
        sys.stdout = before


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_tables_keep_to_the_width(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for argv in (["list"], ["run", "metric-kta", "--data", "iris"]):
        assert main(argv) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= columns


APPLICATIONS = sorted(spec.name for spec in PluginManager().specs("application") if spec.name != "sdp")


@pytest.mark.parametrize("name", APPLICATIONS)
def test_a_run_of_each_application_is_one_screen(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """80 columns, 40 lines at most; nothing of a progress bar where standard error is no terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["run", name, "--max-iterations", "2"]) in (0, 1)
    found = capsys.readouterr()
    lines = found.out.splitlines()
    assert 5 < len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert found.err == ""
