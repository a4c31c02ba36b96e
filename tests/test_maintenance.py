"""What maintainers rely on: pins, one set of tools, scripts, one version, tests that mirror sources, light imports."""

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

import psdopt
from psdopt.version import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_oldest_pins_are_the_lower_bounds() -> None:
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["testing"]]
    bounds = dict(requirement.split(">=") for requirement in wanted)
    lines = (ROOT / ".ci" / "oldest.txt").read_text().splitlines()
    assert dict(line.split("==") for line in lines if not line.startswith("#")) == bounds


def test_workflows_are_yaml_whose_commands_name_files_that_are_there() -> None:
    yaml = pytest.importorskip("yaml")
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        jobs = yaml.safe_load(path.read_text())["jobs"]
        commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
        assert commands, path
        for command in commands:
            for word in re.findall(r"(?<![\w/])(?:\.ci|tests)/[\w./]+", command):
                assert (ROOT / word).exists(), f"{path.name}: {word}"


def test_hooks_before_a_commit_are_the_tools_of_the_automatic_check() -> None:
    entries = re.findall(r"entry: (\S+)", (ROOT / ".pre-commit-config.yaml").read_text())
    script = (ROOT / ".ci" / "run").read_text()
    assert set(entries) == {"ruff", "mypy", "pytest"}
    for tool in set(entries):
        assert f".venv/bin/{tool}" in script


def test_workflows_cover_the_versions_that_are_supported() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    oldest = PROJECT["requires-python"].removeprefix(">=")
    assert f'python: ["{oldest}", ' in text
    for part in (".ci/run", ".ci/coverage", ".ci/oldest.txt", "--pre", "PSDOPT_FUZZ: long", "schedule:"):
        assert part in text


@pytest.mark.parametrize("name", ["run", "package", "coverage"])
def test_scripts_can_be_run_and_stop_at_the_first_error(name: str) -> None:
    path = ROOT / ".ci" / name
    assert os.access(path, os.X_OK)
    assert path.read_text().startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail" in path.read_text()


def test_what_the_coverage_counts_is_there() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]
    assert settings["run"]["branch"] is True
    assert settings["report"]["fail_under"] >= 96
    for package in settings["run"]["source"]:
        assert (ROOT / package / "__init__.py").exists(), package


def test_everything_that_names_the_version_agrees():
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)
    assert psdopt.__version__ == __version__ == metadata.version("psdopt")
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f'\n  version: "{__version__}"\n' in (ROOT / "recipe.yaml").read_text("utf-8")
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)[1] == __version__


def test_the_recipe_requires_what_the_package_requires():
    run = (ROOT / "recipe.yaml").read_text("utf-8").partition("  run:\n")[2].partition("\n\n")[0]
    wanted = {line.strip("- ").replace(" ", "").replace("-base", "") for line in run.splitlines()}
    assert wanted - {"python>=${{python_min}}"} == set(PROJECT["dependencies"])


def test_addresses_are_placeholders_in_one_place():
    """No other file of those that name the project's home has an address of it."""
    addresses = PROJECT["urls"].values()
    assert all(address.startswith("https://example.org/OWNER/psdopt") for address in addresses)
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "CODE_OF_CONDUCT.md",
        "SECURITY.md",
        "CITATION.cff",
        "recipe.yaml",
        "paper.md",
    ):
        assert "example.org" not in (ROOT / name).read_text("utf-8"), name


def test_the_numbers_of_the_paper_are_those_of_the_pages():
    def tables(path: Path) -> list[dict[str, str]]:
        rows: list[dict[str, str]] = []
        heading: list[str] = []
        for line in path.read_text("utf-8").splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
            if cells and heading and not set(line) <= set("|-"):
                rows.append(dict(zip(heading, cells, strict=False)))
            heading = (heading or cells) if cells else []
        return rows

    pages = [row for name in ("sdp", "learners") for row in tables(ROOT / "docs" / "experiments" / f"{name}.md")]
    quoted = tables(ROOT / "paper.md")
    assert len(quoted) == 7
    for row in quoted:
        assert any(row.items() <= page.items() for page in pages), row


SOURCES = Path(psdopt.__file__).parent
TESTS = Path(__file__).parent
#: The kit is tested as a whole: each check by an animal of the zoo that it rejects, each animal by the checks it names.
AS_A_WHOLE = ("testing",)


