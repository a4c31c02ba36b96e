"""``python -m benchmarks reproduce``: measures tables and figures of papers again, and writes a report beside theirs.

The result of each case is stored in DIR/results (DIR/quick with ``--quick``) at once. A case is measured again if
its settings, the version or the commit of the sources have changed, or with ``--again``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers import EXPERIMENTS
from benchmarks.reproduction.experiments import ExperimentSpec
from benchmarks.reproduction.html import html_report
from benchmarks.reproduction.origin import code_version, machine
from benchmarks.reproduction.pages import filled, paper_page, places
from benchmarks.reproduction.runner import Outcome, data_folder, is_there, required_files, run_experiment
from benchmarks.reproduction.store import Store
from benchmarks.reproduction.verdicts import verdict
from psdopt.cli.env import environment
from psdopt.cli.tables import show_table
from psdopt.data.files import atomic_write
from psdopt.errors import DataFileError, InvalidInputError, unknown_name
from psdopt.plugins import plugin_manager

REPORT = "report.html"


def main(argv: Sequence[str] | None = None, experiments: Sequence[ExperimentSpec] = EXPERIMENTS) -> int:
    """0, or 1 if a case failed; the report is written in either case."""
    arguments = parser().parse_args(argv)
    specs = chosen(experiments, arguments.paper, arguments.only)
    if arguments.list:
        rows = [(spec.paper, spec.name, spec.title or spec.summary) for spec in specs]
        show_table("Experiments", ("paper", "experiment", "what it measures"), rows)
        return 0
    if arguments.again and arguments.stored:
        raise InvalidInputError("--again measures everything and --stored nothing: give one of them")
    if arguments.pages is not None and not arguments.pages.is_dir():
        raise DataFileError(f"--pages: {arguments.pages} is no folder; name the folder of the pages")
    return _measured(arguments, specs)


def parser() -> argparse.ArgumentParser:
    description = "Measure the tables and figures of papers again, and write a report beside the papers' figures."
    parser = argparse.ArgumentParser(prog="python -m benchmarks reproduce", description=description)
    parser.add_argument("--paper", nargs="+", metavar="NAME", default=[], help="only these papers; --list shows them")
    parser.add_argument("--only", nargs="+", metavar="EXPERIMENT", default=[], help="only these experiments")
    parser.add_argument("--list", action="store_true", help="list papers and experiments, and stop")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes: minutes in all, without data sets if need be"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("reproduction"),
        metavar="DIR",
        help="folder of results and report (default: %(default)s)",
    )
    parser.add_argument("--again", action="store_true", help="measure what an earlier run has measured already")
    parser.add_argument("--stored", action="store_true", help="measure nothing: show what is kept in DIR")
    parser.add_argument(
        "--pages",
        type=Path,
        metavar="DIR",
        help="bring the *.md in DIR up to date, and results and pictures beside them",
    )
    return parser


def _measured(arguments: argparse.Namespace, specs: Sequence[ExperimentSpec]) -> int:
    results = made(arguments.out / ("quick" if arguments.quick else "results"))
    _say_data(specs, arguments.quick)
    begin = time.perf_counter()
    outcomes = []
    for spec in specs:
        path = results / f"{spec.name}.json"
        if arguments.again:
            path.unlink(missing_ok=True)
        outcomes.append(
            run_experiment(
                spec, Store(path), code_version(), quick=arguments.quick, measure=not arguments.stored, say=print
            )
        )
        sentence = verdict(outcomes[-1].findings.comparisons)
        if sentence:
            print(f"{spec.name}: {sentence}")
    _write(arguments, outcomes, results, time.perf_counter() - begin)
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def chosen(specs: Sequence[ExperimentSpec], papers: Sequence[str], names: Sequence[str]) -> list[ExperimentSpec]:
    """Those of `papers` (none named: all), or those called `names`; UnknownNameError for any other name."""
    for kind, wanted, known in (
        ("paper", papers, {spec.paper for spec in specs}),
        ("experiment", names, {spec.name for spec in specs}),
    ):
        for name in wanted:
            if name not in known:
                raise unknown_name(kind, name, known)
    specs = [spec for spec in specs if (not papers or spec.paper in papers) and (not names or spec.name in names)]
    if not specs:
        raise InvalidInputError("no experiment is of these papers and has these names; --list shows them")
    return sorted(specs, key=lambda spec: (spec.paper, spec.name))


def made(folder: Path) -> Path:
    """`folder`, made if it does not exist; DataFileError if it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataFileError(f"--out: cannot make {folder}: {error.strerror or error}") from error
    return folder


