"""Mutation testing: one operator or constant is changed at a time, and the tests that call that place are run.

    python -m benchmarks.mutants --count 60 --seed 0 --calls calls.json
    python -m benchmarks.mutants --files psdopt/terms/losses.py --count 20

Changes are drawn evenly over the areas, from a seed. Each is made in a copy of the checkout, never in the checkout
itself. Which tests call which function is found by one run of the tests, and kept in the file `--calls`. The fastest
come first, those of the source itself before others, up to a limit of processor time. A mutant is killed where
a test fails or does not end in time. Functions are changed in memory first, in forks of one process; what survives
there is written to the copy, which a new process imports.

Printed: every mutant with its fate, the survivors once more, and the score.
"""

from __future__ import annotations

import argparse
import ast
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.mutant_forks import Trial, killers
from benchmarks.mutant_tests import Calls, recorded, run_chosen, warm_up

ROOT = Path(__file__).resolve().parents[1]
#: Area -> its sources.
AREAS: dict[str, tuple[str, ...]] = {
    "terms": ("psdopt/terms/*.py",),
    "problems": ("psdopt/problems/*.py",),
    "geometries": ("psdopt/geometries/*.py",),
    "certificate": (
        "psdopt/certificates/certificate.py",
        "psdopt/certificates/bounds.py",
        "psdopt/running/verdicts.py",
    ),
    "searches": ("psdopt/methods/searches/*.py",),
    "linalg": ("psdopt/linalg/least.py", "psdopt/linalg/extreme.py", "psdopt/linalg/polynomials.py"),
    "methods": ("psdopt/methods/*.py",),
    "constraints": ("psdopt/constraints/*.py", "psdopt/margins/*.py"),
}
#: Tests that may kill a mutant: those of the areas, without clusters, command lines and pages.
TESTS = (
    "tests/terms", "tests/problems", "tests/geometries", "tests/certificates", "tests/contracts", "tests/running",
    "tests/methods", "tests/constraints", "tests/margins",
    "tests/linalg", "tests/testing", "tests/integration", "tests/interop", "tests/devices",
    "tests/test_proof_limits.py", "tests/test_verdict_limits.py", "tests/test_certificate_claims.py",
)  # fmt: skip
#: Processor seconds of the tests that are tried on one mutant, the fastest first; and what one child may take.
BUDGET, PATIENCE = 12.0, 90.0
#: A test of the source itself is tried before others that take longer than this share of its time.
OWN = 0.2
#: Test files of the first stage, and folders that come later: their files take seconds to import.
NEAR, LATER = 3, ("tests/testing", "tests/integration")

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Lt, ast.Gt: ast.LtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A change of one place in one file: bytes [start, end) of the source become `text`.

    function : qualified name of the function around the place; "" at the top of the file or of a class.
    """

    area: str
    path: str
    function: str
    line: int
    start: int
    end: int
    before: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {self.before}  ->  {self.text}"

    def applied(self, source: bytes) -> bytes:
        """The changed source; every line behind the place keeps its number."""
        lines = "\n" * (self.before.count("\n") - self.text.count("\n"))
        return source[: self.start] + f"{self.text[:-1]}{lines})".encode() + source[self.end :]


def mutants_of(area: str, path: Path) -> Iterator[Mutant]:
    """Every change that is tried in one file: comparisons, arithmetic, and/or, not, minus, numbers."""
    source = path.read_bytes()
    starts = np.concatenate([[0], np.cumsum([len(line) for line in source.splitlines(keepends=True)])])
    tree = ast.parse(source)
    hints = {id(child) for node in ast.walk(tree) for child in _annotations(node)}
    for node, function in _with_functions(tree, "", ""):
        if id(node) in hints:
            continue
        changed = _changed(node)
        if changed is None or node.end_lineno is None or node.end_col_offset is None:  # type: ignore[attr-defined]
            continue
        start = int(starts[node.lineno - 1]) + node.col_offset  # type: ignore[attr-defined]
        end = int(starts[node.end_lineno - 1]) + node.end_col_offset  # type: ignore[attr-defined]
        text = f"({ast.unparse(changed)})"
        before, line = source[start:end].decode(), source[:start].count(b"\n") + 1
        yield Mutant(area, str(path.relative_to(ROOT)), function, line, start, end, before, text)


def _with_functions(node: ast.AST, prefix: str, function: str) -> Iterator[tuple[ast.AST, str]]:
    """Every node with the qualified name of the function whose body holds it."""
    yield node, function
    body: list[ast.AST] = []
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        body = list(node.body)
        name = f"{prefix}{node.name}"
        inner = (f"{name}.", "") if isinstance(node, ast.ClassDef) else (f"{name}.<locals>.", name)
        for child in body:
            yield from _with_functions(child, *inner)
    inside = {id(child) for child in body}
    for child in ast.iter_child_nodes(node):
        if id(child) not in inside:
            yield from _with_functions(child, prefix, function)


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
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return ast.Constant(2.5 * node.value if isinstance(node.value, float) and node.value else node.value + 1)
    return None


def drawn(count: int, seed: int, files: Sequence[str]) -> list[Mutant]:
    """`count` mutants, as many of each area as of any other; of the given files only, where there are any."""
    rng = np.random.default_rng(seed)
    chosen: list[Mutant] = []
    areas: dict[str, list[Mutant]] = {}
    for area, patterns in AREAS.items():
        paths = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
        paths = [path for path in paths if not files or str(path.relative_to(ROOT)) in files]
        found = [mutant for path in paths for mutant in mutants_of(area, path)]
        if found:
            areas[area] = [found[k] for k in rng.permutation(len(found))]
    for k in range(count):
        for found in areas.values():
            if k < len(found) and len(chosen) < count:
                chosen.append(found[k])
    return chosen


def tests_of(mutant: Mutant, calls: Calls, budget: float) -> list[list[str]]:
    """The tests that call the function, up to `budget` seconds, in two stages.

    The fastest come first, where tests of the source, in the file that mirrors it, count OWN times their seconds. The
    first stage has the tests of a few files: most mutants die there, and the files of the others need not be imported.
    """
    mirrored = f"tests/{Path(mutant.path).parent.relative_to('psdopt')}/test_{Path(mutant.path).stem}"
    mirrored = mirrored.replace("/./", "/")
    called = calls.of(mutant.path, mutant.function)
    chosen: list[str] = []
    spent = 0.0
    for test in sorted(called, key=lambda test: calls.seconds[test] * (OWN if test.startswith(mirrored) else 1.0)):
        spent += calls.seconds[test]
        if chosen and spent > budget:
            break
        chosen.append(test)
    files: dict[str, int] = {}
    for test in chosen:
        file = test.partition("::")[0]
        files[file] = files.get(file, 0) + (10**6 if file.startswith(mirrored) else 1)
    near = sorted((file for file in files if not file.startswith(LATER)), key=lambda file: -files[file])[:NEAR]
    first = [test for test in chosen if test.partition("::")[0] in near]
    return [stage for stage in (first, [test for test in chosen if test not in set(first)]) if stage]


def killed_in_memory(mutants: Sequence[Mutant], copy: Path, calls: Calls, budget: float) -> dict[Mutant, str]:
    """Mutants that die where only the code of functions in memory is changed, each with its fate."""
    trials = []
    for mutant in mutants:
        tests = [test for stage in tests_of(mutant, calls, budget) for test in stage]
        seconds = sum(calls.seconds[test] for test in tests)
        trials.append(Trial(mutant.path, mutant.applied((copy / mutant.path).read_bytes()), tests, seconds))
    found = killers(copy, trials, copy / "output.txt")
    return {mutant: f"killed by {test}" for mutant, test in zip(mutants, found, strict=True) if test}


def fate(mutant: Mutant, copy: Path, calls: Calls, budget: float = BUDGET) -> str:
    """ "killed by ...", or "survived ...": tests are run on the copy with this one change, which is then undone."""
    stages = tests_of(mutant, calls, budget)
    if not stages:
        return "survived: no test calls it"
    target = copy / mutant.path
    source = target.read_bytes()
    target.write_bytes(mutant.applied(source))
    try:
        for tests in stages:
            found = run_chosen(copy, tests, PATIENCE, copy / "output.txt")
            if found:
                return f"killed by {found}"
    finally:
        target.write_bytes(source)
    return f"survived {sum(map(len, stages))} tests"


def copied(folder: Path) -> None:
    """Copy to `folder` what the tests need of the checkout."""
    for name in ("psdopt", "psdopt_plugins", "tests", "examples", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "_build"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder / name)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a sample of mutants; 0 whatever the score is, 1 where no test passes on the sources as they are."""
    parser = argparse.ArgumentParser(prog="benchmarks.mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=30, help="mutants to try (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="of the drawn ones, the first to try")
    parser.add_argument("--only", type=int, nargs="*", help="numbers, as printed, of those to try: survivors once more")
    parser.add_argument(
        "--budget", type=float, default=BUDGET, help="seconds of tests per mutant (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the drawing (default: %(default)s)")
    parser.add_argument("--files", nargs="*", default=[], help="sources to change; default: all areas")
    parser.add_argument("--calls", type=Path, help="file that keeps which tests call what; made if it is not there")
    tests = [test for test in TESTS if (ROOT / test).exists()]
    parser.add_argument("--tests", nargs="*", default=tests, help="tests to choose from (default: those of the areas)")
    arguments = parser.parse_args(argv)
    survivors, mutants = [], drawn(arguments.first + arguments.count, arguments.seed, arguments.files)
    tried = [(k, mutant) for k, mutant in enumerate(mutants, 1) if k > arguments.first]
    tried = [(k, mutant) for k, mutant in tried if arguments.only is None or k in arguments.only]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        copied(copy)
        warm_up()
        calls = recorded(arguments.calls, copy, arguments.tests)
        print(f"{len(calls.seconds)} tests, {sum(calls.seconds.values()):.0f} seconds", flush=True)
        if not calls.seconds:
            print((copy / "output.txt").read_text())
            return 1
        killed = killed_in_memory([mutant for _, mutant in tried], copy, calls, arguments.budget)
        for k, mutant in tried:
            found = killed.get(mutant) or fate(mutant, copy, calls, arguments.budget)
            print(f"{k:3d} {found:9.9} {mutant}\n      {found[:150]}", flush=True)
            survivors += [mutant] if found.startswith("survived") else []
    print(f"\n{len(tried) - len(survivors)} of {len(tried)} killed; survivors:")
    for mutant in survivors:
        print(f"  {mutant}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
