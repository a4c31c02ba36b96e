"""Files that ``psdopt run`` writes hold the numbers of the result; tables and letters on any terminal."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import psdopt
from psdopt.cli.main import main
from psdopt.cli.outputs import check_output, write_output
from psdopt.cli.plain import plain, plain_streams
from psdopt.cli.tables import LEAST_WIDTH, console, show_table
from psdopt.plugins import PluginManager
from psdopt.plugins.core import psdopt_components
from psdopt.reports.record import Report


@pytest.fixture(scope="module")
def report() -> Report:
    result = psdopt.solve(psdopt.QuadraticSDP(B=1.0, C=-np.diag([2.0, 1.0, -1.0])))
    return Report("a run", [("label", "text")], result, True, arrays={"angles": [1.0, 2.0]})


def test_files_hold_factor_history_arrays_and_numbers(report: Report, tmp_path: Path) -> None:
    for name in ("a.NPZ", "a.JSON"):
        check_output(str(tmp_path / name))
        write_output(report, str(tmp_path / name))
    with np.load(tmp_path / "a.NPZ") as saved:
        assert np.allclose(saved["factor"] @ saved["factor"].T, np.diag([2.0, 1.0, 0.0]))
        assert np.array_equal(saved["history_value"], report.result.history["value"])
        assert saved["angles"].tolist() == [1.0, 2.0]
        summary = json.loads(str(saved["summary"]))
    assert summary["success"] is True
    assert summary["report"] == {"label": "text"}
    summary = json.loads((tmp_path / "a.JSON").read_text(encoding="utf-8"))
    assert summary["value"] == report.result.value
    assert summary["report"] == {"label": "text"}


def test_letters_become_words_base_letters_or_question_marks() -> None:
    assert plain("M ⪰ 0, ∇F(M) − λ², tr(YᵀY)", "ascii") == "M >= 0, grad F(M) - lambda^2, tr(Y^TY)"
    assert plain("Müller é 漢 \udcff", "ascii") == "Mueller e ? ?"
    assert plain("Müller × λ²", "latin-1") == "Müller × lambda²"
    assert plain("⪰ λ", "utf-8") == "⪰ λ"
    assert plain("a \udcff", "utf-8") == "a ?"


def test_every_summary_has_a_plain_form() -> None:
    for spec in psdopt_components():
        assert "?" not in plain(spec.summary, "ascii")


@pytest.mark.parametrize(("encoding", "columns"), [("ascii", 60), ("latin-1", 80), ("cp1252", 120), ("utf-8", 200)])
@pytest.mark.parametrize(
    "argv",
    [["--help"], ["run", "--help"], ["list"], ["list", "--all"], ["env"], ["run", "metric-kta", "--data", "iris"]],
)
def test_commands_print_in_any_encoding_and_keep_to_the_width(
    encoding: str, columns: int, argv: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert main(argv) == 0
    out.flush()
    err.flush()
    assert err.buffer.getvalue() == b""  # type: ignore[attr-defined]
    text = out.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    assert len(text) > 100
    allowed = max(columns, 120) if "--help" in argv else columns  # the paragraph at the end of a help has 120
    assert max(map(len, text.splitlines())) <= allowed
    assert len(text.splitlines()) <= 45 or argv == ["list", "--all"] or columns < 120


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


@pytest.mark.parametrize("width", [1, 60, 200])
def test_no_cell_is_cut(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    show_table("A title", ["name", "text"], [["first", "word " * 60]])
    lines = capsys.readouterr().out.splitlines()
    assert "".join(filter(str.isalpha, "".join(lines))).count("word") == 60
    assert max(map(len, lines)) <= max(width, LEAST_WIDTH)


def test_files_and_pipes_get_a_fixed_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert console().width == 120


def test_headings_may_be_left_out_and_markup_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("T", ["hidden", "too"], [["[red]a[/red]", ":smile:"]], headings=False)
    out = capsys.readouterr().out
    assert "hidden" not in out
    assert "[red]a[/red]" in out
    assert ":smile:" in out
