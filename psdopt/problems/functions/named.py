"""Parameters in dicts, lists and tuples as arrays by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
