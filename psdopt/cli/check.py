"""``psdopt check TARGET``: the conformance kit on a plugin or one of its pieces."""

from __future__ import annotations

import argparse

from psdopt.errors import InvalidInputError
from psdopt.plugins import PluginManager

HELP = "run the conformance kit on a plugin, or on one of its pieces"


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
    from psdopt.testing import cli as kit

    if arguments.list:
        return kit.list_checks()
    if arguments.target is None:
        raise InvalidInputError("psdopt check needs a TARGET, the name of a plugin or of one of its pieces, or --list")
    refused = [problem for problem in manager.problems if arguments.target in (problem.plugin, problem.module)]
    options = {"profile": arguments.profile, "seed": arguments.seed, "up_to": arguments.up_to}
    if arguments.up_to is not None:
        kit.pinned(arguments.up_to, "--up-to")
    code = kit.run_check(arguments.target, manager=manager, **options)
    for problem in refused:
        print(f"! {problem}")
    return max(code, 1 if refused else 0)
