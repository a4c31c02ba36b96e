"""Importing psdopt loads no package that only few runs need: names of modules are counted, never seconds."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "scipy.integrate", "scipy.optimize", "scipy.stats", "sklearn", "matplotlib", "pandas", "pymanopt", "hypothesis",
)  # fmt: skip


def loaded(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import psdopt", "import psdopt.cli.main", "import psdopt.plugins"])
def test_heavy_packages_are_imported_when_they_are_used(code: str) -> None:
    assert loaded(code) == set()
    assert loaded(f"{code}\nimport scipy.stats") >= {"scipy.stats"}
