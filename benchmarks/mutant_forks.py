"""Changed functions in forks of one process that has collected the tests: the fast path of :mod:`benchmarks.mutants`.

One process imports psdopt and the tests that are needed. For each change it forks; the child gives the functions of
the changed source their new code and runs its tests, which costs what these take, without an import. A change of a
number in a module, in a class or in a default is in no function, and what was computed during the imports, such as the
parameters of a test, is that of the old code: whatever survives here is for a new process to decide.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from benchmarks.mutant_tests import OPTIONS, ROOM, forked, inside

#: Processor seconds of a child beyond what its tests take, and the multiple of what they take.
GRACE, SLOWER = 10.0, 3.0

Codes = list[tuple[FunctionType, CodeType]]


@dataclass(frozen=True)
class Trial:
    """A source, its changed text, and the tests to run on it with the processor seconds that they take."""

    path: str
    text: bytes
    tests: list[str]
    seconds: float


class _Trials:
    """A pytest plugin: after collection the trials are made instead of the tests. `killers` : see :func:`killers`.

    A test that fails without a change as well, in a fork of its own, rejects nothing.
    """

    def __init__(self, copy: Path, trials: Sequence[Trial], saved: Path) -> None:
        self.copy, self.trials, self.saved = copy, trials, saved
        self.killers: list[str] = []
        self._items: dict[str, Any] = {}
        self._functions: list[FunctionType] = []
        self._unsound: dict[str, bool] = {}
        self._failed = False

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._failed = self._failed or report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        for path in {trial.path for trial in self.trials}:
            importlib.import_module(_module(path))
        gc.collect()
        functions = [found for found in gc.get_objects() if type(found) is FunctionType]
        self._functions = [found for found in functions if found.__code__.co_filename.startswith(f"{self.copy}/")]
        gc.freeze()
        for trial in self.trials:
            self.killers.append(self._killer(trial))
        self.saved.write_text(json.dumps(self.killers))
        return True

    def _killer(self, trial: Trial) -> str:
        file = str(self.copy / trial.path)
        codes = changed(self._functions, file, trial.text)
        tests = [test for test in trial.tests if test in self._items] if codes else []
        while tests:
            failed = self._first_failed(tests, trial.seconds, codes)
            if not failed:
                return ""
            if failed not in self._unsound:
                self._unsound[failed] = bool(self._first_failed([failed], trial.seconds, []))
            if not self._unsound[failed]:
                return failed
            tests = tests[tests.index(failed) + 1 :]
        return ""

    def _first_failed(self, tests: list[str], seconds: float, codes: Codes) -> str:
        """The first of the tests that fails, or does not end in time, in a child with these codes; "" if none does."""
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            self._run(tests, seconds, codes, writer)
        os.close(writer)
        with os.fdopen(reader) as told:
            lines = told.read().split()
        os.waitpid(child, 0)
        return "" if lines[-1:] == ["passed"] else tests[max(len(lines) - 1, 0)]

    def _run(self, tests: list[str], seconds: float, codes: Codes, writer: int) -> None:
        """Never returns. One line is written before each test, and "passed" after the last."""
        try:
            limit = int(GRACE + SLOWER * seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 2))
            resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(10 * limit)  # a test that sleeps uses no processor
            for function, code in codes:
                function.__code__ = code
            for test, following in zip(tests, [*tests[1:], ""], strict=True):
                os.write(writer, b"test\n")
                item = self._items[test]
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=self._items.get(following))
                if self._failed:
                    return
            os.write(writer, b"passed\n")
        finally:
            os._exit(0)


def killers(copy: Path, trials: Sequence[Trial], output: Path) -> list[str]:
    """The test that rejects each trial on the package in `copy`; "" where none does or no function has changed."""
    saved = copy / "killers.json"
    files = list(dict.fromkeys(test.partition("::")[0] for trial in trials for test in trial.tests))
    files = [name for name in files if (copy / name).exists()]

    def work() -> int:
        inside(copy)
        return int(pytest.main([*OPTIONS, "--capture=sys", *files], plugins=[_Trials(copy, trials, saved)]))

    forked(work, output, seconds=None)
    return json.loads(saved.read_text()) if saved.exists() else [""] * len(trials)


def changed(functions: Sequence[FunctionType], file: str, text: bytes) -> Codes:
    """Those of the functions that come from the file and have another code in `text`, with that code."""
    codes = {(code.co_qualname, code.co_firstlineno): code for code in _codes(compile(text, file, "exec"))}
    olds = [(function, function.__code__) for function in functions if function.__code__.co_filename == file]
    pairs = [(function, old, codes.get((old.co_qualname, old.co_firstlineno), old)) for function, old in olds]
    return [(function, new) for function, old, new in pairs if new != old]


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
