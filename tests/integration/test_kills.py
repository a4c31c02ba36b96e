"""Killed runs: one short series in a process of its own, and what counts as the same result."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from .kills import run, same

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_a_killed_run_is_resumed_bit_by_bit():
    command = [sys.executable, "-m", "tests.integration.kills", "--kills", "2", "--cases", "lbfgs"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "different: none" in done.stdout


def test_one_bit_makes_another_result():
    result = run("pairs-newton")
    assert same(result, run("pairs-newton"))
    assert not same(result, replace(result, value=np.nextafter(result.value, np.inf)))
    assert not same(result, replace(result, iterations=result.iterations + 1))
