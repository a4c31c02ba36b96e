"""solve(): the one way to run a method, with everything around the method's own steps."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from psdopt.capability import Ability, name_of
from psdopt.checkpoint import load_checkpoint
from psdopt.checks import boolean, instance, integer, integer_or_none, number
from psdopt.choose import choose
from psdopt.compatibility import alternatives, compatible
from psdopt.driver import Driver
from psdopt.errors import CheckpointError, IncompatibleError, InvalidInputError
from psdopt.escape import Escape
from psdopt.files import check_writable
from psdopt.geometry import Geometry
from psdopt.linalg.arrays import norm
from psdopt.linalg.threads import blas_threads
from psdopt.method import Method, State
from psdopt.problem import Problem
from psdopt.progress import progress_bar
from psdopt.result import Result
from psdopt.run import NonFiniteStart, Rules, Run, Snapshot
from psdopt.starts import starting_point
from psdopt.stopping import AnyOf, MaxIterations, MaxTime, Stopping

__all__ = ["Snapshot", "solve"]

#: Iterations when the caller sets no limit of any kind.
DEFAULT_ITERATIONS = 20_000
#: While the rank may still grow, a certificate is computed at this loose stationarity: only the final rank needs
#: accuracy.
COARSE = 1e-5


def solve(
    problem: Problem,
    geometry: Geometry | None = None,
    method: Method | None = None,
    *,
    start: Any = None,
    tol: float = 1e-6,
    max_iterations: int | None = None,
    max_time: float | None = None,
    stopping: Stopping | None = None,
    callback: Callable[[Snapshot], Any] | None = None,
    rng: np.random.Generator | int | None = None,
    progress: bool = False,
    escape: bool | None = None,
    max_rank: int | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 60.0,
    resume: str | Path | None = None,
) -> Result:
    """Minimise F(M) over the geometry's set of PSD matrices.

    While solve() runs on a small problem, BLAS uses one thread, in callbacks as well (:mod:`psdopt.linalg.threads`).

    Parameters
    ----------
    problem, geometry, method : what, where, how. If geometry and method are omitted, solve() chooses them
        (:func:`psdopt.choose.choose`): a closed form if there is one, else conjugate gradient at a rank that grows
        until the certificate holds.
    start : a point of the geometry, a :class:`LowRankPSD`, or None for a random one, scaled best within the trace that
        the data allow (:func:`psdopt.starting_point`).
    tol : relative certificate at which a point counts as optimal (see :class:`Certificate`).
    max_iterations, max_time : budgets. Time is in seconds and read between iterations, so that the final certificate
        is not included. Default: 20,000 iterations.
    stopping : further criteria (:mod:`psdopt.stopping`), combined with ``|`` and ``&``.
    callback : called with a :class:`Snapshot` after every iteration; a true return value stops.
    rng : a ``numpy.random.Generator`` or a seed; default seed 0, so that runs repeat.
    progress : show a progress bar on standard error.
    escape : whether to add columns, up to `max_rank` (default n), and continue if a stationary point of rank r is
        not a global optimum. Default: True if the geometry is omitted, else False.
    checkpoint : file to which the run is written every `checkpoint_seconds` and at its end. If writing fails later, for
        example on a full disk, the run continues with a RuntimeWarning, and the result's message mentions it.
    resume : a checkpoint from which to continue; `start` is then not used. Problem, geometry and method must be those
        of that run. A run that had reached a verdict, at this tolerance or a finer one, is returned unchanged.

    Returns
    -------
    Result. Its status is ``optimal`` only where F(M) − min F <= tol · unit is proven on the whole set
    (:class:`psdopt.Certificate` names the unit), and ``optimal_within`` where that is proven among matrices of
    bounded trace.

    Raises
    ------
    IncompatibleError, before any work, if the pieces do not fit; InvalidInputError for bad arguments.
    """
    _check_arguments(tol, max_iterations, max_time, max_rank, problem, stopping, callback)
    generator = _generator(rng)
    number(checkpoint_seconds, "checkpoint_seconds", least=0.0)
    clock = time.perf_counter()
    escape = (geometry is None) if escape is None else boolean(escape, "escape")
    geometry, method, chosen = choose(problem, geometry, method)
    compatible(problem, geometry, method).require()
    if checkpoint is not None:
        check_writable(checkpoint)
    escape = escape and geometry.can_grow
    method = method.on(problem).with_escape(escape, max_rank or problem.n)
    escape = escape and Ability.CONSTRAINTS not in problem.abilities  # there the method widens by itself
    before = dict(problem.counts())
    rows = math.inf if problem.rows is None else float(problem.rows)
    with blas_threads(rows * problem.n * (geometry.rank or problem.n)):  # of the largest matrix product of a step
        if resume is not None:
            run = load_checkpoint(resume, problem, geometry, method)
            _same_pieces(run, geometry, method, resume)
            clock -= run.seconds
        else:
            point = starting_point(geometry, problem, start, generator, method)
            if problem.device is not None:
                point = geometry.from_factor(problem.check_factor(geometry.factor(point)))
            inner_tol = max(tol, COARSE) if escape else tol
            run = Run(_first(method, problem, geometry, point), geometry, inner_tol, (repr(geometry), repr(method)))
            run.first_trace = norm(run.state.evaluation.factor) ** 2
            run.escape = Escape(escape, max_rank or problem.n)
        limits = _criteria(stopping, max_iterations, max_time)
        with progress_bar(progress, name_of(method), run.iteration) as show:
            rules = Rules(tol, limits, callback, checkpoint, checkpoint_seconds, show)
            driver = Driver(problem, method, run, rules, clock, before)
            try:
                status, message = driver.loop(fresh=resume is None)
            except IncompatibleError as error:
                # only the data show it: a closed form, for example, may not exist for them
                other = alternatives(problem, geometry, method)
                raise IncompatibleError(f"{error}. {other}" if other else str(error)) from error
        return driver.result(status, message, chosen)


def _first(method: Method, problem: Problem, geometry: Geometry, point: Any) -> State:
    """The method's first state; a :class:`NonFiniteStart` if the method refuses a point with a non-finite gradient."""
    try:
        state: State = method.init(problem, geometry, point)
        return state
    except FloatingPointError:
        return NonFiniteStart(problem, geometry, point, problem.at(geometry.factor(point)))


