"""Measuring the cases of experiments one after the other, and the outcome of each."""

from __future__ import annotations

import importlib.util
import io
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.reproduction.experiments import Experiment, ExperimentCase, ExperimentSpec, Findings
from benchmarks.reproduction.store import Store
from psdopt.errors import DataFileError

#: Environment variable that names the folder with the data sets.
DATA_VARIABLE = "PSDOPT_DATA"
#: Why a case is missing where nothing is measured.
NOT_MEASURED = "not measured"
#: Resolution of pictures, in dots per inch.
RESOLUTION = 100


@dataclass
class Outcome:
    """One experiment: its findings, and the cases that could not be measured.

    missing : {case: missing requirement, or NOT_MEASURED}. failed : {case: error}. kept, measured : numbers of cases
    taken from an earlier run, and measured in this one. seconds : processor seconds of all cases shown.
    """

    spec: ExperimentSpec
    findings: Findings = field(default_factory=Findings)
    missing: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    kept: int = 0
    measured: int = 0
    seconds: float = 0.0
    codes: tuple[str, ...] = ()
    machine: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def pictures(self) -> dict[str, bytes]:
        """The figures as PNG files by name, drawn once."""
        return {name: png(draw()) for name, draw in self.findings.figures.items()}


def png(figure: Any) -> bytes:
    """The picture as a PNG file."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=RESOLUTION, metadata={"Software": None})
    return stream.getvalue()


def data_folder(variable: str = DATA_VARIABLE) -> Path | None:
    """The folder that `variable` names, None if it names none. Raises DataFileError if there is no such folder."""
    name = os.environ.get(variable)
    if not name:
        return None
    if not Path(name).is_dir():
        raise DataFileError(f"{variable} names {name}, which is no folder; set it to the folder with the data sets")
    return Path(name)


def required_files(case: ExperimentCase) -> list[tuple[str, str]]:
    """(environment variable of the folder, name in it) of all files that `case` needs."""
    others = [file.partition("/") for file in case.files]
    return [(DATA_VARIABLE, f"{name}.npz") for name in case.data] + [(folder, name) for folder, _, name in others]


def is_there(variable: str, name: str) -> bool:
    """Whether the folder that `variable` names has this file, compressed or not."""
    folder = data_folder(variable)
    return folder is not None and ((folder / name).is_file() or (folder / f"{name}.gz").is_file())


def lacks(case: ExperimentCase) -> str:
    """The missing requirements of `case`, in words; "" if there are none."""
    sets = [name.removesuffix(".npz") for variable, name in required_files(case) if not is_there(variable, name)]
    packages = [name for name in case.packages if importlib.util.find_spec(name) is None]
    parts = [f"data {', '.join(sets)}"] if sets else []
    return "; ".join([*parts, *([f"packages {', '.join(packages)}"] if packages else [])])


def run_experiment(
    spec: ExperimentSpec,
    store: Store,
    code: Mapping[str, str],
    *,
    quick: bool = False,
    again: bool = False,
    measure: bool = True,
    say: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Measure the cases that `store` does not hold for this `code` and their settings, and present all it holds.

    again : measure every case. measure : False measures nothing and shows stored results of any code version. A case
    that raises is reported in `failed` and does not end the run; KeyboardInterrupt does, with all earlier cases stored.
    """
    experiment: Experiment = spec.factory()
    outcome = Outcome(spec)
    cases = list(experiment.cases(quick))
    for case in cases if measure else ():
        missing = lacks(case)
        if not again and store.valid(case, code):
            outcome.kept += 1
        elif missing:
            outcome.missing[case.name] = missing
        else:
            _measure(experiment, case, store, code, outcome, say)
    if not measure:
        there = store.measured(cases)
        outcome.kept = len(there)
        outcome.missing = {case.name: NOT_MEASURED for case in cases if case.name not in there}
    outcome.findings = experiment.present(store.measured(_shown(cases, store, code, measure)))
    outcome.seconds, outcome.codes, outcome.machine = store.seconds(), tuple(store.codes()), store.machine
    return outcome


def _measure(
    experiment: Experiment,
    case: ExperimentCase,
    store: Store,
    code: Mapping[str, str],
    outcome: Outcome,
    say: Callable[[str], None],
) -> None:
    begin = _processor_seconds()
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            measured = experiment.measure(case)
        seconds = _processor_seconds() - begin
        store.keep(case, code, seconds, measured)
    except DataFileError:
        raise
    except Exception as error:
        outcome.failed[case.name] = f"{type(error).__name__}: {error}"
        say(f"{outcome.spec.name}, {case.name}: failed, {outcome.failed[case.name]}")
        return
    outcome.measured += 1
    say(f"{outcome.spec.name}, {case.name}: {seconds:.1f} s")


def _processor_seconds() -> float:
    """Of this process and of the children that have ended, as solvers that run in a process of their own."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def _shown(
    cases: Sequence[ExperimentCase], store: Store, code: Mapping[str, str], measure: bool
) -> list[ExperimentCase]:
    """The cases to show: after measuring, only those of this code and these settings."""
    return [case for case in cases if not measure or store.valid(case, code)]
