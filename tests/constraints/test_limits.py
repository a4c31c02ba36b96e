"""Numbers that methods and proofs under constraints share stand in one place: no other module binds their names."""

import ast
from pathlib import Path

import pytest

import psdopt.constraints
import psdopt.methods
from psdopt.constraints import limits

NAMES = {name for name, value in vars(limits).items() if name.isupper() and isinstance(value, float | int)} - {"EPS"}
FOLDERS = [Path(str(package.__file__)).parent for package in (psdopt.constraints, psdopt.methods)]


def bound(source: str) -> set[str]:
    """Names bound at the top of a module, by imports excepted."""
    found = set()
    for node in ast.parse(source).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        found |= {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return found


@pytest.mark.parametrize("path", [p for folder in FOLDERS for p in sorted(folder.glob("*.py"))], ids=lambda p: p.name)
def test_a_shared_number_is_bound_once(path: Path) -> None:
    if path.name != "limits.py":
        assert not bound(path.read_text("utf-8")) & NAMES


def test_a_second_binding_is_seen() -> None:
    assert bound("from a import C\nA, FLOPS = 1, 2e10\nB = f(3)\nD: int = 4") == {"A", "FLOPS", "B", "D"}
    assert "FLOPS" in NAMES
