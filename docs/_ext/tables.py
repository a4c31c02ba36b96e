"""Tables whose entries are numbers for the most part get the class "measured", for the style sheet."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

NUMBER = re.compile(r"[<>±+−-]?\s*[.\d]")


def mark(app: Sphinx, document: nodes.document, name: str) -> None:
    for table in document.findall(nodes.table):
        entries = [entry.astext() for body in table.findall(nodes.tbody) for entry in body.findall(nodes.entry)]
        if 2 * sum(bool(NUMBER.match(entry)) for entry in entries) > len(entries):
            table["classes"].append("measured")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", mark)
    return {"parallel_read_safe": True}
