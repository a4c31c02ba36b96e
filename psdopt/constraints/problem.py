"""min F(M), M ⪰ 0, lower <= A(M) <= upper: any problem with linear constraints."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

from psdopt.constraints.certificate import ConstrainedCertificate, certify_constrained
from psdopt.constraints.fit import ModelFit
from psdopt.constraints.model import ConstrainedModel
from psdopt.errors import IncompatibleError
from psdopt.multipliers import ConstrainedFit
from psdopt.problem import Evaluation
from psdopt.roles import Duality


class Constrained(ConstrainedModel):
    """min F(M) over M ⪰ 0 with lower_t <= ⟨A_t, M⟩ <= upper_t, t < m.

    F is that of `problem`; its abilities are those of F that survive constraints. Methods that do not know of
    constraints refuse it: :class:`~psdopt.AugmentedLagrangian` and :class:`~psdopt.InteriorPoint` do know.

    Parameters
    ----------
    problem : F, any :class:`Problem`. constraints : one :class:`Constraint` or several.
    trace_bound : tr M <= trace_bound holds at a solution, on the caller's word; without it, what the constraints imply.

    Attributes: `measurement`, all A_t together; `lower`, `upper` (m,); `norms` (m,), |A_t|_F; `m`.

    Raises
    ------
    InvalidInputError where orders differ, there is no constraint, `problem` has no gradient, or `trace_bound` is not
    positive; InvalidTypeError for anything but a problem and constraints.
    """

    @property
    def duality(self) -> Duality:
        return ConstrainedDuality(self)

    def constrained_fit(self) -> ConstrainedFit:
        """The constraints in multiplier form, made once; IncompatibleError where their entries are not at hand."""
        if not self.couples:
            raise IncompatibleError(f"{self!r} has no entries of its constraints at hand, or an F without a Hessian")
        return self._fit

    @cached_property
    def _fit(self) -> ModelFit:
        return ModelFit(self)


class ConstrainedDuality(Duality):
    """Certificates by multipliers, in units of max(|F(M) − F(0)|, |F(0)|) as long as no bound is known."""

    def __init__(self, problem: ConstrainedModel) -> None:
        self.problem = problem

    def value_unit(self, value: float, trace: float) -> float | None:
        at_zero = self.problem.value_at_zero()
        unit = max(abs(value - at_zero), abs(at_zero))
        return unit if math.isfinite(unit) and unit > 0.0 else None

    def own_certificate(self, evaluation: Evaluation, **options: Any) -> ConstrainedCertificate:
        return certify_constrained(self.problem, evaluation, **options)
