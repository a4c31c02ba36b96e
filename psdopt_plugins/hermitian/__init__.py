"""Hermitian matrices on a real factor: tomography of quantum states and processes, phase retrieval."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from psdopt.plugins import Parameter, ProblemSpec, Spec, hookimpl, lazy_names

if TYPE_CHECKING:
    from psdopt_plugins.hermitian.likelihood import NegativeLogLikelihood as NegativeLogLikelihood
    from psdopt_plugins.hermitian.pauli import PauliStrings as PauliStrings
    from psdopt_plugins.hermitian.phases import PhaseEstimate as PhaseEstimate
    from psdopt_plugins.hermitian.phases import coded_masks as coded_masks
    from psdopt_plugins.hermitian.phases import phase_fit_problem as phase_fit_problem
    from psdopt_plugins.hermitian.phases import phase_problem as phase_problem
    from psdopt_plugins.hermitian.phases import retrieve_phase as retrieve_phase
    from psdopt_plugins.hermitian.processes import process_problem as process_problem
    from psdopt_plugins.hermitian.processes import process_tomography as process_tomography
    from psdopt_plugins.hermitian.processes import transfer_matrix as transfer_matrix
    from psdopt_plugins.hermitian.states import HermitianEstimate as HermitianEstimate
    from psdopt_plugins.hermitian.states import counts_problem as counts_problem
    from psdopt_plugins.hermitian.states import state_from_counts as state_from_counts
    from psdopt_plugins.hermitian.states import state_problem as state_problem
    from psdopt_plugins.hermitian.states import state_tomography as state_tomography

STATE_REFERENCE = "Gross, Liu, Flammia, Becker, Eisert: Quantum state tomography via compressed sensing"
LIKELIHOOD_REFERENCE = "Hradil: Quantum-state estimation"
PROCESS_REFERENCE = (
    "Chuang, Nielsen: Prescription for experimental determination of the dynamics of a quantum black box"
)
PHASE_REFERENCE = "Candès, Strohmer, Voroninski: PhaseLift"

lazy = lazy_names(__name__)


@hookimpl
def psdopt_components() -> Iterable[Spec]:
    """Tomography of states and processes, phase retrieval."""
    yield ProblemSpec(
        name="state-tomography",
        factory=lazy.state_problem,
        summary="½ Σ (⟨P_s, H⟩ − b_s)² for expectations b_s of Pauli strings",
        reference=STATE_REFERENCE,
        example=lambda: lazy.state_problem(["XX", "YY", "ZI", "IZ"], [0.4, 0.3, 0.2, -0.1]),
    )
    yield ProblemSpec(
        name="state-counts",
        factory=lazy.counts_problem,
        summary="−Σ n_k log p_k for counts n_k of outcomes of qubits",
        reference=LIKELIHOOD_REFERENCE,
        example=lambda: lazy.counts_problem(["X", "Y", "Z"], [[8, 2], [5, 5], [7, 3]]),
    )
    yield ProblemSpec(
        name="process-tomography",
        factory=lazy.process_problem,
        summary="½ Σ (R_ij(J) − R_ij)² for the Pauli transfer matrix R of a channel, J its Choi matrix",
        reference=PROCESS_REFERENCE,
        example=lambda: lazy.process_problem(np.diag([1.0, 0.6, 0.5, 0.9])),
    )
    yield ProblemSpec(
        name="phase-lift",
        factory=lazy.phase_problem,
        summary="tr H with x_t H x_t* = b_t, the squares |x_t z|² of a signal",
        reference=PHASE_REFERENCE,
        example=lambda: lazy.phase_problem(*_rows_and_squares()),
    )
    yield ProblemSpec(
        name="phase-fit",
        factory=lazy.phase_fit_problem,
        summary="1/(2m) Σ (x_t H x_t* − b_t)² + penalty · tr H, for squares with noise",
        reference=PHASE_REFERENCE,
        parameters=(Parameter("penalty", float, 0.0, "weight of the trace"),),
        example=lambda: lazy.phase_fit_problem(*_rows_and_squares(), 0.1),
    )


def _rows_and_squares() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X, z = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for shape in ((7, 3), 3))
    return X, np.abs(X @ z) ** 2
