"""Checks of builders and constructors: data as they are stored and given, and a place for every sample."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from psdopt.contracts.problem import Problem
from psdopt.errors import PsdoptError
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.operators import LinearMap
from psdopt.terms.forms import Form
from psdopt.testing.builders import Builder
from psdopt.testing.checks.common import PASSED, compare, failed, point_of, value_unit
from psdopt.testing.reference import twin_of
from psdopt.testing.registry import Case, Deviation, Deviations, Trivial, check
from psdopt.testing.slopes import derivative
from psdopt.testing.untouched import changes, snapshot

PLAIN = ("full-rank",)
#: Number of samples that are moved, one at a time, and the distance relative to their size.
MOVED, FAR = 4, 0.5
#: Allowance, in roundings of one problem: data in another form are summed in another order.
LOOSE = 16.0
NO_SAMPLES = "has no argument with one sample per row"
#: Kinds whose objects hold the caller's arrays. For builders see `builder.arguments_untouched`.
KINDS = ("problem", "loss", "measurement")
claim = partial(check, "builder", regimes=PLAIN)


def _has_samples(builder: Builder) -> bool:
    return builder.samples is not None


def _samples(builder: Builder) -> Array:
    if builder.samples is None:
        raise Trivial(NO_SAMPLES)
    X = builder.arguments[builder.samples]
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind != "f":
        raise Trivial("the samples are no dense array of floats")
    return X


def _built(builder: Builder, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Problem:
    return Builder(builder.factory, arguments, keywords).build()


def _same(words: str, found: Problem, expected: Problem, case: Case) -> Deviations:
    """Value and gradient of two problems at one point."""
    evaluation = point_of(expected, Case(case.regime, case.seed))
    other = found.at(evaluation.factor)
    unit, G = value_unit(expected, evaluation), evaluation.factor_gradient()
    yield compare(f"F {words}", other.value, evaluation.value, LOOSE * unit, expected.n)
    scale = LOOSE * (norm(G) + unit / norm(evaluation.factor))
    yield compare(f"the gradient {words}", other.factor_gradient(), G, scale, expected.n)


@claim("0.2")
def storage_independence(builder: Builder, case: Case) -> Deviations:
    """The problem is the same for arrays stored by rows, by columns, as lists, read-only, sparse where accepted."""
    problem = builder.build()
    ways: dict[str, Callable[[Array], Any]] = {
        "by columns": np.asfortranarray,
        "every second of twice as many rows": lambda A: np.repeat(A, 2, axis=0)[::2],
        "as CSR": sp.csr_array,
        "as CSC": sp.csc_array,
    }
    for k, value in enumerate(builder.arguments):
        if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind != "f":
            continue
        for words, way in ways.items():
            try:
                other = builder.build(**{f"a{k}": way(value)})
            except (PsdoptError, TypeError, ValueError):
                if words.startswith("as CS"):
                    continue  # sparse data may be refused
                raise
            yield from _same(f"with argument {k} stored {words}", other, problem, case)
    return "no argument is a dense matrix of floats"


@claim("0.2")
def arguments_untouched(builder: Builder, case: Case) -> Deviation:
    """Neither building nor evaluating changes an argument in place, and read-only arrays are accepted."""
    given = copy.deepcopy((builder.arguments, dict(builder.keywords)))
    before = snapshot({"argument": given[0], "keywords": given[1]})
    point_of(_built(builder, *given), case).factor_gradient()
    changed = changes(before, snapshot({"argument": given[0], "keywords": given[1]}))
    if changed:
        return failed(f"changed in place: {', '.join(changed[:3])}")
    for value in (*given[0], *given[1].values()):
        for array in (value, *(getattr(value, name, None) for name in ("data", "indices", "indptr", "row", "col"))):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
    point_of(_built(builder, *given), case).factor_gradient()
    return PASSED


@claim("0.2", when=_has_samples, reason=NO_SAMPLES)
def samples_count(builder: Builder, case: Case) -> Deviation:
    """F changes when a sample is moved, each of four: none has been left out or overwritten."""
    X, problem = _samples(builder), builder.build()
    evaluation = point_of(problem, case)
    for i in case.rng.permutation(len(X))[:MOVED]:
        moved = X.copy()
        moved[i] += FAR * norm(X[i]) * case.rng.standard_normal(X.shape[1]) / np.sqrt(X.shape[1])
        other = builder.build(**{f"a{builder.samples}": moved}).at(evaluation.factor)
        if other.value == evaluation.value and np.array_equal(other.factor_gradient(), evaluation.factor_gradient()):
            return failed(f"sample {i} was moved by half its length, and F and its gradient are what they were")
    return PASSED


@claim("0.2", when=lambda b: not b.order_matters, reason="may depend on the order of the samples")
def samples_in_any_order(builder: Builder, case: Case) -> Deviations:
    """Samples in another order, with all that belongs to them, make the same problem: each keeps its own label."""
    X = _samples(builder)
    return _same("of reordered samples", builder.reordered(case.rng.permutation(len(X))), builder.build(), case)


@claim("0.2", when=_has_samples, reason=NO_SAMPLES)
def not_rounded(builder: Builder, case: Case) -> Deviations:
    """F follows a change of the samples in their tenth digit: data are not rounded on the way in, sparse ones too."""
    X = _samples(builder)
    evaluation = point_of(builder.build(), case)
    E = case.rng.standard_normal(X.shape) * np.abs(X)
    dense = _followed(builder, evaluation, X, E, np.asarray)
    try:
        builder.build(**{f"a{builder.samples}": sp.csr_array(X)})
    except (PsdoptError, TypeError, ValueError):
        return dense  # sparse data may be refused
    yield dense
    yield _followed(builder, evaluation, X, E, sp.csr_array)


def _followed(builder: Builder, evaluation: Any, X: Array, E: Array, way: Callable[[Array], Any]) -> Deviation:
    """The slope of F along X + hE over steps of 1e-9, against that over larger ones; X is handed over as way(X)."""

    def value(h: float) -> float:
        return float(builder.build(**{f"a{builder.samples}": way(X + h * E)}).at(evaluation.factor).value)

    slope, _ = derivative(value, 0.05)
    near = (value(1e-9) - value(-1e-9)) / 2e-9
    rounding = 1e3 * np.finfo(float).eps * float(value_unit(evaluation.problem, evaluation)) / 1e-9
    error = abs(near - float(slope))
    if abs(float(slope)) <= 4.0 * rounding:
        raise Trivial("F hardly depends on the samples")
    words = f"the slope over steps of 1e-9 is {near:.6g}, over larger ones {float(slope):.6g}"
    return Deviation(error, 0.25 * abs(float(slope)) + rounding, words)


@claim("0.2")
def formula(builder: Builder, case: Case) -> Deviations:
    """F is what the problem's reference() says, built from the same data."""
    problem = builder.build()
    twin = twin_of(problem)
    if twin is None:
        raise Trivial("the problem has no formula to compare with (reference): wrong weights would not be seen")
    return _same("of the formula", twin, problem, case)


def _arguments(obj: Any) -> dict[str, Any]:
    """Attributes of `obj` with the names of its constructor's parameters, with or without a leading underscore.

    Forms and linear maps that hold a dense matrix stand for the original array.
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
    except Exception as error:  # its attributes are no valid arguments
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
