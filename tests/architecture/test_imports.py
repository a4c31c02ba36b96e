"""Dependencies point one way; files stay small; randomness is explicit. Read from the syntax trees, nothing is run."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import psdopt

ROOT = Path(psdopt.__file__).resolve().parents[1]
CORE = sorted((ROOT / "psdopt").rglob("*.py"))
PLUGINS = sorted((ROOT / "psdopt_plugins").rglob("*.py"))
PAGE = ROOT / "docs" / "architecture.md"
MAX_LINES = 400
#: Objects that are wrong on purpose; and pymanopt, which knows no other than the global generator.
OTHER_RANDOMNESS = ("badzoo", "interop")


def tables() -> tuple[dict[str, int], dict[str, tuple[str, ...]]]:
    """(room -> its floor, room -> what it may not import), from docs/architecture.md; rooms relative to psdopt."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.read_text("utf-8").splitlines()]
    floors = {room: int(row[0]) for row in rows if row and row[0].isdigit() for room in row[1].split(", ")}
    forbidden = {row[0]: tuple(row[1].split(", ")) for row in rows if len(row) == 2 and row[0] in floors}
    return floors, forbidden


def room_of(module: str) -> str | None:
    """The longest entry of the table that `module`, a name below psdopt, belongs to; None if there is none."""
    parts = module.split(".")[1:]
    names = (".".join(parts[:k]) for k in range(len(parts), 0, -1))
    return next((name for name in names if name in FLOORS), None)


@cache
def parsed(source: str) -> ast.Module:
    """The syntax tree of `source`, shared by all tests."""
    return ast.parse(source)


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
    """Imports that point upwards, that the table of the page forbids, or that reach for the plugins."""
    room = room_of(module)
    broken = []
    for name in imports(parsed(source), module):
        target = room_of(name)
        first = name.split(".")[0]
        placed = first == "psdopt" and room is not None and target is not None
        upwards = placed and FLOORS[target] > FLOORS[room]
        hidden = {
            each for key, names in FORBIDDEN.items() if f"{module}.".startswith(f"psdopt.{key}.") for each in names
        }
        unseen = placed and any(f"{name}.".startswith(f"psdopt.{each}.") for each in hidden)
        if first == "psdopt_plugins" or upwards or unseen:
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


FLOORS, FORBIDDEN = tables()


def test_every_room_has_a_place_and_every_place_is_a_room():
    rooms = {module_of(path).split(".")[1] for path in CORE if module_of(path) != "psdopt"}
    assert sorted(rooms - {name.split(".")[0] for name in FLOORS}) == [], "give it a floor in docs/architecture.md"
    modules = {module_of(path).removeprefix("psdopt.") for path in CORE}
    assert [name for name in FLOORS if name not in modules] == []
    assert sorted(FORBIDDEN) == ["geometries", "methods", "methods.searches", "problems"]


def test_core_imports_point_one_way():
    broken = {module_of(path): violations(path.read_text(), module_of(path)) for path in CORE}
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
    assert violations("from psdopt.terms.forms import Form", "psdopt.methods.x")
    assert violations("from psdopt.contracts.problem import Problem", "psdopt.geometries.x")
    assert violations("from psdopt.running.solve import solve", "psdopt.margins.problem")
    assert not violations("from psdopt.running.solve import solve", "psdopt.margins.smoothing")
    assert not violations("from psdopt.linalg.arrays import norm", "psdopt.terms.x")
    assert not violations("if TYPE_CHECKING:\n    from psdopt.running.solve import solve", "psdopt.methods.x")
    assert uses_global_random("np.random.rand(3)")
    assert uses_global_random("np.random.default_rng()")
    assert uses_global_random("import random\nrandom.choice([1])")
    assert not uses_global_random("random = check_random_state(0)\nrandom.choice([1])")
    assert not uses_global_random("np.random.default_rng(0).standard_normal(3)")


def test_the_package_is_there():
    assert len(CORE) > 30
