"""The object under test: its kind, the data for its checks, and a line of Python that recreates it."""

from __future__ import annotations

import base64
import pickle
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method
from psdopt.contracts.problem import Problem
from psdopt.errors import InvalidTypeError
from psdopt.terms.base import Term
from psdopt.terms.losses import Loss
from psdopt.terms.measurements import Measurement
from psdopt.testing.builders import Builder
from psdopt.testing.gallery import Instance, instances_for
from psdopt.testing.hostile import hostile_for
from psdopt.testing.splits import Split

#: Kinds of objects that have checks, besides estimators.
KINDS: dict[str, type[Any]] = {
    "problem": Problem,
    "geometry": Geometry,
    "method": Method,
    "term": Term,
    "loss": Loss,
    "measurement": Measurement,
    "builder": Builder,
    "split": Split,
}
#: Pickles longer than this are not printed.
LONGEST_PICKLE = 4000


@dataclass(frozen=True)
class MethodSubject:
    """A method with the instances it is tried on."""

    method: Method
    instances: tuple[Instance, ...]
    hostile: tuple[Instance, ...]
    #: Results of plain runs, by instance name and seed: several checks look at the same run.
    runs: dict[tuple[str, int], Any] = field(default_factory=dict, repr=False, compare=False)
    #: The first states of runs, for the same reason.
    paths: dict[tuple[str, int], list[Any]] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class ApplicationSubject:
    """An estimator with data (X, y)."""

    estimator: Any
    X: Any
    y: Any


def kind_of(obj: Any) -> str:
    """The kind of `obj`, as checks name it: a key of `KINDS`, or "application". Raises InvalidTypeError otherwise."""
    for kind, cls in KINDS.items():
        if isinstance(obj, cls):
            return kind
    if hasattr(obj, "fit") and hasattr(obj, "get_params") and not isinstance(obj, type):
        return "application"
    hint = "; call it to make an instance" if isinstance(obj, type) else ""
    kinds = ", ".join(cls.__name__ for cls in KINDS.values())
    raise InvalidTypeError(f"obj must be a {kinds} or an estimator; found {obj!r}{hint}")


def subject_of(obj: Any, instances: Iterable[tuple[Problem, Geometry]] = (), data: Sequence[Any] | None = None) -> Any:
    """The argument of check functions for `obj`."""
    kind = kind_of(obj)
    if kind == "method":
        return MethodSubject(obj, tuple(instances_for(obj, instances)), tuple(hostile_for(obj)))
    if kind == "application":
        X, y = data if data is not None else conformance_data(obj)
        return ApplicationSubject(obj, X, y)
    return obj


def conformance_data(estimator: Any) -> tuple[Any, Any]:
    """The estimator's own ``conformance_data()``, else three blobs with labels, from a fixed seed.

    An estimator with scikit-learn's tag `pairwise`, whose input has a row and a column for each sample, receives the
    inner products of those samples.
    """
    import numpy as np

    own = getattr(estimator, "conformance_data", None)
    if own is not None:
        X, y = own()
        return X, y
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 12)
    X = rng.standard_normal((36, 4)) + 3.0 * rng.standard_normal((3, 4))[y]
    return (X @ X.T if is_pairwise(estimator) else X), y


def is_pairwise(estimator: Any) -> bool:
    """Whether the estimator's X is a matrix of relations between samples (scikit-learn's tag `pairwise`)."""
    tags = getattr(estimator, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.pairwise)


def name_of_subject(obj: Any) -> str:
    """Short text for tables."""
    text = repr(obj)
    return text if len(text) <= 60 and not text.startswith("<") and "\n" not in text else type(obj).__name__


def source_of(obj: Any) -> str:
    """Python text that makes `obj` under the name `obj`: from its repr, its class, or its pickle."""
    cls = type(obj)
    text = repr(obj)
    for expression in (text, f"{cls.__qualname__}()"):
        if "." not in cls.__qualname__ and _makes(expression, cls, text):
            return f"from {cls.__module__} import {cls.__qualname__}\nobj = {expression}"
    try:
        packed = base64.b85encode(zlib.compress(pickle.dumps(obj), 9)).decode()
    except Exception:  # an object may refuse in any way
        packed = ""
    if packed and len(packed) <= LONGEST_PICKLE:
        return f"import base64, pickle, zlib\nobj = pickle.loads(zlib.decompress(base64.b85decode({packed!r})))"
    return f"obj = ...  # the {cls.__module__}.{cls.__qualname__} under test"


def _makes(expression: str, cls: type, text: str) -> bool:
    try:
        made = eval(expression, {cls.__name__: cls})  # the object's own repr
    except Exception:
        return False
    plain = object.__repr__(made)[:20] == repr(made)[:20]
    return type(made) is cls and (plain or repr(made) == text)
