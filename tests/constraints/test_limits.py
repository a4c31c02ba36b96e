"""Numbers that methods and proofs under constraints share stand in one place: no other module binds their names."""

import ast
from pathlib import Path

import pytest

import psdopt.constraints
import psdopt.methods
from psdopt.constraints import limits

NAMES = {name for name, value in vars(limits).items() if name.isupper() and isinstance(value, float | int)} - {"EPS"}
FOLDERS = [Path(str(package.__file__)).parent for package in (psdopt.constraints, psdopt.methods)]


@pytest.mark.parametrize("path", [p for folder in FOLDERS for p in sorted(folder.glob("*.py"))], ids=lambda p: p.name)
def test_a_shared_number_is_bound_once(path: Path) -> None:
    body = [] if path.name == "limits.py" else ast.parse(path.read_text("utf-8")).body
    targets = [target for node in body for target in getattr(node, "targets", [getattr(node, "target", node)])]
    bound = {
        part.id
        for node in targets
        if isinstance(node, ast.expr)
        for part in ast.walk(node)
        if isinstance(part, ast.Name)
    }
    assert not bound & NAMES
    assert "FLOPS" in NAMES
