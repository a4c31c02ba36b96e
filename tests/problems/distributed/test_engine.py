"""What an engine keeps, and the engine of this process."""

import numpy as np
import pytest

from psdopt.errors import InvalidTypeError
from psdopt.problems.distributed import Here
from psdopt.problems.distributed.engine import made
from tests.problems.distributed.instances import trace_problem


def test_a_part_is_a_problem_a_recipe_or_none():
    problem = trace_problem(3)
    assert made(problem) is problem
    assert made((trace_problem, 4)).n == 4
    assert made(None) is None
    assert made((lambda: None,)) is None
    with pytest.raises(InvalidTypeError, match=r"a Problem, None, or \(make, \*arguments\) of one; found 3"):
        made((int, 3))


def test_questions_are_answered_in_their_order_by_the_part_that_they_name():
    engine = Here()
    engine.place([trace_problem(3), None, (trace_problem, 3)])
    Y = np.ones((3, 1))
    answers = engine.ask([(2, "at", (0, 2.0 * Y), ()), (0, "at", (0, Y), ()), (1, "at", (0, Y), ())])
    assert [answer.result[0] for answer in answers] == pytest.approx([1.2, 0.3, 0.0])
    assert all(answer.forgotten is None for answer in answers)
