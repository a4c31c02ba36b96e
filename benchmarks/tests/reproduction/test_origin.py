"""Where figures come from, without a path or a name."""

from __future__ import annotations

import getpass
import re
from pathlib import Path

from benchmarks.reproduction.origin import code_version, machine
from psdopt.version import __version__


def test_version_and_commit() -> None:
    found = code_version()
    assert found["version"] == __version__
    assert re.fullmatch(r"([0-9a-f]{7,40}\+?)?", found["commit"])


def test_a_machine_is_described_without_paths_and_users() -> None:
    found = machine()
    assert {"processor", "cores", "Python", "numpy", "scipy"} <= set(found)
    text = " ".join(found.values())
    assert str(Path.home()) not in text
    assert getpass.getuser() not in text.split()
