"""Settings for all tests: random numbers are the same every time, tables are as wide as in a file."""

import gc
import os
import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
os.environ.pop("COLUMNS", None)  # a shell may set it, and pytest-xdist does
if "PYTEST_XDIST_WORKER" in os.environ:  # as many processes as cores: threads would only get in each other's way
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # of libraries loaded later and of subprocesses
        os.environ.setdefault(variable, "1")
    threadpool_limits(int(os.environ["OPENBLAS_NUM_THREADS"]))


def pytest_collection_finish():
    """What was imported and collected stays: looking through it again and again costs a twentieth of the seconds."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def seeded():
    """The generator of estimators whose random_state is None, as scikit-learn has it."""
    np.random.seed(0)  # noqa: NPY002


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless its `time` is set."""
    found = SimpleNamespace(time=0.0)
    monkeypatch.setattr(time, "perf_counter", lambda: found.time)
    return found
