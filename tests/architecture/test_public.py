"""Public is a list: `public_names.txt` pins it, and plugins and the example import from it alone."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import psdopt
from tests.architecture.test_imports import PLUGINS, ROOT, parsed

#: The modules whose ``__all__`` is public. Every other module is an implementation that may move at any time.
PUBLIC = (
    "psdopt",
    "psdopt.checks",
    "psdopt.constraints",
    "psdopt.contracts",
    "psdopt.devices",
    "psdopt.errors",
    "psdopt.interop.conic",
    "psdopt.interop.cvxpy",
    "psdopt.interop.jax",
    "psdopt.interop.pymanopt",
    "psdopt.interop.torch",
    "psdopt.linalg",
    "psdopt.margins",
    "psdopt.plugins",
    "psdopt.problems.distributed",
    "psdopt.terms",
    "psdopt.testing",
)
PINNED = Path(__file__).with_name("public_names.txt")
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))


def public_names() -> list[str]:
    """Every public name as "module name", sorted."""
    return sorted(f"{module} {name}" for module in PUBLIC for name in importlib.import_module(module).__all__)


def not_public(source: str) -> list[str]:
    """What `source` imports from psdopt although it is not on the list; imports within functions included."""
    found = []
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if _ours(alias.name) and alias.name not in PUBLIC]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and _ours(node.module or ""):
            names = importlib.import_module(node.module).__all__ if node.module in PUBLIC else ()
            allowed = {*names, *(module.removeprefix("psdopt.") for module in PUBLIC if node.module == "psdopt")}
            found += [f"{node.module} {alias.name}" for alias in node.names if alias.name not in allowed]
    return found


def _ours(module: str) -> bool:
    return module.split(".")[0] == "psdopt"


def test_plugins_and_the_example_import_public_names_only():
    private = {str(path.relative_to(ROOT)): not_public(path.read_text()) for path in PLUGINS + EXAMPLES}
    assert {path: names for path, names in private.items() if names} == {}


def test_what_is_not_public_is_found():
    assert not_public("from psdopt.linalg.arrays import norm") == ["psdopt.linalg.arrays norm"]
    assert not_public("import psdopt.running.solve") == ["psdopt.running.solve"]
    assert not_public("from psdopt import choose") == ["psdopt choose"]
    assert not_public("def f():\n    from psdopt.terms import models") == ["psdopt.terms models"]
    assert not_public("from psdopt import solve, terms\nfrom psdopt.linalg import norm\nimport psdopt.terms") == []
    assert not_public("from psdopt_plugins.spectral import TopKEigen\nimport numpy") == []


def test_the_list_is_pinned():
    """A public name that comes or goes is a decision: write it into the list, or leave a deprecation."""
    assert PINNED.read_text().split("\n")[:-1] == public_names()


@pytest.mark.parametrize("name", PUBLIC)
def test_each_list_is_sorted_and_true(name):
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    assert [each for each in module.__all__ if not hasattr(module, each)] == []


def test_what_authors_of_pieces_need_is_public():
    """Bases and building blocks of terms, problems, geometries, methods and applications."""
    for name in ("Images", "Problem", "Evaluation", "TermSum", "Geometry", "Defect", "Atom", "Method", "State"):
        assert name in psdopt.__all__
    for name in ("Term", "Loss", "Measurement", "Curve", "Surface", "PolynomialCurve", "QuadraticSurface", "Forces"):
        assert name in importlib.import_module("psdopt.terms").__all__
