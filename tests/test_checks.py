"""Each check of an argument: what passes, in which type, and the text of what does not."""

import numpy as np
import pytest

from psdopt import checks, errors
from psdopt.errors import InvalidInputError, InvalidTypeError, PsdoptError, UnknownNameError, unknown_name
from tests.refusals import refused


def test_an_integer_comes_back_as_an_int():
    for value in (3, np.int64(3), np.uint8(3)):
        checked = checks.integer(value, "k", most=3)
        assert checked == 3
        assert type(checked) is int
    assert checks.integer(0, "k", least=0) == 0
    assert checks.integer_or_none(None, "k") is None
    assert checks.integer_or_none(2, "k") == 2


@pytest.mark.parametrize("value", [0, -1, 1.0, "1", True, np.True_, None, np.float64(2.0)])
def test_what_is_no_integer_is_named(value):
    found = repr(value.item() if isinstance(value, np.generic) else value)
    refused(f"k must be an integer of at least 1; found {found}", InvalidInputError, checks.integer, value, "k")
    if value is not None:
        text = f"k must be None or an integer between 1 and n = 5; found {found}"
        refused(text, InvalidInputError, checks.integer_or_none, value, "k", 1, 5, "n")


def test_bounds_of_a_number_belong_to_the_range_or_not():
    assert checks.number(0, "a", least=0.0, most=1.0) == 0.0
    assert checks.number(np.float32(1), "a", least=0.0, most=1.0) == 1.0
    assert type(checks.number(1, "a")) is float
    assert checks.number_or_none(None, "a", above=0.0) is None
    for value, options in ((0.0, {"above": 0.0}), (1.0, {"below": 1.0}), (-0.1, {"least": 0.0}), (1.1, {"most": 1.0})):
        with pytest.raises(InvalidInputError, match=f"found {value}"):
            checks.number(value, "a", **options)
        with pytest.raises(InvalidInputError, match="a must be None or a finite number"):
            checks.number_or_none(value, "a", **options)


@pytest.mark.parametrize("value", [np.nan, np.inf, "1", None, True, 1j, [1.0]])
def test_what_is_no_finite_number_is_named(value):
    refused(f"a must be a finite number; found {value!r}", InvalidInputError, checks.number, value, "a")
    refused(f"a must be a finite number of at least 0; found {value!r}", InvalidInputError, checks.weight, value, "a")
    text = f"nu must be a finite number above 0 and at most 1; found {value!r}"
    refused(text, InvalidInputError, checks.number, value, "nu", above=0.0, most=1.0)
    refused(f"nu must be a finite number above 0; found {value!r}", InvalidInputError, checks.positive, value, "nu")


def test_finite_arrays_are_not_copied():
    array, huge = np.arange(6.0).reshape(2, 3), np.full(4, 1e308)
    assert checks.finite(array, "X") is array
    assert checks.finite([1, 2], "X").dtype == np.float64
    assert checks.finite(huge, "X") is huge, "a sum that overflows is no infinite entry"


