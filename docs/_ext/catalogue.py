"""Directives that render psdopt's own lists: the conformance checks, and the public names of a module."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class ConformanceChecks(SphinxDirective):
    """Every check of :mod:`psdopt.testing`, by the kind of its subject, with the claim that it tests."""

    def run(self) -> list[nodes.Node]:
        kinds: dict[str, list[Any]] = {}
        for check in importlib.import_module("psdopt.testing").CHECKS:
            kinds.setdefault(check.kind, []).append(check)
        lines: list[str] = []
        for kind, checks in kinds.items():
            lines += ["", f".. rubric:: {kind}", ""]
            for check in checks:
                lines += [f"``{check.name}``", f"    {' '.join(check.statement.split())}", ""]
        return parsed(self, lines)


class PublicNames(SphinxDirective):
    """A reference of everything in ``__all__`` of a module: classes, functions, constants."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        module = importlib.import_module(name)
        kinds: dict[str, list[str]] = {"Classes": [], "Functions": [], "Constants": []}
        for public in sorted(module.__all__, key=str.lower):
            value = getattr(module, public)
            kind = "Classes" if inspect.isclass(value) else "Functions" if callable(value) else "Constants"
            kinds[kind].append(public)
        lines: list[str] = []
        for kind, names in kinds.items():
            documented = [n for n in names if kind != "Constants"]
            if documented:
                lines += ["", f".. rubric:: {kind}", "", ".. autosummary::", "   :toctree: generated", ""]
                lines += [f"   {name}.{public}" for public in documented]
            elif names:
                lines += ["", f".. rubric:: {kind}", "", ", ".join(f"``{public}``" for public in names)]
        return parsed(self, lines)


def parsed(directive: SphinxDirective, lines: list[str]) -> list[nodes.Node]:
    """The nodes of reStructuredText `lines`."""
    node = nodes.section()
    node.document = directive.state.document
    directive.state.nested_parse(StringList(lines, source=directive.name), directive.content_offset, node)
    return list(node.children)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("conformance-checks", ConformanceChecks)
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True}
