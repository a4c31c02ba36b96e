"""Pages of the reference, written before the build: one per public class and function, one table per module.

Public names are those in ``__all__`` of the modules below, as ``docs/guide/stability.md`` promises them.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from docstrings import escaped, restructured
from sphinx.application import Sphinx

MODULES = (
    "psdopt", "psdopt.constraints", "psdopt.terms", "psdopt.linalg", "psdopt.problems.distributed",
    "psdopt.devices", "psdopt.margins", "psdopt.contracts",
    "psdopt.interop.conic", "psdopt.interop.cvxpy", "psdopt.interop.jax", "psdopt.interop.pymanopt",
    "psdopt.interop.torch",
    "psdopt_plugins.metric_learning", "psdopt_plugins.kernel_learning", "psdopt_plugins.manifold_learning",
    "psdopt_plugins.regression", "psdopt_plugins.spectral", "psdopt_plugins.relaxations",
    "psdopt_plugins.covariance", "psdopt_plugins.hermitian",
    "psdopt.plugins", "psdopt.testing", "psdopt.checks", "psdopt.errors",
)  # fmt: skip
#: scikit-learn gives these to every estimator, and documents them itself.
REQUEST = re.compile(r"set_\w+_request|get_metadata_routing")
KINDS = ("Classes", "Functions", "Constants and types")


def documented(module: ModuleType) -> Iterator[tuple[str, str, Any]]:
    """Name, kind and value of each public name, in alphabetical order."""
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        if inspect.ismodule(value) or name == "psdopt_components":  # a module has its own page; the hook is for pluggy
            continue
        kind = KINDS[0] if inspect.isclass(value) else KINDS[1] if inspect.isfunction(value) else KINDS[2]
        yield name, kind, value


def first_sentence(value: Any) -> str:
    """The first sentence of the docstring, as reStructuredText on one line."""
    paragraph = (inspect.getdoc(value) or "").split("\n\n")[0]
    line = " ".join(restructured(paragraph.splitlines())).strip()
    end = line.find(". ")
    return line if end < 0 else line[: end + 1]


def comments(module: ModuleType) -> dict[str, str]:
    """``#:`` comments above assignments of a package's files, by the name that is assigned."""
    found: dict[str, str] = {}
    for path in sorted(Path(inspect.getfile(module)).parent.rglob("*.py")):
        held: list[str] = []
        for line in path.read_text("utf-8").splitlines():
            if line.startswith("#:"):
                held.append(line[2:].strip())
            else:
                name = line.partition("=")[0].partition(":")[0].strip()
                if held and name.isidentifier():
                    found.setdefault(name, " ".join(held))
                held = []
    return found


@cache
def homes() -> dict[int, str]:
    """The page of each class and function, by id: with the first of the modules that offer it."""
    found: dict[int, str] = {}
    for name in MODULES:
        for public, kind, value in documented(importlib.import_module(name)):
            if kind != KINDS[2]:
                found.setdefault(id(value), f"{name}.{public}")
    return found


def module_page(name: str) -> str:
    module = importlib.import_module(name)
    said = comments(module)
    lines = [name, "=" * len(name), "", *restructured((inspect.getdoc(module) or "").splitlines()), ""]
    kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
    pages = []
    for public, kind, value in documented(module):
        if kind == KINDS[2]:
            text = escaped(said.get(public, ""))
            if isinstance(value, int | float | str):
                text += f" Value: ``{value!r}``."
            kinds[kind] += [f"   * - .. py:data:: {name}.{public}", "          :no-typesetting:", "",
                            f"       ``{public}``", f"     - {text.strip()}"]  # fmt: skip
        else:
            home = homes()[id(value)]
            pages += [f"   {home}"] if home == f"{name}.{public}" else []
            kinds[kind] += [f"   * - :doc:`{public} <{home}>`", f"     - {first_sentence(value)}"]
    for kind, rows in kinds.items():
        if rows:
            lines += [kind, "-" * len(kind), "", ".. list-table::", "   :widths: 30 70", "", *rows, ""]
    if pages:
        lines += [".. toctree::", "   :hidden:", "   :maxdepth: 1", "", *pages, ""]
    return "\n".join(lines)


def name_page(module: str, name: str, value: Any) -> str:
    lines = [name, "=" * len(name), "", f".. currentmodule:: {module}", ""]
    if inspect.isclass(value) and any(base.__module__.startswith("pymanopt") for base in value.__mro__):
        lines += [f".. autoclass:: {name}"]  # its members are pymanopt's, documented there
    elif inspect.isclass(value):
        lines += [f".. autoclass:: {name}", "   :members:", "   :inherited-members: " + ", ".join(foreign(value)),
                  "   :exclude-members: " + ", ".join(m for m in dir(value) if REQUEST.fullmatch(m))]  # fmt: skip
    else:
        lines += [f".. autofunction:: {name}"]
    return "\n".join([*lines, ""])


def foreign(value: type) -> list[str]:
    """Base classes of other packages: their members are documented there."""
    ours = ("psdopt", "psdopt_plugins")
    return [base.__name__ for base in value.__mro__ if base.__module__.partition(".")[0] not in ours]


def write_pages(app: Sphinx) -> None:
    """Write what changed, so that unchanged pages are not built again, and remove what is no longer public."""
    folder = Path(app.srcdir) / "api" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    pages = {name: module_page(name) for name in MODULES}
    for full in homes().values():
        module, _, public = full.rpartition(".")
        pages[full] = name_page(module, public, getattr(importlib.import_module(module), public))
    for old in folder.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}
