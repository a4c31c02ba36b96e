"""Needs as data: what is missing, in words; a verdict in one sentence."""

from pathlib import Path

import pytest

from psdopt.contracts.abilities import MEMBERS, Verdict, as_text, missing_needs, name_of, require_inner
from psdopt.errors import IncompatibleError

REQUIRES = {"problem": ("gradient", ("quadratic", "margins")), "geometry": ("factor",)}


@pytest.mark.parametrize(
    ("role", "offered", "missing"),
    [
        ("problem", {"gradient", "margins"}, []),
        ("problem", {"gradient"}, ["quadratic or margins"]),
        ("problem", set(), ["gradient", "quadratic or margins"]),
        ("geometry", {"straight-lines"}, ["factor"]),
        ("method", set(), []),
    ],
)
def test_missing_needs(role, offered, missing):
    assert missing_needs(REQUIRES, role, offered) == missing


def test_needs_as_text():
    assert as_text("factor") == "factor"
    assert as_text(("a", "b", "c")) == "a or b or c"


def test_verdicts_speak_and_raise():
    yes, no = Verdict(True, subject="A, B and C"), Verdict(False, ("x", "y"), "Try D.", "A, B and C")
    assert bool(yes)
    assert not no
    assert yes.message == "A, B and C work together"
    assert no.message == "A, B and C do not work together; missing: x; y. Try D."
    yes.require()
    with pytest.raises(IncompatibleError, match="missing: x; y"):
        no.require()


class Piece:
    requires = REQUIRES

    def __init__(self, *abilities: str, name: str = "") -> None:
        self.abilities, self.name = abilities, name


def test_a_method_within_a_method_is_refused_by_its_argument():
    require_inner("polish", Piece(), Piece("gradient", "margins"), Piece("factor"))
    with pytest.raises(IncompatibleError, match="polish=Piece lacks quadratic or margins, factor here; pass another"):
        require_inner("polish", Piece(), Piece("gradient"), Piece())


def test_names_of_pieces():
    assert name_of(Piece()) == "Piece"
    assert name_of(Piece(name="mine")) == "mine"


def test_the_page_on_contracts_names_every_ability_with_its_members():
    page = (Path(__file__).parents[2] / "docs" / "extend" / "contracts.md").read_text(encoding="utf-8")
    for ability, members in MEMBERS.items():
        (row,) = [line for line in page.splitlines() if line.startswith("| ") and f'"{ability}"' in line.split("|")[1]]
        assert [name for name in members if f"`{name}" not in row.split("|")[2]] == []
