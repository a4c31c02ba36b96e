"""The extensions that build the site: docstrings, reference pages, links. The site itself is built by .ci/site."""

import importlib
import sys
from pathlib import Path

import pytest

import psdopt
from psdopt.testing import CHECKS
from tests.testing.zoo import ZOO

EXTENSIONS = Path(psdopt.__file__).resolve().parents[1] / "docs" / "_ext"


@pytest.fixture
def extension(monkeypatch):
    pytest.importorskip("sphinx")  # an extra; .ci/site runs these tests where it is there
    monkeypatch.syspath_prepend(str(EXTENSIONS))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:  # "links" is a name that others may have, too
        if getattr(sys.modules[name], "__file__", None) and EXTENSIONS in Path(sys.modules[name].__file__).parents:
            del sys.modules[name]


@pytest.fixture
def site(tmp_path):
    """A site of two pages in which all is well."""
    (tmp_path / "a.html").write_text('<a href="sub/b.html#here">b</a> <img src="p.png"> <a href="https://host/x">x</a>')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.html").write_text('<h1 id="here">b</h1> <a href="../a.html">a</a> <a href="#here">h</a>')
    (tmp_path / "p.png").write_bytes(b"")
    (tmp_path / "searchindex.js").write_text('Search.setIndex({terms:{partial_fit:1,"other":2}})')
    return tmp_path


def test_a_site_in_which_all_is_well(extension, site):
    links = extension("links")
    assert links.problems(site) == []
    (site / "code.html").write_text("<p>a: class</p><pre><b>`a`</b> :class:`b`</pre>")
    assert links.problems(site) == []
    assert links.unknown_to_search(site, ["partial_fit", "other"]) == []
    assert links.unknown_to_search(site, ["partial", "fit"]) == ["partial", "fit"]
    (site / "empty").mkdir()
    assert len(links.problems(site / "empty")) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('<a href="c.html">c</a>', "c.html is not there"),
        ('<a href="sub/b.html#there">b</a>', "sub/b.html#there has no such place"),
        ('<a href="#nowhere">b</a>', "#nowhere has no such place"),
        ('<img src="q.png">', "q.png is not there"),
        ('<script src="https://host/x.js"></script>', "https://host/x.js is loaded from another host"),
        ("<p>the ``rank`` of it</p>", "raw markup in 'the ``rank`` of it'"),
        ("<p>methods (:class:<em>Newton</em>)</p>", "raw markup in 'methods (:class:Newton)'"),
    ],
)
def test_broken_links_are_named(extension, site, text, said):
    (site / "a.html").write_text(text)
    assert extension("links").problems(site) == [f"a.html: {said}"]


@pytest.mark.parametrize(
    ("written", "escaped"),
    [
        ("the norm |S Y| of it", r"the norm \|S Y\| of it"),
        ("components_ (r, d)", r"components\_ (r, d)"),
        ("A*(y) and ``a*b|c_``", r"A\*(y) and ``a*b|c_``"),
        ("|−:meth:`f`| and -:meth:`f`", r"\|−\ :meth:`f`\| and -:meth:`f`"),
        ("**bold**, *slanted* and :class:`Result`", "**bold**, *slanted* and :class:`Result`"),
    ],
)
def test_what_is_no_markup_is_escaped(extension, written, escaped):
    assert extension("docstrings").escaped(written) == escaped


def test_every_check_is_shown_with_a_fault_that_it_rejects(extension):
    shown = extension("catalogue").faults(ZOO)
    assert set(shown) == set(CHECKS)
    assert all(shown.values())


def test_entries_and_formulas(extension):
    written = ["One line.", "", "    F = |Y|", "", "Parameters", "----------", "rank, tol : of |M|,",
               "    or None. seed : a number. start, end : of the run,", "    in steps.", ""]  # fmt: skip
    expected = ["One line.", "", "::", "", "    F = |Y|", "", "Parameters", "----------", "rank, tol",
                r"    of \|M\|,", "    or None.", "seed", "    a number.", "start, end", "    of the run,",
                "    in steps.", ""]  # fmt: skip
    assert extension("docstrings").restructured(written) == expected


def test_text_after_entries_becomes_notes_and_sentences_become_entries(extension):
    written = ["One line.", "", "Returns", "-------", "Result. It is proven; or", "not.", "", "Raises", "------",
               "ValueError, with the place, for NaN; TypeError for others.", "", "Cost: `m` steps.", ""]  # fmt: skip
    expected = ["One line.", "", "Returns", "-------", "Result", "    It is proven; or not.", "", "Raises", "------",
                "ValueError", "    with the place, for NaN", "TypeError", "    for others."]  # fmt: skip
    made = extension("docstrings").restructured(written)
    assert made[: len(expected)] == expected
    assert [line for line in made[len(expected) :] if line] == ["Notes", "-----", "Cost: `m` steps."]


def test_signatures_that_sphinx_reads(extension):
    plain = extension("docstrings").plain_signature
    written = ("(a: Callable[[TypeAliasForwardRef('Array')], int] = <factory>, b=<function f at <x>>)", "Array")
    assert plain(None, "", "", None, None, *written) == ("(a: Callable[[Array], int] = ..., b= ...)", "Array")
    assert plain(None, "", "", None, None, "(a: int = 1)", None) is None
