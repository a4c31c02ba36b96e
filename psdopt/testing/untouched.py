"""The contents of an object as comparable data, taken twice by checks that nothing is changed in place."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np
import scipy.sparse as sp

#: Deepest nesting that is followed, and most entries of one list.
DEPTH, ENTRIES = 12, 4096

#: Path -> type, shape and bytes of an array; repr of a number or text; length of a list.
Snapshot = dict[str, Any]


def snapshot(obj: Any, skip: tuple[type, ...] = ()) -> Snapshot:
    """All arrays, numbers, texts and lengths that can be reached from `obj`, by path; objects of `skip` left out."""
    found: Snapshot = {}
    _walk(obj, "", found, skip, {}, 0)
    return found


def changes(before: Snapshot, after: Snapshot, *, caches: bool = False) -> list[str]:
    """Paths at which a value has changed, disappeared, or (unless `caches`) appeared.

    caches : private names may have appeared or replaced None in the meantime, as caches do.
    """
    broken = [path for path, value in before.items() if path not in after or not _same(value, after[path])]
    broken = [
        path
        for path in broken
        if not (caches and isinstance(before[path], str) and before[path] == "None" and _private(path))
    ]
    return broken + [path for path in after if path not in before and not (caches and _private(path))]


def _private(path: str) -> bool:
    return any(part.startswith("_") for part in path.split("."))


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()
    return type(one) is type(two) and bool(one == two)


def _walk(obj: Any, path: str, found: Snapshot, skip: tuple[type, ...], seen: dict[int, Any], depth: int) -> None:
    if isinstance(obj, skip) or depth > DEPTH:
        return
    if isinstance(obj, np.ndarray):
        found[path] = obj.copy()
    elif obj is None or isinstance(obj, (bool, int, float, complex, str, bytes, Enum, np.generic)):
        found[path] = repr(obj)
    elif id(obj) in seen or isinstance(obj, type) or (callable(obj) and not hasattr(obj, "__dict__")):
        return
    else:
        seen[id(obj)] = obj
        for name, part in _parts(obj, path, found):
            _walk(part, f"{path}.{name}" if path else str(name), found, skip, seen, depth + 1)


def _parts(obj: Any, path: str, found: Snapshot) -> list[tuple[Any, Any]]:
    if sp.issparse(obj):
        kept = [(name, getattr(obj, name, None)) for name in ("data", "indices", "indptr", "row", "col")]
        return [(name, value) for name, value in kept if isinstance(value, np.ndarray)]
    if isinstance(obj, Mapping):
        return [(repr(key), value) for key, value in obj.items()]
    if isinstance(obj, (list, tuple, set, frozenset)):
        found[f"{path}.length"] = str(len(obj))
        return list(enumerate(obj))[:ENTRIES] if isinstance(obj, (list, tuple)) else []
    if dataclasses.is_dataclass(obj) and not hasattr(obj, "__dict__"):
        return [(field.name, getattr(obj, field.name)) for field in dataclasses.fields(obj)]
    if any("__getstate__" in vars(cls) for cls in type(obj).__mro__[:-1]):
        kept = obj.__getstate__()  # parts that are not pickled, such as a solver's warm start, do not count
        return list(kept.items()) if isinstance(kept, dict) else [("_state", kept)]
    slots = [name for cls in type(obj).__mro__ for name in getattr(cls, "__slots__", ())]
    return (
        [*vars(obj).items()]
        if hasattr(obj, "__dict__")
        else [(name, getattr(obj, name)) for name in slots if hasattr(obj, name)]
    )
