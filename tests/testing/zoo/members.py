"""Problems and geometries that declare an ability and lack a member that it stands for, one for each ability."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from psdopt.constraints import Constrained, diagonal
from psdopt.contracts.abilities import Ability
from psdopt.geometries import FlatQuotient, Spectraplex
from psdopt.problems import AutogradProblem, QuadraticSDP
from psdopt.testing.gallery import with_spectrum


class _Declares(QuadraticSDP):
    """tr(MAM) + tr(CM) on order 4, which has no closed form, and one ability too many."""

    rejected_by: ClassVar[tuple[str, ...]] = ("problem.abilities_kept",)
    ability: ClassVar[Ability]

    def __init__(self) -> None:
        A, C = with_spectrum([0.6, 0.9, 1.3, 2.0], 1), with_spectrum(np.linspace(-2.0, 1.0, 4), 2)
        super().__init__(A, np.diag([0.5, 0.5, 0.5, 0.6]), C)
        self.abilities = self.abilities | {self.ability}


class NoQuadraticFit(AutogradProblem):
    """Declares a quadratic fit."""

    rejected_by: ClassVar[tuple[str, ...]] = ("problem.abilities_kept",)

    def __init__(self) -> None:
        super().__init__(_squares, 3, convex=True)
        self.abilities = self.abilities | {Ability.QUADRATIC_FIT}


def _squares(M: Any) -> Any:
    import autograd.numpy as anp

    return anp.sum((M - np.diag([1.0, 2.0, -1.0])) ** 2)


class NoClosedForm(_Declares):
    """Declares a closed form, for which the choice of a method asks as well."""

    rejected_by = ("problem.abilities_kept", "problem.methods_run")
    ability = Ability.CLOSED_FORM
    solve_in_closed_form = None  # type: ignore[assignment]


class NoMargins(_Declares):
    """Declares margins."""

    ability = Ability.MARGINS


class NoSplit(_Declares):
    """Declares a split."""

    ability = Ability.SPLIT


class NoStream(_Declares):
    """Declares a stream."""

    ability = Ability.STREAM


class HalfAStream(_Declares):
    """Declares a stream, has one, and gives no gradient of a batch."""

    ability = Ability.STREAM
    stream: ClassVar[tuple[Any, ...]] = ()


class NoConstraints(_Declares):
    """Declares constraints."""

    ability = Ability.CONSTRAINTS


class NoLinearObjective(_Declares):
    """Declares constraints under a linear objective."""

    ability = Ability.CONIC


class NoDistance(_Declares):
    """Declares a distance under constraints."""

    ability = Ability.NEAREST


class NoConstrainedFit(_Declares):
    """Declares constraints in multiplier form."""

    ability = Ability.CONSTRAINED_FIT


class LinearInWordsOnly(Constrained):
    """Declares a linear objective, which its own answer to constrained() does not have."""

    rejected_by: ClassVar[tuple[str, ...]] = (
        "problem.abilities_kept",
        "problem.contradictory_pair",  # certificates ask constrained() as well, which no longer follows the copy
        "problem.constraint_scaling",
        "problem.redundant_pair",
    )

    def __init__(self) -> None:
        super().__init__(QuadraticSDP(None, 1.0, with_spectrum(np.linspace(-2.0, 1.0, 4), 2)), diagonal(4, 1.0))
        self._curved, self.abilities = Constrained(self.problem, self.constraints), self.abilities | {Ability.CONIC}

    def constrained(self) -> Constrained:
        return self._curved


class NoPreconditioner(_Declares):
    """Declares a preconditioner."""

    ability = Ability.PRECONDITIONER
    rejected_by = ("problem.abilities_kept", "problem.preconditioner_definite", "problem.methods_run")

    def __init__(self) -> None:
        super().__init__()
        self.preconditioner = None


class _Simplex(Spectraplex):
    """The matrices of trace one, of order 4, with one ability too many."""

    rejected_by: ClassVar[tuple[str, ...]] = ("geometry.abilities_kept",)
    ability: ClassVar[Ability]

    def __init__(self) -> None:
        super().__init__(4)
        self.abilities = self.abilities | {self.ability}


class NoMetric(_Simplex):
    """Declares tangent vectors, of which it knows nothing."""

    ability = Ability.RIEMANNIAN
    rejected_by = ("geometry.abilities_kept", "geometry.methods_run_here")


class NoOracle(_Simplex):
    """Declares a linear oracle."""

    ability = Ability.LINEAR_ORACLE
    rejected_by = ("geometry.abilities_kept", "geometry.linear_oracle_counts", "geometry.methods_run_here")
    minimize_linear = None  # type: ignore[assignment]


class NoProjection(FlatQuotient):
    """Declares a projection."""

    rejected_by: ClassVar[tuple[str, ...]] = ("geometry.abilities_kept",)

    def __init__(self) -> None:
        super().__init__(5, 3)
        self.abilities = self.abilities | {Ability.PROJECTION}


class RankLimited(FlatQuotient):
    """Declares that its rank has no limit, which is three."""

    rejected_by: ClassVar[tuple[str, ...]] = ("geometry.full_cone",)

    def __init__(self) -> None:
        super().__init__(5, 3)
        self.abilities = self.abilities | {Ability.FULL_CONE}


PROBLEMS: tuple[type[Any], ...] = (
    NoQuadraticFit,
    NoClosedForm,
    NoMargins,
    NoSplit,
    NoStream,
    HalfAStream,
    NoConstraints,
    NoLinearObjective,
    NoDistance,
    NoConstrainedFit,
    LinearInWordsOnly,
    NoPreconditioner,
)
GEOMETRIES: tuple[type[Any], ...] = (NoMetric, NoOracle, NoProjection, RankLimited)