def listed() -> dict[str, str]:
    lines = (TESTS / "mirror.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines if line.strip() and not line.startswith("#"))


def unmirrored() -> set[str]:
    found = set()
    for path in SOURCES.rglob("*.py"):
        relative = path.relative_to(SOURCES)
        mirror = TESTS / relative.parent / f"test_{relative.stem}.py"
        if path.name not in ("__init__.py", "__main__.py") and relative.parts[0] not in AS_A_WHOLE:
            found |= set() if mirror.exists() else {relative.as_posix()}
    return found


def test_every_source_has_its_tests_under_its_name_or_is_listed():
    missing = sorted(unmirrored() - set(listed()))
    assert not missing, f"write tests/.../test_<name>.py, or say in tests/mirror.txt where the tests are: {missing}"


def test_the_list_is_no_longer_than_it_has_to_be_and_what_it_names_is_there():
    assert sorted(set(listed()) - unmirrored()) == []
    assert [test for test in listed().values() if not (TESTS / test).is_file()] == []


HEAVY = (
    "scipy.integrate", "scipy.optimize", "scipy.stats", "sklearn", "matplotlib", "pandas", "pymanopt", "hypothesis",
    "autograd", "rich", "tqdm",
)  # fmt: skip

#: What a user imports first; one process imports them in this order, from the least to the most.
DOORS = ("import psdopt", "import psdopt.plugins", "import psdopt.cli.main")

#: Modules of an estimator, by the packages of plugins that are shipped.
ESTIMATORS = (
    "metric_learning.kta", "metric_learning.lmnn", "kernel_learning.estimator", "manifold_learning.mvu",
    "regression.estimator", "relaxations.maxcut", "spectral.estimator", "covariance.precision",
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


SCRIPT = ROOT / ".ci" / "processors"
SSE = {"pni", "ssse3", "sse4_1", "sse4_2"}
AVX2 = {*SSE, "avx", "avx2", "fma"}
AVX512 = {*AVX2, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    loader = SourceFileLoader("processors", str(SCRIPT))
    spec = spec_from_loader("processors", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("native", "have", "run", "missing"),
    [
        ("SapphireRapids", AVX512, ["Nehalem", "Haswell"], {}),
        ("SkylakeX", AVX512, ["Nehalem", "Haswell"], {}),
        ("Haswell", AVX2, ["Nehalem", "Prescott"], {"SkylakeX": "avx512bw"}),
        ("Zen", AVX512, ["Nehalem", "SkylakeX"], {}),
        ("Nehalem", SSE, ["Prescott"], {"SkylakeX": "avx2", "Haswell": "avx2", "Sandybridge": "avx"}),
        ("neoversen1", set(), [], {"SkylakeX": "avx512f", "Prescott": "pni"}),
    ],
)
def test_the_kernels_that_differ_most_and_can_run(script, native, have, run, missing):
    found, skipped = script.sorted_out([], native, have)
    assert sorted(found) == sorted(run)
    assert len(found) <= script.WANTED
    assert not set(found) & set(skipped)
    for kernel, flag in missing.items():
        if flag not in have:
            assert "this processor has no" in skipped[kernel]
    family = script.FAMILIES.get(native, native)
    assert set(found) | set(skipped) | {family} >= set(script.KERNELS)


def test_kernels_that_are_named_run_if_they_can(script):
    assert script.sorted_out(["SkylakeX", "Haswell"], "Haswell", AVX2)[0] == ["Haswell"]
    assert list(script.sorted_out(["SkylakeX"], "Haswell", AVX2)[1]) == ["SkylakeX"]
    with pytest.raises(SystemExit, match="kernel must be one of SkylakeX"):
        script.sorted_out(["Pentium"], "Haswell", AVX2)


def test_no_kernel_at_all_is_a_failure(script, monkeypatch, capsys):
    monkeypatch.setattr(script, "flags", set)
    monkeypatch.setattr(script, "in_use", lambda kernel: "armv8")
    monkeypatch.setattr(script, "tested", None)  # nothing is run
    assert script.main([]) == 1
    said = capsys.readouterr().out
    for kernel in script.KERNELS:
        assert f"{kernel}: skipped, this processor has no" in said
    assert "no kernel could run" in said


def test_a_kernel_that_openblas_does_not_take_is_skipped_and_a_failure_is_shown(script, monkeypatch, capsys):
    monkeypatch.setattr(script, "flags", lambda: AVX2)
    monkeypatch.setattr(script, "in_use", lambda kernel: "Haswell" if kernel in (None, "Nehalem") else kernel)
    codes = {"Sandybridge": 0, "Prescott": 1}
    monkeypatch.setattr(script, "tested", lambda kernel: (kernel, codes[kernel], 1.0, f"log of {kernel}\nlast line"))
    assert script.main([]) == 1
    said = capsys.readouterr().out
    assert "Nehalem: skipped, OpenBLAS runs Haswell in its place" in said
    assert "log of Prescott" in said
    assert "log of Sandybridge" not in said
    codes["Prescott"] = 0
    assert script.main([]) == 0


def test_what_is_run_is_there_and_the_checks_call_it(script):
    assert os.access(SCRIPT, os.X_OK)
    for each in script.NUMERICAL:
        assert (ROOT / "tests" / each).exists(), each
    assert ".ci/processors" in (ROOT / ".ci" / "run").read_text()
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert ".ci/processors ${{ matrix.kernels }}" in workflow
    named = next(line for line in workflow.splitlines() if line.strip().startswith("kernels:"))
    assert all(kernel in named for kernel in script.KERNELS)


def test_a_kernel_is_what_numpy_then_reports(script):
    """Under a kernel that is asked for; skipped where OpenBLAS is not what NumPy uses."""
    run, _ = script.sorted_out([], script.in_use(None), script.flags())
    if not run:
        pytest.skip("no other kernel of OpenBLAS runs here")
    assert script.FAMILIES.get(found := script.in_use(run[0]), found) == run[0]
