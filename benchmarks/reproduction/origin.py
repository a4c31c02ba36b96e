"""The origin of figures: version, commit of the sources, machine. No path and no name of a user."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import psdopt
from psdopt.version import __version__

#: The sources that the figures depend on; a commit that changes only pages or tests leaves the figures valid.
SOURCES = ("psdopt", "psdopt_plugins", "benchmarks/papers")
PACKAGES = ("numpy", "scipy", "scikit-learn", "pymanopt", "cvxpy", "scs", "clarabel", "highspy")


def code_version() -> dict[str, str]:
    """{"version", "commit"}: the last commit that changed the sources, with "+" if they have changed since.

    The commit is "" if psdopt does not run from a checkout.
    """
    return {"version": __version__, "commit": _commit(Path(psdopt.__file__).resolve().parents[1])}


def machine() -> dict[str, str]:
    """Processor, cores, system, Python and the versions of the packages in use."""
    found = {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _commit(root: Path) -> str:
    if not (root / ".git").exists():
        return ""
    last = _git(root, "log", "-1", "--format=%h", "--", *SOURCES)
    changed = _git(root, "status", "--porcelain", "--", *SOURCES)
    return f"{last}+" if last and changed else last


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
