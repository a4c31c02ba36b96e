"""Cone programs by their matrices: answers against SCS's own door, proofs of endings, sentences for bad input."""

import numpy as np
import pytest
import scipy.sparse as sp

from psdopt import Status
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.interop.conic import ConicAnswer, ConicProgram

ROOT = np.sqrt(2.0)


def triangle(S: np.ndarray) -> np.ndarray:
    """The lower triangle, column by column, entries beside the diagonal times √2."""
    column, row = np.triu_indices(len(S))
    return np.where(row == column, 1.0, ROOT) * S[row, column]


def square(rows: np.ndarray, k: int) -> np.ndarray:
    column, row = np.triu_indices(k)
    S = np.zeros((k, k))
    S[row, column] = S[column, row] = np.where(row == column, 1.0, 1.0 / ROOT) * rows
    return S


def inside(rng: np.random.Generator, zero: int, nonneg: int, lengths: list[int], orders: list[int]) -> np.ndarray:
    """A random vector inside the cones; its part of the zero cone is zero."""
    parts = [np.zeros(zero), 0.1 + rng.random(nonneg)]
    for d in lengths:
        u = rng.standard_normal(d - 1)
        parts.append(np.r_[np.linalg.norm(u) + 0.1 + rng.random(), u])
    for k in orders:
        G = rng.standard_normal((k, k))
        parts.append(triangle(G @ G.T + 0.1 * np.eye(k)))
    return np.concatenate(parts)


def test_an_objective_in_mixed_units_has_its_minimum_proven() -> None:
    """½ |V x|² + cᵀx with x near 1 in units of 1e-5 and 1e8: no row holds at the minimum."""
    units = np.array([1e5, 1.0, 1e-8])
    V = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]) * units
    P, x = V.T @ V, 1.0 / units
    A, b = np.vstack([[units[0], 0.0, 0.0], np.zeros((2, 3))]), np.array([2.0, 0.0, 1.0])
    answer = ConicProgram(-P @ x, A, b, {"psd": [2]}, P).solve(tol=1e-8)
    assert answer.optimal
    assert np.isclose(answer.value, -0.5 * x @ P @ x, rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-7, 1e-9])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_a_design_has_the_same_value_in_any_unit_of_concentration(unit, form) -> None:
    """max t with Σ w_i v_i v_iᵀ ⪰ t I, Σ w_i = 1, w >= 0 (E-optimal); v in other units changes t by their square."""
    V = unit * np.random.default_rng(2).standard_normal((12, 3))
    A = np.zeros((19, 13))
    A[0, 1:], A[1:13, 1:] = 1.0, -np.eye(12)
    A[13:, 0], A[13:, 1:] = triangle(np.eye(3)), -np.array([triangle(np.outer(v, v)) for v in V]).T
    cones = {"zero": 1, "nonneg": 12, "psd": [3]}
    answer = ConicProgram(np.r_[-1.0, np.zeros(12)], A, np.r_[1.0, np.zeros(18)], cones).solve(form=form)
    assert answer.optimal
    assert answer.value / unit**2 == pytest.approx(-1.04417172, rel=1e-6)


def random_program(seed: int, quadratic: bool = False):
    """c, A, b, cones, P with points inside the cones on both sides, hence with an optimum."""
    rng = np.random.default_rng(seed)
    zero, nonneg = int(rng.integers(0, 3)), int(rng.integers(0, 4))
    lengths = [int(d) for d in rng.integers(3, 9, size=rng.integers(0, 4))]
    orders = [int(k) for k in rng.integers(1, 5, size=rng.integers(0 if lengths else 1, 4))]
    s, y = inside(rng, zero, nonneg, lengths, orders), inside(rng, zero, nonneg, lengths, orders)
    y[:zero] = rng.standard_normal(zero)
    N = int(rng.integers(zero + 1, zero + 8))
    A = np.where(rng.random((len(s), N)) < 0.7, rng.standard_normal((len(s), N)), 0.0)
    x, P = rng.standard_normal(N), None
    c = -A.T @ y
    if quadratic:
        G = rng.standard_normal((2, N))
        P = G.T @ G
        c -= P @ x
    cones = {"zero": zero, "nonneg": nonneg, "second_order": lengths, "psd": orders}
    return c, A, A @ x + s, cones, P


