"""``psdopt bench NAME``, deprecated: ``python -m benchmarks NAME`` in the repository."""

from __future__ import annotations

import argparse
import importlib
import sys
import tomllib
import warnings
from pathlib import Path

from psdopt.errors import DataFileError
from psdopt.plugins import PluginManager

HELP = "deprecated, goes in 0.3: `python -m benchmarks` in a checkout of the repository"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="name and arguments of a benchmark")


def run(arguments: argparse.Namespace, manager: PluginManager) -> int:
    """Exit code of ``benchmarks.__main__.main``; DataFileError if psdopt does not run from a checkout."""
    import psdopt

    root = Path(psdopt.__file__).resolve().parents[1]
    if not _is_checkout(root):
        raise DataFileError(
            "benchmarks are not installed with psdopt: clone the repository, and run `python -m benchmarks` in it"
        )
    text = "psdopt bench is deprecated and goes in 0.3: run `python -m benchmarks` in the repository"
    warnings.warn(text, FutureWarning, stacklevel=2)  # a category that users see
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return int(importlib.import_module("benchmarks.__main__").main(arguments.arguments))


def _is_checkout(root: Path) -> bool:
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return project == "psdopt" and (root / "benchmarks").is_dir()
