"""What rounding changes: the same runs under each kernel of OpenBLAS."""

from __future__ import annotations

from benchmarks.reproduction.experiments import Experiment, ExperimentSpec


def _steps() -> Experiment:
    from benchmarks.papers.kernel_steps import kernel_steps

    return kernel_steps()


KERNELS = (
    ExperimentSpec(
        "kernel-steps",
        _steps,
        "steps, values and ends of the same runs under each kernel of OpenBLAS",
        "Goldberg: What every computer scientist should know about floating-point arithmetic (1991)",
        paper="kernels",
        title="Steps under each kernel",
    ),
)
