"""Smoothing with continuation: any method that takes gradients on a margin problem, under its own certificate."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from psdopt.certificates.certificate import Certificate
from psdopt.certificates.certify import certify
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method
from psdopt.errors import InvalidInputError
from psdopt.linalg.deadline import now
from psdopt.margins.problem import MarginProblem
from psdopt.running.beginning import Beginning
from psdopt.running.result import Result, Status
from psdopt.running.run import Rules
from psdopt.running.solve import solve
from psdopt.running.starts import starting_point
from psdopt.running.stopping import MaxIterations
from psdopt.running.verdicts import CUTS, Conclusion, cut_by

#: The first mu is this share of the spread of the margins at the start, and each later one this share of the last.
SHRINK = 0.2


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

    Each stage starts where the last one ended. The weights w(M) of its answer are feasible by construction. They give a
    certificate of the unsmoothed problem, so that the answer can be compared with that of any other method.

    Parameters
    ----------
    problem : unsmoothed. geometry : of a fixed trace. method : needs gradients, e.g. ``FrankWolfe``.
    max_iterations : per stage. max_time : seconds, over all stages. Others as in :func:`psdopt.solve`.

    Returns the Result of the stage with the least gap; value, status, message and certificate are those of the
    unsmoothed problem. Ctrl-C and a lack of memory end the run with the finished stages, or, before the first stage is
    finished, with the last point and the value nan. Raises InvalidInputError if the trace is not fixed or the problem
    is smoothed already.
    """
    if geometry.trace is None:
        raise InvalidInputError(f"geometry must have a fixed trace; found {geometry!r}")
    if problem.smoothing > 0.0:
        raise InvalidInputError(f"problem must not be smoothed already; found mu = {problem.smoothing:g}")
    generator = np.random.default_rng(0 if rng is None else rng)
    clock, iterations = now(), 0
    begun: Beginning | None = None
    rules = Rules(tol, MaxIterations(max_iterations))
    stages: list[tuple[Result, Certificate]] = []
    cut: Conclusion | None = None
    try:
        begun = Beginning(problem, rules, clock)
        begun.geometry, begun.method = geometry, method
        begun.point = starting_point(geometry, problem, start, generator, method)
        margins = problem.margins().values(problem.at(geometry.factor(begun.point)))
        mu = SHRINK * float(np.std(margins)) or SHRINK * problem.duality.value_unit(0.0, geometry.trace)
        for _ in range(30):
            left = None if max_time is None else max(max_time - (now() - clock), 0.0)
            limits: dict[str, Any] = {"max_iterations": max_iterations, "max_time": left}
            smooth = problem.smoothed(mu)
            result = solve(smooth, geometry, method, start=begun.point, tol=tol, rng=generator, **limits)
            begun.point, iterations = result.point, iterations + result.iterations
            dual = smooth.dual_weights(smooth.at(result.matrix.factor))
            certificate = certify(problem, result.matrix, tol=tol, trace=geometry.trace, dual=dual)
            stages.append((result, certificate))
            if result.status in CUTS.values():
                cut = result.status, result.message
            if certificate.proves(tol) or cut is not None or left == 0.0:
                break
            mu *= SHRINK
    except (KeyboardInterrupt, MemoryError) as error:
        cut = cut_by(error)
    if cut is not None and not stages:
        return (begun or Beginning(problem, rules, clock)).cut_short(cut, start)
    result, certificate = min(stages, key=lambda stage: _gap(stage[1]))
    proven = certificate.proves(tol)
    status, message = cut or (Status.NO_PROGRESS if result.optimal else result.status, result.message)
    return replace(
        result,
        value=certificate.value,
        status=Status.OPTIMAL if proven else status,
        message=Status.OPTIMAL.value if proven else f"{message}; the unsmoothed gap is {_gap(certificate):.3g}",
        certificate=certificate,
        iterations=iterations,
        seconds=now() - clock,
    )


def _gap(certificate: Certificate) -> float:
    return math.inf if certificate.gap is None else certificate.gap
