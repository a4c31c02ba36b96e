"""Constrained, cone programs in both forms, SDPA's files: each translation proven from both sides."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg import block_diag

from psdopt import Constrained, TermSum, read_sdpa
from psdopt.certificates.constrained.slack import slack_operator
from psdopt.constraints import Constraint, SparseForms
from psdopt.contracts.gradient import dense_gradient
from psdopt.interop._cone_bound import factor_of, multipliers_of
from psdopt.interop._cone_forms import DualForm, PrimalForm
from psdopt.interop._cone_program import ConeProgram
from psdopt.linalg.operators import LinearMap
from psdopt.terms import LinearTerm, MatrixForm
from tests.interop.cone_programs import slack_matrix, with_pair
from tests.translations import Side, proven_both_ways


def random_pair(seed: int, quadratic: bool = False) -> tuple[ConeProgram, np.ndarray, np.ndarray]:
    """Blocks, equations, inequalities and free unknowns in random numbers, and a strictly feasible x and y."""
    rng = np.random.default_rng(seed)
    psd = tuple(int(k) for k in rng.integers(2, 5, size=rng.integers(1, 4)))
    zero, nonneg = int(rng.integers(0, 3)), int(rng.integers(0, 5))
    shape = zero + nonneg + sum(k * (k + 1) // 2 for k in psd), int(rng.integers(zero + 1, zero + 7))
    A = sp.csr_array(np.where(rng.random(shape) < 0.6, rng.standard_normal(shape), 0.0))
    definite = [G @ G.T + 0.1 * np.eye(sum(psd)) for G in rng.standard_normal((2, sum(psd), sum(psd)))]
    return with_pair(rng, A, (zero, nonneg, psd), definite, quadratic)


def pairs(seed: int, quadratic: bool = False) -> tuple[ConeProgram, list[tuple[np.ndarray, np.ndarray]]]:
    """A program, and pairs whose x meets the equations and is inside the cones, and whose y is stationary at x and
    nonnegative on inequalities; blocks of y need not be semidefinite."""
    program, x, y = random_pair(seed, quadratic)
    rng, A = np.random.default_rng(seed + 1), program.A.toarray()
    along, across = scipy.linalg.null_space(A[: program.zero]), scipy.linalg.null_space(A.T)
    found = [(x, y)]
    for _ in range(6):
        d = along @ rng.standard_normal(along.shape[1])
        dy = across @ rng.standard_normal(across.shape[1])
        step, other = 1.0, 1.0
        while max(violation(program, x + step * d), 0.0) > 1e-12:
            step /= 2.0
        if program.P is not None:
            dy = dy + np.linalg.lstsq(A.T, -step * (program.P @ d), rcond=None)[0]
        while np.any((y + other * dy)[program.zero : program.first_psd] < 0.0) and program.P is None:
            other /= 2.0
        pair = x + step * d, y + other * dy
        stationary = np.abs(program.gradient(pair[0]) + A.T @ pair[1]).max() <= 1e-9
        if stationary and np.all(pair[1][program.zero : program.first_psd] >= 0.0):
            found.append(pair)
    return program, found


def violation(program: ConeProgram, x: np.ndarray) -> float:
    s = program.b - program.A @ x
    first, psd = program.zero, program.first_psd
    least = np.linalg.eigvalsh(slack_matrix(program, s[psd:]))[0]
    return float(max(np.abs(s[:first]).max(initial=0.0), (-s[first:psd]).max(initial=0.0), -least, 0.0))


def of_program(program: ConeProgram) -> Side:
    """x (N,), and y (R,); the bound is Lagrange's function, which is −bᵀy − ½ xᵀPx where y is stationary."""

    def least(x: np.ndarray, y: np.ndarray) -> float:
        S = slack_matrix(program, y[program.first_psd :], halved=True)
        return float(min(np.linalg.eigvalsh(S)[0], *y[program.zero : program.first_psd], np.inf))

    def lagrangian(x: np.ndarray, y: np.ndarray) -> float:
        return program.value(x) + float(y @ (program.A @ x - program.b))

    return Side(program.value, lambda x: violation(program, x), lagrangian, least)


