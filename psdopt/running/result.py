"""What a run returns: matrix, status, certificate, history, counts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psdopt.contracts.matrix import LowRankPSD
from psdopt.data.archives import sealed, unsealed
from psdopt.data.files import atomic_write, read_bytes
from psdopt.errors import DataFileError, IncompatibleError, MissingDependencyError, NotDifferentiableError
from psdopt.linalg.arrays import Array
from psdopt.linalg.limits import MOST_PRODUCTS, ROUNDS
from psdopt.linalg.tolerances import EPS, MINOR

if TYPE_CHECKING:
    from psdopt.certificates.certificate import Certificate
    from psdopt.contracts.method import State
    from psdopt.contracts.problem import Problem
    from psdopt.running.derivatives import Adjoint


class Status(Enum):
    """How a run ended. The value is the message."""

    OPTIMAL = "optimal: the certificate proves a global optimum to the asked tolerance"
    OPTIMAL_WITHIN = "optimal within a trace: proven among matrices of bounded trace, and no better step was found"
    STATIONARY = "stationary: a first-order point of the rank-limited problem, not a certified global optimum"
    ITERATION_LIMIT = "iteration limit reached before convergence"
    TIME_LIMIT = "time limit reached before convergence"
    NO_PROGRESS = "no progress: the value no longer decreases at working precision"
    STOPPED = "stopped by the caller's criterion or callback"
    UNBOUNDED = "unbounded: the objective decreases without bound"
    INFEASIBLE = "infeasible: no positive semidefinite matrix meets the constraints; the certificate holds the proof"
    DIVERGED = "diverged: the method's iteration grew without bound; the best point so far is kept"
    NON_FINITE = "non-finite: the problem returned NaN or infinity; the last finite point is kept"
    INTERRUPTED = "interrupted by the user; the best point so far is kept"
    OUT_OF_MEMORY = "out of memory; the best point so far is kept"

    @property
    def label(self) -> str:
        """One word: optimal, stationary, iteration_limit, ..."""
        return self.name.lower()


@dataclass
class History:
    """One record per iteration, the start included: value, gradient norm, step, seconds, counts."""

    records: list[dict[str, float]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[dict[str, float]]:
        return iter(self.records)

    def __getitem__(self, column: str) -> Array:
        """A column as an array; nan where a record lacks it."""
        return np.array([record.get(column, np.nan) for record in self.records], dtype=float)

    def copy(self) -> History:
        """A copy of the records that later records and notes do not change."""
        return History([dict(record) for record in self.records])

    def note(self, column: str, number: float) -> None:
        """Add a number to the last record, if there is one."""
        if self.records:
            self.records[-1][column] = float(number)

    @property
    def columns(self) -> list[str]:
        """Names of all columns, in order of appearance."""
        return list(dict.fromkeys(key for record in self.records for key in record))

    def to_frame(self) -> Any:
        """A pandas DataFrame; MissingDependencyError without pandas."""
        try:
            import pandas
        except ImportError as error:
            raise MissingDependencyError("History.to_frame needs pandas: pip install pandas") from error
        return pandas.DataFrame(self.records)


@dataclass
class Result:
    """Answer of :func:`psdopt.solve`.

    Attributes
    ----------
    matrix : the best M found, factored. point : the same as a point of the geometry (None before one was chosen).
    value : F(M), from recomputed images; nan if the run was cut before F was known. status, message : how the run
        ended, and in words.
    certificate : residuals of the optimality conditions at `matrix`; None after non-finite starts, and where a time
        limit, Ctrl-C or a lack of memory cut its computation, as the message says.
    iterations, seconds, history, counts : the cost of the run; counts are those of the problem's linear maps.
    problem, geometry, method : names of what was used; `chosen` says which of them solve() chose.
    tol : the requested relative accuracy (nan if there was no run).
    state : the method's last state, from which a run can go on.
    solved : the problem itself, by which :meth:`vjp` and :meth:`jvp` differentiate; None in a
        result of an estimator or from a file. again : :func:`psdopt.solve` within the same time, for a finer
        run from `matrix`; or None.
    ended_by : the :class:`psdopt.Stopping` at which the run ended, such as MaxTime(2.0); None if it was not ended by
        one, and in a result from a file.
    """

    matrix: LowRankPSD
    point: Any
    value: float
    status: Status
    message: str
    certificate: Certificate | None
    iterations: int
    seconds: float
    history: History
    counts: Mapping[str, int]
    problem: str
    geometry: str
    method: str
    chosen: tuple[str, ...] = ()
    tol: float = math.nan
    state: State | None = None
    ended_by: Any = None
    solved: Problem | None = field(default=None, repr=False)
    again: Callable[..., Result] | None = field(default=None, repr=False)

    @property
    def optimal(self) -> bool:
        """A proven global optimum: F(M) − min F <= tol · unit (see :class:`~psdopt.Certificate`)."""
        return self.status is Status.OPTIMAL

    @property
    def converged(self) -> bool:
        """Optimal, optimal within a trace, or stationary at the requested rank."""
        return self.status in (Status.OPTIMAL, Status.OPTIMAL_WITHIN, Status.STATIONARY)

    @property
    def rank(self) -> int:
        """Numerical rank of the answer."""
        return self.matrix.rank

    @cached_property
    def adjoint(self) -> Adjoint:
        """M as a differentiable function of the problem's data: made once, by a few steps of Newton's method from M.

        A geometry of fixed trace counts as a constraint on tr M. Near corners of a loss, and where eigenvalues of S are
        nearly 0, an optimal M may be too far from the minimiser for these steps: then the run first goes on from M to a
        thousandth of its certificate, in no more steps than it took, at least 200; three times at most.

        Raises
        ------
        NotDifferentiableError for a run that has not converged, and as :class:`psdopt.Adjoint` does;
        IncompatibleError for a result of an estimator or from a file, which has no problem.
        """
        from psdopt.constraints import Constrained, trace
        from psdopt.running.derivatives import Adjoint
        from psdopt.running.derivatives.system import UnsettledError

        problem = self.solved
        if problem is None:
            raise IncompatibleError(
                "a result of an estimator or from a file has no problem; use psdopt.Adjoint(problem, result.matrix)"
            )
        if not self.converged:
            size = "unknown" if self.certificate is None else f"{self.certificate.relative:.1e}"
            raise NotDifferentiableError(f"the run has not converged ({self.status.label}): its certificate is {size}")
        fixed = None if self.state is None else self.state.geometry.trace
        if fixed is not None and not isinstance(problem, Constrained):
            problem = Constrained(problem, trace(problem.n, fixed))
        answer, limited = self, self.status is Status.STATIONARY
        for _ in range(ROUNDS):
            try:
                return Adjoint(problem, answer.matrix, answer._multipliers, limited)
            except UnsettledError:
                closer = answer._closer(problem)
                if closer is None:
                    raise
                answer = closer
        return Adjoint(problem, answer.matrix, answer._multipliers, limited)

    @property
    def _multipliers(self) -> Array | None:
        record = None if self.certificate is None else self.certificate.constraints
        return None if record is None else record.multipliers

    def _closer(self, problem: Problem) -> Result | None:
        """An answer of less error than a proven one; None if there is none."""
        if self.again is None or self.certificate is None or self.status is Status.STATIONARY:
            return None
        error, steps = self.certificate.relative, max(self.iterations, MOST_PRODUCTS)
        found = self.again(problem, start=self.matrix, tol=max(MINOR * error, EPS), max_iterations=steps)
        proven = found.certificate is not None and found.certificate.relative < error
        return found if proven else None

    def __getstate__(self) -> dict[str, Any]:
        """The state without the point of derivatives, whose factorisations cannot be pickled; it is made anew."""
        return {name: value for name, value in vars(self).items() if name != "adjoint"}

    def vjp(self, dM: Any = None, value: float = 0.0) -> dict[str, Any]:
        """Derivatives, by the problem's data, of a loss with derivatives `dM` (n, n) by M and `value` by F(M).

        See :meth:`psdopt.Adjoint.vjp`. The matrix of the result is not changed.
        """
        return self.adjoint.vjp(dM, value)

    def jvp(self, tangents: Mapping[str, Any]) -> tuple[Array, float]:
        """(dM (n, n), dF) as the problem's data move along `tangents`; :meth:`psdopt.Adjoint.jvp`."""
        return self.adjoint.jvp(tangents)

    def plot(self, axes: Any = None) -> Any:
        """Value and certificate against iterations; returns the matplotlib axes.

        axes : where to draw; a file name (.png, .pdf or .svg), to which the picture is written; or None.
        """
        from psdopt.running.plotting import plot_convergence
        from psdopt.running.plotting.style import write_plot

        if not isinstance(axes, (str, Path)):
            return plot_convergence(self, axes)
        drawn = plot_convergence(self)
        write_plot(drawn.figure, axes)
        return drawn

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for a file."""
        return {
            "status": self.status.label,
            "message": self.message,
            "value": self.value,
            "rank": self.rank,
            "n": self.matrix.n,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "problem": self.problem,
            "geometry": self.geometry,
            "method": self.method,
            "tol": None if math.isnan(self.tol) else self.tol,
            "chosen": list(self.chosen),
            "counts": dict(self.counts),
            "certificate": None if self.certificate is None else self.certificate.as_dict(),
        }

    def save(self, path: str | Path) -> None:
        """Write factor, numbers and history to one .npz, completely or not at all."""
        with atomic_write(Path(path)) as handle:
            np.savez_compressed(handle, **self.stored({}, {}))

    def stored(self, numbers: Mapping[str, Any], arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The arrays that :meth:`load` reads, with more `numbers` in the summary and more `arrays` beside them."""
        kept: dict[str, Any] = {f"history_{name}": self.history[name] for name in self.history.columns}
        if self.certificate is not None:
            from psdopt.running.certificate_files import stored

            kept.update(stored(self.certificate))
        summary = np.array(json.dumps({**self.as_dict(), **numbers}))
        return sealed({**arrays, **kept, "factor": self.matrix.factor, "summary": summary})

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """A result written by :meth:`save`; `point` is the factor, `state`, `ended_by` None. Nothing is executed.

        Its certificate is of the class that was saved and has the same fields. Files of versions before 0.2 are read.

        Raises DataFileError if the file cannot be read or is not a saved result.
        """
        content = read_bytes(path, "result ")
        try:
            return cls._restored(unsealed(content, str(path)))
        except Exception as error:  # reading a foreign archive may fail anywhere
            text = f"{type(error).__name__}: {error}"
            raise DataFileError(f"{path} is not a result saved by psdopt, or is damaged ({text})") from error

    @classmethod
    def _restored(cls, arrays: Mapping[str, Array]) -> Result:
        from psdopt.running.certificate_files import TEXT, from_numbers, restored

        plain = json.loads(str(arrays["summary"]))
        matrix = LowRankPSD(arrays["factor"])
        certificate = plain["certificate"]
        if certificate is not None:
            certificate = restored(arrays) if TEXT in arrays else from_numbers(certificate, arrays["eigenvector"])
        columns = {key.removeprefix("history_"): a for key, a in arrays.items() if key.startswith("history_")}
        if len({a.shape for a in columns.values()}) > 1:
            raise ValueError("columns of the history of different lengths")
        rows = len(next(iter(columns.values()))) if columns else 0
        records = [{key: float(a[k]) for key, a in columns.items() if not np.isnan(a[k])} for k in range(rows)]
        return cls(
            matrix=matrix,
            point=matrix.factor,
            status=Status[plain["status"].upper()],
            certificate=certificate,
            history=History(records),
            chosen=tuple(plain["chosen"]),
            tol=math.nan if plain.get("tol") is None else float(plain["tol"]),  # files of 0.1 have none
            **{
                key: plain[key]
                for key in ("value", "message", "iterations", "seconds", "counts", "problem", "geometry", "method")
            },
        )

    def __repr__(self) -> str:
        relative = f"{self.certificate.relative:.2g}" if self.certificate is not None else "none"
        return (
            f"Result({self.status.label}, value={self.value:.10g}, rank={self.rank}, "
            f"certificate={relative}, iterations={self.iterations}, seconds={self.seconds:.3g})"
        )
