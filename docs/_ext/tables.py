"""Tables of the experiments' pages, but not of their index, get the class "measured", for the style sheet."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

PAGES = "experiments/"


def mark(app: Sphinx, document: nodes.document, name: str) -> None:
    if name.startswith(PAGES) and name != f"{PAGES}index":
        for table in document.findall(nodes.table):
            table["classes"].append("measured")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", mark)
    return {"parallel_read_safe": True}
