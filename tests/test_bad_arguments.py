"""Public constructors and functions: an argument of a wrong type or value gets one error of the library's own.

Each call below is valid. One argument at a time is replaced by everything that a slip of the keyboard or a wrong
variable puts there. The call then succeeds, or raises a :class:`PsdoptError` whose text names an argument.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any

import autograd.numpy as anp
import numpy as np
import pytest
import scipy.sparse as sp

import psdopt
from psdopt import constraints, linalg, methods, terms
from psdopt.errors import PsdoptError
from psdopt.methods.alternating import AfterSteps
from psdopt.problems.distributed import Here, Summed
from psdopt_plugins import hermitian

N = 5
RNG = np.random.default_rng(0)
A = np.diag(np.arange(1.0, 6.0))
X = RNG.standard_normal((8, N))
ROWS, COLUMNS = np.array([0, 1, 2]), np.array([1, 2, 3])
HERMITIAN = A + 1j * np.triu(np.ones((N, N)), 1) - 1j * np.tril(np.ones((N, N)), -1)
QUADRATIC = psdopt.QuadraticSDP(B=1.0, C=-A)
ENTRIES = terms.Entries(ROWS, COLUMNS, N)
FIT = terms.MeasuredTerm(ENTRIES, terms.LeastSquares(np.ones(3)))
FLAT = psdopt.FlatQuotient(N, 2)


def square(M: Any) -> Any:
    return anp.sum(M**2)


#: Function or class -> arguments of one valid call.
CALLS: dict[Callable[..., Any], dict[str, Any]] = {
    psdopt.QuadraticSDP: {"A": A, "B": 1.0, "C": -A},
    psdopt.TermSum: {"terms": [FIT], "constant": 0.0},
    psdopt.AutogradProblem: {"function": square, "n": N, "convex": True},
    psdopt.EntryFit: {"L": A, "i": ROWS, "j": COLUMNS, "targets": np.ones(3)},
    psdopt.Constrained: {"problem": QUADRATIC, "constraints": constraints.trace(N, 1.0), "trace_bound": 2.0},
    psdopt.Constraint: {"measurement": ENTRIES, "lower": 0.0, "upper": 1.0},
    psdopt.FlatQuotient: {"n": N, "r": 2},
    psdopt.Polar: {"n": N, "r": 2},
    psdopt.FixedTrace: {"n": N, "r": 2, "trace": 1.0},
    psdopt.Spectraplex: {"n": N, "trace": 1.0},
    psdopt.PSDCone: {"n": N},
    psdopt.PositiveDefinite: {"n": N},
    psdopt.LowRankPSD: {"factor": np.ones((N, 2))},
    psdopt.MaxIterations: {"limit": 5},
    psdopt.MaxTime: {"seconds": 1.0},
    psdopt.SmallDecrease: {"tol": 1e-3},
    psdopt.SmallStationarity: {"tol": 1e-3},
    psdopt.ProvenGap: {"share": 1e-2},
    psdopt.ValueBelow: {"target": 1.0},
    psdopt.ArrayStream: {"X": X, "y": np.arange(8.0)},
    psdopt.certify: {"problem": QUADRATIC, "matrix": np.eye(N)},
    psdopt.Adjoint: {"problem": QUADRATIC, "matrix": psdopt.LowRankPSD(np.sqrt(A)), "limited": False},
    psdopt.FunctionProblem: {"function": square, "n": N, "of": "matrix", "backend": "autograd", "convex": True},
    psdopt.compatible: {"problem": QUADRATIC, "geometry": FLAT, "method": psdopt.ConjugateGradient()},
    psdopt.solve: {
        "problem": QUADRATIC, "geometry": FLAT, "method": psdopt.ConjugateGradient(),
        "max_iterations": 5, "max_time": 5.0,
    },
    constraints.diagonal: {"n": N, "equals": 1.0},
    constraints.trace: {"n": N, "equals": 1.0},
    constraints.entries: {"i": ROWS, "j": COLUMNS, "n": N, "equals": 0.0},
    constraints.distances: {"i": ROWS, "j": COLUMNS, "n": N, "upper": 1.0},
    constraints.quadratic_forms: {"X": X, "equals": np.ones(8)},
    constraints.sparse_forms: {"matrices": [sp.csr_array(A)], "lower": 1.0},
    constraints.SparseForms: {"i": ROWS, "j": COLUMNS, "B": sp.csr_array(np.ones((2, 3))), "n": N},
    constraints.Trace: {"n": N},
    constraints.hermitian_entries: {"i": ROWS, "j": COLUMNS, "n": N, "equals": np.ones(3) * 1j},
    constraints.hermitian_forms: {"matrices": [HERMITIAN], "lower": 1.0},
    constraints.hermitian_squares: {"X": X + 1j * X, "equals": np.ones(8)},
    terms.Combined: {"measurement": ENTRIES, "B": np.ones((2, 3))},
    terms.embedded: {"X": X + 1j * X},
    terms.hermitian_form: {"C": HERMITIAN},
    terms.hermitian_squares: {"X": X + 1j * X},
    hermitian.PauliStrings: {"strings": ["XY", "IZ"]},
    hermitian.state_problem: {"strings": ["XY", "IZ"], "values": [0.5, 0.1], "weights": [1.0, 2.0]},
    hermitian.counts_problem: {"bases": ["X", "Z"], "counts": np.ones((2, 2))},
    hermitian.process_problem: {"transfer": np.eye(4)},
    hermitian.transfer_matrix: {"factor": np.ones((4, 1))},
    hermitian.phase_problem: {"X": X + 1j * X, "squares": np.ones(8)},
    hermitian.phase_fit_problem: {"X": X + 1j * X, "squares": np.ones(8), "penalty": 0.1},
    hermitian.coded_masks: {"masks": np.ones((2, 3))},
    linalg.kronecker_product: {"factors": [A, np.eye(2)]},
    terms.Entries: {"i": ROWS, "j": COLUMNS, "n": N},
    terms.PairDistances: {"i": ROWS, "j": COLUMNS, "X": X},
    terms.QuadraticForms: {"X": X},
    terms.TripletDifferences: {"i": ROWS, "j": COLUMNS, "k": ROWS + 2, "X": X},
    terms.LeastSquares: {"target": np.ones(3)},
    terms.MeasuredTerm: {"measurement": ENTRIES, "loss": terms.LeastSquares(np.ones(3)), "weight": 1.0},
    terms.LinearTerm: {"C": A},
    Summed: {"parts": [QUADRATIC, QUADRATIC], "engine": Here()},
    psdopt.Alternating: {"first": psdopt.ConjugateGradient(), "second": psdopt.LBFGS(), "switch": AfterSteps(3)},
    **{getattr(methods, name): {} for name in methods.__all__ if name not in ("Alternating", "shipped_methods")},
}  # fmt: skip
WRONG: tuple[Any, ...] = (
    None, -1, 0, 1.5, float("nan"), float("inf"), True, 1 + 2j, "x", [], {}, object(), square, [1, "a"], [[1, 2], [3]],
    np.array([np.nan] * 3), np.ones((2, 3)), np.ones((3, 3, 3)), np.array(["a"]), 1j * np.ones(3),
    sp.csr_array(np.ones((2, 3))), QUADRATIC, psdopt.FlatQuotient, ENTRIES,
)  # fmt: skip
#: Arguments that name files, or are switches; and a callback, whose errors are its author's.
LEFT_OUT = ("checkpoint", "resume", "progress", "callback")


def arguments() -> list[Any]:
    """Every argument of every call, those with a default included."""
    found = []
    for call in CALLS:
        names = [name for name in inspect.signature(call).parameters if name not in LEFT_OUT]
        found += [pytest.param(call, name, id=f"{call.__name__}-{name}") for name in names]
    return found


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_the_call_is_valid(call: Callable[..., Any]) -> None:
    call(**CALLS[call])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "name"), arguments())
def test_a_wrong_argument_is_accepted_or_refused_in_our_words(call: Callable[..., Any], name: str) -> None:
    foreign, names = [], {*inspect.signature(call).parameters, "Y"}  # a matrix may be given by its factor Y
    for value in WRONG:
        try:
            call(**{**CALLS[call], name: value})
        except PsdoptError as error:
            if not names.intersection(re.findall(r"\w+", str(error))):
                foreign.append(f"{value!r:.60}: no argument is named: {error!s:.100}")
            if len(str(error)) > 1000:
                foreign.append(f"{value!r:.60}: a message of {len(str(error))} characters")
        except Exception as error:
            foreign.append(f"{value!r:.60}: {type(error).__name__}: {error!s:.100}")
    assert not foreign, "\n".join(foreign)
