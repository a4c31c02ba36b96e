"""Settings for all tests: random numbers are the same every time, tables are as wide as in a file."""

import os

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
os.environ.pop("COLUMNS", None)  # a shell may set it, and pytest-xdist does
if "PYTEST_XDIST_WORKER" in os.environ:  # as many processes as cores: threads would only get in each other's way
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def seeded():
    """The generator of estimators whose random_state is None, as scikit-learn has it."""
    np.random.seed(0)  # noqa: NPY002
