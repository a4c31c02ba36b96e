"""Importing psdopt loads no package that only few runs need: names of modules are counted, never seconds."""

import subprocess
import sys

HEAVY = (
    "scipy.integrate", "scipy.optimize", "scipy.stats", "sklearn", "matplotlib", "pandas", "pymanopt", "hypothesis",
)  # fmt: skip

#: What a user imports first; one process imports them in this order, from the least to the most.
DOORS = ("import psdopt", "import psdopt.plugins", "import psdopt.cli.main")

#: Modules of an estimator, by the packages of plugins that are shipped.
ESTIMATORS = (
    "metric_learning.kta", "metric_learning.lmnn", "kernel_learning.estimator", "manifold_learning.mvu",
    "regression.estimator", "relaxations.maxcut", "spectral.estimator",
)  # fmt: skip


def test_heavy_packages_are_imported_when_they_are_used() -> None:
    script = "import sys\n" + "\n".join(
        f"{code}\nprint({code!r}, *(name for name in {HEAVY!r} if name in sys.modules), sep=', ')"
        for code in (*DOORS, "import scipy.stats")
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    *doors, known = done.stdout.splitlines()
    assert doors == list(DOORS)
    assert "scipy.stats" in known.split(", ")[1:]


def test_a_list_imports_no_estimator() -> None:
    script = (
        "import sys\nfrom psdopt.cli.main import main\nassert main(['list']) == 0\n"
        "print('MODULES', *(name for name in sys.modules if name.startswith(('psdopt_plugins.', 'sklearn'))))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    names = set(done.stdout.rpartition("MODULES")[2].split())
    assert "metric-kta" in done.stdout
    assert {f"psdopt_plugins.{name.partition('.')[0]}" for name in ESTIMATORS} <= names
    assert not {f"psdopt_plugins.{name}" for name in ESTIMATORS} & names
    assert "sklearn" not in names
