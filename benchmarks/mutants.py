"""Mutation testing: one operator or constant is changed at a time, and the tests that mirror the file are run.

    python -m benchmarks.mutants --count 60 --seed 0
    python -m benchmarks.mutants --files psdopt/terms/losses.py --count 20

Changes are drawn evenly over the areas, from a seed. Each is made in a copy of the checkout, never in the checkout
itself. A mutant is killed where a test fails or does not end in time. Printed: every mutant with its fate, the
survivors once more, and the score.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
#: Area -> its sources, and tests that are run after those that mirror the file.
AREAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "terms": ("psdopt/terms/*.py", ("tests/testing/test_term_checks.py", "tests/terms")),
    "problems": ("psdopt/problems/*.py", ("tests/problems", "tests/testing/test_shipped.py::test_problems")),
    "geometries": ("psdopt/geometries/*.py", ("tests/geometries", "tests/testing/test_shipped.py::test_geometries")),
    "certificate": ("psdopt/certificate*.py", ("tests/test_certificate.py", "tests/test_solve.py")),
    "searches": ("psdopt/searches/*.py", ("tests/searches", "tests/methods")),
    "oracles": ("psdopt/oracles/*.py", ("tests/oracles", "tests/geometries", "tests/margins")),
    "methods": ("psdopt/methods/*.py", ("tests/methods",)),
}
#: Seconds after which the tests of a mutant are given up: it is killed then, as a run without end is noticed.
PATIENCE = 240.0

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Lt, ast.Gt: ast.LtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A change of one place in one file: bytes [start, end) of the source become `text`."""

    area: str
    path: str
    line: int
    start: int
    end: int
    before: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.before}  ->  {self.text}"


def mutants_of(area: str, path: Path) -> Iterator[Mutant]:
    """Every change that is tried in one file: comparisons, arithmetic, and/or, not, minus, numbers."""
    source = path.read_bytes()
    starts = np.concatenate([[0], np.cumsum([len(line) for line in source.splitlines(keepends=True)])])
    tree = ast.parse(source)
    hints = {id(child) for node in ast.walk(tree) for child in _annotations(node)}
    for node in ast.walk(tree):
        if id(node) in hints:
            continue
        changed = _changed(node)
        if changed is None or node.end_lineno is None or node.end_col_offset is None:  # type: ignore[attr-defined]
            continue
        start = int(starts[node.lineno - 1]) + node.col_offset  # type: ignore[attr-defined]
        end = int(starts[node.end_lineno - 1]) + node.end_col_offset  # type: ignore[attr-defined]
        text = f"({ast.unparse(changed)})"
        yield Mutant(area, str(path.relative_to(ROOT)), node.lineno, start, end, source[start:end].decode(), text)  # type: ignore[attr-defined]


def _annotations(node: ast.AST) -> Iterator[ast.AST]:
    """Types and default texts, where a change is seen by no test and by no user."""
    for name in ("annotation", "returns"):
        part = getattr(node, name, None)
        if isinstance(part, ast.AST):
            yield from ast.walk(part)
    if isinstance(node, (ast.JoinedStr, ast.Raise)):
        yield from ast.walk(node)


def _changed(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        return ast.Compare(node.left, [_COMPARISONS[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        return None if isinstance(node.operand, ast.Constant) else node.operand
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return ast.Constant(2.5 * node.value if isinstance(node.value, float) and node.value else node.value + 1)
    return None


def drawn(count: int, seed: int, files: list[str]) -> list[Mutant]:
    """`count` mutants, as many of each area as of any other; of the given files only, where there are any."""
    rng, chosen = np.random.default_rng(seed), []
    areas = {}
    for area, (pattern, _) in AREAS.items():
        paths = [path for path in sorted(ROOT.glob(pattern)) if not files or str(path.relative_to(ROOT)) in files]
        found = [mutant for path in paths for mutant in mutants_of(area, path)]
        if found:
            areas[area] = [found[k] for k in rng.permutation(len(found))]
    for k in range(count):
        for found in areas.values():
            if k < len(found) and len(chosen) < count:
                chosen.append(found[k])
    return chosen


def tests_of(mutant: Mutant, mirror_only: bool) -> list[list[str]]:
    """The tests that mirror the file, then those of the area, unless `mirror_only` and there are tests that mirror."""
    path = Path(mutant.path)
    mirror = Path("tests", *path.parts[1:-1], f"test_{path.stem}.py")
    stages = [[str(mirror)]] if (ROOT / mirror).exists() else []
    if stages and mirror_only:
        return stages
    return [*stages, [test for test in AREAS[mutant.area][1] if (ROOT / test.split("::")[0]).exists()]]


def fate(mutant: Mutant, copy: Path, mirror_only: bool = False) -> str:
    """ "killed by ...", or "survived": the tests are run on the copy with this one change, which is then undone."""
    target = copy / mutant.path
    source = target.read_bytes()
    target.write_bytes(source[: mutant.start] + mutant.text.encode() + source[mutant.end :])
    environment = {**os.environ, "PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        for stage in tests_of(mutant, mirror_only):
            command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *stage]
            try:
                done = subprocess.run(
                    command, cwd=copy, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
                )
            except subprocess.TimeoutExpired:
                return "killed by the clock"
            if done.returncode != 0:
                failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
                return f"killed by {failed[0][:110] if failed else 'an error'}"
    finally:
        target.write_bytes(source)
    return "survived"


def main(argv: list[str] | None = None) -> int:
    """Run a sample of mutants; 0 whatever the score is, 1 where tests fail on the sources as they are."""
    parser = argparse.ArgumentParser(prog="benchmarks.mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=30, help="mutants to try (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing (default: %(default)s)")
    parser.add_argument("--files", nargs="*", default=[], help="sources to change; default: all areas")
    parser.add_argument("--mirror-only", action="store_true", help="leave the other tests of the area out")
    arguments = parser.parse_args(argv)
    survivors, mutants = [], drawn(arguments.count, arguments.seed, arguments.files)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("psdopt", "psdopt_plugins", "tests", "examples", "docs"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, copy / name)
        for mutant in {mutant.area: mutant for mutant in mutants}.values():
            broken = fate(replace(mutant, text=mutant.before), copy, arguments.mirror_only)
            if broken != "survived":
                print(f"the tests of {mutant.area} fail without any change: {broken}")
                return 1
        for k, mutant in enumerate(mutants, 1):
            found = fate(mutant, copy, arguments.mirror_only)
            print(f"{k:3d} {found:9.9} {mutant}\n      {found}", flush=True)
            survivors += [mutant] if found == "survived" else []
    print(f"\n{len(mutants) - len(survivors)} of {len(mutants)} killed; survivors:")
    for mutant in survivors:
        print(f"  {mutant}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
