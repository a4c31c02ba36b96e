"""How long a run that may end in the weaker word goes on for a proof."""

from __future__ import annotations

import math
from dataclasses import dataclass

from psdopt.certificate import Certificate

#: A shortfall above this share of the last one, although residuals fell, will not vanish with the residuals.
STALLED = 0.9
#: Steps that a proof is waited for however short the run is.
FEWEST = 30


@dataclass
class Patience:
    """When a run ends as `optimal_within` rather than go on for `optimal`.

    `since` is the iteration of the first certificate that holds within a trace (−1: none so far), `shortfall` that of
    the last certificate that does. `tried` is the least shortfall at which a search for a proof has failed, divided by
    the share of the tolerance that ⟨S, M⟩ leaves.
    """

    since: int = -1
    shortfall: float = math.inf
    tried: float = math.inf

    @property
    def worth_trying(self) -> float:
        """The shortfall below which a search for a proof is repeated. A search costs more than many steps."""
        return STALLED * self.tried

    def note(self, certificate: Certificate, tol: float) -> None:
        """Remember a search for a proof at the tolerance `tol` that failed in making the `certificate`."""
        room = 1.0 - certificate.complementarity_relative / tol
        if certificate.shortfall > 0.0 and certificate.shortfall < self.worth_trying * room:
            self.tried = certificate.shortfall / room

    def ends(self, certificate: Certificate, iteration: int, tol: float) -> bool:
        """Whether the weaker word holds and a proof is not worth further steps.

        It is not where none can come, where S stays as far from semidefinite as it was, by more than `tol`, and once
        the run is twice as long as it was when the weaker word first held.
        """
        if not certificate.holds_within(tol):
            return False
        if not certificate.provable:
            return True
        if self.since < 0:
            self.since = iteration
        before, self.shortfall = self.shortfall, certificate.shortfall
        stalled = certificate.shortfall > max(STALLED * before, tol)
        return stalled or iteration >= self.since + max(self.since, FEWEST)
