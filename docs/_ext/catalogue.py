"""The directive that renders the conformance checks."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

from docstrings import escaped
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class ConformanceChecks(SphinxDirective):
    """Every check of :mod:`psdopt.testing`, by the kind of its subject: the claim, and a fault that it rejects."""

    def run(self) -> list[nodes.Node]:
        kinds: dict[str, list[Any]] = {}
        for check in importlib.import_module("psdopt.testing").CHECKS.values():
            kinds.setdefault(check.kind, []).append(check)
        rejected = faults(importlib.import_module("tests.testing.zoo").ZOO)
        lines: list[str] = []
        for kind, checks in kinds.items():
            lines += ["", f".. rubric:: {kind}", ""]
            for check in checks:
                claim = escaped(" ".join(check.statement.split()))
                lines += [f"``{check.name}`` (since {check.since})", f"    {claim}", ""]
                lines += [f"    *Fails on:* {escaped(rejected[check.name])}", ""]
        return parsed(self, lines)


def faults(zoo: Mapping[str, Iterable[Any]]) -> dict[str, str]:
    """The fault of the first object that each check rejects, by the name of the check."""
    found: dict[str, str] = {}
    for animal in (animal for animals in zoo.values() for animal in animals):
        fault = " ".join((animal.__doc__ or "").split("\n\n")[0].split())
        for name in animal.rejected_by:
            found.setdefault(name, fault)
    return found


def parsed(directive: SphinxDirective, lines: list[str]) -> list[nodes.Node]:
    """The nodes of reStructuredText `lines`."""
    node = nodes.section()
    node.document = directive.state.document
    directive.state.nested_parse(StringList(lines, source=directive.name), directive.content_offset, node)
    return list(node.children)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("conformance-checks", ConformanceChecks)
    return {"parallel_read_safe": True}
