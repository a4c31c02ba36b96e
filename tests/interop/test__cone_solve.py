"""Answers of a form that the numbers of the program itself prove."""

import pytest

from psdopt.interop._cone_epigraph import forms_of
from psdopt.interop._cone_solve import solved_in_either
from psdopt.running.result import Status
from tests.interop.cone_programs import defects, known_optimum


@pytest.mark.parametrize("seed", [0, 4, 5, 7, 9, 13])
def test_a_quadratic_objective_is_proven_where_its_form_bounds_no_trace(seed) -> None:
    p, x, _ = known_optimum(seed, quadratic=True)
    _, answer = solved_in_either(forms_of(p), {}, None, False)
    assert answer.status is Status.OPTIMAL
    assert answer.proven(1e-6) == "everywhere"
    assert answer.point is not None
    assert max(defects(p, answer.point.x, answer.point.y).values()) <= 1e-6 * (1.0 + abs(p.value(x)))
