"""No module imports itself round a corner: the graph is drawn from the sources, nothing is run.

An edge is any import statement: at the top of a module, within a function, or for the type checker alone; and any call
of ``import_module`` whose name is written out, in the call or as a constant of the module. A lazy import only hides a
circle from Python, and one for types still means that neither file can be read without the other.
"""

from __future__ import annotations

import pytest

from tests.architecture.test_imports import CORE, FORWARDED, PLUGINS, imports, module_of, parsed

SOURCES = {module_of(path): path.read_text() for path in CORE + PLUGINS}


def edges(sources: dict[str, str], packages: frozenset[str]) -> dict[str, set[str]]:
    """Module -> the modules of `sources` that it imports. `packages` are those whose files are an ``__init__``."""
    found: dict[str, set[str]] = {}
    for module, source in sources.items():
        names = imports(parsed(source), module, module in packages)
        inside = {name if name in sources else name.rpartition(".")[0] for name in names}
        found[module] = {name for name in inside if name in sources and name != module}
    return found


def circles(graph: dict[str, set[str]]) -> list[frozenset[str]]:
    """The strongly connected components of more than one module (Kosaraju), sorted. O(modules + imports)."""
    order: list[str] = []
    seen: set[str] = set()
    for start in graph:
        stack = [(start, iter(sorted(graph[start])))] if start not in seen else []
        seen.add(start)
        while stack:
            module, rest = stack[-1]
            following = next((name for name in rest if name not in seen), None)
            if following is None:
                order.append(stack.pop()[0])
            else:
                seen.add(following)
                stack.append((following, iter(sorted(graph[following]))))
    backwards: dict[str, set[str]] = {module: set() for module in graph}
    for module, targets in graph.items():
        for target in targets:
            backwards[target].add(module)
    found: list[frozenset[str]] = []
    taken: set[str] = set()
    for root in reversed(order):
        component, waiting = set(), [root] if root not in taken else []
        while waiting:
            module = waiting.pop()
            if module not in taken:
                taken.add(module)
                component.add(module)
                waiting += backwards[module]
        if len(component) > 1:
            found.append(frozenset(component))
    return sorted(found, key=sorted)


def packages() -> frozenset[str]:
    return frozenset(module_of(path) for path in CORE + PLUGINS if path.name == "__init__.py")


def by_package(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same graph between the plugins, a folder each."""
    folders = {module: ".".join(module.split(".")[:2]) for module in graph if module.startswith("psdopt_plugins.")}
    merged: dict[str, set[str]] = {folder: set() for folder in folders.values()}
    for module, folder in folders.items():
        merged[folder] |= {folders[target] for target in graph[module] if target in folders} - {folder}
    return merged


def test_no_module_imports_itself_round_a_corner():
    graph = edges(SOURCES, packages())
    for module, plugin in FORWARDED.items():
        assert plugin in graph[module], "no longer forwarded: remove it here"
        graph[module] -= {plugin}
    assert circles(graph) == []


def test_no_plugin_imports_itself_round_a_corner():
    assert circles(by_package(edges(SOURCES, packages()))) == []


@pytest.mark.parametrize(
    "source",
    ["from p.b import x", "import p.b", "from p import b", "from .b import x", "from . import b",
     "def f():\n    from p.b import x",
     "from importlib import import_module\ndef f():\n    return import_module('p.b').x",
     "import importlib\nB = 'p.b'\ndef f():\n    return importlib.import_module(B)",
     "import importlib\nimportlib.import_module('.b', __package__)",
     "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.b import x"],
)  # fmt: skip
def test_a_circle_is_found_however_it_is_written(source):
    sources = {"p": "", "p.a": source, "p.b": "import p.c", "p.c": "from p.a import y", "p.d": "import p.a, p.b, numpy"}
    assert circles(edges(sources, frozenset({"p"}))) == [frozenset({"p.a", "p.b", "p.c"})]


def test_what_only_looks_like_a_circle_is_none():
    sources = {"p": "from p.a import x\nfrom .b import y", "p.a": "from p.b import y", "p.b": "import os"}
    assert circles(edges(sources, frozenset({"p"}))) == []
    assert circles({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []
    assert circles({"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c", "a"}}) == [frozenset("ab"), frozenset("cd")]


def test_plugins_are_compared_by_folder():
    graph = {"psdopt_plugins.x.a": {"psdopt_plugins.y.a"}, "psdopt_plugins.y.b": {"psdopt_plugins.x.b"},
             "psdopt_plugins.x.b": set(), "psdopt_plugins.y.a": set()}  # fmt: skip
    assert circles(graph) == []
    assert circles(by_package(graph)) == [frozenset({"psdopt_plugins.x", "psdopt_plugins.y"})]
