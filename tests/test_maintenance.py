"""What maintainers rely on: pins that are the lower bounds, one set of tools, scripts that can be run."""

import os
import re
import tomllib
from pathlib import Path

import pytest

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
