"""Semidefinite programs of SDPLIB, and random ones of its families, by psdopt: seconds, bounds and residuals."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.papers.sdp_families import PROGRAMS
from benchmarks.papers.sdp_graphs import GRAPHS
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt import Constrained, read_sdpa, solve
from psdopt.errors import DataFileError

Sizes = Mapping[str, tuple[int, ...]]
#: The environment variable that names the folder of the .dat-s files.
FOLDER = "PSDOPT_SDPLIB"
TOL = 1e-6
#: Seconds by the clock for a program.
MAX_TIME = 120.0
#: SDPLIB's programs that are measured; the last ones are those of more than 5 seconds.
SDPLIB = (
    *("arch0", "control1", "control2", "gpp100", "gpp124-1", "gpp250-1", "gpp250-4", "gpp500-1", "hinf1", "infd1"),
    *("infp1", "maxG11", "maxG51", "mcp100", "mcp124-1", "mcp124-4", "mcp250-1", "mcp250-2", "mcp500-1", "mcp500-4"),
    *("qap5", "qap6", "qap8", "theta1", "theta2", "theta3", "theta5", "truss1", "truss3", "truss5"),
    *("maxG55", "qpG11", "ss30", "thetaG11"),
)
#: A program that is also asked for at a coarser tolerance.
COARSE = {"hinf1": 1e-5}
#: Orders of the random graphs, and sizes of the other families.
GRAPH_SIZES = {"max_cut": (300, 1000, 2000), "torus": (2000,), "partition": (120, 300, 801), "theta": (60, 100)}
FAMILY_SIZES = {
    "control": (5, 10),
    "hinf": (4, 8, 12),
    "truss": (4, 8),
    "arch": (4, 8, 14),
    "qap": (5, 7, 9),
    "box": (200, 500),
    "signed_cut": (300, 1000),
    "grid_theta": (100, 200),
    "infeasible": (10, 40),
    "unbounded": (10, 40),
}
QUICK_GRAPHS = {"max_cut": (40,), "theta": (20,)}
QUICK_FAMILIES = {"control": (3,), "truss": (3,), "infeasible": (8,)}
#: What the size of a family counts, where it is not the order.
COUNTED = {
    "control": "states",
    "wide_control": "states",
    "shifted_control": "states",
    "hinf": "states",
    "truss": "columns of nodes",
    "arch": "columns of nodes",
}
COUNTED |= {"qap": "facilities", "box": "variables", "power_flow": "networks of 30 buses"}


def sdplib() -> Experiment:
    """Every program, with value, bound and residuals."""
    return Experiment(_library_cases, _measure_library, _present_library)


def graphs() -> Experiment:
    """Random graphs: cuts, partitions, Lovász's number; three seeds."""
    return Experiment(
        lambda quick: _random_cases(QUICK_GRAPHS if quick else GRAPH_SIZES, 3), _measure_random, _present_random
    )


def families() -> Experiment:
    """Random programs of SDPLIB's other families; two seeds."""
    return _random(QUICK_FAMILIES, FAMILY_SIZES, 2)


def _random(quick_sizes: Sizes, sizes: Sizes, seeds: int) -> Experiment:
    def cases(quick: bool) -> list[ExperimentCase]:
        return _random_cases(quick_sizes if quick else sizes, seeds)

    return Experiment(cases, _measure_random, _present_random)


def program(name: str) -> Constrained:
    """SDPLIB's program of this name; DataFileError where the folder lacks it."""
    folder = os.environ.get(FOLDER)
    for path in (Path(folder) / f"{name}.dat-s", Path(folder) / f"{name}.dat-s.gz") if folder else ():
        if path.is_file():
            return read_sdpa(path)
    raise DataFileError(f"{name}.dat-s is not in the folder that {FOLDER} names")


def ours(problem: Constrained, tol: float, max_time: float) -> dict[str, Any]:
    """One run by :func:`psdopt.solve`, with its certificate; processor seconds, the proof included."""
    start = time.process_time()
    result = solve(problem, tol=tol, max_time=max_time)
    seconds = time.process_time() - start
    proof = result.certificate
    found = {"m": problem.m, "n": problem.n, "method": result.method, "value": result.value, "seconds": seconds}
    found |= {"status": result.status.label, "bound": None, "infeasibility": None, "gap": None}
    if proof is not None and proof.constraints is not None:
        missed = proof.constraints.primal_infeasibility
        found |= {"bound": proof.dual_value, "infeasibility": missed, "gap": proof.gap_relative}
    return found


