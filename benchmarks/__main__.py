"""``python -m benchmarks NAME ...``: measures one thing, such as the papers' tables; without a name, lists all.

Runs in the root of the repository. Each benchmark is a file or a package here with ``main(argv)``, which returns
an exit code.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from psdopt.cli.main import answered
from psdopt.cli.plain import plain_streams
from psdopt.cli.tables import show_table
from psdopt.errors import unknown_name

FOLDER = Path(__file__).parent
#: Errors are lines, and no message names an option of `psdopt run`.
NAMELESS = argparse.Namespace(debug=False, parameters=frozenset())


@plain_streams()
def main(argv: Sequence[str] | None = None, folder: Path = FOLDER) -> int:
    """The exit code of the benchmark that argv[0] names in `folder`, or 0 after listing."""
    name, *arguments = (sys.argv[1:] if argv is None else argv) or [""]
    return answered(lambda: _run(name, arguments, folder), NAMELESS)


def _run(name: str, arguments: Sequence[str], folder: Path) -> int:
    known = benchmarks(folder)
    if not name:
        show_table("Benchmarks", ("name", "what it measures"), sorted(known.items()))
        print("python -m benchmarks NAME --help shows the arguments of one.")
        return 0
    module = name.replace("-", "_")
    if module not in known:
        raise unknown_name("benchmark", name, known)
    return int(importlib.import_module(f"{folder.name}.{module}").main(arguments))


def benchmarks(folder: Path) -> dict[str, str]:
    """Name -> first line of its docstring, for all in `folder` that define ``main``; nothing is imported."""
    found = {}
    for path in sorted([*folder.glob("[!_]*.py"), *folder.glob("[!_]*/__init__.py")]):
        name = path.stem if path.parent == folder else path.parent.name
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError) as error:
            found[name] = f"cannot be read: {error}"
            continue
        if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
            found[name] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


if __name__ == "__main__":
    sys.exit(main())
