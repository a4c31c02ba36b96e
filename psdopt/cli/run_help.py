"""``psdopt run APPLICATION --help``: the options of one application, before the options of all."""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from psdopt.cli.sdp import SPEC
from psdopt.cli.tables import say, width
from psdopt.errors import PsdoptError
from psdopt.plugins import Spec
from psdopt.plugins.manager import plugin_manager


class ApplicationHelp(argparse.Action):
    """``-h`` after the name of an application prints its own help; else that of the command."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, *given: Any) -> None:
        spec = _application(getattr(namespace, "application", None))
        say(parser.format_help().rstrip() if spec is None else application_help(spec))
        parser.exit()


def application_help(spec: Spec) -> str:
    """Name, summary, source, data and parameters with their defaults."""
    wide = width()
    lines = [f"usage: psdopt run {spec.name} [--data FILE|NAME] [--set NAME=VALUE] ...", ""]
    lines += textwrap.wrap(f"{spec.summary[:1].upper()}{spec.summary[1:]}.", wide)
    if spec.reference:
        lines += textwrap.wrap(f"After {spec.reference}.", wide)
    data = getattr(spec, "default_data", None)
    if spec is SPEC:
        known = "a file in SDPA's format, .dat-s[.gz] or .dat[.gz]"
    else:
        known = "name of a data set, or a file" + (f" (default: {data})" if data else "")
    lines += [
        "",
        *textwrap.wrap(f"  {'--data FILE|NAME':<26}{known}", wide, subsequent_indent=" " * 28, drop_whitespace=True),
    ]
    if spec.parameters:
        lines += ["", "parameters, each by --set NAME=VALUE:"]
    for parameter in spec.parameters:
        name = f"  {parameter.name}={parameter.type.__name__.upper()}"
        told = f"{parameter.help} (default: {'none' if parameter.default is None else parameter.default})"
        first, *more = textwrap.wrap(told, wide - 28)
        lines += [f"{name:<26}  {first}"] if len(name) <= 26 else [name, f"{'':28}{first}"]
        lines += [f"{'':28}{line}" for line in more]
    lines += ["", "Options that all applications take: psdopt run --help"]
    return "\n".join(lines)


def _application(name: str | None) -> Spec | None:
    if name is None or name == SPEC.name:
        return None if name is None else SPEC
    try:
        return plugin_manager().get("application", name)
    except PsdoptError:
        return None
