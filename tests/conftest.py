"""Settings for all tests: hypothesis draws the same examples every time, tables are as wide as in a file."""

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
os.environ.pop("COLUMNS", None)  # a shell may set it, and pytest-xdist does
if "PYTEST_XDIST_WORKER" in os.environ:  # as many processes as cores: threads would only get in each other's way
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
