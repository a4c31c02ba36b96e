"""Broken problems whose gradient is right and whose answers about lines, planes and subproblems are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.images import Images
from psdopt.contracts.matrix import LowRankPSD
from psdopt.contracts.problem import Problem
from psdopt.contracts.roles import PlainPreconditioner
from psdopt.linalg.arrays import Array
from psdopt.problems import QuadraticSDP
from psdopt.terms.base import Term
from psdopt.terms.forms import MatrixForm
from psdopt.terms.models import Curve, QuadraticSurface
from psdopt.terms.quadratic import ProductTerm
from tests.testing.zoo.problems import A, B, C, Healthy


class WrongQuartic(Healthy):
    """The coefficient of mu³ along a line lacks its factor two."""

    rejected_by = ("problem.terms", "problem.line_model", "problem.polynomial_degree", "problem.step_by_images")

    def product(self, form: MatrixForm) -> Term:
        class Wrong(ProductTerm):
            def along(self, U: Images, features: Any, D: Images) -> Curve:
                curve = super().along(U, features, D)
                assert curve.coefficients is not None
                curve.coefficients[3] *= 0.5
                return curve

        return Wrong(form, form)


class WrongPlane(Healthy):
    """The mixed second derivative of the plane model is half of what it should be."""

    rejected_by = ("problem.terms", "problem.plane_model", "problem.polynomial_degree", "problem.step_by_images")

    def product(self, form: MatrixForm) -> Term:
        class Wrong(ProductTerm):
            def along_atom(self, U: Images, features: Any, v: Images) -> QuadraticSurface:
                surface = super().along_atom(U, features, v)
                assert surface.quadratic is not None
                c, g, H = surface.quadratic
                return QuadraticSurface(c, g, H * np.array([[1.0, 0.5], [0.5, 1.0]]), surface.features_at)

        return Wrong(form, form)


class StaleMix(Healthy):
    """mix() changes the factor and forgets the value."""

    rejected_by = ("problem.step_by_images",)

    def at(self, Y: Array) -> Any:
        evaluation: Any = super().at(Y)
        mix = evaluation.mix

        def stale(T: Array) -> Any:
            mixed = mix(T)
            mixed._value = evaluation.value
            return mixed

        evaluation.mix = stale
        return evaluation


class TimidLine(Healthy):
    """The line minimiser stops short by a tenth."""

    rejected_by = ("problem.line_minimum",)

    def at(self, Y: Array) -> Any:
        return _with_minimum(super().at(Y), "along", lambda answer: 0.9 * answer)


class TimidPlane(Healthy):
    """The plane minimiser leaves beta at half its best value."""

    rejected_by = (
        "problem.methods_run",
        "problem.plane_minimum",
    )

    def at(self, Y: Array) -> Any:
        return _with_minimum(super().at(Y), "along_atom", lambda answer: (answer[0], max(0.5 * answer[1], 0.1)))


def _with_minimum(evaluation: Any, name: str, change: Callable[[Any], Any]) -> Any:
    restrict = getattr(evaluation, name)

    def restricted(direction: Array) -> Any:
        model = restrict(direction)
        minimize = model.minimize
        model.minimize = lambda *bounds: minimize(*bounds) if bounds and name == "along" else change(minimize(*bounds))
        return model

    setattr(evaluation, name, restricted)
    return evaluation


class IndefinitePreconditioner(Healthy):
    """P⁻¹ has negative eigenvalues."""

    rejected_by = ("problem.preconditioner_definite",)

    def __init__(self) -> None:
        super().__init__()
        self.abilities |= {Ability.PRECONDITIONER}
        signs = np.array([1.0, -10.0, 1.0, 1.0])[:, None]
        self.preconditioner = PlainPreconditioner(lambda evaluation: lambda R: signs * R)


class WrongClosedForm(QuadraticSDP):
    """The closed form keeps the eigenvalues' signs wrong: it projects C instead of −C."""

    rejected_by: ClassVar[tuple[str, ...]] = ("problem.closed_form",)

    def __init__(self) -> None:
        super().__init__(None, B, C)

    def solve_in_closed_form(self, rank: int | None = None) -> LowRankPSD:
        return LowRankPSD.from_dense(C / B, rank)


class ForgetsTheLinearPart(Healthy):
    """The problem within a span lacks half of the linear term."""

    rejected_by = ("problem.restriction",)

    def __init__(self) -> None:
        super().__init__()
        self.abilities |= {Ability.RESTRICTION}

    def restricted(self, basis: Images, T: Array) -> Problem:
        other = QuadraticSDP(A, B, 0.5 * C)
        return other.restricted(Images(other.maps, basis.factor), T)


ALL: tuple[type[Any], ...] = (
    WrongQuartic,
    WrongPlane,
    StaleMix,
    TimidLine,
    TimidPlane,
    IndefinitePreconditioner,
    WrongClosedForm,
    ForgetsTheLinearPart,
)
