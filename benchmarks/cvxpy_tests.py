"""CVXPY's own tests with psdopt beside the solver that they name: every problem that becomes a program with a PSD cone.

The tests are those of the installed CVXPY, or of a clone or a source package that ``--source`` names. First CVXPY's
cases for solvers, each solved by psdopt alone; then the test files, each problem solved by psdopt as well. A table
counts the answers, and every answer that is not right has a line of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import os
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.reductions.dgp2dcp.dgp2dcp import Dgp2Dcp

import psdopt.interop.cvxpy  # noqa: F401  (the solver's name)

#: Two values agree to this share of the larger of 1 and the value; points may be outside by this share of their size.
AGREE = 1e-3
#: Kinds of answers, in the order of the table.
KINDS = ("right", "inaccurate", "refused", "no multipliers", "other status", "other value", "failed", "foreign error")
LISTED = KINDS[2:]


@dataclass(frozen=True)
class Answer:
    """What psdopt made of a problem: one of `KINDS`, the status and value of the tests' own solver, and of psdopt."""

    where: str
    kind: str
    theirs: str
    ours: str
    seconds: float


class Watch:
    """A plugin of pytest that solves each problem of a test again, by psdopt, once it has been solved."""

    def __init__(self, max_time: float) -> None:
        self.answers: list[Answer] = []
        self.max_time, self.where, self.busy = max_time, "", False
        self.unpack = cp.Problem.unpack_results

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        watch = self

        def unpack_results(problem: cp.Problem, solution: Any, chain: Any, inverse: Any) -> None:
            watch.unpack(problem, solution, chain, inverse)
            if not watch.busy and has_matrices(inverse[-1]):
                watch.compare(problem, any(isinstance(step, Dgp2Dcp) for step in chain.reductions))

        cp.Problem.unpack_results = unpack_results
        try:
            yield
        finally:
            cp.Problem.unpack_results = self.unpack

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.where = f"{Path(str(item.path)).stem}::{item.name}"

    def compare(self, problem: cp.Problem, gp: bool) -> None:
        """Solve `problem` by psdopt, and leave values and multipliers as they were found."""
        parts = [*problem.variables(), *(each for c in problem.constraints for each in c.dual_variables)]
        before, solver = [part.value for part in parts], problem.solver_stats.solver_name
        start, self.busy = time.perf_counter(), True
        try:
            other = cp.Problem(problem.objective, problem.constraints)
            kind, ours = self.answer(other, gp, problem.status, problem.value)
        finally:
            self.busy = False
            for part, value in zip(parts, before, strict=True):
                part.save_value(value)
        theirs = f"{solver} {problem.status} {shown(problem.value)}"
        self.answers.append(Answer(self.where, kind, theirs, ours, time.perf_counter() - start))

    def answer(self, other: cp.Problem, gp: bool, status: str, value: Any) -> tuple[str, str]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                other.solve(solver="PSDOPT", gp=gp, max_time=self.max_time, warm_start=False)
        except cp.SolverError as error:
            return ("refused" if refusal(error) else "failed"), str(error)
        except Exception as error:
            return "foreign error", f"{type(error).__name__}: {error}"
        ours = f"{other.status} {shown(other.value)}"
        if other.status == "infeasible":
            found = other.solver_stats.extra_stats["proof"] is not None
            ours += f", proof off by {refuted(other, gp):.0e}" if found else ", by a face of the cone"
        if plain(other.status) != plain(status):
            return "other status", ours
        if plain(status) == "unbounded":
            return "right", ours
        if plain(status) == "infeasible":
            wanted = any(d.value is not None for c in other.constraints for d in c.dual_variables)
            return ("right" if wanted or not other.constraints else "no multipliers"), ours
        outside = max((float(np.max(np.abs(c.violation()), initial=0.0)) for c in other.constraints), default=0.0)
        size = max(1.0, *(float(np.max(np.abs(v.value), initial=0.0)) for v in other.variables()))
        if abs(other.value - value) > AGREE * max(1.0, abs(value)) or outside > AGREE * size:
            return "other value", f"{ours}, outside by {outside:.0e}"
        return ("inaccurate" if "inaccurate" in other.status else "right"), ours


