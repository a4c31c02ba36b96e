"""Models of the literature as users write them in CVXPY, solved by psdopt and by a reference: a verdict for each.

The reference is Clarabel, or SCS where Clarabel fails. An answer is right if its status is that of the reference, its
value is within 1e-3 of the reference's, relatively, and its point within 1e-4 of the constraints. Each function of the
files here without an underscore is a model.

Small models go to Clarabel by default, and psdopt proves its answers; `--own` asks for psdopt's own runs. Seconds are
the least processor seconds of `--repeats` runs from new models, compilation by CVXPY included.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from textwrap import shorten

import cvxpy as cp
import numpy as np
from threadpoolctl import threadpool_limits

import psdopt.interop.cvxpy  # noqa: F401  (the solver's name)
from psdopt.cli.tables import show_table
from psdopt.errors import unknown_name

GROUPS = ("statistics", "design", "control", "combinatorial", "signals")
#: Values agree to this share of the reference's, or of `LEAST` where that is less.
AGREE, LEAST = 1e-3, 1e-2
#: Points may be outside by this share of their size, or of one.
OUTSIDE = 1e-4
#: Verdicts, in the order of the totals.
VERDICTS = ("right", "inaccurate", "refused", "wrong", "failed")
REFERENCES = {"CLARABEL": {}, "SCS": {"eps": 1e-7, "max_iters": 200_000}}
ENDS = ("optimal", "infeasible", "unbounded")


@dataclass(frozen=True)
class Solved:
    """One solver's answer: its status or what it said when it gave none, the value, violation and seconds."""

    solver: str
    status: str
    value: float = np.nan
    outside: float = 0.0
    seconds: float = 0.0


def models() -> dict[str, Callable[[], cp.Problem]]:
    """Name -> function, in the order of the files."""
    found = {}
    for group in GROUPS:
        module = import_module(f"{__name__}.{group}")
        for name, each in vars(module).items():
            if getattr(each, "__module__", "") == module.__name__ and not name.startswith("_"):
                found[name] = each
    return found


def solved(problem: cp.Problem, solver: str, **options: object) -> Solved:
    """The answer of `solver`; what it raises is its status."""
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver=solver, **options)
    except cp.SolverError as error:
        return Solved(solver, str(error), seconds=time.process_time() - start)
    except Exception as error:
        return Solved(solver, f"{type(error).__name__}: {error}", seconds=time.process_time() - start)
    seconds = time.process_time() - start
    value = np.nan if problem.value is None else float(problem.value)
    outside = violation(problem) if np.isfinite(value) else 0.0
    return Solved(solver, problem.status, value, outside, seconds)


def violation(problem: cp.Problem) -> float:
    """Largest distance from a constraint, over the largest entry of the point or one."""
    size = max(1.0, *(float(np.max(np.abs(v.value), initial=0.0)) for v in problem.variables()))
    return max((float(np.max(np.abs(c.violation()), initial=0.0)) for c in problem.constraints), default=0.0) / size


def reference(model: Callable[[], cp.Problem]) -> Solved:
    """The answer of the first reference that ends with a full status, else the last one's."""
    found = Solved("", "not solved")
    for solver, options in REFERENCES.items():
        found = solved(model(), solver, **options)
        if found.status in ENDS:
            break
    return found


def ended(answer: Solved) -> str:
    """The status, or "none" where the solver raised an error."""
    return answer.status if answer.status.removesuffix("_inaccurate") in (*ENDS, "user_limit") else "none"


def verdict(ours: Solved, theirs: Solved) -> str:
    """One of `VERDICTS`. Without a reference's answer nothing is right; a claim beside the reference's is wrong."""
    if "PSDOPT takes" in ours.status:
        return "refused"
    claim, truth = ours.status.removesuffix("_inaccurate"), theirs.status.removesuffix("_inaccurate")
    if claim not in ENDS or truth not in ENDS:
        return "failed"
    if claim != truth:
        return "wrong"
    if claim == "optimal":
        off = abs(ours.value - theirs.value) / max(abs(theirs.value), LEAST)
        if not (off <= AGREE and ours.outside <= OUTSIDE):
            return "wrong"
    return "right" if ours.status == claim else "inaccurate"


def compare(
    names: Iterable[str], max_time: float, own: bool = False, repeats: int = 1
) -> Iterable[tuple[str, Solved, Solved, str]]:
    """Name, psdopt's answer, the reference's and the verdict, for each model; `own`, `repeats` as in the module."""
    known, options = models(), {"max_time": max_time, **({"clarabel": False} if own else {})}
    for name in names:
        pairs = [(solved(known[name](), "PSDOPT", **options), reference(known[name])) for _ in range(repeats)]
        ours, theirs = (
            replace(each[-1], seconds=min(answer.seconds for answer in each)) for each in zip(*pairs, strict=True)
        )
        yield name, ours, theirs, verdict(ours, theirs)


def race(rows: Iterable[tuple[str, Solved, Solved, str]]) -> str:
    """The mean ratio of seconds over the models that both solvers solve, and the models that take over twice."""
    ratios = {
        name: ours.seconds / theirs.seconds
        for name, ours, theirs, _ in rows
        if ended(ours) in ENDS and theirs.solver == "CLARABEL" and theirs.status in ENDS
    }
    if not ratios:
        return "no model is solved by both"
    mean, slow = np.exp(np.mean(np.log(list(ratios.values())))), [name for name, each in ratios.items() if each > 2.0]
    return (
        f"psdopt's seconds over Clarabel's: {mean:.2f} in the geometric mean of {len(ratios)} models; "
        f"more than 2 for {len(slow)}" + "".join(f", {name} {ratios[name]:.1f}" for name in slow)
    )


def main(argv: list[str] | None = None) -> int:
    """Exit code 1 if an answer is wrong, else 0; prints a row for each model, and the totals."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks models", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="models (default: all)")
    parser.add_argument("--max-time", type=float, default=30.0, help="seconds of psdopt for each model")
    parser.add_argument("--own", action="store_true", help="psdopt's own runs, none by Clarabel")
    parser.add_argument("--repeats", type=int, default=1, help="runs, of which the least seconds count")
    arguments = parser.parse_args(argv)
    known = models()
    for name in arguments.names:
        if name not in known:
            raise unknown_name("model", name, known)
    with threadpool_limits(1):
        rows = list(compare(arguments.names or known, arguments.max_time, arguments.own, max(arguments.repeats, 1)))
    columns = ("model", "status", "value", "outside", "reference", "its value", "s", "its s", "verdict")
    shown = [
        (
            *(name, ended(ours), f"{ours.value:.6g}", f"{ours.outside:.0e}", theirs.solver, f"{theirs.value:.6g}"),
            *(f"{ours.seconds:.2f}", f"{theirs.seconds:.2f}", kind),
        )
        for name, ours, theirs, kind in rows
    ]
    show_table("Models of the literature", columns, shown)
    for name, *answers, _ in rows:
        for answer in answers:
            if ended(answer) == "none" or (answer.solver != "PSDOPT" and answer.status != "optimal"):
                print(f"{name}, {answer.solver}: {shorten(answer.status, 200)}")
    print(race(rows))
    counts = Counter(row[-1] for row in rows)
    print(f"{len(rows)} models: " + ", ".join(f"{counts[kind]} {kind}" for kind in VERDICTS))
    return int(counts["wrong"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
