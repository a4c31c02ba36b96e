"""The kit is held to its own standard: each broken object is rejected by exactly the checks that it names."""

import pytest

from psdopt.testing import CHECKS, run_checks
from tests.testing.zoo import ZOO

ANIMALS = [pytest.param(cls, id=f"{kind}-{cls.__name__}") for kind, group in ZOO.items() for cls in group]


@pytest.mark.parametrize("cls", ANIMALS)
def test_exactly_these_checks_reject_it(cls):
    assert cls.__doc__  # its sin
    assert cls.rejected_by
    assert {record.name for record in run_checks(cls()) if not record.ok} == set(cls.rejected_by)


def test_every_check_has_a_zoo_entry():
    rejected = {name for group in ZOO.values() for cls in group for name in cls.rejected_by}
    assert set(CHECKS) - rejected == set()