def refuted(problem: cp.Problem, gp: bool) -> float:
    """How far psdopt's y is from a proof, over |y|: Aᵀy = 0, y in the dual cones, bᵀy = −1, in CVXPY's own numbers."""
    y = problem.solver_stats.extra_stats["proof"]
    data, _, _ = problem.get_problem_data("PSDOPT", gp=gp)
    dims, least, first = data["dims"], 0.0, data["dims"].zero + data["dims"].nonneg
    least = min(least, float(np.min(y[dims.zero : first], initial=0.0)))
    for d in dims.soc:
        least, first = min(least, float(y[first] - np.linalg.norm(y[first + 1 : first + d]))), first + d
    for constraint in data["param_prob"].constr_map[cp.constraints.PSD]:
        stack = y[first : first + constraint.size].reshape(constraint.args[0].shape, order="F")
        least = min(least, float(np.linalg.eigvalsh(stack + np.swapaxes(stack, -1, -2)).min() / 2.0))
        first += constraint.size
    wrong = (float(np.max(np.abs(data["A"].T @ y), initial=0.0)), -least, abs(float(data["b"] @ y) + 1.0))
    return max(wrong) / max(1.0, float(np.max(np.abs(y))))


def has_matrices(inverse: Any) -> bool:
    """Whether the program that CVXPY handed to a solver has a PSD cone."""
    try:
        return bool(inverse["dims"].psd)
    except (AttributeError, KeyError, TypeError):  # no conic solver
        return False


def refusal(error: Exception) -> bool:
    return "PSDOPT takes" in str(error) or "PSDOPT solves problems with" in str(error) or "mixed-integer" in str(error)


def plain(status: str) -> str:
    return str(status).replace("_inaccurate", "").replace("user_limit", "optimal")


def shown(value: Any) -> str:
    return "-" if value is None else f"{float(value):.7g}"


def cases() -> Iterator[Answer]:
    """CVXPY's cases for solvers, values, multipliers and conditions of optimality included."""
    helpers = import_module("cvxpy.tests.solver_test_helpers")
    for group, kind in inspect.getmembers(helpers, inspect.isclass):
        for name in sorted(n for n in vars(kind) if n.startswith("test_") and group.startswith("StandardTest")):
            start = time.perf_counter()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    getattr(kind, name)("PSDOPT")
                found = ("right", "")
            except cp.SolverError as error:
                found = ("refused" if refusal(error) else "failed", str(error))
            except ModuleNotFoundError:  # a case for another package
                continue
            except AssertionError as error:
                found = ("other value", " ".join(str(error).split()))
            except Exception as error:
                found = ("foreign error", f"{type(error).__name__}: {error}")
            yield Answer(f"{group}.{name}", found[0], "", found[1], time.perf_counter() - start)


def main(argv: list[str] | None = None) -> int:
    """Exit code 0; prints the two tables, and with ``--refusals`` what was refused."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks cvxpy-tests", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="NAME", help="test files (default: all)")
    parser.add_argument(
        "--source", type=Path, metavar="FOLDER", help="a clone of CVXPY, or its unpacked source package"
    )
    parser.add_argument("--max-time", type=float, default=20.0, help="seconds for each problem")
    parser.add_argument("--refusals", action="store_true", help="list refused problems too")
    parser.add_argument("--cases-only", action="store_true", help="only CVXPY's cases for solvers")
    arguments = parser.parse_args(argv)
    source = arguments.source or Path(inspect.getfile(cp)).parent.parent
    folder = source / "cvxpy" / "tests"
    if not folder.is_dir():
        parser.error(f"argument --source: {source} must contain the folder cvxpy/tests")
    print(f"CVXPY {cp.__version__}")
    table("cases for solvers", list(cases()), arguments.refusals)
    if not arguments.cases_only:
        chosen = [folder / f"{name.removesuffix('.py')}.py" for name in arguments.files]
        chosen = chosen or sorted(folder.rglob("test_*.py"))
        watch = Watch(arguments.max_time)
        own = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-c", os.devnull, "--rootdir", str(source)]
        with watch.watching(), contextlib.redirect_stdout(io.StringIO()) as told:
            pytest.main([*own, *map(str, chosen)], plugins=[watch])
        print("", *(line for line in told.getvalue().splitlines() if line.startswith("FAILED")), sep="\n")
        print(told.getvalue().splitlines()[-1])
        having = {answer.where.split("::")[0] for answer in watch.answers}
        title = f"problems with a PSD cone in {len(having)} of {len(chosen)} files"
        table(title, watch.answers, arguments.refusals)
    return 0


def table(title: str, answers: list[Answer], refusals: bool) -> None:
    counts = Counter(answer.kind for answer in answers)
    print(f"\n{title}: {len(answers)}, {sum(answer.seconds for answer in answers):.0f} s")
    for kind in KINDS:
        print(f"  {kind:15} {counts[kind]:5}")
    for answer in answers:
        if answer.kind in LISTED and (refusals or answer.kind != "refused"):
            print(f"  {answer.kind}: {answer.where}: {answer.theirs} | {answer.ours[:200]}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
