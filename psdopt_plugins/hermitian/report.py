"""Report and picture of states, channels and signals, and measurements of them to try."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from psdopt.linalg import Array, as_dense
from psdopt.plugins import BLUE, GREY, CertificateTrace, Dataset, Report, RunOptions, fitted, run_report
from psdopt_plugins.hermitian.pauli import PauliStrings
from psdopt_plugins.hermitian.processes import transfer_matrix
from psdopt_plugins.hermitian.states import outcome_rows
from psdopt_plugins.hermitian.tables import letters
from psdopt_plugins.pictures import two_panels

#: Standard error of an expectation or an entry, shots of each basis, squares for each number of the signal.
NOISE, SHOTS, SQUARES = 0.05, 400, 8
#: Eigenvalues that are shown, and the least share of the largest that is.
SHOWN, LEAST = 4, 1e-6


@dataclass(frozen=True)
class Measurements(Dataset):
    """Measurements in rows with the numbers y that were found, and `truth`, the factor (N, r) of what was measured."""

    truth: Any = None


def pauli_expectations() -> Measurements:
    """All 255 expectations of a random state of four qubits and rank 2, each off by NOISE (fixed seed)."""
    rng = np.random.default_rng(0)
    X, Z = _letters(4)[1:], _unit(rng, 16, 2)
    exact = PauliStrings(letters(X, "IXYZ")).of(Z)
    return Measurements("pauli_expectations", X, exact + NOISE * rng.standard_normal(len(X)), truth=Z)


def basis_counts() -> Measurements:
    """Outcomes of SHOTS shots in each of 27 bases, of a random state of three qubits and rank 2 (fixed seed)."""
    rng = np.random.default_rng(0)
    Z = _unit(rng, 8, 2)
    bases = np.array(list(product((1.0, 2.0, 3.0), repeat=3)))
    rows = outcome_rows(letters(bases, "XYZ", 1))
    chances = np.sum(np.abs(rows.matmat(Z)) ** 2, axis=1).reshape(27, 8)
    counts = np.array([rng.multinomial(SHOTS, each / each.sum()) for each in chances])
    bits = np.array(list(product((0, 1), repeat=3)))
    X = np.hstack([np.repeat(bases, 8, axis=0), np.tile(bits, (27, 1))])
    return Measurements("basis_counts", X, counts.ravel().astype(np.float64), truth=Z)


def transfer_entries() -> Measurements:
    """All 256 entries of the transfer matrix of a random channel of two qubits, each off by NOISE (fixed seed)."""
    rng, d = np.random.default_rng(0), 4
    operators = np.linalg.qr(_unit(rng, 2 * d, d))[0].reshape(2, d, d)
    Z = np.stack([K.T.ravel() for K in operators], axis=1)
    R = transfer_matrix(Z).ravel()
    return Measurements("transfer_entries", _letters(4), R + NOISE * rng.standard_normal(R.shape), truth=Z)


def signal_squares() -> Measurements:
    """Squares of products of a signal of 32 numbers, waves under a bell, with 256 random rows (fixed seed)."""
    rng, at = np.random.default_rng(0), np.linspace(-2.0, 2.0, 32)
    z = np.exp(-(at**2)) * (np.exp(3j * at) + 0.5 * np.exp(-5j * at))
    X = rng.standard_normal((SQUARES * 32, 64))
    return Measurements("signal_squares", X, np.abs((X[:, :32] + 1j * X[:, 32:]) @ z) ** 2, truth=z[:, None])


def fidelity(first: Any, second: Any) -> float:
    """(tr √(√A B √A))² / (tr A tr B) for A and B with the factors `first` and `second`: |first* second|₁² of norm one.

    1 for equal matrices, up to a scale, and |⟨ψ, φ⟩|² for pure states (Jozsa 1994).
    """
    size = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.linalg.norm(first.conj().T @ second, "nuc") / size) ** 2 if size > 0.0 else 0.0


def measured_report(estimator: Any, dataset: Dataset, options: RunOptions) -> Report:
    """Fit a state, a channel or a signal to the measurements, and show how it fits and how far it is from the truth."""
    trace, X = CertificateTrace(), as_dense(dataset.X)
    order = estimator.order(X.shape[1])
    if options.rank is not None and "rank" in estimator.get_params():  # at its own geometry
        estimator.set_params(rank=options.rank)
        options = replace(options, rank=None)
    estimator = fitted(estimator, options, order, trace, X, dataset.y)
    factor, found = estimator.factor_, estimator.predict(X)
    measured = estimator.measured(X, dataset.y)
    off = found - measured
    values = np.linalg.svd(factor, compute_uv=False) ** 2
    values = values[values > LEAST * values.max(initial=0.0)]
    shown = ", ".join(f"{value:.4g}" for value in values[:SHOWN]) + (", ..." if len(values) > SHOWN else "")
    rows = [
        ("measurements", f"{dataset.name}: {len(X)}, of a matrix of order {len(factor)}"),
        ("found − measured", f"{np.sqrt(np.mean(off**2)):.4g} root mean square, {np.abs(off).max():.4g} at most"),
        ("eigenvalues of H", shown or "0"),
    ]
    truth = dataset.truth if isinstance(dataset, Measurements) else None
    if truth is not None:
        rows.append(("fidelity with what was measured", f"{fidelity(truth, factor):.6f}"))
    proof = getattr(estimator, "certificate_", None)
    if proof is not None:
        rows.append(("proof of H = z z*", f"no other is lower by more than {proof.gap_relative:.1e}, relative"))
    draw = partial(two_panels, partial(draw_measured, factor, measured, found))
    return run_report(estimator, dataset, options, trace, rows, draw, {"hermitian_factor": factor})


def draw_measured(factor: Any, measured: Array, found: Array, entries: Any, scatter: Any) -> None:
    """The sizes of the entries of H, and the numbers found against those measured."""
    shown = entries.imshow(np.abs(factor @ factor.conj().T), cmap="viridis", vmin=0.0)
    entries.figure.colorbar(shown, ax=entries, shrink=0.8)
    entries.set(title="Sizes of the entries of H", xlabel="column", ylabel="row")
    ends = [min(measured.min(), found.min()), max(measured.max(), found.max())]
    scatter.plot(ends, ends, color=GREY, lw=1.0, ls="--")
    scatter.plot(measured, found, ls="", marker="o", ms=3, color=BLUE, alpha=0.7)
    scatter.set(title="Measurements", xlabel="measured", ylabel="of the answer")


def _letters(q: int) -> Array:
    return np.array(list(product((0.0, 1.0, 2.0, 3.0), repeat=q)))


def _unit(rng: np.random.Generator, *shape: int) -> Any:
    Z = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return Z / np.linalg.norm(Z)
