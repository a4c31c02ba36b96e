"""Sensor localization by size, mean degree, noise, anchors and region: processor seconds, proof included."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from benchmarks.papers.sdp_programs import MAX_TIME
from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt.linalg.arrays import Array
from psdopt_plugins.relaxations import SensorLocalization

SENSORS, DEGREES = (150, 500, 1000), (8, 14, 28)
#: Anchors, the standard deviation of the relative error of a distance, and the region.
KINDS = ((5, 0.0, "square"), (5, 0.02, "square"), (0, 0.02, "square"), (0, 0.1, "L"))
#: Distances reach a little further, so that sensors at the border do not lower the mean degree.
BORDER = 1.05


def networks() -> Experiment:
    """All sizes and degrees of all kinds of networks, one seed each."""
    return Experiment(_cases, _measure, _present)


def network(n: int, degree: float, anchors: int, noise: float, region: str, seed: int) -> tuple[sp.csr_array, Array]:
    """(distances (n + k, n + k) of near pairs, positions of the k anchors (k, 2)), points uniform in the region.

    "L" is the unit square without its upper right quarter.
    """
    rng = np.random.default_rng(seed)
    P = rng.random((4 * (n + anchors), 2))
    P = P[np.any(P < 0.5, axis=1)] if region == "L" else P
    P, area = P[: n + anchors], 0.75 if region == "L" else 1.0
    reach = BORDER * np.sqrt(degree * area / (np.pi * len(P)))
    i, j = cKDTree(P).query_pairs(reach, output_type="ndarray").T
    errors = np.maximum(1.0 + noise * rng.standard_normal(len(i)), 0.05)
    D = sp.csr_array((np.linalg.norm(P[i] - P[j], axis=1) * errors, (i, j)), shape=(len(P),) * 2)
    return sp.csr_array(D + D.T), P[n:]


def _cases(quick: bool) -> list[ExperimentCase]:
    sizes = ((40,), (8,)) if quick else (SENSORS, DEGREES)
    return [
        ExperimentCase(
            f"{n} sensors, degree {degree}, {anchors} anchors, noise {noise:g}, {region}",
            {"n": n, "degree": degree, "anchors": anchors, "noise": noise, "region": region, "seed": 0},
        )
        for n, degree, (anchors, noise, region) in itertools.product(*sizes, KINDS)
    ]


def _measure(case: ExperimentCase) -> dict[str, Any]:
    D, anchors = network(**case.settings)
    start = time.process_time()
    found = SensorLocalization(anchors if len(anchors) else None, solver_options={"max_time": MAX_TIME}).fit(D)
    seconds = time.process_time() - start
    result = found.result_
    return {
        "seconds": seconds,
        "status": result.status.label,
        "steps": result.iterations,
        "misfit": found.misfit_,
        "bound": found.misfit_bound_,
    }


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    kinds = [f"{anchors} anchors, noise {noise:g}, {region}" for anchors, noise, region in KINDS]
    sizes = dict.fromkeys(name.split(" anchors")[0].rsplit(", ", 1)[0] for name in measured)
    rows = tuple(
        (size, *(_ended(measured.get(f"{size}, {kind}")) for kind in kinds))  # one row for each size and degree
        for size in sizes
    )
    columns = ("network", *kinds)
    facts = {}
    for n in SENSORS:
        of_size = [each for name, each in measured.items() if name.startswith(f"{n} sensors")]
        if of_size:
            most = max(each["seconds"] for each in of_size)
            facts[f"most-{n}"] = f"{most:.1f}" if most < 10.0 else f"{most:.0f}"
            facts[f"optimal-{n}"] = f"{sum(each['status'] == 'optimal' for each in of_size)} of {len(of_size)}"
    return Findings((ResultTable("Processor seconds (steps)", columns, rows),), facts=facts)


def _ended(found: Mapping[str, Any] | None) -> str:
    """Seconds and steps, and the status where that is not optimal."""
    if found is None:
        return "–"
    other = "" if found["status"] == "optimal" else f", {found['status']}"
    return f"{found['seconds']:.2f} ({found['steps']}{other})"
