"""``from psdopt import KTA``: a name that is public elsewhere gives an error that says where."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import Any

from psdopt.plugins.manager import plugin_manager

PACKAGE = "psdopt"


def homes(name: str) -> list[str]:
    """The modules that have `name` in their ``__all__``: those of psdopt that are imported, and the plugins."""
    plugins = {getattr(plugin, "__name__", "") for plugin in plugin_manager().modules()}
    return [
        module
        for module, content in sorted(sys.modules.items())
        if (module.partition(".")[0] == PACKAGE or module in plugins) and name in getattr(content, "__all__", ())
    ]


class Elsewhere(MetaPathFinder):
    """The last finder: of ``psdopt.KTA``, which no other finder knows, it raises an ImportError that names the home.

    ``from psdopt import KTA`` looks for an attribute, then for a module. Since this error comes from the search for
    the module, ``hasattr(psdopt, "KTA")`` is False, as for any other name.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        package, _, name = fullname.rpartition(".")
        if package == PACKAGE and not name.startswith("_") and (found := homes(name)):
            lines = " or ".join(f"`from {home} import {name}`" for home in found)
            raise ImportError(f"{name} is not in psdopt itself: write {lines}", name=fullname)
