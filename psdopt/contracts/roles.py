"""Role objects: optional knowledge of a problem beyond F, grouped by its use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from psdopt.linalg.arrays import Array
from psdopt.linalg.extreme import ExtremePair, smallest_eigenpair


class Starts:
    """Proposals for starting points. Their scale is not used, and a bad proposal costs only steps."""

    def first_atoms(self) -> Array | None:
        """W (n, k) such that a multiple of W Wᵀ is a better first step from M = 0 than −∇F(0); None if unknown.

        For methods that build M up from zero.
        """
        return None

    def proposed_start(self, Y: Array) -> Array:
        """A start made from the random factor Y (n, r), at the cost of a few products; Y itself if none is known.

        Equivariant: proposed_start(Y O) = proposed_start(Y) O for orthogonal O. Y is not changed.
        """
        return Y


class Duality:
    """Lower bounds on F that a problem knows. The certificate checks or bounds every answer.

    An `evaluation` is the problem's own :class:`psdopt.Evaluation`, typed as Any because its module imports this one.
    """

    def subgradient(self, evaluation: Any, dual: Any = None) -> tuple[Any, float]:
        """(S, epsilon) with F(N) >= F(M) − epsilon + ⟨S, N − M⟩ for all N, from which a certificate is computed.

        For differentiable F: (∇F(M), 0). A nonsmooth problem may build S from the weights `dual` that a method
        found; it checks them itself, so that no method has to be trusted.
        """
        return evaluation.gradient, 0.0

    def dual_bound(self, evaluation: Any, dual: Any = None) -> float | None:
        """A proven lower bound on min F over all M ⪰ 0, under constraints all feasible M, or None if none is known.

        `dual` : dual variables that a method found; the problem checks them itself and may use better ones.
        An override may take a further parameter ``S: Array | None = None``: ∇F(M) as an array (n, n), if the caller has
        formed it.
        """
        return None

    def multipliers(self, evaluation: Any, dual: Any) -> Any:
        """Under constraints, their multipliers; override it if `dual` holds other variables, for `dual_bound`."""
        return dual

    def smallest_eigenpair(self, evaluation: Any, S: Any, **options: Any) -> ExtremePair:
        """:func:`psdopt.linalg.extreme.smallest_eigenpair` of S = ∇F(M); override it if S can be factorised."""
        return smallest_eigenpair(S, **options)

    def value_unit(self, value: float, trace: float) -> float | None:
        """The unit of relative gaps at F(M) = `value`, tr M = `trace`; None for the certificate's own unit."""
        return None


class Preconditioner(ABC):
    """An approximation P of the Hessian of Y ↦ F(Y Yᵀ), symmetric positive definite, as R ↦ P⁻¹ R."""

    @abstractmethod
    def at(self, evaluation: Any) -> Callable[[Array], Array]:
        """R ↦ P⁻¹ R (n, r) at the evaluation's Y (n, r)."""

    def diagonal_at(self, evaluation: Any) -> Callable[[Array], Array]:
        """A coarser P that needs no set-up, if there is one; else that of :meth:`at`."""
        return self.at(evaluation)

    def bend(self, evaluation: Any, D: Array) -> Array | None:
        """Z (n, r) of the arc Y + mu D + mu² Z along which stiff losses of M change least; None if unknown."""
        return None


class PlainPreconditioner(Preconditioner):
    """The preconditioner that is one function, evaluation ↦ (R ↦ P⁻¹ R)."""

    def __init__(self, function: Callable[[Any], Callable[[Array], Array]]) -> None:
        self.function = function

    def at(self, evaluation: Any) -> Callable[[Array], Array]:
        return self.function(evaluation)
