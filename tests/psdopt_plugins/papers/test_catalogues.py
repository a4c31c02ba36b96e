"""Every experiment of the papers: cases that can be kept, and findings that can be shown of any part of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import psdopt
from psdopt.plugins import ExperimentSpec, validate
from psdopt.reproduction.store import Store, as_json
from psdopt_plugins import papers

SPECS = [spec for spec in papers.psdopt_components() if isinstance(spec, ExperimentSpec)]
RESULTS = Path(psdopt.__file__).resolve().parents[1] / "docs" / "experiments" / "results"


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_cases_have_names_of_their_own_and_settings_that_are_json(spec: ExperimentSpec) -> None:
    experiment = validate(spec, "papers").factory()
    for quick in (False, True):
        cases = experiment.cases(quick)
        assert len({case.name for case in cases}) == len(cases)
        for case in cases:
            assert as_json(case.settings) == json.loads(json.dumps(case.settings))
            assert all(isinstance(name, str) for name in (*case.data, *case.packages))
    assert experiment.cases(False), "a paper's table has cases of full size"


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_findings_of_nothing_are_empty_tables(spec: ExperimentSpec) -> None:
    findings = spec.factory().present({})
    assert findings.tables
    assert [table.rows for table in findings.tables] == [()] * len(findings.tables)
    assert not findings.comparisons
    assert not findings.figures


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_findings_of_a_part_of_the_kept_cases(spec: ExperimentSpec) -> None:
    experiment = spec.factory()
    measured = Store(RESULTS / f"{spec.name}.json").measured(experiment.cases(False))
    if not measured:
        pytest.skip("no results are kept")
    name, found = next(iter(measured.items()))
    for table in experiment.present({name: found}).tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert all(isinstance(cell, str) for row in table.rows for cell in row)
