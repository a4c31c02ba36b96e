"""The race on semidefinite programs: psdopt beside SDPA, pymanopt, SCS, Clarabel and spheres with one factor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.papers.sdp_graphs import GRAPHS
from benchmarks.papers.sdp_peers import PEERS, bounded
from benchmarks.papers.sdp_programs import FOLDER, MAX_TIME, TOL, or_dash, ours, program
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt import Constrained
from psdopt.plugins import COLOURS, new_figure

#: Processor seconds of a peer, its model included.
LIMITS = {"SDPA": 120.0, "pymanopt": 60.0, "SCS": 30.0, "Clarabel": 30.0, "spheres": 60.0}
#: The races: a program of SDPLIB, or (family, order) of a random one; and the peers that take part.
RACES: dict[str | tuple[str, int], tuple[str, ...]] = {
    "mcp100": ("SDPA", "pymanopt", "SCS", "Clarabel", "spheres"),
    ("max_cut", 200): ("SDPA", "spheres"),
    "mcp250-1": ("SDPA", "pymanopt", "spheres"),
    "mcp500-1": ("SDPA", "pymanopt", "spheres"),
    "mcp500-4": ("SDPA", "pymanopt", "spheres"),
    "maxG11": ("SDPA", "pymanopt", "spheres"),
    "maxG51": ("SDPA", "pymanopt", "spheres"),
    ("torus", 2000): ("SDPA", "pymanopt", "spheres"),
    ("max_cut", 2000): ("SDPA", "spheres"),
    ("max_cut", 5000): ("spheres",),
    "gpp100": ("SDPA", "SCS", "Clarabel"),
    "gpp250-1": ("SDPA",),
    "gpp500-1": ("SDPA",),
    "theta1": ("SDPA", "SCS", "Clarabel"),
    "theta2": ("SDPA", "SCS", "Clarabel"),
    "theta3": ("SDPA", "SCS"),
    "theta5": ("SDPA",),
    "thetaG11": ("SDPA",),
    "qap5": ("SDPA", "SCS", "Clarabel"),
    "qap6": ("SDPA", "SCS", "Clarabel"),
    "qap8": ("SDPA",),
}
QUICK_RACES: dict[str | tuple[str, int], tuple[str, ...]] = {
    ("max_cut", 30): ("pymanopt", "SCS", "spheres"),
    ("theta", 20): (),
}
#: Cuts and partitions of at least this order are counted together.
LARGE = 500


def peers() -> Experiment:
    """Seconds of psdopt beside those of the peers, each in a process of its own."""
    return Experiment(_race_cases, _measure_race, _present_race)


def by_peer(solver: str, problem: Constrained, tol: float, limit: float) -> dict[str, Any]:
    """The same of a peer, which runs in a process of its own; a run past the limit has no value."""
    answer = bounded(solver, problem, tol, limit)
    value, off, seconds = (None if np.isnan(v) else v for v in (answer.value, answer.infeasibility, answer.seconds))
    found = {"m": problem.m, "n": problem.n, "method": solver, "value": value, "seconds": seconds}
    return found | {"status": answer.status, "bound": None, "infeasibility": off, "gap": None}


def _race_cases(quick: bool) -> list[ExperimentCase]:
    cases = []
    for which, solvers in (QUICK_RACES if quick else RACES).items():
        name = which if isinstance(which, str) else f"{which[0].replace('_', '-')} {which[1]}"
        files = (f"{FOLDER}/{which}.dat-s",) if isinstance(which, str) else ()
        settings = {"program": which if isinstance(which, str) else list(which), "tol": TOL}
        cases.append(ExperimentCase(f"{name}: psdopt", settings, files=files))
        for solver in solvers:
            limited = {**settings, "limit": LIMITS[solver]}
            cases.append(ExperimentCase(f"{name}: {solver}", limited, (), (PEERS[solver][0],), files))
    return cases


def _measure_race(case: ExperimentCase) -> dict[str, Any]:
    which, tol = case.settings["program"], case.settings["tol"]
    problem = program(which) if isinstance(which, str) else GRAPHS[which[0]](which[1])
    solver = case.name.rpartition(": ")[2]
    return ours(problem, tol, MAX_TIME) if solver == "psdopt" else by_peer(solver, problem, tol, case.settings["limit"])


def _present_race(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    races: dict[str, dict[str, Mapping[str, Any]]] = {}
    for case, found in measured.items():
        name, _, solver = case.rpartition(": ")
        races.setdefault(name, {})[solver] = found
    rows, ratios = [], {}
    for name, runs in races.items():
        one = next(iter(runs.values()))
        mine = runs.get("psdopt")
        ratio = _ratio(runs, "SDPA")
        if ratio is not None:
            ratios[name] = ratio
        cells = [f"{mine['seconds']:.2f}", mine["method"], or_dash(mine["gap"], ".1e")] if mine else ["–"] * 3
        peers = [_seconds(runs.get("SDPA")), "–" if ratio is None else _times(ratio)]
        peers += [_seconds(runs.get(solver)) for solver in ("pymanopt", "SCS", "Clarabel", "spheres")]
        rows.append((name, f"{one['m']:,}", f"{one['n']:,}", *cells, *peers))
    columns = (
        "program",
        "m",
        "n",
        "psdopt",
        "its method",
        "gap",
        "SDPA",
        "SDPA / psdopt",
        "pymanopt",
        "SCS",
        "Clarabel",
        "spheres",
    )
    caption = "Processor seconds, one run each; –: not asked"
    figures = {"seconds": lambda: _draw(races)} if races else {}
    return Findings((ResultTable(caption, columns, tuple(rows)),), facts=_race_facts(races, ratios), figures=figures)


def _race_facts(races: Mapping[str, Mapping[str, Mapping[str, Any]]], ratios: Mapping[str, float]) -> dict[str, str]:
    """SDPA's seconds over ours of every program, their range over large cuts and partitions, and who is ahead of us."""
    facts = {f"sdpa-{name.replace(' ', '-').lower()}": _times(ratio) for name, ratio in ratios.items()}
    large = [
        ratio
        for name, ratio in ratios.items()
        if name.startswith(("mcp", "max", "gpp", "torus")) and next(iter(races[name].values()))["n"] >= LARGE
    ]
    if large:
        facts |= {"large-least": _times(min(large)), "large-most": _times(max(large))}
    if not ratios:
        return facts
    facts["sdpa-ahead"] = ", ".join(name for name, ratio in ratios.items() if ratio < 1.0) or "none"
    against = {name: _ratio(runs, "pymanopt") for name, runs in races.items()}
    facts["pymanopt-ahead"] = ", ".join(name for name, r in against.items() if r is not None and r < 1.0) or "none"
    spheres = {name: r for name, runs in races.items() if (r := _ratio(runs, "spheres")) is not None}
    if spheres:
        facts |= {"spheres-least": f"{min(spheres.values()):.1f}", "spheres-most": f"{max(spheres.values()):.1f}"}
        facts["spheres-ahead"] = ", ".join(name for name, r in spheres.items() if r < 1.0) or "none"
    return facts