def test_a_vector_may_be_one_number():
    np.testing.assert_array_equal(checks.vector(2, "w", 3), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(checks.vector([1, 2], "w", 2), [1.0, 2.0])


def test_indices_come_back_as_intp():
    given = np.array([0, 2], dtype=np.intp)
    assert checks.indices(given, "i", 3) is given
    assert checks.indices([[0.0, 1.0]], "pairs", 2, columns=2, floats=True).dtype == np.intp
    assert checks.indices([], "i").shape == (0,)
    assert checks.indices((), "pairs", columns=2).shape == (0, 2)
    assert checks.indices([-1, 99], "i").tolist() == [-1, 99]


@pytest.mark.parametrize(
    ("call", "arguments", "options", "text"),
    [
        (checks.integer, (6, "k"), {"most": 5}, "k must be an integer between 1 and 5; found 6"),
        (checks.integer, (6, "k", 1, 5, "n"), {}, "k must be an integer between 1 and n = 5; found 6"),
        (checks.finite, ([1.0, np.nan, np.inf], "X"), {}, "X must be finite; found 2 NaN or infinite entries"),
        (checks.finite, ([np.inf, -np.inf], "X"), {}, "X must be finite; found 2 NaN or infinite entries"),
        (checks.finite, ([1j], "X"), {}, "X must hold real numbers; found dtype complex128"),
        (checks.finite, (["a"], "X"), {}, "X must hold real numbers; found dtype <U1"),
        (checks.finite, ([None, "a"], "X"), {}, "X must hold real numbers; found dtype object"),
        (checks.vector, ([1, 2], "w", 3, "one per pair"), {},
         "w must be a number or have shape (3,), one per pair; found shape (2,)"),
        (checks.vector, (np.ones((3, 1)), "w", 3), {}, "w must be a number or have shape (3,); found shape (3, 1)"),
        (checks.indices, ([0, 3], "i", 3), {}, "i must hold indices between 0 and 2; found 3"),
        (checks.indices, ([-1, 3], "i", 3), {}, "i must hold indices between 0 and 2; found -1"),
        (checks.indices, ([[0, 1]], "i", 3), {}, "i must have shape (m,); found (1, 2)"),
        (checks.indices, ([[0, 1, 2]], "pairs", 3), {"columns": 2}, "pairs must have shape (m, 2); found (1, 3)"),
        (checks.indices, ([True], "i"), {}, "i must hold integers; found dtype bool"),
        (checks.indices, ([0.5], "i"), {"floats": True}, "i must hold integers; found dtype float64"),
        (checks.indices, ([np.nan], "i"), {"floats": True}, "i must hold integers; found dtype float64"),
        (checks.indices, ([1.0], "i"), {}, "i must hold integers; found dtype float64"),
        (checks.indices, ([], "i"), {"empty": False}, "i must hold at least one index; found none"),
        (checks.indices, ([], "pairs"), {"columns": 2, "empty": False},
         "pairs must hold at least one row of 2 indices; found none"),
        (checks.one_of, (np.str_("exakt"), "search", ("exact", "armijo")), {},
         "unknown search 'exakt'; did you mean 'exact'?"),
        (checks.one_of, (7, "search", ("exact", "armijo")), {}, "unknown search 7; known: armijo, exact"),
        (checks.classes, (np.array(["barolo", "barolo"]),), {}, "y must hold at least 2 classes; found only 'barolo'"),
        (checks.classes, (np.zeros(3),), {}, "y must hold at least 2 classes; found only 0.0"),
        (checks.classes, ([], "labels"), {}, "labels must hold at least 2 classes; found none"),
        (checks.classes, ([1.0, np.nan],), {}, "y must be finite; found 1 NaN or infinite entries"),
        (checks.classes, ([1, 2, 3],), {"size": 4}, "y must hold one label per sample, shape (4,); found shape (3,)"),
        (checks.classes, ([[1, 2]],), {}, "y must hold one label per sample, shape (m,); found shape (1, 2)"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(call, arguments, options, text):
    kind = InvalidTypeError if "found dtype" in text else UnknownNameError if "unknown" in text else InvalidInputError
    refused(text, kind, call, *arguments, **options)


def test_a_name_is_among_those_allowed():
    assert checks.one_of("exact", "search", ("exact", "armijo")) == "exact"
    with pytest.raises(UnknownNameError):
        checks.one_of(np.ones(2), "search", ("exact",))


def test_an_unknown_name_is_invalid_input_and_a_failed_look_up():
    for kind in (InvalidInputError, LookupError, ValueError, PsdoptError):
        assert issubclass(UnknownNameError, kind)


def test_classes_are_coded():
    found, codes = checks.classes(["b", "a", "b"])
    assert found.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]


def test_the_list_of_checks_is_what_the_module_offers():
    public = {name for name, value in vars(checks).items() if getattr(value, "__module__", "") == checks.__name__}
    assert sorted(checks.__all__) == sorted(name for name in public if not name.startswith("_"))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_entries_pass_as_long_as_their_squared_distances_are_finite(dtype):
    most = np.sqrt(np.finfo(dtype).max / 3.0)
    X = np.array([[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0], [0.0, 0.0, 0.0]], dtype=dtype)
    near = (X * (0.24 * most)).astype(dtype)
    assert checks.squares_finite(near, near.shape, "X") is near
    assert np.isfinite(near.T @ near).all()
    assert np.isfinite(np.sum((near[0] - near[1]) ** 2))
    with pytest.raises(InvalidInputError, match="X must have entries of at most"):
        checks.squares_finite((X * (0.26 * most)).astype(dtype), X.shape, "X")
    with pytest.raises(InvalidInputError, match="X must have entries of at most"):
        checks.squares_finite((np.minimum(X, 0.0) * (0.26 * most)).astype(dtype), X.shape, "X")


def test_entries_that_are_no_floats_and_no_entries_have_finite_squares():
    for values in (np.array([2**60]), np.zeros(0)):
        assert checks.squares_finite(values, (1, 3), "X") is values


def test_every_error_is_a_psdopt_error_and_a_builtin_one():
    kinds = [getattr(errors, name) for name in errors.__all__ if isinstance(getattr(errors, name), type)]
    for kind in kinds:
        assert issubclass(kind, PsdoptError)
        builtin = {base for base in kind.__mro__ if base.__module__ == "builtins"} - {Exception, BaseException, object}
        assert builtin or kind is PsdoptError, kind


def test_unknown_names_get_near_matches():
    for name, known, words in (
        ("lbgfs", ["lbfgs", "admm"], "did you mean 'lbfgs'?"), ("xyz", ["b", "a"], "known: a, b"),
        ("xyz", [], "known: none"),
    ):  # fmt: skip
        assert str(unknown_name("method", name, known)) == f"unknown method {name!r}; {words}"
        assert isinstance(unknown_name("method", name, known), PsdoptError)
        assert isinstance(unknown_name("method", name, known), LookupError)
