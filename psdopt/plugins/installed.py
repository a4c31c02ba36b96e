"""Examples of all pieces that are installed, among which :func:`psdopt.compatible` looks for one that fits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from psdopt.plugins.manager import plugin_manager


def examples(kind: str) -> Iterator[Any]:
    """An example of every method or geometry that is installed, plugins included; broken examples are left out."""
    for spec in plugin_manager().specs(kind):
        try:
            yield (spec.example or spec.factory)()
        except Exception:  # a plugin whose example fails must not replace the message about another piece
            continue
