"""Hermitian matrices on a real factor: tomography of quantum states and processes, phase retrieval."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from psdopt.plugins import ApplicationSpec, DataNeeds, DatasetSpec, Parameter, ProblemSpec, Spec, hookimpl, lazy_names

if TYPE_CHECKING:
    from psdopt_plugins.hermitian.estimators import PhaseRetrieval as PhaseRetrieval
    from psdopt_plugins.hermitian.estimators import ProcessTomography as ProcessTomography
    from psdopt_plugins.hermitian.estimators import StateFromCounts as StateFromCounts
    from psdopt_plugins.hermitian.estimators import StateTomography as StateTomography
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
    from psdopt_plugins.hermitian.report import basis_counts as basis_counts
    from psdopt_plugins.hermitian.report import fidelity as fidelity
    from psdopt_plugins.hermitian.report import measured_report as measured_report
    from psdopt_plugins.hermitian.report import pauli_expectations as pauli_expectations
    from psdopt_plugins.hermitian.report import signal_squares as signal_squares
    from psdopt_plugins.hermitian.report import transfer_entries as transfer_entries
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
DRAWN = {
    "pauli_expectations": "255 noisy expectations of a state of four qubits",
    "basis_counts": "outcomes of a state of three qubits in 27 bases, 400 shots each",
    "transfer_entries": "256 noisy entries of the transfer matrix of a channel of two qubits",
    "signal_squares": "256 squares of products of a signal of 32 numbers with random rows",
}

lazy = lazy_names(__name__)


@hookimpl
def psdopt_components() -> Iterable[Spec]:
    """Tomography of states and processes, phase retrieval."""
    shared: dict[str, Any] = {"report": lazy.measured_report, "needs": DataNeeds(labels="numbers")}
    yield from ApplicationSpec(
        name="state-tomography",
        factory=lazy.StateTomography,
        summary="quantum state nearest to expectations of Pauli strings",
        reference=STATE_REFERENCE,
        parameters=(Parameter("rank", int, None, "largest rank of the state"),),
        problem=lazy.state_problem,
        default_data="pauli_expectations",
        **shared,
    ).with_problem(
        summary="½ Σ (⟨P_s, H⟩ − b_s)² for expectations b_s of Pauli strings",
        example=lambda: lazy.state_problem(["XX", "YY", "ZI", "IZ"], [0.4, 0.3, 0.2, -0.1]),
    )
    yield from ApplicationSpec(
        name="state-counts",
        factory=lazy.StateFromCounts,
        summary="likeliest quantum state, from counts of outcomes",
        reference=LIKELIHOOD_REFERENCE,
        parameters=(Parameter("rank", int, None, "largest rank of the state"),),
        problem=lazy.counts_problem,
        default_data="basis_counts",
        **shared,
    ).with_problem(
        summary="−Σ n_k log p_k for counts n_k of outcomes of qubits",
        example=lambda: lazy.counts_problem(["X", "Y", "Z"], [[8, 2], [5, 5], [7, 3]]),
    )
    yield from ApplicationSpec(
        name="process-tomography",
        factory=lazy.ProcessTomography,
        summary="quantum channel nearest to entries of its transfer matrix",
        reference=PROCESS_REFERENCE,
        problem=lazy.process_problem,
        default_data="transfer_entries",
        **shared,
    ).with_problem(
        summary="½ Σ (R_ij(J) − R_ij)² for the Pauli transfer matrix R of a channel, J its Choi matrix",
        example=lambda: lazy.process_problem(np.diag([1.0, 0.6, 0.5, 0.9])),
    )
    yield from ApplicationSpec(
        name="phase-lift",
        factory=lazy.PhaseRetrieval,
        summary="signal from the squared sizes of its products with rows",
        reference=PHASE_REFERENCE,
        parameters=(Parameter("penalty", float, None, "weight of the trace, for squares with noise"),),
        problem=lazy.phase_problem,
        default_data="signal_squares",
        **shared,
    ).with_problem(
        summary="tr H with x_t H x_t* = b_t, the squares |x_t z|² of a signal",
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
    for name, summary in DRAWN.items():
        yield DatasetSpec(name, getattr(lazy, name), f"{summary} (drawn, fixed seed)")


def _rows_and_squares() -> tuple[Any, Any]:
    """Squares of three signals together: those of one leave a face of the cone, which only rounding can miss."""
    rng = np.random.default_rng(0)
    X, Z = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape) for shape in ((7, 3), (3, 3)))
    return X, np.sum(np.abs(X @ Z) ** 2, axis=1)
