"""``psdopt bench NAME``, deprecated: ``python -m benchmarks NAME`` in the repository."""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from pathlib import Path

from psdopt.errors import DataFileError
from psdopt.plugins import PluginManager

HELP = "deprecated, removed in 0.4: `python -m benchmarks` in a checkout of the repository"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="name and arguments of a benchmark")


def run(arguments: argparse.Namespace, manager: PluginManager) -> int:
    """Exit code of ``benchmarks.__main__.main``; DataFileError if psdopt does not run from a checkout."""
    import psdopt

    root = Path(psdopt.__file__).resolve().parents[1]
    project = root / "pyproject.toml"
    if not (project.is_file() and b'name = "psdopt"' in project.read_bytes() and (root / "benchmarks").is_dir()):
        raise DataFileError(
            "benchmarks are not installed with psdopt: clone the repository, and run `python -m benchmarks` in it"
        )
    text = "psdopt bench is deprecated, removed in 0.4: run `python -m benchmarks` in the repository"
    warnings.warn(text, FutureWarning, stacklevel=2)  # a category that users see
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return int(importlib.import_module("benchmarks.__main__").main(arguments.arguments))
