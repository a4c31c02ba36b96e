"""Frank–Wolfe on the spectraplex: the height above a known minimum, towards the interior and on a face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.reproduction.experiments import Experiment, ExperimentCase, Findings, ResultTable
from psdopt import FrankWolfe, QuadraticSDP, Spectraplex, solve

#: Eigenvalues of the minimiser.
OPTIMA = {"interior": (0.3, 0.25, 0.2, 0.15, 0.1), "face of rank 2": (0.6, 0.4, 0.0, 0.0, 0.0)}
VARIANTS = ("vanilla", "fully-corrective")
STEPS = (20, 50, 100, 200)
#: Eigenvalues of T below the face.
OUTSIDE = 0.2


def rates() -> Experiment:
    """|M − T|² over the spectraplex of order 5."""
    return Experiment(_cases, _measure, _present)


def nearest(eigenvalues: tuple[float, ...]) -> tuple[QuadraticSDP, float]:
    """(|M − T|² − |T|², its least value): T = Q (D − E) Qᵀ, D of these eigenvalues, E = OUTSIDE where they are 0."""
    D = np.array(eigenvalues)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((len(D), len(D))))[0]
    M, T = (Q * D) @ Q.T, (Q * np.where(D > 0.0, D, -OUTSIDE)) @ Q.T
    return QuadraticSDP(B=1.0, C=-T), float(np.sum(M * M) - 2.0 * np.sum(M * T))


def _cases(quick: bool) -> list[ExperimentCase]:
    return [
        ExperimentCase(f"{optimum}, {variant}", {"optimum": optimum, "variant": variant, "steps": max(STEPS)})
        for optimum in OPTIMA
        for variant in VARIANTS
    ]


def _measure(case: ExperimentCase) -> dict[str, Any]:
    problem, best = nearest(OPTIMA[case.settings["optimum"]])
    method, steps = FrankWolfe(variant=case.settings["variant"]), case.settings["steps"]
    result = solve(problem, Spectraplex(problem.n), method, tol=1e-14, max_iterations=steps)
    height = result.history["value"] - best
    at = [float(height[k]) if k < len(height) else None for k in STEPS]
    return {"height": at, "end": float(height[-1]), "steps": result.iterations}


def _present(measured: Mapping[str, Mapping[str, Any]]) -> Findings:
    rows = []
    for name, found in measured.items():
        heights = ("" if height is None else f"{max(height, 0.0):.1e}" for height in found["height"])
        rows.append((*name.split(", "), *heights, f"{max(found['end'], 0.0):.1e} ({found['steps']})"))
    columns = ("minimiser", "variant", *(f"after {k} steps" for k in STEPS), "at the end (steps)")
    return Findings((ResultTable("F − F* of |M − T|² over the spectraplex of order 5", columns, tuple(rows)),))
