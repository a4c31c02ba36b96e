"""The report is one file: tables, sentences, pictures; nothing that a name or a result holds becomes markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from benchmarks.reproduction.html import html_report, origin
from benchmarks.reproduction.runner import Outcome, png, run_experiment
from benchmarks.reproduction.store import Store
from benchmarks.tests.reproduction.toy import NASTY, ToyPaper, draw


class Elements(HTMLParser):
    """Tags that were opened and closed, and all attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def report(tmp_path: Path) -> tuple[str, Outcome]:
    spec = ToyPaper().specs()[0]
    outcome = run_experiment(spec, Store(tmp_path / "a.json"), {"version": "1", "commit": "abc"})
    return html_report(f"Report {NASTY}", [("what", NASTY)], [outcome], {"toy": NASTY}), outcome


def test_everything_is_escaped_and_every_element_closed(tmp_path: Path) -> None:
    text, _ = report(tmp_path)
    elements = Elements()
    elements.feed(text)
    assert elements.wrong == []
    assert elements.open == []
    assert [value for name, value in elements.attributes if name.startswith("on")] == []
    assert NASTY not in text
    assert text.count("&lt;b onclick=&quot;x&quot;&gt;") >= 8


def test_pictures_are_in_the_file_and_nothing_is_fetched(tmp_path: Path) -> None:
    text, _ = report(tmp_path)
    assert text.count("data:image/png;base64,") == 1
    assert re.findall(r'(?:src|href)="(?!data:|#)', text) == []
    assert png(draw()).startswith(b"\x89PNG")


def test_it_says_what_was_left_out_and_by_what_code(tmp_path: Path) -> None:
    text, outcome = report(tmp_path)
    assert "Left out for want of data no_such_set: stored." in text
    assert "Left out for want of packages nopack: wide." in text
    assert origin(outcome).startswith("Measured by psdopt 1 (abc) in ")
    assert origin(Outcome(outcome.spec)) == "Nothing was measured."
    assert "2 are worse than the paper&#x27;s" in text
