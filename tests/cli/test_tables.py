"""Tables wrap long cells and never cut them, at any width."""

import pytest

from psdopt.cli.tables import LEAST_WIDTH, console, say, show_table


def letters(text: str) -> str:
    return "".join(c for c in text if c.isalpha())


@pytest.mark.parametrize("width", [1, 60, 200])
def test_no_cell_is_cut(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    show_table("A title", ["name", "text"], [["first", "word " * 60]])
    lines = capsys.readouterr().out.splitlines()
    assert letters("".join(lines)).count("word") == 60
    assert max(map(len, lines)) <= max(width, LEAST_WIDTH)


def test_files_and_pipes_get_a_fixed_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert console().width == 120


def test_headings_may_be_left_out_and_markup_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("T", ["hidden", "too"], [["[red]a[/red]", ":smile:"]], headings=False)
    say("[b]")
    out = capsys.readouterr().out
    assert "hidden" not in out
    assert "[red]a[/red]" in out
    assert ":smile:" in out
    assert out.endswith("[b]\n")
