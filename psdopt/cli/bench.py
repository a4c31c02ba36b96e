"""``psdopt bench NAME``: runs a benchmark of the repository's benchmarks/ folder."""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
import tomllib
from pathlib import Path

from psdopt.cli.tables import say, show_table
from psdopt.errors import DataFileError, unknown_name
from psdopt.plugins import PluginManager

HELP = "run a benchmark (needs a checkout of the repository); without a name, list them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of a benchmark")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="arguments of the benchmark")


def run(arguments: argparse.Namespace, manager: PluginManager) -> int:
    """Exit code of ``benchmarks/NAME.py``'s ``main(argv)``, or 0 after listing."""
    folder = benchmark_folder()
    known = benchmarks(folder)
    if arguments.name is None:
        if known:
            show_table("Benchmarks", ("name", "what it measures"), sorted(known.items()))
        else:
            say(f"No benchmarks in {folder}.")
        return 0
    name = arguments.name.replace("-", "_")
    if name not in known:
        raise unknown_name("benchmark", arguments.name, known)
    for path in (str(folder), str(folder.parent)):  # benchmarks import each other's helpers
        if path not in sys.path:
            sys.path.insert(0, path)
    return int(importlib.import_module(f"{folder.name}.{name}").main(arguments.arguments))


def benchmark_folder() -> Path:
    """benchmarks/ of the checkout that psdopt runs from; DataFileError if it does not run from one.

    Files in the current folder are never run.
    """
    import psdopt

    root = Path(psdopt.__file__).resolve().parents[1]
    if _is_checkout(root):
        return root / "benchmarks"
    raise DataFileError(
        "benchmarks are not installed with psdopt: clone the repository, "
        "install it there with `pip install -e .`, and run `psdopt bench` again"
    )


def _is_checkout(root: Path) -> bool:
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return project == "psdopt" and (root / "benchmarks").is_dir()


def benchmarks(folder: Path) -> dict[str, str]:
    """Name -> first line of its docstring, for each file in `folder` that defines ``main``; nothing is imported."""
    found = {}
    for path in sorted(folder.glob("[!_]*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError) as error:
            found[path.stem] = f"cannot be read: {error}"
            continue
        if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
            found[path.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found
