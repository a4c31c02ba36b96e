"""``psdopt list``: what is installed, by plugin."""

from __future__ import annotations

import argparse

from psdopt.cli.sdp import SPEC as BUILT_IN
from psdopt.cli.tables import show_table
from psdopt.plugins import PluginManager
from psdopt.plugins.manager import CORE
from psdopt.plugins.validation import KINDS

HELP = "list applications, problems, geometries, methods and data sets, by plugin"
PLURALS = {kind: {"geometry": "geometries"}.get(kind, f"{kind}s") for kind in KINDS}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        nargs="?",
        choices=[*KINDS, *PLURALS.values()],
        metavar="KIND",
        help=f"only one kind: {', '.join(PLURALS.values())}",
    )


def run(arguments: argparse.Namespace, manager: PluginManager) -> int:
    """Print one table per kind, then the plugins that could not be loaded."""
    wanted = {plural: kind for kind, plural in PLURALS.items()}.get(arguments.kind, arguments.kind)
    for kind in KINDS if wanted is None else (wanted,):
        specs = manager.listed(kind)
        own = [BUILT_IN] if kind == "application" and CORE in manager.plugins() else []
        if not specs and not own:
            print(f"No {PLURALS[kind]} installed.\n")
            continue
        rows = [(spec.name, CORE, spec.summary) for spec in own]
        order = manager.plugins()
        listed = sorted(specs, key=lambda spec: order.index(manager.plugin_of(spec)))
        rows += [(spec.name, manager.plugin_of(spec), spec.summary) for spec in listed]
        show_table(PLURALS[kind].capitalize(), ("name", "plugin", "what it is"), rows)
    for problem in manager.problems:
        print(f"! {problem}")
    return 0
