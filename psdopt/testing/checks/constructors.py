"""Checks of constructors: what they are given stays as it was."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np

from psdopt.linalg.operators import LinearMap
from psdopt.terms.forms import Form
from psdopt.testing.checks.common import PASSED, failed
from psdopt.testing.registry import Case, Deviation, Trivial, check
from psdopt.testing.untouched import changes, snapshot

#: Kinds whose objects hold the caller's arrays. A builder is asked by `builder.arguments_untouched`.
KINDS = ("problem", "loss", "measurement")


def _arguments(obj: Any) -> dict[str, Any]:
    """What `obj` holds under the names of its constructor's parameters, also with an underscore before them.

    Forms and linear maps that hold a dense matrix stand for the array that they were made of.
    """
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(type(obj)).parameters.items():
        kept = next((_array(vars(obj)[key]) for key in (name, f"_{name}") if key in vars(obj)), parameter.empty)
        if kept is not parameter.empty and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            found[name] = kept
    if not any(isinstance(value, np.ndarray) for value in found.values()):
        raise Trivial("holds no array under the name of a parameter: wrap what makes it in a Builder")
    return found


def _array(kept: Any) -> Any:
    if isinstance(kept, LinearMap):
        return kept.to_dense() if kept.is_matrix and not kept.is_sparse else kept
    return kept.to_dense() if isinstance(kept, Form) and kept.holds_array else kept


def constructor_untouched(obj: Any, case: Case) -> Deviation:
    """Made again of the arrays that it holds under the names of its parameters, the class changes none of them.

    Nor does it need to write to them: arrays that are read-only are accepted.
    """
    given = copy.deepcopy(_arguments(obj))
    before = snapshot(given)
    try:
        type(obj)(**given)
    except Exception as error:  # what it holds is not what it takes
        raise Trivial("cannot be made of what it holds under the names of its parameters") from error
    changed = changes(before, snapshot(given))
    if changed:
        return failed(f"the constructor changed its argument {changed[0].strip(chr(39))}")
    for value in given.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    try:
        type(obj)(**given)
    except ValueError as error:
        return failed(f"the constructor cannot do with read-only arrays: {error}")
    return PASSED


for _kind in KINDS:
    check(_kind, "0.2", regimes=("full-rank",), repeats=False)(constructor_untouched)
