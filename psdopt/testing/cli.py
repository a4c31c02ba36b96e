"""``psdopt check TARGET``: run the kit on a plugin, one of its pieces, or any module, and print a table."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from psdopt.errors import InvalidTypeError, PsdoptError, UnknownNameError, unknown_name
from psdopt.plugins import PluginManager, plugin_manager
from psdopt.plugins.lazy import resolved
from psdopt.plugins.specs import Spec
from psdopt.testing.builders import Builder
from psdopt.testing.record import CheckStatus, Record, by_cause
from psdopt.testing.registry import CHECKS, checks_of, pinned
from psdopt.testing.runner import PROFILES, run_checks
from psdopt.testing.subjects import kind_of

__all__ = ["list_checks", "pinned", "run_check", "targets"]
KINDS = ("problem", "geometry", "method", "application")
_STYLES = {
    CheckStatus.PASSED: "green",
    CheckStatus.FAILED: "bold red",
    CheckStatus.WAIVED: "yellow",
    CheckStatus.SKIPPED: "dim",
}


@dataclass(frozen=True)
class Target:
    """An object to check: its name, and Python text that makes it (or why it cannot be made)."""

    name: str
    obj: Any
    source: str
    trouble: str = ""


def run_check(
    target: str,
    profile: str = "ci",
    *,
    up_to: str | None = None,
    manager: PluginManager | None = None,
    seed: int = 0,
    console: Console | None = None,
) -> int:
    """Check `target` and print a table; 0 if every check passed, 1 if one failed.

    target : name of a plugin, of one of its pieces ("name" or "kind:name"), or of a module. Of a plugin the
    example instances of its specs are checked; of a module its ``psdopt_components``, else the Problem, Geometry,
    Method and estimator instances in it. profile : "ci" or "thorough". up_to : checks that later versions add do
    not run; None for all. `seed` is accepted for symmetry with other commands: the samples are fixed, so that a failure
    can be repeated.

    Raises UnknownNameError if nothing is called `target`, or it holds nothing to check.
    """
    del seed
    if profile not in PROFILES:
        raise unknown_name("profile", profile, PROFILES)
    console = console or Console()
    manager = manager or plugin_manager()
    found = list(targets(target, manager))
    if not found:
        raise UnknownNameError(
            f"{target!r} holds nothing to check: no spec with an example, and no Problem, Geometry, Method or estimator"
        )
    failures: list[str] = []
    failed: list[Record] = []
    counts = dict.fromkeys(CheckStatus, 0)
    for one in found:
        if one.trouble:
            failures.append(f"{one.name}: {one.trouble}")
            continue
        with console.status(f"checking {one.name}") if console.is_terminal else nullcontext():
            records = run_checks(one.obj, profile=profile, source=one.source, up_to=up_to)
        for record in records:
            counts[record.verdict] += 1
        failed += [record for record in records if not record.ok]
        console.print(_table(one.name, records))
        for record in records:
            for reason in record.waived:
                console.print(Text(f"  {record.name} is waived in {reason}", style="yellow"))
    causes = by_cause(failed)
    for text in [*failures, *map(_told, causes)]:
        console.print(Text(text, style="red"), soft_wrap=True)  # paths and code can be copied
        console.print()
    passed, waived, skipped = (counts[each] for each in (CheckStatus.PASSED, CheckStatus.WAIVED, CheckStatus.SKIPPED))
    also = f"{waived} waived, " if waived else ""
    newer = "" if up_to is None else f" or are newer than {up_to}"
    number, together = len(failures) + len(failed), len(failures) + len(causes)
    why = f" for {together} cause{'s' * (together > 1)}" if together < number else ""
    console.print(f"{passed} passed, {number} failed{why}, {also}{skipped} do not apply{newer}")
    return 1 if number else 0


def list_checks(console: Console | None = None) -> int:
    """Print every check with the version that added it and the claim that it tests, by kind; 0."""
    console = console or Console()
    for kind in dict.fromkeys(check.kind for check in CHECKS.values()):
        table = Table(title=kind, title_justify="left", box=box.SIMPLE)
        table.add_column("check", no_wrap=True)
        table.add_column("since", no_wrap=True)
        table.add_column("claim")
        for check in checks_of(kind):
            table.add_row(check.name, check.since, Text(check.statement))
        console.print(table)
    console.print(f"{len(CHECKS)} checks")
    return 0


def _told(records: list[Record]) -> str:
    """The first of the records that fail for one cause, and the names of the others."""
    first, *others = records
    if not others:
        return str(first)
    names: dict[str, list[str]] = {}
    for record in others:
        names.setdefault(record.subject, []).append(record.name)
    listed = "".join(f"\n    {', '.join(names[subject])} on {subject}" for subject in names)
    return f"{first}\n  for the same cause fail {len(others)} more:{listed}"


def _table(name: str, records: list[Record]) -> Table:
    """One row per check; checks that do not apply come last, dimmed."""
    table = Table(title=name, title_justify="left", box=box.SIMPLE)
    for column in ("check", "verdict", "error", "tolerance", "samples"):
        numeric = column in ("error", "tolerance", "samples")
        table.add_column(column, justify="right" if numeric else "left", no_wrap=True)
    for record in sorted(records, key=lambda record: record.verdict is CheckStatus.SKIPPED):
        skipped = record.verdict is CheckStatus.SKIPPED
        numbers = ("", "", "") if skipped else (f"{record.error:.2g}", f"{record.tolerance:.2g}", str(record.samples))
        table.add_row(record.name, Text(str(record.verdict), style=_STYLES[record.verdict]), *numbers)
    return table


def targets(target: str, manager: PluginManager) -> Iterator[Target]:
    """The objects that `target` names: a plugin's specs, one spec, or a module's contents; and parts not loaded."""
    for problem in manager.problems:
        if target == problem.plugin:
            yield Target(f"plugin:{problem.plugin}", None, "", str(problem))
    specs = [spec for kind in KINDS for spec in manager.specs(kind)]
    chosen = [spec for spec in specs if target in (manager.plugin_of(spec), spec.name, f"{spec.kind}:{spec.name}")]
    if chosen or target in {problem.plugin for problem in manager.problems}:
        for spec in chosen:
            made = f"plugin_manager().get({spec.kind!r}, {spec.name!r}).example()"
            yield from _of_spec(spec, f"from psdopt.plugins import plugin_manager\nobj = {made}")
        return
    yield from _of_module(target, [*(manager.plugin_of(spec) for spec in specs), *(spec.name for spec in specs)])


def _of_spec(spec: Any, source: str) -> Iterator[Target]:
    make = spec.example or (spec.factory if spec.kind in ("method", "application") else None)
    name = f"{spec.kind}:{spec.name}"
    if make is None:
        yield Target(name, None, source, "the spec has no example to check; give it example=...")
        return
    if make is spec.factory:
        source = source.replace(".example()", ".factory()")
    try:
        obj = make()
        kind_of(obj)
    except InvalidTypeError as error:
        yield Target(name, None, source, str(error))
    except Exception as error:  # whatever the plugin raises is its failure
        yield Target(name, None, source, f"its example raises {type(error).__name__}: {error}")
    else:
        yield Target(name, obj, source)
    if spec.kind == "problem" and isinstance(make, partial) and make.func is spec.factory and make.args:
        made = source.replace(".example()", ".example")
        made = f"{made}\nfrom psdopt.testing import Builder\nobj = Builder(obj.func, obj.args, obj.keywords)"
        yield Target(f"builder of {name}", Builder(make.func, make.args, make.keywords), made)


def _of_module(target: str, known: list[str]) -> Iterator[Target]:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = importlib.util.find_spec(target) is not None
    except (ImportError, ValueError):
        found = False
    if not found:
        raise unknown_name("plugin, piece or module", target, dict.fromkeys(known))
    try:
        module = importlib.import_module(target)
    except Exception as error:
        raise PsdoptError(f"module {target} cannot be imported: {type(error).__name__}: {error}") from error
    components = getattr(module, "psdopt_components", None)
    if callable(components):
        yield from _refusals(module, target)
        for spec in _yielded(components):
            picked = f"next(spec for spec in {target}.psdopt_components() if spec.name == {spec.name!r})"
            if isinstance(spec, Spec) and spec.kind in KINDS:
                yield from _of_spec(resolved(spec), f"import {target}\nobj = {picked}.example()")
        return
    for name, obj in vars(module).items():
        try:
            kind_of(obj)
        except InvalidTypeError:
            continue
        yield Target(name, obj, f"from {target} import {name} as obj")


def _refusals(module: Any, name: str) -> Iterator[Target]:
    """The reasons for which a plugin manager with only the core's pieces would not load the module."""
    manager = PluginManager([])
    manager.plugins()  # the core's pieces come first
    try:
        manager.register(module, name)
    except PsdoptError as error:
        yield Target(f"plugin:{name}", None, "", f"not loaded: {error}")
        return
    for kind in KINDS:
        manager.specs(kind)  # imports what is deferred
    for problem in manager.problems:
        yield Target(f"plugin:{name}", None, "", str(problem))


def _yielded(components: Any) -> list[Any]:
    """The objects that the hook yields until it raises; the exception is reported as a refusal."""
    found: list[Any] = []
    with suppress(Exception):
        found.extend(components())
    return found
