"""Smoothing with continuation: any method that takes gradients on a margin problem, under its own certificate."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from psdopt.certificate import Certificate, certify
from psdopt.errors import InvalidInputError
from psdopt.geometry import Geometry
from psdopt.margins.problem import MarginProblem
from psdopt.method import Method
from psdopt.result import Result, Status
from psdopt.solve import solve
from psdopt.starts import starting_point
from psdopt.verdicts import CUTS

#: mu of the next stage in units of the present one.
SHRINK = 0.2
#: First mu, in units of the spread of the margins at the start.
FIRST = 0.3


def solve_smoothed(
    problem: MarginProblem,
    geometry: Geometry,
    method: Method,
    *,
    start: Any = None,
    tol: float = 1e-4,
    max_iterations: int = 500,
    max_time: float | None = None,
    rng: np.random.Generator | int | None = None,
) -> Result:
    """Minimise a margin problem by `method` on F_mu, mu → 0, until the certificate of F itself is at most `tol`.

    Each stage starts where the last one ended. The weights w(M) of its answer are feasible by construction. From them
    the certificate of the unsmoothed problem is built, so that the answer compares with that of any other method.

    Parameters
    ----------
    problem : unsmoothed. geometry : of a fixed trace. method : needs gradients, e.g. ``FrankWolfe``.
    max_iterations : per stage. max_time : seconds, over all stages. Others as in :func:`psdopt.solve`.

    Returns the Result of the stage with the least gap; value, status, message and certificate are those of the
    unsmoothed problem. Raises InvalidInputError if the trace is not fixed or the problem is smoothed already.
    """
    if geometry.trace is None:
        raise InvalidInputError(f"geometry must have a fixed trace; found {geometry!r}")
    if problem.smoothing > 0.0:
        raise InvalidInputError(f"problem must not be smoothed already; found mu = {problem.smoothing:g}")
    generator = np.random.default_rng(0 if rng is None else rng)
    point = starting_point(geometry, problem, start, generator, method)
    margins = problem.margins().values(problem.at(geometry.factor(point)))
    clock, iterations = time.perf_counter(), 0
    stages: list[tuple[Result, Certificate]] = []
    mu = FIRST * float(np.std(margins)) or FIRST * problem.duality.value_unit(0.0, geometry.trace)
    for _ in range(30):
        left = None if max_time is None else max(max_time - (time.perf_counter() - clock), 0.0)
        smooth = problem.smoothed(mu)
        result = solve(
            smooth, geometry, method, start=point, tol=tol, max_iterations=max_iterations, max_time=left, rng=generator
        )
        point, iterations = result.point, iterations + result.iterations
        dual = smooth.dual_weights(smooth.at(result.matrix.factor))
        certificate = certify(problem, result.matrix, tol=tol, trace=geometry.trace, dual=dual)
        stages.append((result, certificate))
        if certificate.proves(tol) or result.status in CUTS.values() or (left is not None and left <= 0.0):
            break
        mu *= SHRINK
    result, certificate = min(stages, key=lambda stage: _gap(stage[1]))
    proven = certificate.proves(tol)
    status = Status.OPTIMAL if proven else result.status if not result.optimal else Status.NO_PROGRESS
    return replace(
        result,
        value=certificate.value,
        status=status,
        message=status.value if proven else f"{result.message}; the unsmoothed gap is {_gap(certificate):.3g}",
        certificate=certificate,
        iterations=iterations,
        seconds=time.perf_counter() - clock,
    )


def _gap(certificate: Certificate) -> float:
    return math.inf if certificate.gap is None else certificate.gap
