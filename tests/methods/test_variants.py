"""Forms of methods that are nobody's default pass checks of the kit, on the kit's own instances."""

import pytest

from psdopt import BILGO, LagrangeNewton
from psdopt.testing import run_checks

PROTOCOL = ("step_is_pure", "resume_repeats", "budgets", "state_is_true", "descent")
INVARIANCES = ("scaling_independent", "units_independent")
VARIANTS = [
    (LagrangeNewton(steps=0), (*PROTOCOL, *INVARIANCES)),
    (BILGO(rule="laue"), (*PROTOCOL, *INVARIANCES, "solves_instances")),
    (BILGO(None, rule="journee"), (*PROTOCOL, *INVARIANCES)),
    (BILGO(None, rule="random-conic"), PROTOCOL),
]


@pytest.mark.parametrize(("method", "checks"), VARIANTS, ids=lambda value: repr(value)[:70])
def test_the_kit_finds_nothing(method, checks):
    for record in run_checks(method, only=[f"method.{name}" for name in checks]):
        assert record.verdict.value == "passed", str(record)
