"""min F(M), M ⪰ 0, lower <= A(M) <= upper or A(M) in cones: any problem with such constraints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import scipy.sparse as sp

from psdopt.constraints.constraint import Constraint
from psdopt.constraints.faces.congruence import CarriedForms
from psdopt.constraints.fit import ModelFit
from psdopt.constraints.model import ConstrainedModel
from psdopt.contracts.abilities import Ability, offered
from psdopt.contracts.constrained_fit import ConstrainedFit
from psdopt.contracts.roles import Duality
from psdopt.errors import IncompatibleError


class Constrained(ConstrainedModel):
    """min F(M) over M ⪰ 0 with lower_t <= ⟨A_t, M⟩ <= upper_t, t < m, or with values of A(M) in second-order cones.

    F is the objective of `problem`. Abilities of F that constraints invalidate are removed, so that methods for
    problems without constraints refuse it; :class:`~psdopt.AugmentedLagrangian` and :class:`~psdopt.InteriorPoint` take
    it. Data of F and of the measurements may be on a device; bounds, multipliers and A(M) are NumPy arrays.

    Parameters
    ----------
    problem : F, any :class:`Problem`. constraints : one :class:`Constraint` or several.
    trace_bound : the caller's promise that tr M <= trace_bound at a solution; default the bound that constraints imply.

    Attributes: `measurement`, all A_t together; `lower`, `upper` (m,), infinite for values in cones; `cones`, None
    without any; `allowed`, the set of all A(M); `norms` (m,), |A_t|_F; `m`.

    Raises
    ------
    InvalidInputError where orders differ, there is no constraint, `problem` has no gradient, `trace_bound` is not
    positive, or arrays are in different places; InvalidTypeError for anything but a problem and constraints, and for
    cones and measurements that take NumPy arrays only beside data on a device.
    """

    @property
    def duality(self) -> Duality:
        return ConstrainedDuality(self)

    def constrained(self) -> Constrained:
        """The problem itself: the member of the ability ``constraints``."""
        return self

    def constrained_fit(self) -> ConstrainedFit:
        """The constraints in multiplier form, made once; IncompatibleError where their entries are not known."""
        if not self.couples:
            raise IncompatibleError(f"{self!r} has no entries of its constraints at hand, or an F without a Hessian")
        return self._fit

    @cached_property
    def _fit(self) -> ModelFit:
        return ModelFit(self)

    def pieces(self) -> Mapping[str, Any]:
        """F, the measurement of the constraints, their form by entries, the problem on a face, and their pieces."""
        named = {"objective": self.problem, "measurement": self.measurement, "forms": self.forms, "conic": self.conic}
        named.update({f"objective {name}": each for name, each in self.problem.pieces().items()})
        on_face = self.conic is None or self.carried is not None
        there = self.reduction.problem if on_face and self.reduction is not None else None
        if there is not None:
            named.update({"on face": there, **{f"on face {name}": each for name, each in there.pieces().items()}})
        return {name: each for name, each in named.items() if each is not None}

    @cached_property
    def reduction(self) -> Reduction | None:
        """The problem on the face that constraints ⟨A_t, M⟩ = 0 leave, made once; None where there is no such face,
        where it is M = 0 alone or nothing is feasible, or where W would be too large."""
        face, forms = self.face, self.forms
        if face is None or forms is None or self.only_zero or self.contradiction is not None or face.within is None:
            return None
        limit = self.trace_limit
        there = CarriedForms(forms, face.within, face.rows) if self.carried is None else self.carried
        bound = limit.value if limit is not None and limit.value > 0.0 else None
        return Reduction(face.within, Constrained(self.on_face, Constraint(there, self.allowed), bound))


@runtime_checkable
class OffersConstraints(Protocol):
    """A problem with the ability ``constraints``, and possibly ``conic``, ``nearest`` or ``constrained-fit``."""

    def constrained(self) -> Constrained:
        """The same F and the same constraints as a :class:`Constrained`; made once and kept."""


def constrained_of(problem: object) -> Constrained:
    """`problem.constrained()`; IncompatibleError if the problem offers no constraints."""
    found: Constrained = offered(problem, Ability.CONSTRAINTS, "psdopt.Constrained")
    return found


@dataclass(frozen=True)
class Reduction:
    """min F(W N Wᵀ) over N ⪰ 0 under the same constraints on W N Wᵀ, W (n, q) with orthonormal columns.

    `problem` has all m constraints in their order. The forms of the constraints that define the face are zero there,
    and so are their multipliers.
    """

    W: sp.csr_array
    problem: Constrained


class ConstrainedDuality(Duality):
    """Certificates by multipliers. Before a bound is known, the unit is max(|F(M) − F(0)|, |F(0)|)."""

    def __init__(self, problem: ConstrainedModel) -> None:
        self.problem = problem

    def value_unit(self, value: float, trace: float) -> float | None:
        at_zero = self.problem.value_at_zero()
        unit = max(abs(value - at_zero), abs(at_zero))
        return unit if math.isfinite(unit) and unit > 0.0 else None
