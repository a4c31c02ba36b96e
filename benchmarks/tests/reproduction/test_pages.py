"""Pages take their tables and numbers from results; those of this repository have the numbers of its JSON files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import psdopt
from benchmarks.papers import EXPERIMENTS
from benchmarks.reproduction.pages import filled, paper_page, places
from benchmarks.reproduction.runner import Outcome, run_experiment
from benchmarks.reproduction.store import Store
from benchmarks.tests.reproduction.toy import ToyPaper
from psdopt.errors import InvalidInputError

PAGE_FOLDER = Path(psdopt.__file__).resolve().parents[1] / "docs" / "experiments"
PAGES = sorted(path for path in PAGE_FOLDER.glob("*.md") if places(path.read_text("utf-8")))


def outcome_of(tmp_path: Path) -> Outcome:
    return run_experiment(ToyPaper().specs()[0], Store(tmp_path / "a.json"), {"version": "1", "commit": "abc"})


def test_tables_and_facts_are_replaced_and_prose_stays(tmp_path: Path) -> None:
    page = (
        "# A page\n\nThere are <!-- fact toy-table-1.cases -->9<!-- end --> cases.\n\n"
        "<!-- table toy-table-1 -->\nold\n<!-- end -->\n\nNot ours: <!-- table other -->kept<!-- end -->\n"
    )
    text = filled(page, {"toy-table-1": outcome_of(tmp_path)})
    assert "There are <!-- fact toy-table-1.cases -->2<!-- end --> cases." in text
    assert "<!-- table other -->kept<!-- end -->" in text
    assert "old" not in text
    assert r"| first | 6.0 | \<b onclick=" in text
    assert r"Left out for want of data no\_such\_set: stored." in text
    assert filled(text, {"toy-table-1": outcome_of(tmp_path)}) == text
    assert places(page) == {"toy-table-1", "other"}


def test_a_fact_that_is_not_stated_is_an_error(tmp_path: Path) -> None:
    page, outcome = "<!-- fact toy-table-1.least --><!-- end -->", outcome_of(tmp_path)
    assert "(not measured)" in filled(page, {"toy-table-1": outcome})
    outcome.missing.clear()
    with pytest.raises(InvalidInputError, match=r"no fact 'least'; known: cases"):
        filled(page, {"toy-table-1": outcome})


def test_a_page_of_its_own_has_every_table_and_picture(tmp_path: Path) -> None:
    text = paper_page("toy", [outcome_of(tmp_path)])
    assert "![course](figures/toy-table-1-course.png)" in text
    assert "<b" not in text.replace(r"\<b", "")


def stored_outcomes() -> dict[str, Outcome]:
    found = {}
    for spec in EXPERIMENTS:
        store = Store(PAGE_FOLDER / "results" / f"{spec.name}.json")
        found[spec.name] = run_experiment(spec, store, {}, measure=False)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_the_numbers_of_a_page_are_those_of_its_results(page: Path) -> None:
    """If not, `python -m benchmarks reproduce --pages docs/experiments` updates them (--stored: unmeasured)."""
    text, outcomes = page.read_text("utf-8"), stored_outcomes()
    assert places(text) <= set(outcomes)
    assert filled(text, outcomes) == text


#: Tables that hold no figures: (page, beginning of the first row).
PROSE_TABLES = {("index.md", "| option | what it does |")}
#: Sentences whose seconds are not measured by us: the paper's own, and limits that we set.
PROSE_SECONDS = {
    ("regression.md", "100,000 constraints the paper gives 3.25 s for flat and 47.3 s for polar"),
    ("regression.md", "A peer that was stopped before the goal gives a lower bound: it had 30 or 40 s by the clock"),
}


def typed_by_hand(name: str, text: str) -> list[str]:
    """First rows of tables, and lines with seconds or bytes, that no experiment renders."""
    prose = re.sub(r"<!-- (table|fact) .*?<!-- end -->", "", text, flags=re.DOTALL)
    found = []
    for before, line in zip(["", *prose.splitlines()], prose.splitlines(), strict=False):
        first_row = re.match(r" *\|.*\|$", line) and not before.lstrip().startswith("|")
        measured = re.search(r"\d ?(s|ms|µs|seconds|KB|MB|GB|times as)\b", line)
        allowed = {start for page, start in PROSE_TABLES | PROSE_SECONDS if page == name}
        if (first_row or measured) and not line.startswith(tuple(allowed)):
            found.append(line)
    return found


@pytest.mark.parametrize("page", sorted(PAGE_FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_every_measured_figure_is_rendered_from_results(page: Path) -> None:
    """A table goes between `<!-- table EXPERIMENT -->` and `<!-- end -->`, a number into a fact of its experiment."""
    assert typed_by_hand(page.name, page.read_text("utf-8")) == []


def test_a_pasted_figure_is_found() -> None:
    table = "| n | seconds |\n|---|---|\n| 100 | 0.3 |\n"
    rendered = f"<!-- table a -->\n\n{table}\n<!-- end -->\n"
    assert typed_by_hand("a.md", rendered) == []
    assert typed_by_hand("a.md", f"{rendered}\nText.\n\n{table}") == ["| n | seconds |"]
    assert typed_by_hand("a.md", f"It takes 3.4 s.\n{rendered}") == ["It takes 3.4 s."]
    assert typed_by_hand("a.md", "It takes <!-- fact a.b -->3.4<!-- end --> s.") == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_pictures_of_a_page_are_there_and_numbers_begin_no_line(page: Path) -> None:
    """A comment at the beginning of a line would end the paragraph."""
    text = page.read_text("utf-8")
    assert re.findall(r"^ *<!-- fact", text, re.MULTILINE) == []
    missing = [
        name for name in re.findall(r"\]\(((?:\.\./)?\w+/[^)]*\.png)\)", text) if not (page.parent / name).exists()
    ]
    assert missing == []


def test_the_readme_and_the_gallery_have_the_measured_indices_of_clusters() -> None:
    """The table of README.md, which the first page of the site includes, and the means in the gallery's example."""
    everyone, free = (table.rows for table in stored_outcomes()["learners-links"].findings.tables)
    root = PAGE_FOLDER.parents[1]
    readme = (root / "README.md").read_text("utf-8").partition("<!-- clusters -->")[2]
    shown = [line for line in readme.partition("<!-- end")[0].replace("**", "").splitlines() if line.startswith("|")]
    rows = []
    for whole, part in zip(everyone, free, strict=True):
        cells = [f"{a} / {b}" for a, b in zip(whole[3:], part[3:], strict=True)]
        rows.append(f"| {' | '.join([whole[0].replace('_', ' '), *cells])} |")
    assert shown[2:] == rows
    gallery = (root / "examples" / "gallery" / "clusters_and_maps" / "plot_clusters_from_links.py").read_text("utf-8")
    names = ("k-means", "constrained k-means", "PairwiseKernel")
    for name, whole, part in zip(names, everyone[-1][3:], free[-1][3:], strict=True):
        assert re.search(rf"^{name} +{whole} +{part}$", gallery, re.MULTILINE)
