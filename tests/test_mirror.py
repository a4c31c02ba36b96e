"""Tests mirror the sources: those of psdopt/x/y.py are in tests/x/test_y.py, or where tests/mirror.txt says."""

from pathlib import Path

import psdopt

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


def test_the_list_is_no_longer_than_it_has_to_be():
    assert sorted(set(listed()) - unmirrored()) == []


def test_what_the_list_names_is_there():
    assert [test for test in listed().values() if not (TESTS / test).is_file()] == []
