"""Docstrings are written for the terminal; here they become reStructuredText.

In the terminal |S Y| is a norm and components_ a name. Before numpydoc reads a docstring, ``|``, ``*`` and trailing
underscores outside code are escaped. Entries of the form ``name : what it is`` get numpydoc's layout.
Indented blocks are formulas or code.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

#: Inline code, roles, links and emphasis are left as they are.
MARKUP = re.compile(r"``[^`]+``|(?::\w+:)?`[^`]+`_?|\*\*\S[^*]*\*\*|(?<![\w*])\*\w[^*]*\*(?![\w*])")
TRAILING_UNDERSCORE = re.compile(r"(?<=\w)_(?!\w)")
ENTRIES = ("Parameters", "Attributes", "Returns", "Yields", "Other Parameters", "Raises", "Warns")
BULLET = re.compile(r"\s*([-*•]|\d+\.) ")
NAMES = re.compile(r"[\w*]+(?:, [\w*]+)* : \S")
#: Where a further entry begins on the line of another.
NEXT_ENTRY = re.compile(r"(?<=[.)\]]) (?=[A-Za-z_]\w*(?:, [A-Za-z_]\w*)* : )")
ENTRY = re.compile(r"(?P<name>[\w*][\w*, .\[\]]*?) : (?P<text>\S.*)")


def escaped(text: str) -> str:
    """`text` with everything that reStructuredText would read as markup, but the author did not mean so, escaped."""
    parts, end = [], 0
    for found in MARKUP.finditer(text):
        parts += [_plain(text[end : found.start()]), found.group()]
        end = found.end()
    return "".join([*parts, _plain(text[end:])])


def _plain(text: str) -> str:
    return TRAILING_UNDERSCORE.sub(r"\\_", text.replace("|", r"\|").replace("*", r"\*"))


def restructured(lines: list[str]) -> list[str]:
    """The docstring as numpydoc reads it best."""
    answer: list[str] = []
    lines = _one_entry_a_line(lines)
    section = ""
    literal = -1  # indentation of the paragraph above a block of code or formulas, or −1
    entries = False  # within a run of entries
    paragraph = ""  # first line of the last paragraph that is not indented
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        before = lines[number - 1].strip() if number else ""
        indent = len(line) - len(line.lstrip())
        if len(following.strip()) > 2 and set(following.strip()) == {"-"}:
            section = line.strip()
        if not line.strip():
            entries = entries and section in ENTRIES
        elif indent <= literal:
            literal = -1
        if indent == 0 and line.strip() and not before:
            paragraph = line
        if literal < 0 and line.strip() and indent and not before and not entries and not BULLET.match(paragraph):
            literal = 0
            if not _ends_literal(answer):
                answer += ["::", ""]
        if literal >= 0 or ">>>" in line or line.startswith("..."):
            answer.append(line)
        elif indent == 0 and (entry := ENTRY.fullmatch(line)) and (section in ENTRIES or entries or not before):
            entries = True
            name = entry["name"] if section in ENTRIES else escaped(entry["name"])
            answer += [name, "    " + escaped(entry["text"])]
        elif entries and section not in ENTRIES and line.strip():  # goes on below an entry, indented or not
            if line.startswith("Raises "):
                answer += ["", escaped(line)]
                entries = False
            else:
                answer.append("    " + escaped(line.strip()))
        else:
            answer.append(escaped(line))
    return answer


def _one_entry_a_line(lines: list[str]) -> list[str]:
    """`lines` with every entry of a run of entries on a line of its own."""
    answer: list[str] = []
    within = False
    for line in lines:
        within = bool(line.strip()) and (within or NAMES.match(line) is not None)
        first, *others = NEXT_ENTRY.split(line) if within else [line]
        answer += [first, *others]
    return answer


def _ends_literal(lines: list[str]) -> bool:
    """Whether the last paragraph ends in a double colon."""
    text = [line for line in lines if line.strip()]
    return bool(text) and text[-1].rstrip().endswith("::")


def process(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    lines[:] = restructured(lines)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", process, priority=100)  # before numpydoc, which has 500
    return {"parallel_read_safe": True}
