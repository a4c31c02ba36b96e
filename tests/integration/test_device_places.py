"""Where arrays are: refusals, runs that go on elsewhere, NumPy's arrays, which ask nobody, estimators by dispatch."""

import os
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from psdopt import FlatQuotient, LowRankPSD, Polar, PSDCone, QuadraticSDP, devices, solve
from psdopt.errors import CheckpointError, IncompatibleError, InvalidInputError, InvalidTypeError
from psdopt.methods import BILGO, LBFGS, ConjugateGradient, TrustRegions
from psdopt.terms import GramForm
from psdopt_plugins.regression.problem import psd_regression_problem
from tests.devices.libraries import LIBRARIES, fetched, is_of, sent

from .device_problems import METHODS, PROBLEMS, A, C, N, R, T, X, at, close, here, libraries, rng, with_gram_forms


@libraries
def test_losses_that_do_not_say_how_they_are_split_are_refused(library: str) -> None:
    problem = psd_regression_problem(sent(library, X), T[:40], offset=True)
    with pytest.raises(InvalidTypeError, match="LeastSquaresWithOffset does not declare per_measurement"):
        solve(problem, FlatQuotient(N, R), ConjugateGradient())


@libraries
def test_matrices_of_a_device_factor_are_of_the_library(library: str) -> None:
    Y = rng.standard_normal((N, R))
    M, known = LowRankPSD(sent(library, Y)), LowRankPSD(Y)
    assert (M.n, M.rank, M.shape, repr(M)) == (known.n, known.rank, known.shape, repr(known))
    close(M.trace(), known.trace())
    close(M.norm(), known.norm())
    close(M.eigenvalues(), known.eigenvalues())
    values, vectors = M.eigh()
    assert is_of(library, vectors)
    close(fetched(vectors) * values @ fetched(vectors).T, known.to_dense())
    for result, wanted in (
        (M.quadratic_form(sent(library, X)), known.quadratic_form(X)),
        (M.to_dense(), known.to_dense()),
        (M @ sent(library, A), known @ A),
        (M.compress().factor, known.compress().factor),
    ):
        assert is_of(library, result)
        close(np.abs(fetched(result)), np.abs(wanted))
    with pytest.raises(InvalidInputError, match="factor must be finite; found 1 NaN"):
        LowRankPSD(sent(library, np.array([[np.nan]])))


@libraries
def test_pieces_that_take_numpy_only_say_so_before_any_work(library: str) -> None:
    there = with_gram_forms(at(library))
    for geometry, method, who in (
        (Polar(N, 2), ConjugateGradient(), "the geometry Polar"),
        (FlatQuotient(N, 2), TrustRegions(), "the method TrustRegions"),
        (PSDCone(N), BILGO(), "the method BILGO"),
    ):
        with pytest.raises(IncompatibleError, match=f"{who} takes NumPy arrays only, and the data are on a device"):
            solve(there, geometry, method)
    with pytest.raises(
        IncompatibleError, match=r"With this problem and geometry these work: .*ConjugateGradient, LBFGS"
    ):
        solve(there, FlatQuotient(N, 2), TrustRegions())


@libraries
def test_arrays_in_different_places_are_refused_by_name(library: str) -> None:
    Y = sent(library, rng.standard_normal((N, R)))
    known = with_gram_forms(here)
    for call, name in (
        (lambda: known.at(Y), "Y"),
        (lambda: known.at(fetched(Y)).along(Y), "D"),
        (lambda: known.at(fetched(Y)).along_atom(Y[:, 0]), "v"),
        (lambda: solve(known, FlatQuotient(N, R), start=Y), "start"),
    ):
        with pytest.raises(InvalidTypeError, match=f"^{name} must be a NumPy array here; found an array of"):
            call()
    with pytest.raises(InvalidInputError, match=r"the arrays of all terms must be in one place; found .*NumPy"):
        QuadraticSDP(GramForm(sent(library, X)), 1.0, C)
    with pytest.raises(InvalidInputError, match="A must be symmetric"):
        QuadraticSDP(sent(library, np.triu(A)))
    with pytest.raises(InvalidInputError, match="X must be a 2-D array, not empty; found shape"):
        GramForm(sent(library, X[:, 0]))
    other = "strict" if library == "torch" else "torch"
    with pytest.raises(InvalidInputError, match=r"Y must be a NumPy array or one of .*, like the data; found"):
        with_gram_forms(at(other)).at(Y)


#: Problem and method of runs that are broken off: images, features on the device, pairs, a direction of its own.
BROKEN = (
    ("with_gram_forms", "conjugate gradient"),
    ("alignment", "LBFGS"),
    ("with_matrices", "block"),
    ("hinged_pairs", "conjugate gradient"),
)


@libraries
@pytest.mark.parametrize(("name", "method"), BROKEN)
def test_a_resumed_run_on_a_device_is_the_unbroken_one(name: str, method: str, library: str, tmp_path: Path) -> None:
    start, file = sent(library, rng.standard_normal((N, R))), tmp_path / "run.psdopt"

    def run(steps: int, **options: Any) -> Any:
        problem = PROBLEMS[name](at(library))
        return solve(problem, FlatQuotient(N, R), METHODS[method], max_iterations=steps, tol=1e-13, **options)

    unbroken = run(9, start=start)
    run(4, start=start, checkpoint=file)
    resumed = run(9, resume=file)
    assert resumed.history["value"].tolist() == unbroken.history["value"].tolist()
    np.testing.assert_array_equal(fetched(resumed.matrix.factor), fetched(unbroken.matrix.factor))
    assert is_of(library, resumed.matrix.factor)