def _library_cases(quick: bool) -> list[ExperimentCase]:
    tolerances = [(name, TOL) for name in SDPLIB] + list(COARSE.items())
    return [
        ExperimentCase(
            name if tol == TOL else f"{name}-coarse",
            {"program": name, "tol": tol},
            files=(f"{FOLDER}/{name}.dat-s",),
        )
        for name, tol in ([] if quick else tolerances)
    ]


def _measure_library(case: ExperimentCase) -> dict[str, Any]:
    return ours(program(case.settings["program"]), case.settings["tol"], MAX_TIME)


def _present_library(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows = tuple(
        (
            name.replace("-coarse", f" to {COARSE.get(name.removesuffix('-coarse'), TOL):g}"),
            f"{found['m']:,}",
            f"{found['n']:,}",
            found["method"],
            or_dash(found["value"], ".9g"),
            or_dash(found["bound"], ".9g") if found["status"] not in ("infeasible", "unbounded") else "–",
            or_dash(found["infeasibility"], ".1e"),
            or_dash(found["gap"], ".1e"),
            found["status"],
            f"{found['seconds']:.2f}",
        )
        for name, found in measured.items()
    )
    columns = ("program", "m", "n", "method", "value", "bound", "infeasibility", "gap", "end", "seconds")
    facts = {f"seconds-{name.lower()}": f"{found['seconds']:.2g}" for name, found in measured.items()}
    facts |= {f"end-{name.lower()}": found["status"] for name, found in measured.items()}
    asked = {name: found["status"] for name, found in measured.items() if name in SDPLIB}
    proven = [name for name, status in asked.items() if status == "optimal"]
    if asked:
        others = [f"{name} {status}" for name, status in asked.items() if status != "optimal"]
        facts |= {"optimal": f"{len(proven)} of {len(asked)}", "others": ", ".join(others) or "none"}
    return Findings((ResultTable("Processor seconds; relative gap and infeasibility", columns, rows),), facts=facts)


def _random_cases(sizes: Sizes, seeds: int) -> list[ExperimentCase]:
    return [
        ExperimentCase(f"{family} {size}, seed {seed}", {"family": family, "size": size, "seed": seed, "tol": TOL})
        for family, all_sizes in sizes.items()
        for size in all_sizes
        for seed in range(seeds)
    ]


def _measure_random(case: ExperimentCase) -> dict[str, Any]:
    settings = case.settings
    made = {**GRAPHS, **PROGRAMS}[settings["family"]](settings["size"], seed=settings["seed"])
    return ours(made, settings["tol"], MAX_TIME) | {"family": settings["family"], "size": settings["size"]}


def _present_random(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    groups: dict[tuple[str, int], list[Mapping[str, Any]]] = {}
    for found in measured.values():
        groups.setdefault((found["family"], found["size"]), []).append(found)
    rows = []
    for (family, size), runs in groups.items():
        counted = f"{_shown(family)}, {size} {COUNTED[family]}" if family in COUNTED else _shown(family)
        ended = [run["status"] for run in runs]
        bounded_runs = [run for run in runs if run["status"] not in ("infeasible", "unbounded")]
        rows.append(
            (
                counted,
                _range([run["n"] for run in runs], ","),
                _range([run["m"] for run in runs], ","),
                _range([run["seconds"] for run in runs], ".2f"),
                _largest(bounded_runs, "gap"),
                _largest(bounded_runs, "infeasibility"),
                ", ".join(f"{ended.count(status)} {status}" for status in dict.fromkeys(ended)),
            )
        )
    columns = ("family", "n", "m", "seconds", "largest gap", "largest infeasibility", "end")
    every = [found["status"] for found in measured.values()]
    proven = sum(status in ("optimal", "infeasible", "unbounded") for status in every)
    table = ResultTable("Processor seconds, tolerance 1e-6", columns, tuple(rows))
    return Findings((table,), facts={"proven": f"{proven} of {len(every)}"})


def _shown(family: str) -> str:
    return family.replace("_", "-")


def _range(values: list[Any], digits: str) -> str:
    least, most = (format(value, digits) for value in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"


def _largest(runs: list[Mapping[str, Any]], key: str) -> str:
    return or_dash(max((run[key] for run in runs if run[key] is not None), default=None), ".1e")


def or_dash(value: float | None, digits: str) -> str:
    return "–" if value is None or not math.isfinite(value) else format(value, digits)
