"""Pages that belong together link to each other: applications, the gallery's examples, and the names of the reference.

What belongs together is read off the imports: a page or example that imports KTA belongs to KTA.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from reference import homes
from sphinx.application import Sphinx
from sphinx_gallery.directives import MiniGallery

IMPORT = re.compile(
    r"from (psdopt_plugins\.\w+)[\w.]* import ((?:\w+(?:, )?)+)|:class:`~?(psdopt_plugins\.\w+)\.(\w+)`"
)


class Related(MiniGallery):
    """The examples that use one of the given names, under a heading; nothing where there is none."""

    def run(self) -> list[nodes.Node]:
        heading, before = self.options.pop("heading", "In the gallery"), len(self.state_machine.input_lines)
        found = super().run()  # it inserts lines below this one
        title = nodes.rubric(heading, heading)
        return [title, *found] if len(self.state_machine.input_lines) > before else found


def names_used(text: str) -> list[str]:
    """Public names of the plugins that `text` imports or refers to, as their pages of the reference are called."""
    found: dict[str, None] = {}
    for module, names, referred, name in IMPORT.findall(text):
        found |= {f"{module or referred}.{used}": None for used in (names or name).split(", ")}
    public = set(homes().values())
    return [name for name in found if name in public]


@cache
def applications(folder: Path) -> dict[str, list[str]]:
    """The pages of applications that use a name, by the name. Pages that use few names come first."""
    used = {path.stem: names_used(path.read_text("utf-8")) for path in sorted(folder.glob("*.md"))}
    found: dict[str, list[str]] = {}
    for page, names in sorted(used.items(), key=lambda item: len(item[1])):
        for name in names:
            found.setdefault(name, []).append(page)
    return found


def add_links(app: Sphinx, docname: str, source: list[str]) -> None:
    """Appends the links to an application's page, to an example, or to a page of the reference."""
    folder, _, name = docname.rpartition("/")
    pages = applications(Path(app.srcdir) / "applications")
    if folder == "applications" and (names := names_used(source[0])):
        links = ", ".join(f"{{doc}}`{used.rpartition('.')[2]} </api/generated/{used}>`" for used in names)
        source[0] += f"\n\n**In the reference.** {links}\n\n```{{eval-rst}}\n.. related:: {' '.join(names)}\n```\n"
    elif folder.startswith("gallery/") and name.startswith("plot_"):
        titles = dict.fromkeys(page for used in names_used(source[0]) for page in pages.get(used, ())[:1])
        if titles:
            first, line, rest = source[0].partition(".. rst-class:: sphx-glr-timing")
            source[0] = (
                f"{first}**Application:** {', '.join(f':doc:`/applications/{t}`' for t in titles)}\n\n{line}{rest}"
            )
    elif folder == "api/generated" and name in pages:
        links = ", ".join(f":doc:`/applications/{page}`" for page in pages[name])
        source[0] += f"\n.. rubric:: Applications\n\n{links}\n"
    if folder == "api/generated" and name in set(homes().values()):
        source[0] += f"\n.. related:: {name}\n   :heading: Examples using {name.rpartition('.')[2]}\n"


def setup(app: Sphinx) -> dict[str, Any]:
    Related.option_spec = {**MiniGallery.option_spec, "heading": str}
    app.add_directive("related", Related)
    app.connect("source-read", add_links)
    return {"parallel_read_safe": True}
