"""Error classes: each is a :class:`PsdoptError` and the matching built-in error.

Catch ``PsdoptError`` for everything the library raises on purpose, or the built-in
(``ValueError``, ``TypeError`` ...) as with any other Python library. Messages follow one
pattern: the argument's name, what was found, what is allowed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "CheckpointError",
    "DataFileError",
    "IncompatibleError",
    "InvalidInputError",
    "InvalidTypeError",
    "MissingDependencyError",
    "NotDifferentiableError",
    "PluginError",
    "PsdoptError",
    "UnknownNameError",
    "unknown_name",
]


class PsdoptError(Exception):
    """Base class of every error that psdopt raises on purpose."""


class InvalidInputError(PsdoptError, ValueError):
    """An argument has a wrong value (NaN, wrong shape, negative weight, ...)."""


class InvalidTypeError(PsdoptError, TypeError):
    """An argument has a wrong type."""


class IncompatibleError(PsdoptError, TypeError):
    """Problem, geometry and method do not fit together; the text says what is missing."""


class NotDifferentiableError(PsdoptError, ArithmeticError):
    """The derivative of a minimiser by the data does not exist; the text has the number that shows it."""


class UnknownNameError(InvalidInputError, LookupError):
    """A name (application, method, parameter ...) is not known: the wrong value of an argument that takes names."""


class PluginError(PsdoptError, RuntimeError):
    """A plugin's contribution is invalid or clashes with another plugin's."""


class CheckpointError(PsdoptError, RuntimeError):
    """A checkpoint cannot be read, or belongs to another problem."""


class MissingDependencyError(PsdoptError, ImportError):
    """An optional dependency is needed for this feature; the text names the extra."""


class DataFileError(PsdoptError, OSError):
    """A data file cannot be read, or an output cannot be written."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Return the error for an unknown `name`, with near matches or the whole list of `known`."""
    names = sorted(known)
    wanted = str(name).lower()
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    near += [known_name for known_name in names if wanted and wanted in known_name and known_name not in near][:3]
    hint = f"did you mean {', '.join(map(repr, near))}?" if near else f"known: {', '.join(names) or 'none'}"
    return UnknownNameError(f"unknown {kind} {name!r}; {hint}")
