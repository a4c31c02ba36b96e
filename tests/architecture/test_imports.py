"""Dependencies point one way; files stay small; randomness is explicit. Read from the syntax trees, nothing is run."""

from __future__ import annotations

import ast
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

import psdopt

ROOT = Path(psdopt.__file__).resolve().parents[1]
CORE = sorted((ROOT / "psdopt").rglob("*.py"))
PLUGINS = sorted((ROOT / "psdopt_plugins").rglob("*.py"))
PAGE = ROOT / "docs" / "architecture.md"
MAX_LINES = 400
#: pymanopt knows no other than the global generator.
OTHER_RANDOMNESS = ("interop",)


#: A former name of the core that a plugin has taken over, and that the core forwards to it until the name goes in 0.3.
FORWARDED = {"psdopt.margins.column_generation": "psdopt_plugins.metric_learning"}


def tables() -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
    """(package -> its layer, module or package -> what it may not import), from the page; names below psdopt."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.read_text("utf-8").splitlines()]
    layers = {package: int(row[0]) for row in rows if row and row[0].isdigit() for package in row[1].split(", ")}
    ruled = [row for row in rows if len(row) == 2 and row[0].split(".")[0] in layers]
    return layers, {row[0]: tuple(row[1].split(", ")) for row in ruled}


def package_of(module: str) -> str | None:
    """The package of `module` below psdopt; None for psdopt itself, which knows them all, and for others."""
    first, _, rest = module.partition(".")
    return rest.split(".")[0] if first == "psdopt" and rest else None


@cache
def parsed(source: str) -> ast.Module:
    """The syntax tree of `source`, shared by all tests."""
    return ast.parse(source)


def imports(tree: ast.Module, module: str, package: bool = False) -> set[str]:
    """Full dotted names that a module imports, relative ones resolved; within functions and for types alone, too.

    `package` : whether the module is the ``__init__`` of a package.
    """
    found = called(tree, module if package else module.rpartition(".")[0])
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            up = node.level - package
            base = module.split(".")[: len(module.split(".")) - up] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            found |= {f"{name}.{alias.name}" for alias in node.names}
    return found


def called(tree: ast.Module, package: str) -> set[str]:
    """What calls of ``import_module`` name by a text, or by a name that the module sets to one; seen from `package`."""
    texts = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "import_module" and node.args:
            first = node.args[0]
            name = first.value if isinstance(first, ast.Constant) else texts.get(ast.unparse(first))
            if isinstance(name, str):
                found.add(resolve_name(name, package) if name.startswith(".") else name)
    return found


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def violations(source: str, module: str) -> list[str]:
    """Imports from no lower layer, imports that the page forbids, and those that reach for the plugins."""
    own, broken = package_of(module), []
    hidden = [each for key, names in FORBIDDEN.items() if f"{module}.".startswith(f"psdopt.{key}.") for each in names]
    for name in sorted(imports(parsed(source), module)):
        package = package_of(name)
        placed = own in LAYERS and package in LAYERS and package != own
        upwards = placed and LAYERS[package] >= LAYERS[own]
        unseen = any(f"{name}.".startswith(f"psdopt.{each}.") for each in hidden)
        if name.split(".")[0] == "psdopt_plugins" or upwards or unseen:
            broken.append(name)
    return broken


def uses_global_random(source: str) -> list[str]:
    """Calls of numpy.random's global functions, of `random`, and of generators made without a seed."""
    found = []
    tree = parsed(source)
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


LAYERS, FORBIDDEN = tables()


def test_every_package_has_a_layer_and_every_row_is_a_package():
    assert {package_of(module_of(path)) for path in CORE} - {None} == set(LAYERS), "see docs/architecture.md"
    modules = {module_of(path).removeprefix("psdopt.") for path in CORE}
    assert {*FORBIDDEN, *(name for names in FORBIDDEN.values() for name in names)} <= modules
    assert len(FORBIDDEN) == 4


def test_there_are_few_rooms():
    """A newcomer reads `ls psdopt` once."""
    flat = [path for path in CORE if path.parent == ROOT / "psdopt"]
    packages = {path.relative_to(ROOT / "psdopt").parts[0] for path in CORE if path not in flat}
    assert len(packages) <= 17
    assert len(flat) <= 6


def test_core_imports_point_one_way():
    broken = {module_of(path): violations(path.read_text(), module_of(path)) for path in CORE}
    for module, plugin in FORWARDED.items():
        broken[module].remove(plugin)
    assert {module: names for module, names in broken.items() if names} == {}


def test_files_are_small():
    long = {module_of(path): path.read_text().count("\n") for path in CORE + PLUGINS}
    assert {module: lines for module, lines in long.items() if lines > MAX_LINES} == {}


def test_randomness_is_explicit():
    ruled = [path for path in CORE + PLUGINS if not set(OTHER_RANDOMNESS) & set(path.parts)]
    hidden = {module_of(path): uses_global_random(path.read_text()) for path in ruled}
    assert {module: calls for module, calls in hidden.items() if calls} == {}


def test_every_file_says_what_it_is():
    sources = {module_of(path): path.read_text() for path in CORE + PLUGINS}
    assert [name for name, source in sources.items() if source.strip() and not ast.get_docstring(parsed(source))] == []


def test_the_rules_reject_known_bad_sources():
    assert violations("from psdopt.running.solve import solve", "psdopt.terms.x")
    assert violations("from psdopt import methods", "psdopt.terms.x")
    assert violations("from ..running.solve import solve", "psdopt.methods.x")
    assert violations("import psdopt_plugins.spectral", "psdopt.running.solve")
    assert violations("def f():\n    from psdopt.running.solve import solve", "psdopt.geometries.x")
    assert violations("from psdopt.geometries.polar import Polar", "psdopt.terms.x"), "of its own layer"
    assert violations("from psdopt.terms.forms import Form", "psdopt.methods.x"), "forbidden by the second table"
    assert violations("from psdopt.contracts.problem import Problem", "psdopt.geometries.x")
    assert violations("from psdopt.problems import TermSum", "psdopt.methods.searches.x")
    assert violations("if TYPE_CHECKING:\n    from psdopt.running.solve import solve", "psdopt.methods.x")
    assert violations("from importlib import import_module\nimport_module('psdopt.cli.main')", "psdopt.linalg.x")
    assert not violations("from psdopt.linalg.arrays import norm", "psdopt.terms.x")
    assert not violations("from psdopt.methods.bilgo.method import BILGO", "psdopt.methods.x")
    assert uses_global_random("np.random.rand(3)")
    assert uses_global_random("np.random.default_rng()")
    assert uses_global_random("import random\nrandom.choice([1])")
    assert not uses_global_random("random = check_random_state(0)\nrandom.choice([1])")
    assert not uses_global_random("np.random.default_rng(0).standard_normal(3)")


def test_the_package_is_there():
    assert len(CORE) > 30
