"""From the arguments of solve() to a run at its first state, and the result if the run is cut before that."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from psdopt.contracts.abilities import Ability, name_of
from psdopt.contracts.geometry import Geometry
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.method import Method, Outcome, State
from psdopt.contracts.problem import Problem
from psdopt.devices import released
from psdopt.errors import InvalidInputError
from psdopt.linalg.arrays import Array, norm
from psdopt.linalg.deadline import now, until
from psdopt.linalg.tolerances import MINOR, SLIGHT
from psdopt.running.choose import choose, wide_atoms
from psdopt.running.compatibility import compatible
from psdopt.running.escape import Escape
from psdopt.running.result import History, Result
from psdopt.running.run import NonFiniteStart, Rules, Run
from psdopt.running.starts import fitted_start, plain_start
from psdopt.running.verdicts import NOT_BEGUN, Conclusion, time_limit


class Beginning:
    """Sets up the pieces, then the point, then the run; each is an attribute once its method has returned.

    `clock` : the reading of :func:`psdopt.linalg.deadline.now` when solve() was called. `before` : the problem's counts
        then.
    """

    def __init__(self, problem: Problem, rules: Rules, clock: float) -> None:
        self.problem, self.rules, self.clock = problem, rules, clock
        self.before: Mapping[str, int] = dict(problem.counts())
        self.geometry: Geometry | None = None
        self.method: Method | None = None
        self.escape = Escape(False, 0)
        self.chosen: tuple[str, ...] = ()
        self.point: Any = None

    def choose(
        self, geometry: Geometry | None, method: Method | None, escape: bool, max_rank: int | None
    ) -> tuple[Geometry, Method]:
        """Geometry and method of the run. Raises IncompatibleError if the pieces do not fit."""
        with self._in_time():
            geometry, method, self.chosen = choose(self.problem, geometry, method, max_rank)
            compatible(self.problem, geometry, method).require()
            limit = max_rank or self.problem.n
            if (geometry.rank or self.problem.n) > limit:
                held = "has no rank limit" if geometry.rank is None else f"has rank {geometry.rank}"
                raise InvalidInputError(
                    f"max_rank must be None or at least the rank of the geometry; found {limit}, "
                    f"and {geometry!r} of {name_of(method)} {held}"
                )
            escape = escape and geometry.can_grow
            self.geometry, self.method = geometry, method.on(self.problem).with_escape(escape, limit)
            # under constraints the method adds columns itself
            self.escape = Escape(escape and Ability.CONSTRAINTS not in self.problem.abilities, limit)
        return self.geometry, self.method

    def run(
        self, geometry: Geometry, method: Method, start: Any, rng: np.random.Generator, dual: Array | None = None
    ) -> Run:
        """A run at its first state, with the pieces of :meth:`choose`, warm with the multipliers `dual`."""
        problem = self.problem
        with self._in_time():
            unsaid = start is None and len(self.chosen) == 2 and geometry.rank is not None
            atoms = wide_atoms(problem) if unsaid else None
            if atoms is not None and geometry.rank == atoms.shape[1]:
                self.point = geometry.from_factor(atoms)
            else:
                self.point = plain_start(geometry, problem, start, rng, method)
            point = fitted_start(geometry, problem, self.point, rng, method, given=start is not None)
            if problem.device is not None:
                point = geometry.from_factor(problem.check_factor(geometry.factor(point)))
            tol = self.rules.tol
            # only the final rank needs accuracy: before, certificates are computed at ten times tol, or at the
            # geometric mean of tol and a minor error; a rank that is far too small shows earlier
            inner_tol = max(tol / SLIGHT, math.sqrt(MINOR * tol)) if self.escape.allowed else tol
            if self.escape.allowed and (geometry.rank or self.problem.n) < self.escape.max_rank:
                self.escape.fine, inner_tol = inner_tol, max(inner_tol, SLIGHT**2)
            first = _first(method, problem, geometry, point)
            if dual is not None and first.outcome is Outcome.RUNNING:
                first = method.warmed(first, dual)
            run = Run(first, geometry, inner_tol, (repr(geometry), repr(method)))
            run.first_trace = norm(run.state.evaluation.factor) ** 2
            run.escape = self.escape
        return run

    def _in_time(self) -> AbstractContextManager[None]:
        return until(self.clock + self.rules.end)

    def cut_short(self, cut: Conclusion, start: Any) -> Result:
        """The result of a run that never began: the start, if known, with an unknown value."""
        status, message = cut
        if self.point is not None and self.geometry is not None:
            matrix = LowRankPSD(self.geometry.factor(self.point))
        else:
            given = isinstance(start, LowRankPSD) and start.n == self.problem.n
            matrix = start if given else LowRankPSD(np.zeros((self.problem.n, 1)))
        return Result(
            matrix=matrix,
            point=None if self.point is None else released(self.point),
            value=math.nan,
            status=status,
            message=f"{message}; {NOT_BEGUN}",
            certificate=None,
            iterations=0,
            seconds=now() - self.clock,
            history=History(),
            counts={name: number - self.before.get(name, 0) for name, number in self.problem.counts().items()},
            problem=name_of(self.problem),
            geometry="" if self.geometry is None else repr(self.geometry),
            method="" if self.method is None else name_of(self.method),
            chosen=self.chosen,
            tol=self.rules.tol,
            ended_by=time_limit(status, self.rules.limits.longest),
            solved=self.problem,
        )


def _first(method: Method, problem: Problem, geometry: Geometry, point: Any) -> State:
    """The method's first state; a :class:`NonFiniteStart` if the method refuses a point with a non-finite gradient."""
    try:
        state: State = method.init(problem, geometry, point)
        return state
    except FloatingPointError:
        return NonFiniteStart(problem, geometry, point, problem.at(geometry.factor(point)))
