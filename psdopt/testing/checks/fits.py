"""Checks that a piece works with what it is said to be compatible with: members behind abilities, and first steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.problem import Problem
from psdopt.errors import IncompatibleError
from psdopt.methods import shipped_methods
from psdopt.problems import QuadraticSDP
from psdopt.running.compatibility import fits, missing_members
from psdopt.running.solve import solve
from psdopt.testing.checks.common import PASSED, failed
from psdopt.testing.gallery import geometries, with_spectrum
from psdopt.testing.registry import Case, Deviation, Trivial, check

PLAIN = ("full-rank",)
#: Steps that each method makes.
STEPS = 2


@check("geometry", "0.2", regimes=PLAIN, repeats=False)
def abilities_kept(geometry: Geometry, case: Case) -> Deviation:
    """Every declared ability has the members that it stands for."""
    missing = missing_members(geometry, geometry.abilities)
    return failed(f"declares {missing[0]}, which is not there") if missing else PASSED


def _runs(problem: Problem, geometry: Geometry, method: Any) -> str:
    """Empty if `method` makes its first steps, or says itself why these data are not for it; else what happens."""
    words = "the default method" if method is None else repr(method)
    try:
        solve(problem, geometry, method, max_iterations=STEPS, rng=0)
    except IncompatibleError as error:
        if method is None:
            return f"solve(problem, geometry) finds no method: {error}"
    except Exception as error:
        return f"{words} over {geometry!r} raises {type(error).__name__}: {error}"
    return ""


@check("problem", "0.2", regimes=PLAIN, repeats=False)
def methods_run(problem: Problem, case: Case) -> Deviation:
    """Every shipped method that compatible() accepts makes its first steps, each over one geometry."""
    tried = 0
    for method in shipped_methods():
        for geometry in geometries(problem.n):
            if fits(problem, geometry, method):
                tried += 1
                if trouble := _runs(problem, geometry, method):
                    return failed(trouble)
                break
    if not tried:
        raise Trivial("no shipped method over a shipped geometry is compatible")
    return PASSED


@check("geometry", "0.2", regimes=PLAIN, repeats=False)
def methods_run_here(geometry: Geometry, case: Case) -> Deviation:
    """Over this geometry solve() finds a method by itself, and every shipped one that compatible() accepts runs."""
    n = geometry.n
    problem = QuadraticSDP(None, 1.0, with_spectrum(np.linspace(-2.0, 1.0, n), 2))
    fitting = [method for method in shipped_methods() if fits(problem, geometry, method)]
    if not fitting:
        raise Trivial("no shipped method is compatible with a quadratic problem over this geometry")
    for method in (None, *fitting) if Ability.FACTOR in geometry.abilities else fitting:
        if trouble := _runs(problem, geometry, method):
            return failed(trouble)
    return PASSED


@check("geometry", "0.2", needs={Ability.FULL_CONE}, regimes=PLAIN)
def full_cone(geometry: Geometry, case: Case) -> Deviation:
    """A matrix of full rank, scaled to the fixed trace if there is one, is a member, and is kept as it is."""
    Y = case.factor(geometry.n, geometry.n)
    if geometry.trace is not None:
        Y = Y * np.sqrt(geometry.trace) / np.linalg.norm(Y)
    point = geometry.from_factor(Y)
    defect = geometry.check_point(point)
    if defect is not None:
        return failed(f"a matrix of full rank is refused: {defect}")
    apart = float(np.linalg.norm(geometry.to_matrix(point).to_dense() - Y @ Y.T))
    size = float(np.linalg.norm(Y @ Y.T))
    return Deviation(apart, 1e-8 * size, "no rank limit is declared, but a matrix of full rank is not kept")