def _ratio(runs: Mapping[str, Mapping[str, Any]], solver: str) -> float | None:
    """The peer's seconds over ours; None where one of them was not measured."""
    mine, other = runs.get("psdopt"), runs.get(solver)
    if mine is None or other is None or other["seconds"] is None:
        return None
    return float(other["seconds"]) / max(float(mine["seconds"]), 1e-3)


def _draw(races: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Any:
    figure = new_figure(9, 1.6 + 0.28 * len(races))
    axes = figure.subplots()
    for colour, solver in zip(COLOURS, ("psdopt", *LIMITS), strict=False):
        at = [k for k, runs in enumerate(races.values()) if runs.get(solver, {}).get("seconds") is not None]
        seconds = [max(1e-2, runs[solver]["seconds"]) for runs in races.values() if _timed(runs, solver)]
        axes.plot(seconds, at, "o", color=colour, label=solver, markersize=5)
    axes.set(xscale="log", xlabel="processor seconds", ylim=(len(races) - 0.5, -0.5))
    axes.set_yticks(range(len(races)), list(races))
    axes.grid(axis="y", linewidth=0.3)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=6, frameon=False, fontsize=9)
    return figure


def _timed(runs: Mapping[str, Mapping[str, Any]], solver: str) -> bool:
    return solver in runs and runs[solver]["seconds"] is not None


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10.0 else f"{ratio:.1f}"


def _seconds(found: Mapping[str, Any] | None) -> str:
    """Seconds of a peer, or its limit; whether its answer is to the tolerance it was asked for."""
    if found is None:
        return "–"
    if found["seconds"] is None:
        return str(found["status"])
    if str(found["status"]).startswith(">"):
        return f"> {found['seconds']:.0f}"
    exact = found["status"] in ("pdOPT", "optimal", "stationary")
    return f"{found['seconds']:.2f}" if exact else f"{found['seconds']:.2f} (not to its tolerance)"