def _same_pieces(run: Run, geometry: Geometry, method: Method, path: str | Path) -> None:
    found = (repr(geometry), repr(method))
    if run.pieces != found:
        raise CheckpointError(
            f"{path} was written by {run.pieces[1]} on {run.pieces[0]}; found {found[1]} on {found[0]}. "
            "Resume with the pieces of that run, or give its matrix as start="
        )


def _criteria(stopping: Stopping | None, max_iterations: int | None, max_time: float | None) -> Stopping:
    limits: list[Stopping] = [] if stopping is None else [stopping]
    limits += [] if max_time is None else [MaxTime(max_time)]
    return AnyOf((*limits, MaxIterations(DEFAULT_ITERATIONS if max_iterations is None else int(max_iterations))))


def _check_arguments(
    tol: Any, max_iterations: Any, max_time: Any, max_rank: Any, problem: Any, stopping: Any, callback: Any
) -> None:
    number(tol, "tol", above=0.0, below=1.0)
    if max_iterations is not None:
        whole = isinstance(max_iterations, float) and max_iterations.is_integer()  # 1e4, say
        integer(int(max_iterations) if whole else max_iterations, "max_iterations", 0)
    if max_time is not None and not (isinstance(max_time, Real) and float(max_time) >= 0.0):
        raise InvalidInputError(f"max_time (seconds) must be at least 0; found {max_time!r}")
    integer_or_none(max_rank, "max_rank", 1, instance(problem, "problem", Problem).n, "n")
    if stopping is not None and not isinstance(stopping, Stopping):
        raise InvalidInputError(f"stopping must be a Stopping, such as SmallDecrease(1e-9); found {stopping!r}")
    if callback is not None and not callable(callback):
        raise InvalidInputError(f"callback must be callable with a Snapshot; found {callback!r}")


def _generator(rng: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(0 if rng is None else rng)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"rng must be a numpy.random.Generator or a seed; found {rng!r}") from error
