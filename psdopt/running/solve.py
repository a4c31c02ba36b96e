"""solve(): the one way to run a method, with everything around the method's own steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from psdopt.certificates.certify import PROOFS
from psdopt.checks import boolean, brief, integer, integer_or_none, number, one_of, vector
from psdopt.constraints import constrained_of
from psdopt.contracts.abilities import name_of
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.method import Method
from psdopt.contracts.problem import Problem
from psdopt.data.files import check_writable
from psdopt.errors import CheckpointError, IncompatibleError, InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import Array
from psdopt.linalg.deadline import now
from psdopt.linalg.threads import one_blas_thread
from psdopt.running.beginning import Beginning
from psdopt.running.checkpoint import load_checkpoint
from psdopt.running.compatibility import alternatives
from psdopt.running.driver import Driver
from psdopt.running.progress import progress_bar
from psdopt.running.result import Result
from psdopt.running.run import Rules, Run, Snapshot
from psdopt.running.stopping import AnyOf, MaxIterations, MaxTime, Stopping
from psdopt.running.verdicts import CUTS, cut_by

__all__ = ["Snapshot", "solve"]

#: Iterations when the caller sets no limit of any kind.
DEFAULT_ITERATIONS = 20_000


def solve(
    problem: Problem,
    geometry: Geometry | None = None,
    method: Method | None = None,
    *,
    start: Any = None,
    dual: Any = None,
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
    proof: str = "full",
) -> Result:
    """Minimise F(M) over the geometry's set of PSD matrices.

    While solve() runs, BLAS uses one thread, in callbacks as well (:mod:`psdopt.linalg.threads`).

    Parameters
    ----------
    problem, geometry, method : what, where, how. If geometry and method are omitted, solve() chooses them
        (:func:`psdopt.running.choose.choose`): a closed form if there is one, else conjugate gradient, followed by
        Newton steps where these are affordable, at a rank that grows until the certificate holds.
    start : a point of the geometry, a :class:`LowRankPSD`, or None for a random one, scaled best within the trace that
        the data allow (:func:`psdopt.starting_point`).
    dual : multipliers (m,) of the constraints, from the certificate of a problem near this one, for a warm start beside
        `start`. Interior, boundary point, augmented Lagrangian and Newton's method on the dual begin with them; those
        of other methods follow from M. Where both prove each other to `tol`, the run ends at once.
    tol : relative certificate at which a point counts as optimal (see :class:`Certificate`).
    max_iterations, max_time : budgets. Time is in seconds from the call; a step that exceeds it is cut. The choice of
        pieces, the start and the final certificate may take a tenth longer, at least half a second; a certificate that
        takes longer is None. Single calls of LAPACK are not cut. Default: 20,000 iterations.
    stopping : further criteria (:mod:`psdopt.running.stopping`), combined with ``|`` and ``&``.
    callback : called with a :class:`Snapshot` after every iteration; a true return value stops.
    rng : a ``numpy.random.Generator`` or a seed; default seed 0, so that runs repeat.
    progress : show a progress bar on standard error.
    max_rank : most columns that Y may get, at least the rank of `geometry`; default n, no limit.
    escape : whether to add columns, up to `max_rank` (default n), and continue if a stationary point of rank r is
        not a global optimum. Default: True if the geometry is omitted, else False.
    checkpoint : file to which the run is written every `checkpoint_seconds` and at its end. If writing fails later, for
        example on a full disk, the run continues with a RuntimeWarning, and the result's message mentions it.
    resume : a checkpoint from which to continue; `start` is then not used. Problem, geometry and method must be those
        of that run. A run that had reached a verdict, at this tolerance or a finer one, is returned unchanged,
        once what it had proven is proven again.
    proof : "full", or "cheap": once the residuals are small, the run does not continue in search of a proof on the
        whole cone, and is ``optimal`` only if a proof costs no more than the residuals. Use it if the problem is one of
        many.

    Returns
    -------
    Result. Its status is ``optimal`` only where F(M) − min F <= tol · unit is proven on the whole set
    (:class:`psdopt.Certificate` names the unit), and ``optimal_within`` where that is proven among matrices of
    bounded trace. Ctrl-C, a lack of memory and the limit of time end the run at any point, once the arguments are
    checked, with the best point so far; if F at the start is not known yet, with the start and the value nan.

    Raises
    ------
    IncompatibleError, before any work, if the pieces do not fit; InvalidInputError for bad arguments.
    """
    clock = now()
    _check_arguments(tol, max_iterations, max_time, max_rank, problem, stopping, callback)
    generator = _generator(rng)
    number(checkpoint_seconds, "checkpoint_seconds", least=0.0)
    one_of(proof, "proof", PROOFS)
    for name, path in (("checkpoint", checkpoint), ("resume", resume)):
        if not (path is None or isinstance(path, (str, PathLike))):
            raise InvalidTypeError(f"{name} must be None or the path of a file; found {brief(path)}")
    escape = (geometry is None) if escape is None else boolean(escape, "escape")
    limits = _criteria(stopping, max_iterations, max_time)
    rules = Rules(tol, limits, callback, checkpoint, checkpoint_seconds, proof=proof)
    beginning, driver = None, None
    try:
        beginning = Beginning(problem, rules, clock)
        with one_blas_thread():
            geometry, method = beginning.choose(geometry, method, escape, max_rank)
            if checkpoint is not None:
                check_writable(checkpoint)
            known = None if resume is not None else _multipliers(dual, problem)
            if resume is None:
                run = beginning.run(geometry, method, start, generator, known)
            else:
                run = load_checkpoint(resume, problem, geometry, method)
                _same_pieces(run, geometry, method, resume)
                clock -= run.seconds
            with progress_bar(progress, name_of(method), run.iteration) as rules.show:
                driver = Driver(problem, method, run, rules, clock, beginning.before, beginning.chosen)
                try:
                    verdict = driver.loop(resume is None, known)
                except IncompatibleError as error:
                    # only the data decide: for example, they may have no closed form
                    other = alternatives(problem, geometry, method)
                    raise IncompatibleError(f"{error}. {other}" if other else str(error)) from error
            return replace(driver.result(*verdict), again=partial(solve, max_time=max_time))
    except tuple(CUTS) as error:
        cut = cut_by(error, limits.longest)
    # by now the error, and with it the arrays of the cut work, are released
    if driver is not None:
        return driver.cut_short(cut)
    return (beginning or Beginning(problem, rules, clock)).cut_short(cut, start)


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
    limits.append(MaxIterations(DEFAULT_ITERATIONS if max_iterations is None else int(max_iterations)))
    return AnyOf(tuple(limits)) if len(limits) > 1 else limits[0]


def _check_arguments(
    tol: Any, max_iterations: Any, max_time: Any, max_rank: Any, problem: Any, stopping: Any, callback: Any
) -> None:
    if not isinstance(problem, Problem):
        maker = "AutogradProblem makes one of a function" if callable(problem) else "QuadraticSDP makes one of matrices"
        maker = "call it to make an instance" if isinstance(problem, type) else maker
        raise InvalidTypeError(f"problem must be a Problem; found {brief(problem)}; {maker}")
    number(tol, "tol", above=0.0, below=1.0)
    if max_iterations is not None:
        whole = isinstance(max_iterations, float) and max_iterations.is_integer()  # 1e4, say
        integer(int(max_iterations) if whole else max_iterations, "max_iterations", 0)
    seconds = isinstance(max_time, Real) and not isinstance(max_time, bool) and float(max_time) >= 0.0
    if max_time is not None and not seconds:
        raise InvalidInputError(f"max_time (seconds) must be at least 0; found {brief(max_time)}")
    integer_or_none(max_rank, "max_rank", 1, problem.n, "n")
    if stopping is not None and not isinstance(stopping, Stopping):
        raise InvalidInputError(f"stopping must be a Stopping, such as SmallDecrease(1e-9); found {stopping!r}")
    if callback is not None and not callable(callback):
        raise InvalidInputError(f"callback must be callable with a Snapshot; found {callback!r}")


def _multipliers(dual: Any, problem: Problem) -> Array | None:
    return None if dual is None else vector(dual, "dual", constrained_of(problem).m, "constraints")


def _generator(rng: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(0 if rng is None else rng)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"rng must be a numpy.random.Generator or a seed; found {rng!r}") from error
