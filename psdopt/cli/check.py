"""``psdopt check TARGET``: the conformance kit on a plugin or one of its pieces."""

from __future__ import annotations

import argparse
import importlib
import importlib.util

from psdopt.cli.tables import say
from psdopt.errors import InvalidInputError, MissingDependencyError
from psdopt.plugins import PluginManager

HELP = "run the conformance kit on a plugin, or on one of its pieces"
KIT = "psdopt.testing.cli"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", nargs="?", metavar="TARGET", help="name of a plugin or of one of its pieces (see `psdopt list`)"
    )
    parser.add_argument(
        "--list", action="store_true", help="print every check with its version and its claim, and stop"
    )
    parser.add_argument(
        "--up-to", metavar="VERSION", help="leave out the checks that later versions of psdopt have added"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the random inputs (default: %(default)s)")
    parser.add_argument("--profile", choices=("ci", "thorough"), default="ci", help="how many draws (default: ci)")


def run(arguments: argparse.Namespace, manager: PluginManager) -> int:
    """Calls ``psdopt.testing.cli.run_check``; 0 if every check passed and the target could be loaded."""
    if importlib.util.find_spec(KIT) is None:
        raise MissingDependencyError("psdopt check needs the conformance kit: pip install 'psdopt[testing]'")
    kit = importlib.import_module(KIT)
    if arguments.list:
        return int(kit.list_checks())
    if arguments.target is None:
        raise InvalidInputError("psdopt check needs a TARGET, the name of a plugin or of one of its pieces, or --list")
    refused = [problem for problem in manager.problems if arguments.target in (problem.plugin, problem.module)]
    options = {"profile": arguments.profile, "seed": arguments.seed, "up_to": arguments.up_to}
    if arguments.up_to is not None:
        kit.pinned(arguments.up_to, "--up-to")
    code = int(kit.run_check(arguments.target, manager=manager, **options))
    for problem in refused:
        say(f"! {problem}")
    return max(code, 1 if refused else 0)
