"""Moved constants: which tests fail when a tuning constant of a module changes by a third.

    python -m benchmarks.tuned --calls calls.json
    python -m benchmarks.tuned --calls calls.json --files psdopt/running/starts.py psdopt/certificates/bounds.py

A test states a promise: a formula, a status, a proof, an accuracy. A tuning constant is not one, so that a test should
pass as well when the constant is another. Each constant at the top of a module is moved up and down, a whole number by
at least one, a number between 1/2 and 2 in its distance from 1, and the tests that call the functions which read it are
run. Constants are changed in memory first, in forks of one process that has collected the tests. A test that fails
there, and every constant that is read while a module is imported, is tried again in a new process on a copy of the
checkout. :mod:`benchmarks.mutants` says how the file `--calls` comes about; tests that are newer count as well.

Printed: every move with the tests that fail, and the numbers of constants, moves and moves with a failure. Each failure
is to be judged: the test may pin the tuning, or the constant may be a promise, which its comment then says.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.mutant_tests import OPTIONS, ROOM, Calls, forked, inside, recorded, warm_up
from benchmarks.mutants import OWN, ROOT, TESTS, _with_functions, copied

#: Of a move up and of a move down.
FACTORS = (4 / 3, 3 / 4)
#: Processor seconds of tests per move; of a child beyond what its tests take, and the multiple of what they take.
BUDGET, GRACE, SLOWER = 4.0, 30.0, 3.0


@dataclass(frozen=True)
class Constant:
    """A name that the module at `path` binds to a number, or to an array, a tuple or a table of numbers.

    readers : (path, qualified name of a function) of the places that read it; "" at the top of a file or of a class.
    copies : (path, name) of the modules that import it under a name of their own.
    """

    path: str
    name: str
    readers: tuple[tuple[str, str], ...]
    copies: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.path} {self.name}"

    @property
    def read_by_imports(self) -> bool:
        return any(not function for _, function in self.readers)


def moved(value: Any, factor: float) -> Any:
    """The value with every number in it moved by `factor`; whatever else it holds is kept.

    A whole number k moves by max(1, |k| |1 - 1/factor|), rounded, and stays positive where it was. A float between 1/2
    and 2 moves in its distance from 1, so that a share stays below one and a multiple above it.
    """
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        other = value + int(np.sign(factor - 1.0) * max(1, round(abs(value) / 3)))
        return max(other, 1) if value > 0 else other
    if isinstance(value, (float, np.floating)):
        return 1.0 + (value - 1.0) * factor if 0.5 < value < 2.0 else value * factor
    if isinstance(value, np.ndarray):
        return np.array([moved(number, factor) for number in value.ravel().tolist()]).reshape(value.shape)
    if isinstance(value, Mapping):
        return {key: moved(part, factor) for key, part in value.items()}
    return type(value)(moved(part, factor) for part in value) if type(value) in (tuple, list) else value


def constants(sources: Sequence[Path], root: Path) -> list[Constant]:
    """The constants of the sources with all that read them there."""
    trees = {str(path.relative_to(root)): ast.parse(path.read_bytes()) for path in sources}
    found = {(path, name): path for path, tree in trees.items() for name in _numbers(tree)}
    copies: dict[tuple[str, str], list[tuple[str, str]]] = {key: [] for key in found}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                origin = node.module.replace(".", "/")
                for alias in node.names:
                    for key in ((f"{origin}.py", alias.name), (f"{origin}/__init__.py", alias.name)):
                        if key in copies:
                            copies[key].append((path, alias.asname or alias.name))
    reads = {path: list(_reads(tree)) for path, tree in trees.items()}
    answer = []
    for (path, name), others in copies.items():
        places = [(path, name), *others]
        readers = {(place, function) for place, own in places for read, function in reads[place] if read == own}
        answer.append(Constant(path, name, tuple(sorted(readers)), tuple(others)))
    return answer


def _numbers(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        names = [name for target in targets for name in (target.elts if isinstance(target, ast.Tuple) else [target])]
        held = (part.value for part in _values(value) if isinstance(part, ast.Constant))
        if any(isinstance(number, (int, float)) and not isinstance(number, bool) for number in held):
            yield from (name.id for name in names if isinstance(name, ast.Name) and name.id.strip("_").isupper())


def _values(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below, but for those in functions without a name."""
    yield node
    for child in () if isinstance(node, ast.Lambda) else ast.iter_child_nodes(node):
        yield from _values(child)


