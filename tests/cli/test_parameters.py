"""``--set``: texts are split by role, matched with a spec's parameters and converted to their types."""

import pytest

from psdopt.cli.parameters import parse_settings
from psdopt.errors import InvalidInputError, UnknownNameError
from psdopt.plugins import MethodSpec, Parameter

SPEC = MethodSpec(
    "sample",
    dict,
    "for tests",
    parameters=(
        Parameter("count", int, 1, "how many"),
        Parameter("lam", float, 0.1, "weight"),
        Parameter("fast", bool, False, "whether"),
        Parameter("name", str, "", "a word"),
    ),
)


def test_values_have_the_types_of_their_parameters() -> None:
    settings = parse_settings(["method.count=3", "method.lam = 1e-2", "method.fast=Yes", "method.name=a=b", "lam=5"])
    values = settings.values("method", SPEC)
    assert values == {"count": 3, "lam": 0.01, "fast": True, "name": "a=b"}
    assert [type(value) for value in values.values()] == [int, float, bool, str]
    assert settings.values("application", SPEC) == {"lam": 5.0}
    assert settings.values("geometry", SPEC) == {}


@pytest.mark.parametrize("text", ["lam", "lam=", "=3", "method.=3"])
def test_text_without_a_name_or_a_sign_of_equality_is_refused(text: str) -> None:
    if text == "lam=":  # an empty text is no number
        with pytest.raises(InvalidInputError, match=r"--set lam: expected a number .weight.; found ''"):
            parse_settings([text]).values("application", SPEC)
    else:
        with pytest.raises(InvalidInputError, match=r"--set takes NAME=VALUE"):
            parse_settings([text])


def test_each_refusal_names_the_setting() -> None:
    with pytest.raises(InvalidInputError, match=r"the part before the dot must be method or geometry; found 'metod'"):
        parse_settings(["metod.lam=1"])
    with pytest.raises(InvalidInputError, match=r"--set method.lam is given twice"):
        parse_settings(["method.lam=1", "method.lam=2"])
    with pytest.raises(UnknownNameError, match=r"parameter of method sample 'lamb'; did you mean 'lam'"):
        parse_settings(["lamb=1"]).values("application", SPEC)
    with pytest.raises(InvalidInputError, match=r"--set count: expected an integer .how many.; found '1.5'"):
        parse_settings(["count=1.5"]).values("application", SPEC)
    with pytest.raises(InvalidInputError, match=r"--set fast: expected true or false .whether.; found 'maybe'"):
        parse_settings(["fast=maybe"]).values("application", SPEC)


def test_a_setting_of_a_piece_that_was_not_named_is_refused() -> None:
    settings = parse_settings(["geometry.r=3"])
    settings.refuse("method", "--method NAME")
    with pytest.raises(InvalidInputError, match=r"--set geometry.r=... needs --geometry NAME"):
        settings.refuse("geometry", "--geometry NAME")
