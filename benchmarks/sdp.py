"""Semidefinite programs of SDPLIB, and random ones of its families, against conic solvers where installed."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers.sdp_families import PROGRAMS
from benchmarks.papers.sdp_graphs import GRAPHS
from benchmarks.papers.sdp_peers import PEERS, fits
from benchmarks.papers.sdp_programs import FOLDER, ours
from benchmarks.papers.sdp_race import by_peer
from psdopt import read_sdpa

HEAD = "problem      m     n  method               value           bound      infeas.     gap  status        process s"


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code 0; prints a row for each program and each solver, and adds it to the file of ``--json``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks sdp", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"programs in the folder ${FOLDER} (default: all of it)")
    for family in FAMILIES:
        option = f"--{family.replace('_', '-')}"
        parser.add_argument(option, type=int, nargs="*", default=[], metavar="N", help="random ones of these sizes")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0], help="of the random programs")
    parser.add_argument("--max-time", type=float, default=120.0, help="seconds for each program of ours")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--peers", action="store_true", help=f"run {', '.join(PEERS)} too, where installed")
    parser.add_argument(
        "--solvers",
        nargs="*",
        choices=["psdopt", *PEERS],
        metavar="NAME",
        help=f"which of psdopt, {', '.join(PEERS)} run (default: psdopt, and with --peers all)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="a file that gets each row as a line of JSON")
    parser.add_argument("--limit", type=float, default=60.0, help="processor seconds for each peer, its model included")
    arguments = parser.parse_args(argv)
    print(HEAD)
    solvers = arguments.solvers or ["psdopt", *(PEERS if arguments.peers else ())]
    generated = {family: getattr(arguments, family) for family in FAMILIES}
    for name, problem in programs(arguments.names, generated, arguments.seeds):
        for solver in solvers:
            if solver == "psdopt":
                found = ours(problem, arguments.tol, arguments.max_time)
            elif fits(solver, problem):
                found = by_peer(solver, problem, arguments.tol, arguments.limit)
            else:
                continue
            row = {"problem": name, "solver": solver, **found}
            print(line(row), flush=True)
            if arguments.json is not None:
                with arguments.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    return 0


def programs(names, generated, seeds=(0,)):
    """(name, problem) one after the other; `generated` has orders by family."""
    folder, orders = os.environ.get(FOLDER), any(generated.values())
    if folder is not None and (names or not orders):
        found = {path.name.split(".")[0]: path for path in sorted(Path(folder).glob("*.dat-s*"))}
        for name in names or found:
            yield name, read_sdpa(found[name])
    elif not orders:
        print(f"set {FOLDER} to the folder of the .dat-s files, or name orders by --max-cut, --partition, --theta")
    for family, sizes in generated.items():
        for n in sizes:
            for seed in seeds:
                yield f"{family[:3]}{n}-{seed}", FAMILIES[family](n, seed=seed)


#: Random problems, by order and seed.
FAMILIES = {**GRAPHS, **PROGRAMS}


def line(row):
    """A line of the printed table."""
    shown = [f"{'' if v is None else format(v, '.9g'):>15}" for v in (row["value"], row["bound"])]
    errors = [f"{'' if e is None else format(e, '.1e'):>9}" for e in (row["infeasibility"], row["gap"])]
    seconds = "" if row["seconds"] is None else format(row["seconds"], "8.2f")
    start = f"{row['problem']:10} {row['m']:5} {row['n']:5}  {row['method']:19}"
    return f"{start} {' '.join(shown)} {' '.join(errors)}  {row['status']:12} {seconds}"
