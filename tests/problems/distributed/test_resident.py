"""One part of a sum: what it is made of, and what it remembers; its answers are compared by the kit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.problems.distributed import Here, even_slices, touched
from psdopt.problems.distributed.resident import Resident, aligned, made
from tests.problems.distributed.instances import Pairs, trace_problem

Y, D, V = np.random.default_rng(0).standard_normal((3, 5, 2))


def test_the_curvature_of_a_line_at_its_start_is_told_with_it():
    problem = Pairs(one_sided=True).whole
    part = Resident(problem)
    part.at(0, Y)
    known, bend = part.along(1, 0, D)
    assert known is None
    assert bend == pytest.approx(problem.at(Y).along(D).derivatives(0.0)[1])
    assert Resident(None).about() is None


def test_arrays_are_aligned_before_blas_sees_them(monkeypatch):
    """Some kernels end the process otherwise."""
    Y = np.random.default_rng(0).standard_normal((6, 3))
    raw = np.frombuffer(b"1234" + Y.tobytes(), offset=4).reshape(Y.shape)
    assert not raw.flags.aligned
    seen, problem = [], trace_problem(6)
    at = problem.at
    monkeypatch.setattr(problem, "at", lambda Y: seen.append(Y) or at(Y))
    assert Resident(problem).answer("at", (0, raw), ()).result[0] == problem.at(Y).value
    assert seen[0].flags.aligned
    inside = aligned([(raw, 2.0), None])[0]
    assert inside[0].flags.aligned
    assert inside[1] == 2.0
    assert aligned(Y) is Y


def test_what_is_not_held_is_reported_by_its_key():
    part = Resident(Pairs().whole)
    for name, arguments in (
        ("product", (7, V)), ("along", (8, 7, D)), ("along_atom", (8, 7, V[:, 0])),
        ("line_derivatives", (7, np.ones(1))), ("call", (7, "value", 1.0)), ("moved", (8, 7, "step", 1.0)),
    ):  # fmt: skip
        answer = part.answer(name, arguments, ())
        assert answer.forgotten == 7
        assert answer.result is None


def test_dropped_keys_are_forgotten_before_the_question():
    part = Resident(Pairs().whole)
    assert part.answer("at", (0, Y), ()).forgotten is None
    assert part.answer("product", (0, V), ()).forgotten is None
    assert part.answer("product", (0, V), (0,)).forgotten == 0


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
    answers = engine.ask([(2, "at", (0, 2.0 * Y), ()), (0, "at", (0, Y), ()), (1, "about", (), ())])
    assert [answer.result[0] for answer in answers[:2]] == pytest.approx([1.2, 0.3])
    assert answers[2] == (None, {}, None)
    assert all(answer.forgotten is None for answer in answers)


def test_touched_rows_are_sorted_and_give_the_tuples_back():
    tuples = np.array([[7, 2], [2, 9], [7, 9]])
    rows, positions = touched(tuples)
    assert rows.tolist() == [2, 7, 9]
    assert np.array_equal(rows[positions], tuples)


def test_no_tuples_touch_no_rows():
    rows, positions = touched(np.empty((0, 2), dtype=int))
    assert len(rows) == 0
    assert positions.shape == (0, 2)


@given(count=st.integers(0, 50), parts=st.integers(1, 9))
def test_even_slices_cover_everything_once(count, parts):
    slices = even_slices(count, parts)
    assert len(slices) == parts
    assert [t for s in slices for t in range(count)[s]] == list(range(count))
    lengths = [s.stop - s.start for s in slices]
    assert max(lengths) - min(lengths) <= 1


def test_bad_input_is_named():
    with pytest.raises(InvalidInputError, match=r"tuples must have shape \(p, k\); found \(3,\)"):
        touched([1, 2, 3])
    with pytest.raises(InvalidTypeError, match="tuples must hold integers; found dtype float64"):
        touched([[0.5, 1.0]])
    with pytest.raises(InvalidInputError, match="parts must be an integer of at least 1; found 0"):
        even_slices(5, 0)
    with pytest.raises(InvalidInputError, match="count"):
        even_slices(-1, 2)
