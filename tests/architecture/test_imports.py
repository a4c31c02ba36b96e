"""Dependencies point one way; files stay small; randomness is explicit. Read from the syntax trees, nothing is run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import psdopt

ROOT = Path(psdopt.__file__).resolve().parents[1]
CORE = sorted((ROOT / "psdopt").rglob("*.py"))
PLUGINS = sorted((ROOT / "psdopt_plugins").rglob("*.py"))
#: package (relative to psdopt/) -> what it may not import.
FORBIDDEN = {
    "linalg": (
        "problem",
        "terms",
        "problems",
        "methods",
        "geometries",
        "solve",
        "images",
        "matrix",
        "geometry",
        "method",
    ),
    "terms": ("methods", "geometries", "solve", "problems", "method", "geometry"),
    "problems": ("methods", "geometries", "solve", "method", "geometry"),
    "geometries": ("solve", "methods", "problems", "terms", "problem"),
    "methods": ("solve", "stopping", "result"),
    "searches": ("solve", "methods", "geometries", "stopping", "result"),
}
MAX_LINES = 400
#: Objects that are wrong on purpose; and pymanopt, which knows no other than the global generator.
OTHER_RANDOMNESS = ("badzoo", "interop")


def imports(tree: ast.AST, module: str) -> list[str]:
    """Full dotted names that a module imports, relative imports resolved; those for type checking only left out."""
    skipped = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for child in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = module.split(".")[: -node.level] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            found += [name, *(f"{name}.{alias.name}" for alias in node.names)]
    return found


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def violations(source: str, module: str) -> list[str]:
    """Imports that break a rule of FORBIDDEN, or reach for the plugins."""
    names = imports(ast.parse(source), module)
    broken = [name for name in names if name.split(".")[0] == "psdopt_plugins"]
    package = module.split(".")[1] if module.count(".") else ""
    for banned in FORBIDDEN.get(package, ()):
        broken += [name for name in names if name == f"psdopt.{banned}" or name.startswith(f"psdopt.{banned}.")]
    return broken


def uses_global_random(source: str) -> list[str]:
    """Calls of numpy.random's global functions, of `random`, and of generators made without a seed."""
    found = []
    tree = ast.parse(source)
    modules = ("np.random.", "numpy.random.", *(("random.",) if "random" in imports(tree, "") else ()))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            text = ast.unparse(node.func)
            if text in ("np.random.default_rng", "numpy.random.default_rng", "default_rng"):
                if not node.args and not node.keywords:
                    found.append(text)
            elif text.startswith(modules) and "default_rng(" not in text:
                found.append(text)
    return found


@pytest.mark.parametrize("path", CORE, ids=module_of)
def test_core_imports_point_one_way(path):
    assert violations(path.read_text(), module_of(path)) == []


@pytest.mark.parametrize("path", CORE + PLUGINS, ids=module_of)
def test_files_are_small_and_randomness_is_explicit(path):
    source = path.read_text()
    assert source.count("\n") <= MAX_LINES
    if not set(OTHER_RANDOMNESS) & set(path.parts):
        assert uses_global_random(source) == []
    if source.strip():
        assert ast.get_docstring(ast.parse(source)), f"{path} has no docstring"


def test_the_rules_reject_known_bad_sources():
    assert violations("from psdopt.solve import solve", "psdopt.terms.x")
    assert violations("from psdopt import methods", "psdopt.terms.x")
    assert violations("from ..solve import solve", "psdopt.methods.x")
    assert violations("import psdopt_plugins.spectral", "psdopt.solve")
    assert violations("def f():\n    from psdopt.solve import solve", "psdopt.geometries.x")
    assert not violations("from psdopt.linalg.arrays import norm", "psdopt.terms.x")
    assert not violations("if TYPE_CHECKING:\n    from psdopt.solve import solve", "psdopt.methods.x")
    assert uses_global_random("np.random.rand(3)")
    assert uses_global_random("np.random.default_rng()")
    assert uses_global_random("import random\nrandom.choice([1])")
    assert not uses_global_random("random = check_random_state(0)\nrandom.choice([1])")
    assert not uses_global_random("np.random.default_rng(0).standard_normal(3)")


def test_the_package_is_there():
    assert len(CORE) > 30
