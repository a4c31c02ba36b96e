"""``psdopt env``: versions and settings that a bug report needs."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from importlib import metadata

from psdopt.cli.tables import show_table
from psdopt.plugins import PluginManager
from psdopt.version import __version__

HELP = "print versions and settings for a bug report"
PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "autograd",
    "pymanopt",
    "pluggy",
    "threadpoolctl",
    "matplotlib",
    "tqdm",
    "rich",
    "highspy",
    "clarabel",
    "hypothesis",
    "pytest",
    "pandas",
)
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(arguments: argparse.Namespace, manager: PluginManager) -> int:
    """Print one table; 0."""
    del arguments
    show_table(f"psdopt {__version__}", ("", ""), environment(manager), headings=False)
    return 0


def environment(manager: PluginManager) -> list[tuple[str, str]]:
    """(what, found) pairs: Python, system, packages, BLAS and its threads, plugins. No path and no name of a user."""
    rows = [
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("system", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"),
        ("encoding", f"{getattr(sys.stdout, 'encoding', None)}"),
        *((name, _version(name)) for name in PACKAGES),
        ("BLAS", _blas()),
        ("threads", ", ".join(f"{name}={os.environ[name]}" for name in THREADS if name in os.environ) or "not set"),
        ("plugins", ", ".join(manager.plugins())),
    ]
    return [*rows, *(("plugin", str(problem)) for problem in manager.problems)]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _blas() -> str:
    import numpy  # noqa: F401  (loads its BLAS)
    from threadpoolctl import threadpool_info

    found = {
        f"{pool['internal_api']} {pool.get('version')}, {pool['num_threads']} threads" for pool in threadpool_info()
    }
    return "; ".join(sorted(found)) or "none found"
