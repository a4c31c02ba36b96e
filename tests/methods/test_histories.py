"""The way of every method: values of the first steps, counts, and the end of short runs, as they are stored.

A change of an algorithm that is meant changes them: ``python -m tests.methods.histories`` then stores the new ones,
and the difference of the file is what the change does.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from .histories import STORED, pairs, told

RUNS = {f"{name} {problem}": (problem, geometry, method) for name, problem, geometry, method in pairs()}
EXPECTED = json.loads(STORED.read_text())


def near(found: int, stored: int) -> bool:
    """Up to rounding, which may cost a long run a few steps more or fewer."""
    return abs(found - stored) <= 2 + 0.1 * stored


@pytest.mark.parametrize("name", sorted(RUNS))
def test_a_run_goes_its_stored_way(name):
    found, stored = told(*RUNS[name]), EXPECTED.get(name)
    if stored is None or found is None:
        assert found is stored, "the parts fit together, or did so when the runs were stored, and not both"
        return
    np.testing.assert_allclose(found["values"], stored["values"], rtol=1e-6, atol=1e-9)
    ended = 1e-2 if stored["status"] == "iteration_limit" else 1e-5
    np.testing.assert_allclose(found["value"], stored["value"], rtol=ended, atol=1e-7)
    assert found["status"] == stored["status"]
    assert near(found["iterations"], stored["iterations"])
    assert found["counts"].keys() == stored["counts"].keys()
    for key, count in stored["counts"].items():
        assert near(found["counts"][key], count), key


def test_every_method_has_a_run():
    methods = {type(method).__name__ for _, _, method in RUNS.values()}
    assert len(methods) >= 16
    ran = {name.rpartition(" ")[0] for name in EXPECTED}
    assert ran == {name.rpartition(" ")[0] for name in RUNS}