def _reads(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(name, qualified name of the function that reads it). Defaults and decorators are read at the top."""
    for node, function in _with_functions(tree, "", ""):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id, function


@dataclass(frozen=True)
class Move:
    """A constant, a factor, and the tests that are run, with the processor seconds that they take."""

    constant: Constant
    factor: float
    tests: list[str]
    seconds: float

    def change(self) -> None:
        """Move the constant in the modules of this process."""
        module = importlib.import_module(_module(self.constant.path))
        value = moved(getattr(module, self.constant.name), self.factor)
        setattr(module, self.constant.name, value)
        for path, name in self.constant.copies:
            if _module(path) in sys.modules:
                setattr(sys.modules[_module(path)], name, value)

    def source(self, text: str) -> str:
        """The text of the module with the constant moved behind its statement, in the same line."""
        for node in ast.parse(text).body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and self.constant.name in set(_numbers(_only(node))):
                lines = text.splitlines(keepends=True)
                end = (node.end_lineno or node.lineno) - 1
                line = lines[end].encode()
                tail = f"; {self.constant.name} = __import__('benchmarks.tuned', fromlist=['_']).moved("
                tail += f"{self.constant.name}, {self.factor})"
                lines[end] = (line[: node.end_col_offset] + tail.encode() + line[node.end_col_offset :]).decode()
                return "".join(lines)
        raise LookupError(f"{self.constant} is not in the text")


class _Outcomes:
    """A pytest plugin: the chosen tests alone, in their order; after collection `trials`, if any, replace the run."""

    def __init__(self, tests: Sequence[str], trials: Callable[[dict[str, Any]], None] | None = None) -> None:
        self.order, self.trials = {test: k for k, test in enumerate(tests)}, trials
        self.failed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(f"import of {report.nodeid}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if self.trials is None:
            return None
        self.trials({item.nodeid: item for item in session.items})
        return True


def failures_in_memory(copy: Path, moves: Sequence[Move], output: Path, told: Callable[[str], None]) -> list[list[str]]:
    """For each move the tests that fail with it and pass without it, where only memory is changed."""
    saved = copy / "failures.json"
    tests = list(dict.fromkeys(test for move in moves for test in move.tests))

    def work() -> int:
        inside(copy)
        answers: list[list[str]] = []
        sound: dict[str, bool] = {}

        def trials(items: dict[str, Any]) -> None:
            for path in {move.constant.path for move in moves}:
                importlib.import_module(_module(path))
            gc.collect()
            gc.freeze()
            for k, move in enumerate(moves):
                chosen = [items[test] for test in move.tests if test in items]
                failed = _failed(chosen, move.seconds, move.change, plugin)
                for test in failed:
                    if test not in sound:
                        sound[test] = not _failed([items[test]], move.seconds, lambda: None, plugin)
                answers.append([test for test in failed if sound[test]])
                Path(f"{output}.progress").write_text(f"{k + 1} of {len(moves)}")
                saved.write_text(json.dumps(answers))

        plugin = _Outcomes(tests, trials)
        return int(pytest.main([*OPTIONS, "--capture=sys", *_files(copy, tests)], plugins=[plugin]))

    forked(work, output, seconds=None)
    answers = json.loads(saved.read_text()) if saved.exists() else []
    if len(answers) < len(moves):
        told(f"{len(answers)} of {len(moves)} moves were made; see {output}")
    return answers + [[] for _ in moves[len(answers) :]]


def _failed(items: Sequence[Any], seconds: float, change: Callable[[], None], plugin: _Outcomes) -> list[str]:
    """The tests that fail in a child after `change()`; the one that runs when the child does not end in time, too."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        try:
            limit = int(GRACE + SLOWER * seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 2))
            resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(10 * limit)
            change()
            for item, following in zip(items, [*items[1:], None], strict=True):
                plugin.failed = []
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                os.write(writer, b"f" if plugin.failed else b".")
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        marks = told.read()
    os.waitpid(child, 0)
    marks += "f" * (len(marks) < len(items))
    return [item.nodeid for item, mark in zip(items, marks, strict=False) if mark == "f"]


def failures_on_disk(copy: Path, move: Move, tests: Sequence[str], output: Path) -> list[str]:
    """The tests that fail in a new process on a copy in which the source of the constant is changed."""
    target, saved = copy / move.constant.path, copy / "failed.json"
    source = target.read_text()
    target.write_text(move.source(source))
    saved.unlink(missing_ok=True)

    def work() -> int:
        inside(copy)
        plugin = _Outcomes(tests)
        pytest.main([*OPTIONS, *_files(copy, tests)], plugins=[plugin])
        saved.write_text(json.dumps(plugin.failed))
        return 0

    try:
        code = forked(work, output, GRACE + SLOWER * move.seconds)
    finally:
        target.write_text(source)
    return json.loads(saved.read_text()) if saved.exists() else [f"exit status {code}"]


