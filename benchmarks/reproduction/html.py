"""The report: one HTML file with tables, sentences and pictures in it; every text is escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from benchmarks.reproduction.experiments import ResultTable
from benchmarks.reproduction.runner import NOT_MEASURED, Outcome
from benchmarks.reproduction.verdicts import number, verdict

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1f24; margin: 0 auto; max-width: 62rem; padding: 1rem; }
h1, h2, h3 { line-height: 1.25; } h2 { margin-top: 3rem; border-bottom: 1px solid #d0d7de; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; margin: .5rem 0; font-size: .875rem; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #e4e8ec; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } thead th { border-bottom: 2px solid #8c959f; }
.facts td { text-align: left; white-space: normal; }
.verdict { font-weight: 600; } .origin, .left { color: #57606a; font-size: .875rem; } .failed { color: #b42318; }
.ahead { color: #116329; } .behind { color: #b42318; } img { max-width: 100%; height: auto; }
summary { cursor: pointer; color: #57606a; }
"""


def html_report(
    title: str, facts: Sequence[tuple[str, str]], outcomes: Iterable[Outcome], references: Mapping[str, str]
) -> str:
    """The whole page. `facts` are (what, found) rows of the head; `references` {paper: full reference}."""
    papers: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        papers.setdefault(outcome.spec.paper, []).append(outcome)
    body = [f"<h1>{escape(title)}</h1>", _rows(facts)]
    body += [f'<p>Papers: {", ".join(f"""<a href="#{escape(p)}">{escape(p)}</a>""" for p in papers)}</p>']
    for paper, found in papers.items():
        body.append(f'<h2 id="{escape(paper)}">{escape(paper)}</h2>')
        if references.get(paper):
            body.append(f"<p>{escape(references[paper])}</p>")
        body += [_section(outcome) for outcome in found]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _section(outcome: Outcome) -> str:
    spec, findings = outcome.spec, outcome.findings
    parts = [f'<h3 id="{escape(spec.name)}">{escape(spec.title or spec.name)}</h3>', f"<p>{escape(spec.summary)}</p>"]
    parts += [_table(table) for table in findings.tables if table.rows]
    sentence = verdict(findings.comparisons)
    if sentence:
        parts.append(f'<p class="verdict">{escape(sentence)}</p>')
        parts.append(_comparisons(outcome))
    if spec.differences:
        parts.append(f"<p>{escape(spec.differences)}</p>")
    parts += [picture(name, data) for name, data in outcome.pictures.items()]
    parts += [f'<p class="left">{escape(sentence)}</p>' for sentence in left_out(outcome)]
    for case, why in outcome.failed.items():
        parts.append(f'<p class="failed">Failed: {escape(case)}: {escape(why)}</p>')
    parts.append(f'<p class="origin">{escape(origin(outcome))}</p>')
    return "\n".join(parts)


def left_out(outcome: Outcome) -> list[str]:
    """A sentence for each reason why cases were left out, with their names."""
    by_reason: dict[str, list[str]] = {}
    for case, why in outcome.missing.items():
        by_reason.setdefault(why, []).append(case)
    return [
        f"{'Not measured' if why == NOT_MEASURED else f'Left out for want of {why}'}: {'; '.join(cases)}."
        for why, cases in by_reason.items()
    ]


def origin(outcome: Outcome) -> str:
    """The code version and the processor seconds with which the shown figures were measured."""
    if not outcome.codes:
        return "Nothing was measured."
    return f"Measured by psdopt {', '.join(outcome.codes)} in {outcome.seconds:,.1f} processor seconds."


def picture(name: str, data: bytes) -> str:
    """An image element that holds the picture itself, a PNG file."""
    return f'<p><img alt="{escape(name)}" src="data:image/png;base64,{base64.b64encode(data).decode()}"></p>'


def _table(table: ResultTable) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    rows = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return (
        f'<div class="scroll"><table><caption>{escape(table.caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>\n{rows}\n</tbody></table></div>"
    )


def _comparisons(outcome: Outcome) -> str:
    """Every figure and the paper's, in a table that is collapsed at first."""
    rows = []
    for c in outcome.findings.comparisons:
        ratio = "" if c.ratio is None else number(c.ratio)
        shown = "" if c.unit == "s" else c.outcome
        cells = (c.what, number(c.ours), number(c.paper), c.unit, ratio)
        rows.append(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + f'<td class="{shown}">{shown}</td></tr>'
        )
    head = "".join(f"<th>{name}</th>" for name in ("figure", "ours", "paper", "unit", "ours / paper", ""))
    return (
        "<details><summary>Figure by figure</summary>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
        "</details>"
    )


def _rows(facts: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f"<tr><td>{escape(what)}</td><td>{escape(found)}</td></tr>" for what, found in facts)
    return f'<div class="scroll"><table class="facts"><tbody>{rows}</tbody></table></div>'
