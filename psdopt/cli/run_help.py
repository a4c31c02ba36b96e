"""``psdopt run APPLICATION --help``: the options of one application, before the options of all."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from psdopt.cli.sdp import SPEC
from psdopt.cli.tables import width
from psdopt.errors import PsdoptError
from psdopt.plugins import Spec
from psdopt.plugins.manager import plugin_manager


class ApplicationHelp(argparse.Action):
    """``-h`` after the name of an application prints its own help; else that of the command."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *given: Any) -> None:
        spec = _application(getattr(namespace, "application", None))
        print(parser.format_help().rstrip() if spec is None else application_help(spec))
        parser.exit()


def application_help(spec: Spec) -> str:
    """Name, summary, source, data and parameters with their defaults."""
    told = argparse.ArgumentParser(
        usage=f"psdopt run {spec.name} [--data FILE|NAME] [--set NAME=VALUE] ...",
        description=f"{spec.summary[:1].upper()}{spec.summary[1:]}." + (spec.reference and f" After {spec.reference}."),
        epilog="Options that all applications take: psdopt run --help",
        formatter_class=partial(argparse.HelpFormatter, max_help_position=28, width=width()),
        add_help=False,
    )
    data = getattr(spec, "default_data", None)
    known = "name of a data set, or a file" + (f" (default: {data})" if data else "")
    if spec is SPEC:
        known = "a file in SDPA's format, .dat-s[.gz] or .dat[.gz]"
    told.add_argument("--data", metavar="FILE|NAME", help=known)
    parameters = told.add_argument_group("parameters, each by --set NAME=VALUE")
    for parameter in spec.parameters:
        default = "none" if parameter.default is None else parameter.default
        text = f"{parameter.help} (default: {default})".replace("%", "%%")
        parameters.add_argument(f"{parameter.name}={parameter.type.__name__.upper()}", help=text)
    return told.format_help().rstrip()


def _application(name: str | None) -> Spec | None:
    if name is None or name == SPEC.name:
        return None if name is None else SPEC
    try:
        return plugin_manager().get("application", name)
    except PsdoptError:
        return None