def moves_of(constant: Constant, calls: Calls, budget: float) -> list[Move]:
    """Up and down, with the tests of the functions that read the constant: the fastest, up to `budget` seconds.

    Tests in the file that mirrors the source count as if they took a share OWN of their time.
    """
    mirrored = Path(constant.path.removeprefix("psdopt/"))
    start = f"tests/{mirrored.parent}/test_{mirrored.stem}".replace("/./", "/")
    called = {test for path, function in constant.readers for test in calls.of(path, function)}
    chosen, spent = [], 0.0
    for test in sorted(called, key=lambda test: (calls.seconds[test] * (OWN if test.startswith(start) else 1.0), test)):
        if chosen and spent + calls.seconds[test] > budget:
            continue
        chosen.append(test)
        spent += calls.seconds[test]
    chosen.sort()  # a fixture of a module is made once
    return [Move(constant, factor, chosen, spent) for factor in FACTORS]


def with_new(calls: Calls, tests: Sequence[str]) -> Calls:
    """`calls` and the tests that are newer, each taken to call, in no time, what the others of its file call."""
    newer: dict[str, list[str]] = {}
    for test in tests:
        if test not in calls.seconds:
            newer.setdefault(test.partition("::")[0], []).append(test)
    callers = {}
    for function, found in calls.callers.items():
        files = dict.fromkeys(test.partition("::")[0] for test in found)
        callers[function] = [*found, *(test for file in files for test in newer.get(file, ()))]
    fresh = {test: 0.0 for found in newer.values() for test in found}
    return Calls(callers, {**{test: calls.seconds[test] for test in tests if test in calls.seconds}, **fresh})


def collected(copy: Path, files: Sequence[str], output: Path) -> list[str]:
    """The names of the tests in the files."""
    saved = copy / "tests.json"

    def work() -> int:
        inside(copy)
        names = _Names()
        pytest.main([*OPTIONS, "--collect-only", *files], plugins=[names])
        saved.write_text(json.dumps(names.found))
        return 0

    forked(work, output, seconds=None)
    return json.loads(saved.read_text())


class _Names:
    """A pytest plugin that notes which tests there are."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        self.found = [item.nodeid for item in items]


def _only(statement: ast.stmt) -> ast.Module:
    return ast.Module([statement], [])


def _files(copy: Path, tests: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(test.partition("::")[0] for test in tests) if (copy / name).exists()]


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def main(argv: Sequence[str] | None = None) -> int:
    """Move constants; 0 where no test fails, 1 where one does."""
    parser = argparse.ArgumentParser(prog="benchmarks.tuned", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", nargs="*", default=[], help="files or folders of constants (default: psdopt)")
    parser.add_argument("--names", nargs="*", default=[], help="constants (default: all)")
    parser.add_argument("--budget", type=float, default=BUDGET, help="seconds of tests per move (default: %(default)s)")
    parser.add_argument("--calls", type=Path, help="file that keeps which tests call what; made if it is not there")
    arguments = parser.parse_args(argv)
    sources = [path for name in ("psdopt", "psdopt_plugins", "tests") for path in sorted((ROOT / name).rglob("*.py"))]
    wanted = tuple(arguments.files) or ("psdopt/",)
    chosen = [c for c in constants(sources, ROOT) if c.path.startswith(wanted) and not c.path.startswith("tests/")]
    chosen = [c for c in chosen if not arguments.names or c.name in arguments.names]
    chosen.sort(key=lambda c: min((k for k, name in enumerate(wanted) if c.path.startswith(name))))
    red = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack():
        copy = Path(folder)
        copied(copy)
        warm_up()
        calls = recorded(arguments.calls, copy, [test for test in TESTS if (ROOT / test).exists()])
        callers = [calls.of(path, function) for constant in chosen for path, function in constant.readers]
        files = _files(copy, sorted({test for tests in callers for test in tests}))
        calls = with_new(calls, collected(copy, files, copy / "output.txt"))
        moves = [move for constant in chosen for move in moves_of(constant, calls, arguments.budget)]
        print(f"{len(chosen)} constants, {sum(move.seconds for move in moves):.0f} seconds", flush=True)
        found = failures_in_memory(copy, moves, copy / "output.txt", print)
        for move, failed in zip(moves, found, strict=True):
            if move.constant.read_by_imports:
                failed = failures_on_disk(copy, move, move.tests, copy / "output.txt")
            elif failed:
                failed = failures_on_disk(copy, move, failed, copy / "output.txt")
            red += bool(failed)
            sign = "+" if move.factor > 1.0 else "-"
            print(f"{move.constant} {sign}: {len(failed)} of {len(move.tests)} tests fail", *failed, sep="\n    ")
            sys.stdout.flush()
    print(f"\n{len(chosen)} constants, {len(moves)} moves, {red} with a test that fails")
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