def least(v: np.ndarray, cones: dict) -> float:
    """How far v is inside the cones after the zero cone: its least entry, v_0 − |v_1|, or eigenvalue."""
    first, found = cones["zero"], [np.inf]
    found += list(v[first : first + cones["nonneg"]])
    first += cones["nonneg"]
    for d in cones["second_order"]:
        found.append(v[first] - np.linalg.norm(v[first + 1 : first + d]))
        first += d
    for k in cones["psd"]:
        found.append(np.linalg.eigvalsh(square(v[first : first + k * (k + 1) // 2], k))[0])
        first += k * (k + 1) // 2
    return float(min(found))


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("quadratic", [False, True])
def test_answers_meet_the_optimality_conditions(seed, quadratic) -> None:
    c, A, b, cones, P = random_program(seed, quadratic)
    answer = ConicProgram(c, sp.csc_array(A), b, cones, P).solve(tol=1e-8)
    assert isinstance(answer, ConicAnswer)
    if quadratic and not answer.optimal:  # a curved objective may lack a proof where nothing bounds the trace
        assert answer.certificate.relative <= 1e-6
    else:
        assert answer.optimal, answer.message
    x, y, s = answer.x, answer.y, answer.s
    size = 1.0 + np.abs(np.concatenate([x, y, s])).max()
    allowed = 1e-5 * size**2
    gradient = c if P is None else c + P @ x
    assert np.allclose(s, b - A @ x, rtol=0, atol=1e-12 * size)
    assert np.abs(gradient + A.T @ y).max() <= allowed
    assert np.abs(s[: cones["zero"]]).max(initial=0.0) <= allowed
    assert min(least(s, cones), least(y, cones)) >= -allowed
    assert abs(s @ y) <= len(s) * allowed
    assert answer.value == pytest.approx(float(c @ x) + (0.0 if P is None else 0.5 * x @ P @ x), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_the_two_forms_agree_with_scs(seed) -> None:
    scs = pytest.importorskip("scs")
    c, A, b, cones, _ = random_program(100 + seed)
    theirs = {"z": cones["zero"], "l": cones["nonneg"], "q": cones["second_order"], "s": cones["psd"]}
    data = {"A": sp.csc_matrix(A), "b": b, "c": c}
    expected = scs.SCS(data, theirs, verbose=False, eps_abs=1e-9, eps_rel=1e-9, max_iters=200_000).solve()
    for form in ("auto", "primal"):
        answer = ConicProgram(c, A, b, cones).solve(tol=1e-8, form=form)
        assert answer.optimal
        assert answer.value == pytest.approx(expected["info"]["pobj"], rel=1e-5, abs=1e-5)


def test_a_long_norm_costs_what_its_entries_cost() -> None:
    """min |G x − h| with 2,000 rows: least squares; M is of order 2,001, and no matrix of that order is decomposed."""
    rng = np.random.default_rng(0)
    G, h = rng.standard_normal((2000, 5)), rng.standard_normal(2000)
    A = np.zeros((2001, 6))
    A[0, 5], A[1:, :5] = -1.0, -G
    answer = ConicProgram(np.eye(6)[5], A, np.r_[0.0, -h], {"second_order": [2001]}).solve(tol=1e-8)
    assert answer.optimal
    best = np.linalg.lstsq(G, h, rcond=None)[0]
    assert np.allclose(answer.x[:5], best, rtol=0, atol=1e-3)
    assert answer.value == pytest.approx(np.linalg.norm(G @ best - h), rel=1e-7)


def test_programs_without_an_optimum_have_proofs() -> None:
    """x <= −1 beside x I ⪰ 0, and −x with x I ⪰ 0 alone."""
    rows, eye = np.r_[1.0, triangle(-np.eye(2))], triangle(-np.eye(2))
    empty = ConicProgram([1.0], rows[:, None], [-1.0, 0.0, 0.0, 0.0], {"nonneg": 1, "psd": [2]}).solve()
    assert (empty.status, empty.value, empty.x) == (Status.INFEASIBLE, np.inf, None)
    assert rows @ empty.proof == pytest.approx(0.0, abs=1e-9)
    assert -empty.proof[0] == pytest.approx(-1.0)
    assert least(empty.proof, {"zero": 0, "nonneg": 1, "second_order": [], "psd": [2]}) >= -1e-9
    falling = ConicProgram([-1.0], eye[:, None], np.zeros(3), {"psd": [2]}).solve()
    assert (falling.status, falling.value) == (Status.UNBOUNDED, -np.inf)
    assert falling.proof == pytest.approx([1.0])


@pytest.mark.parametrize(("change", "error", "words"), [
    ({"c": [[1.0]]}, InvalidInputError, "c and b must be vectors"),
    ({"c": [np.nan]}, InvalidInputError, "c must be finite"),
    ({"A": np.ones((3, 2))}, InvalidInputError, r"A must have shape \(3, 1\)"),
    ({"A": sp.csr_array([[np.inf], [0.0], [1.0]])}, InvalidInputError, "A must be finite"),
    ({"cones": {"psd": [3]}}, InvalidInputError, "cones must have 3 rows in all, as b has; found 6"),
    ({"cones": {"exponential": 3}}, InvalidInputError, "cones must be among zero, nonneg, second_order, psd"),
    ({"cones": {"psd": [2.5]}}, InvalidInputError, r"cones\['psd'\] must be an integer"),
    ({"cones": [2]}, InvalidTypeError, "cones must be a mapping"),
    ({"P": np.ones((2, 2))}, InvalidInputError, r"P must have shape \(1, 1\)"),
    ({"b": ["a"] * 3}, InvalidTypeError, "b must hold"),
])  # fmt: skip
def test_bad_input_gets_a_sentence(change, error, words) -> None:
    given = {"c": [1.0], "A": np.ones((3, 1)), "b": np.zeros(3), "cones": {"psd": [2]}, **change}
    with pytest.raises(error, match=words):
        ConicProgram(**given)


def test_options_that_are_unknown_are_refused() -> None:
    program = ConicProgram([1.0], triangle(-np.eye(2))[:, None], np.zeros(3), {"psd": [2]})
    with pytest.raises(InvalidTypeError, match="no argument 'tolerance'"):
        program.solve(tolerance=1e-3)
    with pytest.raises(ValueError, match=r"unknown form .both.; known: auto, dual, primal"):
        program.solve(form="both")
    assert "unknowns=1" in repr(program)


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e8])
@pytest.mark.parametrize("form", ["auto", "primal"])
def test_an_equation_given_twice_holds_once_in_any_units_of_an_unknown(unit, form) -> None:
    """Of E = L U with entries that L U fills in, E⁻¹ has rounding where its entries are zero: no equation of M."""
    A = np.array(
        [
            [-7.29291, 2.13443, 0, 0, 0],
            [-14.58582, 4.26886, 0, 0, 0],
            [0, 0, 0.18315, 0, 0.67473],
            [0, 0, 0.18394, 0, 0.025609],
            [-24.488, 0.20492, 0, 1.94, -1.0204],
            [0, -0.10782, 1.7196, -0.42412, -0.51596],
            [-7.4254, 0, -2.047, 0, 0],
        ]
    )
    x, units = np.array([-1.1, -0.98, 0.54, -0.01, -0.53]), np.array([unit, 1, 1, 1, 1])
    s, y = np.array([0, 0, 0.1, 0, 1, -0.6, 0.8]), np.array([0.3, 0, 0, 1.2, 1, 0.6, -0.8])
    program = ConicProgram(-A.T @ y * units, A * units, A @ x + s, {"zero": 2, "nonneg": 2, "second_order": [3]})
    answer = program.solve(form=form)
    assert answer.optimal
    assert answer.value == pytest.approx(-A.T @ y @ x, rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_an_objective_that_an_equation_fixes_is_constant(seed) -> None:
    """c = a A_0: rounding that elimination leaves of c is no direction in which the objective falls."""
    rng = np.random.default_rng(seed)
    A, x, a = rng.standard_normal((3, 6)), rng.standard_normal(6), rng.standard_normal()
    answer = ConicProgram(a * A[0], A, A @ x + [0.0, 1.0, 1.0], {"zero": 1, "nonneg": 1, "psd": [1]}).solve()
    assert answer.optimal
    assert answer.value == pytest.approx(a * A[0] @ x)
