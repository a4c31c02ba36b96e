"""Races on semidefinite programs: what the tables and sentences of the page say of stored runs."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.papers.sdp_graphs import GRAPHS as graphs_of
from benchmarks.papers.sdp_programs import graphs, program, sdplib
from benchmarks.papers.sdp_race import LIMITS, peers
from benchmarks.papers.sdp_spheres import spheres
from psdopt import solve
from psdopt.errors import DataFileError

RUN: dict[str, Any] = {"m": 800, "n": 800, "value": -1.0, "bound": -1.0, "infeasibility": 1e-9, "gap": 1e-8}


def run_of(method: str, seconds: float | None, status: str = "optimal", **others: Any) -> dict[str, Any]:
    return RUN | {"method": method, "seconds": seconds, "status": status} | others


def test_a_race_states_ratios_limits_and_who_is_ahead() -> None:
    found = peers().present(
        {
            "maxG11: psdopt": run_of("LagrangeNewton", 2.0),
            "maxG11: SDPA": run_of("SDPA", 50.0, "pdOPT"),
            "maxG11: pymanopt": run_of("pymanopt", 1.0, "stationary"),
            "maxG11: spheres": run_of("spheres", 3.0),
            "thetaG11: psdopt": run_of("InteriorPoint", 20.0),
            "thetaG11: SDPA": run_of("SDPA", 13.0, "pdFEAS"),
            "thetaG11: SCS": run_of("SCS", 30.0, "> 30 s"),
            "thetaG11: Clarabel": run_of("Clarabel", None, "died, exit code -9"),
        }
    )
    first, second = found.tables[0].rows
    assert first[3:] == ("2.00", "LagrangeNewton", "1.0e-08", "50.00", "25", "1.00", "–", "–", "3.00")
    assert second[6:] == ("13.00 (not to its tolerance)", "0.7", "–", "> 30", "died, exit code -9", "–")
    assert found.facts["sdpa-maxg11"] == "25"
    assert (found.facts["large-least"], found.facts["large-most"]) == ("25", "25")
    assert found.facts["sdpa-ahead"] == "thetaG11"
    assert found.facts["pymanopt-ahead"] == "maxG11"
    assert [found.facts[f"spheres-{each}"] for each in ("least", "most", "ahead")] == ["1.5", "1.5", "none"]
    found.figures["seconds"]()


def test_conjugate_gradient_on_spheres_proves_what_psdopt_proves() -> None:
    problem = graphs_of["max_cut"](60)
    value, gap = spheres(problem.conic.C, 1e-6)
    assert gap <= 1e-6 * abs(value)
    assert value == pytest.approx(solve(problem).value, rel=2e-6)


def test_peers_have_limits_and_files_are_asked_for() -> None:
    for case in peers().cases(False):
        solver = case.name.rpartition(": ")[2]
        assert case.settings.get("limit") == LIMITS.get(solver)
        assert bool(case.files) == isinstance(case.settings["program"], str)


def test_the_library_counts_what_is_proven() -> None:
    runs = {"hinf1": run_of("InteriorPoint", 0.1, "no_progress"), "hinf1-coarse": run_of("InteriorPoint", 0.1)}
    runs["infd1"] = run_of("InteriorPoint", 0.1, "infeasible", bound=None, gap=None)
    found = sdplib().present({"maxG55": run_of("AugmentedLagrangian", 8.12), **runs})
    assert found.facts["optimal"] == "1 of 3"
    assert found.facts["others"] == "hinf1 no_progress, infd1 infeasible"
    assert found.facts["seconds-maxg55"] == "8.1"
    assert [row[0] for row in found.tables[0].rows] == ["maxG55", "hinf1", "hinf1 to 1e-05", "infd1"]


def test_random_programs_are_grouped_by_family_and_size() -> None:
    experiment = graphs()
    measured = {case.name: experiment.measure(case) for case in experiment.cases(True)}
    rows = experiment.present(measured).tables[0].rows
    assert [(row[0], row[1], row[-1]) for row in rows] == [("max-cut", "40", "3 optimal"), ("theta", "20", "3 optimal")]


def test_a_program_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PSDOPT_SDPLIB", raising=False)
    with pytest.raises(DataFileError, match=r"maxG11\.dat-s is not in the folder that PSDOPT_SDPLIB names"):
        program("maxG11")
