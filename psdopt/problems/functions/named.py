"""Parameters in dicts, lists and tuples as arrays by name, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np


def by_name(parameters: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """(name, NumPy array) of all arrays: "parameters" for one, "a.b" within dicts, "[0]" within lists and tuples."""
    if isinstance(parameters, Mapping):
        for key, each in parameters.items():
            yield from by_name(each, f"{name}.{key}" if name else str(key))
    elif isinstance(parameters, (list, tuple)):
        for k, each in enumerate(parameters):
            yield from by_name(each, f"{name}[{k}]")
    elif parameters is not None:
        yield name or "parameters", np.asarray(parameters)


def in_structure(parameters: Any, change: Callable[[str, Any], Any], name: str = "") -> Any:
    """The dicts, lists and tuples of `parameters` with change(name, array) in the place of each array."""
    if isinstance(parameters, Mapping):
        return {k: in_structure(each, change, f"{name}.{k}" if name else str(k)) for k, each in parameters.items()}
    if isinstance(parameters, (list, tuple)):
        return type(parameters)(in_structure(each, change, f"{name}[{k}]") for k, each in enumerate(parameters))
    return None if parameters is None else change(name or "parameters", parameters)
