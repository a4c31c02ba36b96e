"""Errors: one family, and near matches for names that are not known."""

from psdopt import errors
from psdopt.errors import PsdoptError, unknown_name


def test_every_error_is_a_psdopt_error_and_a_builtin_one():
    kinds = [getattr(errors, name) for name in errors.__all__ if isinstance(getattr(errors, name), type)]
    for kind in kinds:
        assert issubclass(kind, PsdoptError)
        if kind is not PsdoptError:
            builtin = [
                base for base in kind.__mro__ if base.__module__ == "builtins" and base not in (Exception, object)
            ]
            assert set(builtin) - {BaseException}, kind


def test_unknown_names_get_near_matches():
    assert str(unknown_name("method", "lbgfs", ["lbfgs", "admm"])) == "unknown method 'lbgfs'; did you mean 'lbfgs'?"
    assert str(unknown_name("method", "xyz", ["b", "a"])) == "unknown method 'xyz'; known: a, b"
    assert str(unknown_name("method", "xyz", [])) == "unknown method 'xyz'; known: none"
    assert isinstance(unknown_name("method", "x", []), PsdoptError)
    assert isinstance(unknown_name("method", "x", []), LookupError)