def factor(M: np.ndarray) -> np.ndarray:
    values, V = np.linalg.eigh(M)
    return V * np.sqrt(np.maximum(values, 0.0))


def slack(problem: Any, M: np.ndarray, w: np.ndarray) -> np.ndarray:
    there = problem.at(factor(M))
    S = slack_operator(problem, there, w) if isinstance(problem, Constrained) else dense_gradient(there)
    return S.toarray() if sp.issparse(S) else S


def of_constrained(problem: Any, kept: int | None = None) -> Side:
    """M (n, n) ⪰ 0 and w (m,). `kept` : rows of S beyond are zero, those of a free unknown that is split in two."""
    constrained = isinstance(problem, Constrained)

    def bound(M: np.ndarray, w: np.ndarray) -> float:
        there = problem.at(factor(M))
        product = np.vdot(there.factor, there.gradient @ there.factor)
        return float(there.value - product - (problem.support(w) if constrained else 0.0))

    def least(M: np.ndarray, w: np.ndarray) -> float:
        S = slack(problem, M, w)
        assert np.abs(np.diagonal(S)[kept:]).max(initial=0.0) <= 1e-9 if kept is not None else True
        loose = w[~np.isfinite(problem.lower)] if constrained else []
        return float(min(np.linalg.eigvalsh(S[:kept, :kept])[0], *loose, np.inf))

    def off(M: np.ndarray) -> float:
        wrong = problem.violation(problem.measured(factor(M))) if constrained else np.zeros(1)
        return float(np.abs(wrong).max())

    return Side(lambda M: float(problem.at(factor(M)).value), off, bound, least)


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_slacks_as_the_matrix(seed, quadratic) -> None:
    program, found = pairs(seed, quadratic)
    form = PrimalForm(program)
    single = int(form.elimination.used[program.zero : program.first_psd].sum())

    def forth(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        Y = factor_of(form, x)
        return Y @ Y.T, multipliers_of(form, y)

    def back(M: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        point = form.point(factor(M), w)
        return point.x, point.y

    assert len(found) > 1
    here, there = of_program(program), of_constrained(form.problem(), sum(program.psd) + single)
    proven_both_ways(here, there, forth, back, found, [forth(*pair) for pair in found])


@pytest.mark.parametrize("seed", range(12))
def test_multipliers_as_the_matrix(seed) -> None:
    """Value and bound change places, with the sign; points of the form are w, and need not be feasible."""
    program, found = pairs(seed)
    form = DualForm(program)
    if not form.suits or form.m < form.elimination.Z.shape[1]:
        return
    problem, e = form.problem(), form.elimination
    primal = of_constrained(problem)
    zero = np.zeros((form.n, form.n))
    other = Side(
        lambda w: -primal.bound(zero, w),
        lambda w: max(-float(np.linalg.eigvalsh(slack(problem, zero, w))[0]), 0.0),
        lambda w, M: -primal.value(M),
        lambda w, M: float(np.linalg.eigvalsh(M)[0]),
    )

    def forth(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        M = np.zeros((form.n, form.n))
        M[form.i, form.j] = M[form.j, form.i] = np.where(form.i == form.j, 1.0, 0.5) * y[program.zero :]
        return -(x - e.offset)[e.free][form.columns], M

    def back(w: np.ndarray, M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        point = form.point(factor(M), w)
        return point.x, point.y

    definite = [pair for pair in found if of_program(program).least(*pair) > 0.0]
    rng = np.random.default_rng(seed)
    far = [(w + 10.0 * rng.standard_normal(len(w)), M) for w, M in (forth(*pair) for pair in definite)]
    proven_both_ways(of_program(program), other, forth, back, definite, far)


def test_both_forms_have_something_to_prove() -> None:
    """The draws above hold equations, inequalities, several blocks and unknowns that stay free."""
    forms = [PrimalForm(random_pair(seed)[0]) for seed in range(12)]
    programs = [form.program for form in forms]
    assert all(
        sum(count > 0 for count in each) > 3 for each in ([p.zero for p in programs], [p.nonneg for p in programs])
    )
    assert sum(len(p.psd) > 1 for p in programs) > 3
    assert sum(form.m > 0 for form in forms) > 3
    assert sum(DualForm(p).suits for p in programs) > 6


@pytest.mark.parametrize("fault", ["point", "multipliers", "value", "bound", "least", "violation"])
def test_a_fault_of_any_kind_is_found_from_both_sides(fault) -> None:
    exact = Side(lambda p: 2.0 * p, lambda p: p, lambda p, m: p * m, lambda p, m: p + m)
    other = Side(**{**vars(exact), **({fault: lambda *pair: 0.125} if hasattr(exact, fault) else {})})

    def carried(p: float, m: float) -> tuple[float, float]:
        return (p + 1e-6 if fault == "point" else p), (m + 1e-6 if fault == "multipliers" else m)

    for starts in ({"of_one": [(1.0, 2.0)]}, {"of_other": [(1.0, 2.0)]}):
        proven_both_ways(exact, exact, lambda *pair: pair, lambda *pair: pair, **starts)
        with pytest.raises(AssertionError, match=fault if hasattr(exact, fault) else "point|value|bound|multipliers"):
            proven_both_ways(exact, other, carried, carried, **starts)


def conic(seed: int) -> tuple[Constrained, list[int]]:
    """Equations on blocks of random orders and a diagonal one, with a random C; and SDPA's sizes of the blocks."""
    rng = np.random.default_rng(seed)
    sizes = [int(rng.integers(1, 5)), -int(rng.integers(1, 4)), int(rng.integers(1, 5))]
    parts = [np.ones((k, k)) if k > 0 else np.eye(-k) for k in sizes]
    i, j = np.nonzero(np.triu(block_diag(*parts)))
    n, m = sum(map(abs, sizes)), int(rng.integers(1, 5))
    B = np.where(rng.random((m, len(i))) < 0.7, rng.standard_normal((m, len(i))), 0.0)
    C = sp.csr_array((rng.standard_normal(len(i)), (i, j)), shape=(n, n))
    b = rng.standard_normal(m)
    objective = TermSum([LinearTerm(MatrixForm(LinearMap(sp.csr_array(C + C.T), "C")))])
    return Constrained(objective, Constraint(SparseForms(i, j, sp.csr_array(B), n), b, b)), sizes


def sdpa_text(problem: Constrained, sizes: list[int]) -> str:
    """The file: F_0 = −C, F_t = A_t, each entry with all its digits."""
    ends = np.cumsum(np.abs(sizes))
    lines = [str(problem.m), str(len(sizes)), " ".join(map(str, sizes)), " ".join(map(repr, problem.lower.tolist()))]
    unit = np.eye(problem.m)
    for t in range(problem.m + 1):
        F = -problem.conic.C if t == 0 else problem.forms.matrix(unit[t - 1])
        entries = sp.coo_array(sp.triu(F))
        for i, j, value in zip(*entries.coords, entries.data.tolist(), strict=True):
            if value == 0.0:
                continue
            k = int(np.searchsorted(ends, i, side="right"))
            first = int(ends[k]) - abs(sizes[k])
            lines.append(f"{t} {k + 1} {i - first + 1} {j - first + 1} {value!r}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(8))
def test_files_of_sdpa(seed, tmp_path: Path) -> None:
    problem, sizes = conic(seed)
    path = tmp_path / "a.dat-s"
    path.write_text(sdpa_text(problem, sizes))
    read = read_sdpa(path)
    assert sdpa_text(read, sizes) == path.read_text()
    rng = np.random.default_rng(seed)
    draws = [(G @ G.T, rng.standard_normal(problem.m)) for G in rng.standard_normal((4, problem.n, problem.n))]
    one, other = of_constrained(problem), of_constrained(read)
    proven_both_ways(one, other, lambda *pair: pair, lambda *pair: pair, draws, draws, tol=1e-12)