def _say_data(specs: Sequence[ExperimentSpec], quick: bool) -> None:
    wanted = {file for spec in specs for case in spec.factory().cases(quick) for file in required_files(case)}
    for variable in sorted({variable for variable, _ in wanted}):
        names = sorted(name for folder, name in wanted if folder == variable)
        missing = [name.removesuffix(".npz") for name in names if not is_there(variable, name)]
        if missing:
            folder = data_folder(variable)
            where = f"not in {folder}" if folder else f"{variable} names no folder"
            print(f"{len(missing)} of {len(names)} data sets are missing ({where}): {', '.join(missing)}")


def _write(arguments: argparse.Namespace, outcomes: list[Outcome], results: Path, seconds: float) -> None:
    papers = sorted({outcome.spec.paper for outcome in outcomes})
    references = {outcome.spec.paper: outcome.spec.reference for outcome in outcomes}
    code = code_version()
    facts = [
        ("psdopt", f"{code['version']} {code['commit']}".strip()),
        *machine().items(),
        *(
            (f"`psdopt env`: {what}", found)
            for what, found in environment(plugin_manager())
            if what in ("BLAS", "threads")
        ),
        (
            "cases measured now, kept from before",
            f"{sum(o.measured for o in outcomes)}, {sum(o.kept for o in outcomes)}",
        ),
        ("cases left out, failed", f"{sum(len(o.missing) for o in outcomes)}, {sum(len(o.failed) for o in outcomes)}"),
        ("this run", f"{seconds:,.1f} s by the clock"),
        ("all that is shown", f"{sum(outcome.seconds for outcome in outcomes):,.1f} processor seconds"),
    ]
    title = "Papers measured again" + (", small sizes" if arguments.quick else "")
    _text(arguments.out / REPORT, html_report(title, facts, outcomes, references))
    for paper in papers:
        found = [outcome for outcome in outcomes if outcome.spec.paper == paper]
        _text(made(arguments.out / "pages") / f"{paper}.md", paper_page(references[paper] or paper, found))
    _pictures(made(arguments.out / "pages" / "figures"), outcomes)
    if arguments.pages is not None:
        _fill(arguments.pages, outcomes, results)
    print(f"Report: {arguments.out / REPORT}")


def _fill(folder: Path, outcomes: list[Outcome], results: Path) -> None:
    """Write tables and facts into the pages, and the pictures and results of the experiments that they show."""
    by_name = {outcome.spec.name: outcome for outcome in outcomes}
    shown: set[str] = set()
    for path in sorted(folder.glob("*.md")):
        page = path.read_text(encoding="utf-8")
        shown |= places(page)
        text = filled(page, by_name)
        if text != page:
            _text(path, text)
            print(f"Page: {path}")
    _pictures(made(folder / "figures"), [outcome for name, outcome in by_name.items() if name in shown])
    for name in shown & set(by_name):
        path = results / f"{name}.json"
        if path.exists():
            _text(made(folder / "results") / path.name, path.read_text(encoding="utf-8"))


def _pictures(folder: Path, outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        for name, data in outcome.pictures.items():
            with atomic_write(folder / f"{outcome.spec.name}-{name}.png") as handle:
                handle.write(data)


def _text(path: Path, text: str) -> None:
    with atomic_write(path) as handle:
        handle.write(text.encode())
