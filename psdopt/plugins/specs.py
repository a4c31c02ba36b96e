"""Typed records that a plugin's hook yields: what is contributed, by name, with an example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = [
    "ApplicationSpec",
    "DataNeeds",
    "DatasetSpec",
    "GeometrySpec",
    "MethodSpec",
    "Parameter",
    "ProblemSpec",
    "Spec",
]


@dataclass(frozen=True)
class Parameter:
    """One parameter of a factory: name, type (int, float, str, bool), default, one-line help.

    grid : values among which ``psdopt run`` chooses by cross-validation if the user gives none and the report
        supports it (reports of the shipped metrics and of PSD regression do). Empty: the default is used.
    """

    name: str
    type: type
    default: Any
    help: str
    grid: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Spec:
    """Fields common to all contributions.

    name : lower-case words joined by hyphens, unique among specs of its kind.
    factory : callable that makes the piece from its parameters.
    summary : one line. reference : paper or book it follows ("" if none).
    parameters : the parameters for `psdopt run --set`, with defaults.
    example : callable without arguments that makes a small instance (for the conformance kit). None: the factory
        itself, for a method or an application that needs no arguments.
    """

    name: str
    factory: Callable[..., Any]
    summary: str
    reference: str = ""
    parameters: tuple[Parameter, ...] = ()
    example: Callable[[], Any] | None = None

    @property
    def kind(self) -> str:
        """application, geometry, method, problem or dataset."""
        return type(self).__name__.removesuffix("Spec").lower()


@dataclass(frozen=True)
class DataNeeds:
    """Minimal requirements on the data, which ``psdopt run`` checks before an application sees them.

    samples : rows of X. blocks : whether rows read in blocks are accepted. sparse : whether a sparse X is accepted.
    symmetric : whether a symmetric matrix K without samples is accepted instead of X. labels : "none" (optional),
    "classes" (at least 2, each with `per_class` samples) or "numbers" (a finite number per sample).
    """

    samples: int = 1
    sparse: bool = True
    symmetric: bool = False
    labels: str = "none"
    per_class: int = 1
    blocks: bool = False


@dataclass(frozen=True)
class ApplicationSpec(Spec):
    """An estimator; `factory(**parameters)` makes it.

    report : callable (estimator, dataset, options) -> :class:`psdopt.reports.Report`: fits, measures,
        and says what to print and draw for ``psdopt run``.
    picture : callable (estimator, dataset, **run) -> ``matplotlib.figure.Figure``, for an application without a
        `report` of its own; `run` holds result, certificates, best, tol and title, as :func:`psdopt.plugins.plot_run`
        takes them. None draws the convergence.
    problem : the problem builder of the application, for users who compose.
    default_data : name of the data set that ``psdopt run`` uses when none is given.
    default_method : makes the method that ``psdopt run`` uses when neither method nor geometry is named; None leaves
        the choice to the estimator. Name one if the estimator's own method (a closed form) has no iterations to show.
    needs : requirements on the data; ``psdopt run`` refuses other data before the run.
    """

    report: Callable[..., Any] | None = None
    picture: Callable[..., Any] | None = None
    problem: Callable[..., Any] | None = None
    default_data: str = "digits"
    default_method: Callable[[], Any] | None = None
    needs: DataNeeds = DataNeeds()

    def with_problem(self, **parts: Any) -> tuple[ApplicationSpec, ProblemSpec]:
        """This application and its `problem`, which has the same name and reference unless `parts` give others."""
        return self, ProblemSpec(**{"name": self.name, "factory": self.problem, "reference": self.reference, **parts})


@dataclass(frozen=True)
class GeometrySpec(Spec):
    """A geometry; `factory(n, **parameters)` makes it."""


@dataclass(frozen=True)
class MethodSpec(Spec):
    """A method; `factory(**parameters)` makes it."""


@dataclass(frozen=True)
class ProblemSpec(Spec):
    """A problem; `factory(...)` makes it from data."""


@dataclass(frozen=True)
class DatasetSpec(Spec):
    """A data set; `factory()` returns :class:`psdopt.plugins.Dataset`."""
