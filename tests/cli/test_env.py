"""``psdopt env``: what a bug report needs, and nothing private."""

import getpass
import os
from typing import Any

import numpy as np
import pytest

from psdopt.version import __version__


def test_versions_blas_and_plugins_are_printed(psdopt_command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr("psdopt.cli.env.PACKAGES", ("numpy", "no-such-package"))
    code, out, err = psdopt_command("env")
    assert (code, err) == (0, "")
    for text in (f"psdopt {__version__}", np.__version__, "not installed", "OMP_NUM_THREADS=1", "fake", "threads"):
        assert text in out
    assert os.getcwd() not in out
    assert getpass.getuser() not in out.split() or getpass.getuser() == "psdopt"
