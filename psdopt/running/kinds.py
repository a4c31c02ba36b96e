"""What kind of program a linear F under constraints is, by its form and counted work, for the choice of a method."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from psdopt.constraints import Constrained
from psdopt.constraints.central_path.standard import StandardForm
from psdopt.constraints.conic import Conic
from psdopt.constraints.measurements import SparseForms
from psdopt.contracts.abilities import Ability
from psdopt.methods.augmented_lagrangian.phase_one import distance_with
from psdopt.running.thresholds import THRESHOLDS


def near(problem: Constrained) -> bool:
    """Whether F is a distance and spectra are affordable."""
    return Ability.NEAREST in problem.abilities and problem.n <= THRESHOLDS.decomposed_order


def even(problem: Constrained) -> bool:
    """Whether F is squares of measurements under equations, no two of which meet in an entry of M.

    Their A_t are then orthogonal, and F is curved as the weights say; and some hundred decompositions are affordable.
    """
    if Ability.EQUATIONS not in problem.abilities or problem.n > THRESHOLDS.newton_order:
        return False
    known = problem.objective_by_entries
    forms = None if known is None else known.forms
    return forms is not None and _apart(forms)


def _apart(forms: SparseForms) -> bool:
    """Whether no two of the A_t meet in an entry of M, so that A A* is diagonal."""
    return int(np.bincount(forms.B.indices, minlength=1).max()) <= 1


def splits(problem: Constrained) -> bool:
    """Whether a dozen Newton steps of m³/3 flops cost more than a few hundred decompositions of the blocks."""
    if problem.conic is None or problem.n > THRESHOLDS.decomposed_order:
        return False
    if problem.conic.cheapest.complement_flops <= THRESHOLDS.cheap or mostly_inequalities(problem):
        return False
    return _outnumbered(problem.conic, problem.conic.cubes)


def _outnumbered(conic: Conic, cubes: float) -> bool:
    """Whether a dozen Newton steps cost more than a few hundred decompositions, of Σ s³ = `cubes`, cheap or not."""
    return 3.0 * conic.cheapest.complement_flops > THRESHOLDS.many**3 * cubes


def light(problem: Constrained) -> bool:
    """Whether F is a nuclear norm (:func:`_nuclear`) for which systems of order m are not cheap.

    Solutions then have few columns, and each row of Y meets other rows only, so that the augmented Lagrangian is well
    conditioned row by row. Distances, which diagonal entries enter, are not. Where systems of order m are cheap, an
    interior point method is chosen all the same.
    """
    return _nuclear(problem) and problem.conic is not None and problem.conic.complement_flops > THRESHOLDS.cheap


def _nuclear(problem: Constrained) -> bool:
    """Whether F is definite and the constraints are on entries off the diagonal, as for nuclear norms."""
    conic = problem.conic
    return conic is not None and not np.any(conic.forms.i == conic.forms.j) and problem.definite_part > 0.0


def of_high_rank(problem: Constrained) -> bool:
    """Whether solutions of a nuclear norm have more columns than an augmented Lagrangian begins with.

    The equations, such as noisy entries, are then far from all matrices of so few columns. Where splitting, which
    decomposes corners alone, costs less than Newton steps and no more than many steps on a factor, a search for such a
    matrix decides.
    """
    conic = problem.conic
    if conic is None or not _nuclear(problem) or mostly_inequalities(problem) or problem.face is not None:
        return False
    if problem.n > THRESHOLDS.decomposed_order or conic.cheapest.complement_flops <= THRESHOLDS.fast:
        return False
    cubes = problem.once("cubes of corners", lambda: StandardForm(conic, corners=True).cubes)
    if not _outnumbered(conic, cubes) or _dear(problem, cubes):
        return False
    distance = partial(distance_with, problem, few(problem), THRESHOLDS.unlike_few)
    return problem.once("distance with few columns", distance) > THRESHOLDS.unlike_few


def few(problem: Constrained) -> int:
    """Columns with which an augmented Lagrangian of a nuclear norm begins."""
    return min(problem.n, max(math.ceil(math.log(problem.m)), THRESHOLDS.fewest))


def sparse(problem: Constrained) -> bool:
    """Whether splitting would be chosen, and a factor of √(2 m) columns costs far less than its decompositions.

    Where no two equations meet, splitting takes few of them, and a multiple of what a factor costs is still less.
    """
    if not splits(problem) or problem.conic is None:
        return False
    return _dear(problem, most=THRESHOLDS.sparse_apart if _apart(problem.conic.forms) else THRESHOLDS.sparse)


def _dear(problem: Constrained, cubes: float | None = None, most: float = THRESHOLDS.sparse) -> bool:
    """Whether a decomposition costs `most` times as much as a step on √(2 m) columns, takes seconds, or no entries are
    known."""
    if problem.conic is None or problem.n > THRESHOLDS.decomposed_order:
        return True
    cubes = problem.conic.cubes if cubes is None else cubes
    return cubes > most * math.sqrt(2.0 * problem.m) * problem.conic.forms.B.nnz


def mostly_inequalities(problem: Constrained) -> bool:
    """Whether most constraints are inequalities; splitting is slow in finding the few that are active."""
    loose = problem.lower < problem.upper
    if problem.cones is not None:
        loose = loose & ~problem.cones.member
    return 2 * int(np.count_nonzero(loose)) > problem.m


def decomposable(problem: Constrained) -> bool:
    """Whether a step of an interior point method is affordable, over cliques if that is cheaper."""
    conic = problem.central
    if conic is None:
        return False
    if problem.n > THRESHOLDS.newton_order and diagonal_beside_face(problem):
        return False
    conic = conic.cheapest
    if conic.complement_flops > THRESHOLDS.cheap and mostly_inequalities(problem):
        return False
    if conic.flops - conic.complement_flops > THRESHOLDS.affordable:
        return False
    return conic.flops <= max(THRESHOLDS.affordable, min(THRESHOLDS.largest, _factor_steps(conic)))


def _factor_steps(conic: Conic) -> float:
    """Flops of as many steps on a factor of √(2 m) columns as one Newton step may cost: many where C is dense."""
    columns = min(math.sqrt(2.0 * conic.m), conic.n)
    return THRESHOLDS.factor_steps * 2.0 * columns * (conic.C.nnz + conic.forms.B.nnz + conic.n * columns)


def splitting_steps(problem: Constrained) -> int:
    """Steps of splitting that cost as much as an interior point method, whose turn comes then.

    A decomposition of a block of order s takes some 20 s³ flops, an interior point method some twenty steps.
    """
    conic = problem.conic
    assert conic is not None
    return math.ceil(conic.cheapest.flops / conic.cubes)


def diagonal_beside_face(problem: Constrained) -> bool:
    """Whether all constraints except those of a face are on single diagonal entries and bound the trace."""
    face = problem.face
    if problem.conic is None or problem.trace_limit is None or face is None:
        return False
    forms = problem.conic.forms
    rest = forms.B[np.setdiff1d(np.arange(problem.m), face.rows)]
    return bool(np.all(np.diff(rest.indptr) <= 1) and np.all(forms.i[rest.indices] == forms.j[rest.indices]))
