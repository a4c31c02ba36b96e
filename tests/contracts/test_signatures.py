"""Signatures of callables of third parties, also of those that Python cannot inspect."""

import functools

import pytest

from psdopt.contracts.signatures import accepts, accepts_order


def positional_only(dual, /): ...


def named(n, *, dual=None): ...


def anything(n, **rest): ...


def variadic(*dual): ...


class Opaque:
    """A callable without a signature."""

    __signature__ = "none"

    def __call__(self, *args, **kwargs): ...


@pytest.mark.parametrize(
    ("factory", "expected"),
    [(named, True), (anything, True), (positional_only, False), (variadic, False), (lambda n: n, False)],
)
def test_a_keyword_is_accepted_if_a_call_with_it_binds(factory, expected):
    assert accepts(factory, "dual") is expected
    assert accepts(functools.partial(factory), "dual") is expected


def test_the_order_is_the_first_argument():
    assert accepts_order(named, ["dual"])
    assert accepts_order(anything, ["r", "s"])
    assert not accepts_order(named, ["r"])
    assert not accepts_order(lambda *, n: n, [])
    assert not accepts_order(lambda n, m: n, [])


def test_what_python_cannot_inspect_is_accepted():
    assert accepts(Opaque(), "dual")
    assert accepts_order(Opaque(), ["dual"])
