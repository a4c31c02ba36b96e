"""``psdopt list``: the applications on one screen, and on request all that is installed, by plugin."""

from __future__ import annotations

import argparse
from textwrap import fill, shorten

from psdopt.cli.plain import shown
from psdopt.cli.sdp import SPEC as BUILT_IN
from psdopt.cli.tables import height, show_table, width
from psdopt.plugins import PluginManager, Spec
from psdopt.plugins.manager import CORE
from psdopt.plugins.validation import KINDS

HELP = "list the applications, or with --all also problems, geometries, methods and data sets, by plugin"
#: Lines of a screen beside those of the applications: heading, empty line, what else there is, prompt.
AROUND = 4
PLURALS = {kind: {"geometry": "geometries"}.get(kind, f"{kind}s") for kind in KINDS}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        nargs="?",
        choices=[*KINDS, *PLURALS.values()],
        metavar="KIND",
        help=f"only one kind: {', '.join(PLURALS.values())}",
    )
    parser.add_argument("--all", action="store_true", help="all kinds, with plugins and whole summaries")


def run(arguments: argparse.Namespace, manager: PluginManager) -> int:
    """Print the applications, or one table per kind that is asked for; then the plugins that could not be loaded."""
    wanted = {plural: kind for kind, plural in PLURALS.items()}.get(arguments.kind, arguments.kind)
    if wanted is None and not arguments.all:
        _overview(manager)
    else:
        for kind in KINDS if wanted is None else (wanted,):
            _table(kind, manager)
    for problem in manager.problems:
        print(f"! {problem}")
    return 0


def _specs(kind: str, manager: PluginManager) -> list[Spec]:
    """All of one kind by name, with the application that belongs to the command itself."""
    own = [BUILT_IN] if kind == "application" and CORE in manager.plugins() else []
    return sorted([*own, *manager.listed(kind)], key=lambda spec: spec.name)


def _owner(spec: Spec, manager: PluginManager) -> str:
    return CORE if spec is BUILT_IN else manager.plugin_of(spec)


def _overview(manager: PluginManager) -> None:
    """The applications, and one line on what else there is.

    A line for each, not longer than the screen is wide; on a screen that is too low for that, a line for each plugin.
    """
    specs = _specs("application", manager)
    print("Applications, for `psdopt run NAME`:")
    low = 0 < height() < len(specs) + AROUND
    if low:  # what they find is said by `psdopt list applications`
        owners = {spec.name: _owner(spec, manager) for spec in specs}
        lines = {owner: ", ".join(name for name in owners if owners[name] == owner) for owner in owners.values()}
    else:
        lines = {spec.name: spec.summary for spec in specs}
    column = max(map(len, lines), default=0) + 2
    for name, text in sorted(lines.items()):
        if low:
            print(fill(f"{name:<{column}}{text}", width(), subsequent_indent=" " * column, break_on_hyphens=False))
        else:
            print(f"{name:<{column}}{shorten(shown(text), max(width() - column, 10), placeholder=' ...')}")
    rest = ", ".join(f"{len(_specs(kind, manager))} {PLURALS[kind]}" for kind in KINDS if kind != "application")
    each = "`psdopt list applications` says what each finds. " if low else ""
    print("\n" + fill(f"{each}Also {rest}: `psdopt list --all`", width()))


def _table(kind: str, manager: PluginManager) -> None:
    """The pieces of one kind with their plugins, in the order in which these were loaded."""
    specs, order = _specs(kind, manager), manager.plugins()
    if not specs:
        print(f"No {PLURALS[kind]} installed.\n")
        return
    owners = {spec.name: _owner(spec, manager) for spec in specs}
    listed = sorted(specs, key=lambda spec: order.index(owners[spec.name]))
    rows = [(spec.name, owners[spec.name], spec.summary) for spec in listed]
    show_table(PLURALS[kind].capitalize(), ("name", "plugin", "what it is"), rows)
