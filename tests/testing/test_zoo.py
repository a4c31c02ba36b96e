"""The kit is held to its own standard: each broken object is rejected by exactly the checks that it names."""

import pytest

from psdopt.testing import CHECKS, run_checks
from tests.testing.zoo import ZOO

ANIMALS = [pytest.param(cls, id=f"{kind}-{cls.__name__}") for kind, group in ZOO.items() for cls in group]


@pytest.mark.parametrize("cls", ANIMALS)
def test_exactly_these_checks_reject_it(cls):
    records = run_checks(cls())
    assert {record.name for record in records if not record.ok} == set(cls.rejected_by)


@pytest.mark.parametrize("cls", ANIMALS)
def test_has_one_documented_sin(cls):
    assert cls.rejected_by
    assert set(cls.rejected_by) <= set(CHECKS)
    assert cls.__doc__


def test_every_check_has_a_zoo_entry():
    rejected = {name for group in ZOO.values() for cls in group for name in cls.rejected_by}
    assert set(CHECKS) - rejected == set()
