"""Proven gaps of runs that were stopped: as near to the true ones as was said, never below, and never lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import gaps


def test_gaps_are_proven_to_a_tenth_for_quadratic_f_and_never_below_the_truth() -> None:
    found = [each for each in gaps.measured(0, range(48), 24) if each.counts]
    quadratic = [each.ratio for each in found if each.family in gaps.QUADRATIC]
    one_sided = [each.ratio for each in found if each.family not in gaps.QUADRATIC]
    assert min(len(quadratic), 2 * len(one_sided)) >= 12
    assert not any(each.below for each in found)
    assert max(quadratic) <= 1.5
    assert np.median(one_sided) <= 30.0


def test_cases_are_kept_and_a_refuted_proof_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "cases"
    certify = gaps.certify
    monkeypatch.setattr(gaps, "certify", lambda *given: replace(certify(*given), gap=0.5 * certify(*given).gap))
    arguments = ["--runs", "8", "--largest", "16", "--kept", str(kept)]
    assert gaps.main(arguments) == 1
    assert "LESS THAN THE TRUE GAP" in capsys.readouterr().out
    lines = kept.read_text()
    assert len(lines.splitlines()) == 8
    monkeypatch.setattr(gaps, "measure", lambda *given: pytest.fail("was measured already"))
    assert gaps.main(arguments) == 1
    assert gaps.main([*arguments, "--first", "8", "--seconds", "0"]) == 0
    assert kept.read_text() == lines
