"""How long a run that may end as `optimal_within` continues in search of a proof of `optimal`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from psdopt.certificates.certificate import Certificate
from psdopt.linalg.tolerances import SLIGHT

#: Steps that a run takes before it gives up: those without progress, those in the hope of a proof.
PATIENT_STEPS = 20


@dataclass
class Patience:
    """When a run ends as `optimal_within` instead of continuing towards `optimal`.

    `since` is the iteration of the first certificate that holds within a trace (−1: none so far), `shortfall` the
    shortfall of the last such certificate. `tried` is the least shortfall, divided by the share of the tolerance that
    ⟨S, M⟩ leaves, at which a search for a proof has failed.
    """

    since: int = -1
    shortfall: float = math.inf
    tried: float = math.inf

    @property
    def worth_trying(self) -> float:
        """A search for a proof costs more than many steps: it is repeated only below this shortfall."""
        return (1.0 - SLIGHT) * self.tried

    def note(self, certificate: Certificate, tol: float) -> None:
        """Record that the search for a proof at the tolerance `tol` failed when the `certificate` was computed."""
        room = 1.0 - certificate.complementarity_relative / tol
        if certificate.shortfall > 0.0 and certificate.shortfall < self.worth_trying * room:
            self.tried = certificate.shortfall / room

    def ends(self, certificate: Certificate, iteration: int, tol: float) -> bool:
        """Whether the weaker status holds and a proof is not worth further steps.

        A proof is not worth further steps if none can come, if the shortfall exceeds `tol` and has stopped falling, or
        once the run is twice as long as when the weaker status first held.
        """
        if not certificate.holds_within(tol):
            return False
        if not certificate.provable:
            return True
        if self.since < 0:
            self.since = iteration
        before, self.shortfall = self.shortfall, certificate.shortfall
        # a shortfall that hardly falls while residuals do will not vanish with them
        stalled = certificate.shortfall > max((1.0 - SLIGHT) * before, tol)
        return stalled or iteration >= self.since + max(self.since, PATIENT_STEPS)
