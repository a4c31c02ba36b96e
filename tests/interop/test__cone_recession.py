"""Quadratic objectives that may fall without end: when that is looked for, and the program of such a ray."""

import numpy as np
import scipy.sparse as sp

from psdopt.interop._cone_forms import PrimalForm
from psdopt.interop._cone_program import ConeProgram
from psdopt.interop._cone_recession import may_fall, recession


def halfplane(c: list[float], P: np.ndarray | None) -> ConeProgram:
    """x_0 >= 0 as a block of order one, x_1 >= 0 as an inequality."""
    A = sp.csr_array(np.array([[0.0, -1.0], [-1.0, 0.0]]))
    return ConeProgram(np.array(c), None if P is None else sp.csr_array(P), A, np.zeros(2), 0, 1, (1,))


def falls(program: ConeProgram, trace_bound: float | None = None) -> bool:
    form = PrimalForm(program)
    return may_fall(form, form.problem(trace_bound))


def test_only_a_linear_part_that_falls_somewhere_is_looked_at() -> None:
    curved = np.diag([1.0, 0.0])
    assert falls(halfplane([0.0, -1.0], curved))
    assert not falls(halfplane([0.0, 1.0], curved))
    assert not falls(halfplane([0.0, 0.0], curved))
    assert not falls(halfplane([0.0, -1.0], None))  # linear: methods find the direction


def test_a_bound_on_the_trace_ends_every_fall() -> None:
    curved = sp.csr_array(np.diag([1.0, 0.0]))
    A = sp.csr_array(np.array([[1.0, 0.0], [0.0, -1.0], [-1.0, 0.0]]))
    open_ended = ConeProgram(np.array([0.0, -1.0]), curved, A, np.array([5.0, 0.0, 0.0]), 0, 2, (1,))
    assert falls(open_ended)
    assert not falls(open_ended, trace_bound=100.0)
    A = sp.csr_array(np.array([[1.0, 1.0], [0.0, -1.0], [-1.0, 0.0]]))
    boxed = ConeProgram(np.array([0.0, -1.0]), curved, A, np.array([5.0, 0.0, 0.0]), 0, 2, (1,))
    assert not falls(boxed)


def test_rays_of_the_program_are_the_points_of_its_recession_program() -> None:
    program = halfplane([0.5, -2.0], np.diag([1.0, 0.0]))
    ray = recession(program)
    assert ray.P is None
    assert np.array_equal(ray.c, program.c)
    assert not np.any(ray.b)
    assert (ray.nonneg, ray.psd) == (program.nonneg, program.psd)
    assert ray.zero == program.zero + 1  # P has one row that is not zero
    s = -(ray.A @ np.array([0.0, 1.0]))
    assert np.array_equal(s[: ray.zero], [0.0])
    assert np.all(s[ray.zero :] >= 0.0)
    for wrong in (np.array([1.0, 1.0]), np.array([0.0, -1.0])):  # curved there; out of the cone
        off = -(ray.A @ wrong)
        assert np.abs(off[: ray.zero]).max() > 1e-3 or off[ray.zero :].min() < 0.0


def test_the_quadratic_part_may_be_missing() -> None:
    program = halfplane([0.0, -1.0], None)
    assert recession(program).zero == 0


def test_the_size_of_the_quadratic_part_does_not_matter() -> None:
    for size in (1e-12, 1.0, 1e12):
        ray = recession(halfplane([0.5, -2.0], size * np.array([[1.0, -1e-3], [-1e-3, 1e-6]])))
        assert np.allclose(abs(ray.A[: ray.zero]).sum(axis=1), 1.0)
