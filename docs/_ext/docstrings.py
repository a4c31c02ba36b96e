"""Docstrings are written for the terminal; here they become reStructuredText.

In the terminal |S Y| is a norm and components_ a name. Before numpydoc reads a docstring, ``|``, ``*`` and trailing
underscores outside code are escaped. Entries of the form ``name : what it is`` get numpydoc's layout.
Indented blocks are formulas or code. Paragraphs after the entries of a section become notes: numpydoc would read them
as further entries. Sentences in the place of entries ("InvalidInputError for NaN; ...") become entries.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

#: Inline code, roles, links and emphasis are left as they are.
MARKUP = re.compile(r"``[^`]+``|(?::\w+:)?`[^`]+`_?|\*\*\S[^*]*\*\*|(?<![\w*])\*\w[^*]*\*(?![\w*])")
JOINED = "−=|·×"
TRAILING_UNDERSCORE = re.compile(r"(?<=\w)_(?!\w)")
ENTRIES = ("Parameters", "Attributes", "Returns", "Yields", "Other Parameters", "Raises", "Warns")
BULLET = re.compile(r"\s*([-*•]|\d+\.) ")
NAMES = re.compile(r"[\w*]+(?:, [\w*]+)* : \S")
#: Where a further entry begins on the line of another.
NEXT_ENTRY = re.compile(r"(?<=[.)\]]) (?=[A-Za-z_]\w*(?:, [A-Za-z_]\w*)* : )")
#: Sentences in the place of entries: where the next one begins, and what its name is.
NEXT_RAISED = re.compile(r"[;.] (?=[\w.]+(?:Error|Warning)\b)")
RAISED = re.compile(r"(?P<name>[\w.]+(?:Error|Warning)(?:, [\w.]+Error)*),? (?P<text>.+)")
RETURNED = re.compile(r"(?:An? )?(?P<name>:class:`[^`]+`|\w+)[.:] (?P<text>.+)")
#: How Sphinx writes an alias of a type within another type.
ALIAS = re.compile(r"TypeAliasForwardRef\('([\w.]+)'\)")
DEFAULT = re.compile(r"= ?<(?:[^<>]|<[^<>]*>)*>")
ENTRY = re.compile(r"(?P<name>[\w*][\w*, .\[\]]*?) : (?P<text>\S.*)")


def escaped(text: str) -> str:
    """`text` with everything that reStructuredText would read as markup, but the author did not mean so, escaped."""
    parts, end = [], 0
    for found in MARKUP.finditer(text):
        joined = found.start() > 0 and text[found.start() - 1] in JOINED  # such markup is text to reStructuredText
        parts += [_plain(text[end : found.start()]), "\\ " * joined, found.group()]
        end = found.end()
    return "".join([*parts, _plain(text[end:])])


def _plain(text: str) -> str:
    return TRAILING_UNDERSCORE.sub(r"\\_", text.replace("|", r"\|").replace("*", r"\*"))


def restructured(lines: list[str]) -> list[str]:
    """The docstring as numpydoc reads it best."""
    answer: list[str] = []
    lines = _notes_last(_entries_of_sentences(_one_entry_a_line(lines)))
    section = ""
    literal = -1  # indentation of the paragraph above a block of code or formulas, or −1
    entries = False  # within a run of entries
    paragraph = ""  # first line of the last paragraph that is not indented
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        before = lines[number - 1].strip() if number else ""
        indent = len(line) - len(line.lstrip())
        if len(following.strip()) > 2 and set(following.strip()) == {"-"}:
            section, entries = line.strip(), False
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


def _entries_of_sentences(lines: list[str]) -> list[str]:
    """`lines` with sentences at the beginning of the sections Returns and Raises as entries, name above text."""
    answer: list[str] = []
    number = 0
    while number < len(lines):
        answer.append(lines[number])
        number += 1
        if len(answer) < 2 or set(lines[number - 1]) != {"-"} or answer[-2] not in ("Returns", "Raises"):
            continue
        end = next((k for k in range(number, len(lines)) if not lines[k].strip()), len(lines))
        paragraph = lines[number:end]
        if any(line[0].isspace() or ENTRY.fullmatch(line) for line in paragraph):
            continue
        text, raises = " ".join(paragraph), answer[-2] == "Raises"
        entries = [
            (RAISED if raises else RETURNED).match(part) for part in (NEXT_RAISED.split(text) if raises else [text])
        ]
        if all(entries):
            answer += [line for entry in entries if entry for line in (entry["name"], f"    {entry['text']}")]
            number = end
    return answer


def _notes_last(lines: list[str]) -> list[str]:
    """`lines` with the paragraphs that follow the entries of a section moved to the section Notes, at the end."""
    kept: list[str] = []
    notes: list[str] = []
    section, free = "", False
    for number, line in enumerate(lines):
        following = lines[number + 1].strip() if number + 1 < len(lines) else ""
        if len(following) > 2 and set(following) == {"-"}:
            section, free = line.strip(), False
        elif line.strip() and not line[0].isspace() and number and not lines[number - 1].strip():
            free = section in ENTRIES and " " in line and ENTRY.fullmatch(line) is None
        (notes if free else kept).append(line)
    if not notes:
        return lines
    if "Notes" not in kept:
        return [*kept, "", "Notes", "-----", *notes]
    place = kept.index("Notes") + 2
    return [*kept[:place], *notes, "", *kept[place:]]


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


def plain_signature(app: Sphinx, what: str, name: str, value: Any, options: Any, arguments: str, result: str) -> Any:
    """The signature with aliases of types, such as Array, by name also within other types, and defaults that are no
    Python, such as <factory>, as dots: Sphinx could not read the types beside them.
    """
    read = [text and DEFAULT.sub("= ...", ALIAS.sub(r"\1", text)) for text in (arguments, result)]
    return tuple(read) if read != [arguments, result] else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", process, priority=100)  # before numpydoc, which has 500
    app.connect("autodoc-process-signature", plain_signature)
    return {"parallel_read_safe": True}
