"""Every experiment of the papers: cases that can be kept, and findings that can be shown of any part of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import psdopt
from benchmarks.papers import EXPERIMENTS
from benchmarks.reproduction.experiments import ExperimentSpec
from benchmarks.reproduction.store import Store, as_json

RESULTS = Path(psdopt.__file__).resolve().parents[1] / "docs" / "experiments" / "results"


def test_names_are_unique_words() -> None:
    names = [spec.name for spec in EXPERIMENTS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) for name in names)


@pytest.mark.parametrize("spec", EXPERIMENTS, ids=lambda spec: spec.name)
def test_cases_have_names_of_their_own_and_settings_that_are_json(spec: ExperimentSpec) -> None:
    experiment = spec.factory()
    for quick in (False, True):
        cases = experiment.cases(quick)
        assert len({case.name for case in cases}) == len(cases)
        for case in cases:
            assert as_json(case.settings) == json.loads(json.dumps(case.settings))
            assert all(isinstance(name, str) for name in (*case.data, *case.packages))
    assert experiment.cases(False), "a paper's table has cases of full size"


@pytest.mark.parametrize("spec", EXPERIMENTS, ids=lambda spec: spec.name)
def test_findings_of_nothing_are_empty_tables(spec: ExperimentSpec) -> None:
    findings = spec.factory().present({})
    assert findings.tables
    assert [table.rows for table in findings.tables] == [()] * len(findings.tables)
    assert not findings.comparisons
    assert not findings.figures


@pytest.mark.parametrize("spec", EXPERIMENTS, ids=lambda spec: spec.name)
def test_findings_of_a_part_of_the_kept_cases(spec: ExperimentSpec) -> None:
    experiment = spec.factory()
    measured = Store(RESULTS / f"{spec.name}.json").measured(experiment.cases(False))
    if not measured:
        pytest.skip("no results are kept")
    name, found = next(iter(measured.items()))
    for table in experiment.present({name: found}).tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert all(isinstance(cell, str) for row in table.rows for cell in row)
