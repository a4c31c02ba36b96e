"""Which tests call which functions, and runs of chosen tests in forked processes: what :mod:`benchmarks.mutants` uses.

A run of all tests under a trace tells for each function the tests that call it, and the processor seconds of each test.
Tests are then run in children of a process that has NumPy, SciPy and pytest imported already, but nothing of psdopt: a
child imports psdopt from the folder it is given, and costs what its tests cost.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

#: Imported once, before the first fork. What is not installed is left out.
HEAVY = (
    "numpy", "scipy.linalg", "scipy.sparse.linalg", "scipy.optimize", "scipy.integrate", "scipy.spatial", "autograd",
    "sklearn.base", "sklearn.datasets", "sklearn.model_selection", "sklearn.utils.estimator_checks", "hypothesis",
    "hypothesis.extra.numpy", "threadpoolctl", "matplotlib.figure", "rich.console", "pluggy",
)  # fmt: skip
#: Address space of a child, in bytes: a mutant that fills the memory fails alone.
ROOM = 12 << 30


@dataclass
class Calls:
    """callers: "path::qualified name" of a function -> tests that call it. seconds: of each test, on the processor."""

    callers: dict[str, list[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def of(self, path: str, name: str) -> list[str]:
        """The tests that call a function of `path`, the fastest first.

        "", or a function that was not there when the calls were recorded, stands for any function of the file.
        """
        if f"{path}::{name}" in self.callers:
            tests = set(self.callers[f"{path}::{name}"])
        else:
            tests = {test for key, found in self.callers.items() if key.startswith(f"{path}::") for test in found}
        return sorted(tests & self.seconds.keys(), key=lambda test: (self.seconds[test], test))

    def save(self, path: Path) -> None:
        path.write_text(json.dumps({"callers": self.callers, "seconds": self.seconds}))

    @classmethod
    def load(cls, path: Path) -> Calls:
        return cls(**json.loads(path.read_text()))


class _Recorder:
    """A pytest plugin that notes, for every test that passes, its seconds and the functions below `root` it calls."""

    def __init__(self, root: Path) -> None:
        self.root, self.calls = f"{root}{os.sep}", Calls()
        self._codes: dict[int, CodeType] = {}
        self._modules: dict[str, set[str]] = {}
        self._failed = False

    def _trace(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        self._codes[id(code)] = code

    @contextlib.contextmanager
    def _traced(self) -> Generator[set[str]]:
        found: set[str] = set()
        self._codes = {}
        sys.settrace(self._trace)
        try:
            yield found
        finally:
            sys.settrace(None)
            for code in self._codes.values():
                if code.co_filename.startswith(self.root):
                    found.add(f"{code.co_filename[len(self.root) :]}::{code.co_qualname}")

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Generator[None, Any, Any]:
        with self._traced() as found:
            report = yield
        self._modules[collector.nodeid.partition("::")[0]] = found
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        self._failed, started = False, time.process_time()
        with self._traced() as found:
            answer = yield
        if not self._failed:
            self.calls.seconds[item.nodeid] = round(time.process_time() - started, 4)
            for name in found | self._modules.get(item.nodeid.partition("::")[0], set()):
                self.calls.callers.setdefault(name, []).append(item.nodeid)
        return answer

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._failed = self._failed or report.outcome != "passed"


class _Chosen:
    """A pytest plugin that keeps the chosen tests, in the given order, and tells which one failed."""

    def __init__(self, tests: Sequence[str], failed: Path) -> None:
        self.order, self.failed = {test: k for k, test in enumerate(tests)}, failed

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.write_text(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed.write_text(f"import of {report.nodeid}")


def warm_up() -> None:
    """Import what every child needs."""
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def record(copy: Path, tests: Sequence[str], output: Path) -> Calls:
    """Run the tests of `copy` under a trace. Tests that fail or are skipped are left out."""
    saved = copy / "calls.json"

    def work() -> int:
        inside(copy)
        recorder = _Recorder(copy)
        pytest.main([*OPTIONS, *tests], plugins=[recorder])
        recorder.calls.save(saved)
        return 0

    forked(work, output, seconds=None)
    return Calls.load(saved) if saved.exists() else Calls()


def run_chosen(copy: Path, tests: Sequence[str], seconds: float, output: Path) -> str:
    """Run tests in this order until one fails: "" if all pass, else the name of the test, or why there is none.

    Tests that were renamed or removed since the recording are passed over: they kill nothing.
    """
    failed = copy / "failed.txt"
    failed.unlink(missing_ok=True)
    files = [name for name in dict.fromkeys(test.partition("::")[0] for test in tests) if (copy / name).exists()]
    if not files:
        return ""

    def work() -> int:
        inside(copy)
        return int(pytest.main([*OPTIONS, "-x", *files], plugins=[_Chosen(tests, failed)]))

    code = forked(work, output, seconds)
    if code in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
        return ""
    if failed.exists():
        return failed.read_text()
    return "the clock" if code in (-signal.SIGXCPU, -signal.SIGKILL) else f"exit status {code}"


#: Of pytest, in every child.
OPTIONS = (
    "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:timeout",
    "-W", "ignore::pytest.PytestAssertRewriteWarning",
)  # fmt: skip


def forked(work: Callable[[], int], output: Path, seconds: float | None) -> int:
    """The exit status of `work()` in a child that writes to `output`; minus the signal that ended it."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # processes that the tests left behind
        return os.waitstatus_to_exitcode(status)
    code = 70
    try:
        os.setpgid(0, 0)
        if seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 10))
            resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGXCPU))
            signal.alarm(int(10 * seconds))  # a test that sleeps uses no processor
        target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(target, 1)
        os.dup2(target, 2)
        code = work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def inside(copy: Path) -> None:
    """From here on this process imports psdopt and the tests from `copy`, and computes in one thread."""
    os.chdir(copy)
    os.environ |= {"PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path[:] = [str(copy), *(p for p in sys.path if p not in ("", os.getcwd()))]
    _forget(("psdopt", "psdopt_plugins", "tests", "benchmarks"))
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def _forget(packages: Iterable[str]) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] in packages and name != __name__:
            del sys.modules[name]


def recorded(path: Path | None, copy: Path, tests: Sequence[str]) -> Calls:
    """The calls in the file `path`; where it is missing, those of the `tests` in `copy`, which are saved there."""
    if path is not None and path.exists():
        return Calls.load(path)
    calls = record(copy, tests, copy / "output.txt")
    if path is not None:
        calls.save(path)
    return calls