def test_a_run_on_a_device_can_go_on_elsewhere(tmp_path: Path) -> None:
    start, file = rng.standard_normal((N, R)), tmp_path / "run.psdopt"
    geometry, method = FlatQuotient(N, R), LBFGS(memory=4)
    options: dict[str, Any] = {"tol": 1e-12}
    there = with_gram_forms(at("torch"))
    solve(there, geometry, method, start=start, max_iterations=3, checkpoint=file, **options)
    expected = solve(with_gram_forms(here), geometry, method, start=start, max_iterations=7, **options)
    for library in (None, "strict"):
        problem = with_gram_forms(here if library is None else at(library))
        found = solve(problem, geometry, method, resume=file, max_iterations=7, **options)
        close(found.history["value"], expected.history["value"], 1e-8)
        assert isinstance(found.matrix.factor, np.ndarray) if library is None else is_of(library, found.matrix.factor)
    solve(with_gram_forms(here), geometry, method, start=start, max_iterations=3, checkpoint=file, **options)
    with pytest.raises(CheckpointError, match=r"it holds NumPy arrays, and the data are on a device \(torch on cpu\)"):
        solve(with_gram_forms(at("torch")), geometry, method, resume=file)


def calls_of_the_door(steps: int, name: str) -> int:
    """Calls of functions in psdopt/devices within a run of so many steps on NumPy's arrays."""
    folder, count = str(Path(devices.__file__).parent), 0

    def watch(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call" and frame.f_code.co_filename.startswith(folder)

    problem, start = PROBLEMS[name](here), np.random.default_rng(0).standard_normal((N, R))
    sys.setprofile(watch)
    try:
        solve(problem, FlatQuotient(N, R), LBFGS(), start=start, max_iterations=steps, tol=1e-14, proof="cheap")
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", ["with_matrices", "with_gram_forms", "hinged_pairs", "triplets"])
def test_steps_on_numpy_arrays_never_come_to_the_door(name: str) -> None:
    assert calls_of_the_door(12, name) == calls_of_the_door(6, name)


SCRIPT = """
import sys
import numpy as np
import pytest
from sklearn import config_context
from psdopt.errors import InvalidInputError, InvalidTypeError
from sklearn.base import clone
from psdopt import ConjugateGradient
from psdopt_plugins.metric_learning import KTA, LMNN
from psdopt_plugins.spectral import TopKEigen
from tests.devices.libraries import fetched, is_of, sent

library = sys.argv[1]
rng = np.random.default_rng(0)
y = rng.integers(3, size=40)
X = rng.standard_normal((40, 6))
X[:, :3] += 2.0 * np.eye(3)[y]
K, w = X @ X.T - np.eye(40), rng.random(40)
there, labels = sent(library, X), sent(library, y)


def close(found, expected):
    assert is_of(library, found)
    np.testing.assert_allclose(fetched(found), expected, rtol=1e-9, atol=1e-9)


with config_context(array_api_dispatch=True):
    for options in ({}, {"sample_weight": w}):
        first_order = KTA(rank=3, solver_options={"method": ConjugateGradient()})  # Newton's steps are for the host
        model, known = clone(first_order).fit(there, labels, **options), clone(first_order).fit(X, y, **options)
        close(model.components_, known.components_)
        close(model.transform(there), known.transform(X))
        close(model.get_mahalanobis_matrix(), known.get_mahalanobis_matrix())
        close(model.result_.matrix.to_dense(), known.result_.matrix.to_dense())
    assert model.n_features_in_ == 6
    for algorithm in ("lanczos", "factor"):
        model, known = TopKEigen(3, algorithm).fit(sent(library, K)), TopKEigen(3, algorithm).fit(K)
        for name in ("eigenvalues_", "eigenvectors_", "residuals_"):
            close(getattr(model, name), getattr(known, name))
        close(model.approximation_.factor, known.approximation_.factor)
        close(model.transform(sent(library, K)), known.transform(K))
        close(model.solve_shifted(sent(library, w), 0.5), known.solve_shifted(w, 0.5))
    with pytest.raises(InvalidTypeError, match="X must be a NumPy array for LMNN; found an array of"):
        LMNN().fit(there, labels)
    with pytest.raises(InvalidInputError, match="y must have shape"):
        KTA().fit(there, labels[:-1])
    with pytest.raises(InvalidInputError, match="X must be finite; found 1 NaN"):
        KTA().fit(sent(library, np.where(X == X[0, 0], np.nan, X)), labels)
    assert isinstance(KTA(rank=3).fit(X, y).components_, np.ndarray)
if library == "torch":  # without dispatch scikit-learn makes NumPy arrays of what is on the host, and refuses the rest
    assert isinstance(KTA(rank=3).fit(there, y).components_, np.ndarray)
else:
    with pytest.raises((RuntimeError, TypeError, ValueError)):
        KTA(rank=3).fit(there, y)
"""


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_fitted_is_of_the_library_of_X(library: str) -> None:
    if library == "torch":
        pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, library],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert done.returncode == 0, done.stderr
