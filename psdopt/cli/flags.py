"""Messages of the library for the command line: keyword arguments become options."""

from __future__ import annotations

import re

#: Keyword arguments of solve() that are options of ``psdopt run``.
_OPTIONS = {
    "tol": "--tol",
    "max_iterations": "--max-iterations",
    "max_time": "--max-time",
    "rank": "--rank",
    "rng": "--seed",
}
_SENTENCES = (
    (re.compile(r"pass escape=True or a larger rank"), "leave out --rank and --geometry, or give a larger --rank"),
    (re.compile(r"pass a larger max_iterations or tol"), "give a larger --max-iterations or --tol"),
    (re.compile(r"escape=True"), "neither --rank nor --geometry"),
)
_KEYWORD = re.compile(r"(?P<pass>\bpass |--set )?(?<![\w(.-])(?P<name>[a-z]\w*)=(?P<value>'[^']*'|\"[^\"]*\"|[\w.+-]+)")


def as_flags(text: str, parameters: frozenset[str] = frozenset()) -> str:
    """`text` with ``name=value`` of solve() as ``--name value``, and of an application's `parameters` as ``--set``."""
    for pattern, sentence in _SENTENCES:
        text = pattern.sub(sentence, text)

    def option(match: re.Match[str]) -> str:
        if match["pass"] == "--set ":
            return match[0]
        name, value = match["name"], match["value"].strip("'\"")
        if name in parameters:
            shown = f"--set {name}={value}"
        elif name in _OPTIONS:
            shown = f"{_OPTIONS[name]} {value}"
        else:
            return match[0]
        return f"add {shown}" if match["pass"] else shown

    return _KEYWORD.sub(option, text)
