"""Pages of Markdown whose figures come from results: tables between two comments, numbers within the prose.

A table, with its verdict and its origin, stands between ``<!-- table NAME -->`` and ``<!-- end -->``, a number between
``<!-- fact NAME.FACT -->`` and ``<!-- end -->``. :func:`filled` replaces what stands between; the prose around stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from benchmarks.reproduction.experiments import ResultTable
from benchmarks.reproduction.html import left_out, origin
from benchmarks.reproduction.runner import Outcome
from benchmarks.reproduction.verdicts import verdict
from psdopt.errors import InvalidInputError

_PLACE = re.compile(r"<!-- (table|fact) ([a-z0-9.-]+) -->(.*?)<!-- end -->", re.DOTALL)


def filled(page: str, outcomes: Mapping[str, Outcome]) -> str:
    """`page` with the tables and facts of `outcomes`, {experiment: outcome}; those of other experiments do not change.

    Raises InvalidInputError for a fact that a completely measured experiment does not state.
    """

    def replace(match: re.Match[str]) -> str:
        kind, name = match[1], match[2]
        experiment, _, fact = name.partition(".") if kind == "fact" else (name, "", "")
        outcome = outcomes.get(experiment)
        if outcome is None:
            return match[0]
        text = f"\n\n{section(outcome)}\n" if kind == "table" else _fact(outcome, fact)
        return f"<!-- {kind} {name} -->{text}<!-- end -->"

    return _PLACE.sub(replace, page)


def places(page: str) -> set[str]:
    """Names of the experiments that `page` shows."""
    return {match[2].partition(".")[0] for match in _PLACE.finditer(page)}


def section(outcome: Outcome) -> str:
    """Tables, verdict, missing cases and origin of one experiment."""
    parts = [markdown_table(table) for table in outcome.findings.tables if table.rows]
    sentence = verdict(outcome.findings.comparisons)
    parts += [_plain(sentence)] if sentence else []
    parts += [_plain(sentence) for sentence in left_out(outcome)]
    return "\n\n".join([*parts, f"*{_plain(origin(outcome))}*"]) + "\n"


def paper_page(title: str, outcomes: Iterable[Outcome]) -> str:
    """A page for a paper, whose only prose are the experiments' own sentences."""
    parts = [f"# {_plain(title)}\n"]
    for outcome in outcomes:
        spec = outcome.spec
        parts += [f"## {_plain(spec.title or spec.name)}\n", f"{_plain(spec.summary)}\n", section(outcome)]
        parts += [f"{_plain(spec.differences)}\n"] if spec.differences else []
        parts += [f"![{_plain(name)}](figures/{spec.name}-{name}.png)\n" for name in outcome.findings.figures]
    return "\n".join(parts)


def markdown_table(table: ResultTable) -> str:
    """The table with its caption above it."""
    lines = [
        f"{_plain(table.caption)}\n" if table.caption else "",
        _line(table.columns),
        "|---" * len(table.columns) + "|",
        *(_line(row) for row in table.rows),
    ]
    return "\n".join(line for line in lines if line)


def _fact(outcome: Outcome, fact: str) -> str:
    facts = outcome.findings.facts
    if fact not in facts:
        if outcome.missing or outcome.failed:
            return "(not measured)"
        known = ", ".join(sorted(facts)) or "none"
        raise InvalidInputError(f"experiment {outcome.spec.name} states no fact {fact!r}; known: {known}")
    return _plain(facts[fact])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _plain(text: str) -> str:
    """`text` with characters escaped that Markdown would read as markup."""
    return re.sub(r"([\\|<>*_`\[\]$])", r"\\\1", " ".join(text.split()))
