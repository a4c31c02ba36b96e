"""Problems, methods and certificates on arrays of other libraries: the same answers, and nothing long travels."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from psdopt import (
    BILGO,
    LBFGS,
    BlockConjugateGradient,
    ConjugateGradient,
    FlatQuotient,
    LowRankPSD,
    Method,
    OnlineRiemannianGradient,
    Polar,
    Problem,
    PSDCone,
    QuadraticSDP,
    TermSum,
    TrustRegions,
    certify,
    devices,
    solve,
)
from psdopt.data.streams import ArrayStream
from psdopt.devices import Later, on_host
from psdopt.errors import CheckpointError, IncompatibleError, InvalidInputError, InvalidTypeError
from psdopt.linalg import linear_map, top_eigenpairs
from psdopt.linalg.extreme import smallest_eigenpair
from psdopt.problems.streamed import Streamed
from psdopt.terms import (
    Entries,
    GramForm,
    HalfSquaredOneSided,
    IdentityForm,
    LeastSquares,
    Linear,
    LinearTerm,
    MatrixForm,
    MeasuredTerm,
    PairDistances,
    ProductTerm,
    QuadraticForms,
    SquaredHinge,
    TripletDifferences,
)
from psdopt_plugins.metric_learning import kta_problem, pair_distance_problem
from psdopt_plugins.regression.online import rank_one_gradient
from psdopt_plugins.regression.problem import psd_regression_problem
from psdopt_plugins.spectral import topk_problem
from tests.devices.libraries import LIBRARIES, fetched, is_of, sent

Place = Callable[[Any], Any]
N, R = 14, 3
rng = np.random.default_rng(5)
X, L = rng.standard_normal((40, N)), np.eye(3)[rng.integers(3, size=40)]


def definite(n: int, k: int) -> Any:
    half = rng.standard_normal((n, k))
    return half @ half.T / k


A, B, C = definite(N, 20), definite(N, 16), -definite(N, 6)


def with_matrices(at: Place) -> Problem:
    return QuadraticSDP(MatrixForm(at(A), psd=True), MatrixForm(at(B), psd=True), at(C))


def with_gram_forms(at: Place) -> Problem:
    data = linear_map(at(X), "X")
    return QuadraticSDP(GramForm(data, 0.3), 1.0, [GramForm(data, -0.1, L), IdentityForm(N, 0.2)])


def with_terms(at: Place) -> Problem:
    K = MatrixForm(at(A), psd=True)
    return TermSum([ProductTerm(K, IdentityForm(N)), LinearTerm(at(C), 0.5)], 2.0)


def closest(at: Place) -> Problem:
    """|M − K|² for a K of both signs, as in the leading eigenpairs."""
    return QuadraticSDP(None, 1.0, at(C + 0.5 * np.eye(N)))


FIRST, SECOND, THIRD = rng.integers(0, 13, size=60), rng.integers(13, 26, size=60), rng.integers(26, 40, size=60)
T = np.abs(rng.standard_normal(60)) + 1.0


def measured(measurement: Any, loss: Any) -> Problem:
    n = measurement.n
    return TermSum([MeasuredTerm(measurement, loss, 1.0 / measurement.size), LinearTerm(IdentityForm(n), 0.01)])


def quadratic_forms(at: Place) -> Problem:
    return measured(QuadraticForms(at(X)), HalfSquaredOneSided(T[:40], np.sign(X[:, 0]) * (X[:, 1] > 0.0)))


def pair_distances(at: Place) -> Problem:
    return measured(PairDistances(FIRST, SECOND, at(X)), LeastSquares(T, 1.0 / T))


def hinged_pairs(at: Place) -> Problem:
    """With every array handed in on the device."""
    sign, weights = np.where(X[FIRST, 0] > 0.0, 1.0, -1.0), np.arange(60.0)
    return measured(PairDistances(at(FIRST), at(SECOND), at(X)), SquaredHinge(at(T), at(sign), at(weights)))


def triplets(at: Place) -> Problem:
    return measured(TripletDifferences(FIRST, SECOND, THIRD, at(X)), SquaredHinge(1.0))


def entries(at: Place) -> Problem:
    i, j = np.triu_indices(N)
    return measured(Entries(at(i[::3]), at(j[::3]), N), LeastSquares(C[i[::3], j[::3]] + 0.1))


def entry_distances(at: Place) -> Problem:
    """Distances within M itself, of order n, whose indices say where it is; one loss is linear."""
    i, j = np.triu_indices(N, 1)
    distances = PairDistances(at(i), at(j), n=N)
    return TermSum([
        MeasuredTerm(distances, HalfSquaredOneSided(2.0), 0.1),
        MeasuredTerm(Entries(i[:5], j[:5], N), Linear(0.3)),
        MeasuredTerm(Entries(i[:5], j[:5], N), Linear(np.arange(5.0)), 0.01),
    ])  # fmt: skip


def alignment(at: Place) -> Problem:
    return kta_problem(at(X), L @ np.arange(3.0), 0.01, gram=False, weights=T[:40])


def wide_alignment(at: Place) -> Problem:
    """Of an order at which the leading part of the spectrum is the preconditioner's."""
    own = np.random.default_rng(8)
    return kta_problem(at(own.standard_normal((90, 70))), own.integers(3, size=90), 1e-6, gram=False)


def learned_pairs(at: Place) -> Problem:
    """Thresholds from percentiles of distances."""
    return pair_distance_problem(at(X), (np.stack([FIRST, SECOND], axis=1), np.stack([SECOND, THIRD], axis=1)))


APPLIED = (alignment, learned_pairs)
MEASURED = (quadratic_forms, pair_distances, hinged_pairs, triplets, entries, entry_distances)
QUADRATIC = (with_matrices, with_gram_forms, with_terms, closest)
PROBLEMS = {build.__name__: build for build in (*QUADRATIC, *MEASURED, *APPLIED)}
METHODS: dict[str, Method] = {
    "conjugate gradient": ConjugateGradient(),
    "gram": ConjugateGradient(preconditioner="gram", search="armijo", update="HS"),
    "diagonal": ConjugateGradient(preconditioner="diagonal"),
    "unscaled": ConjugateGradient(preconditioner="none"),
    "LBFGS": LBFGS(memory=4),
    "block": BlockConjugateGradient(),
}
cases = pytest.mark.parametrize("name", PROBLEMS)
libraries = pytest.mark.parametrize("library", LIBRARIES)


def at(library: str) -> Place:
    return lambda array: sent(library, array)


def here(array: Any) -> Any:
    return array


def close(found: Any, expected: Any, rtol: float = 1e-9) -> None:
    expected = np.asarray(expected)
    scale = float(np.max(np.abs(expected), initial=0.0))
    np.testing.assert_allclose(np.asarray(on_host(found)), expected, rtol=rtol, atol=rtol * scale)


@libraries
@cases
def test_values_gradients_lines_and_planes_are_numpys(name: str, library: str) -> None:
    there, known = PROBLEMS[name](at(library)), PROBLEMS[name](here)
    Y, D, v = (rng.standard_normal((N, R)), rng.standard_normal((N, R)), rng.standard_normal(N))
    for factor, direction, column in ((Y, D, v), tuple(sent(library, array) for array in (Y, D, v))):
        found, expected = there.at(factor), known.at(Y)
        close(found.value, expected.value)
        close(found.factor_gradient(), expected.factor_gradient())
        close(found.gradient @ direction, expected.gradient @ D)
        line, known_line = found.along(direction), expected.along(D)
        for mu in (0.0, 0.3, -1.0):
            close(line.value(mu), known_line.value(mu))
            close(line.derivatives(mu), known_line.derivatives(mu))
            close(line.step(mu).factor_gradient(), known_line.step(mu).factor_gradient())
        close(line.minimize(), known_line.minimize())
        plane, known_plane = found.along_atom(column), expected.along_atom(v)
        close(plane.value(0.5, 2.0), known_plane.value(0.5, 2.0))
        close(plane.minimize(), known_plane.minimize())
        close(found.hessian_vector(direction), expected.hessian_vector(D))
        grown, known_grown = found.append(column), expected.append(v)
        close(grown.factor_gradient(), known_grown.factor_gradient())
        close(grown.mix(np.eye(R + 1)[:, ::-1]).value, known_grown.value)
        assert found.refresh().value == pytest.approx(expected.value, rel=1e-12)


#: Every method on a quadratic problem, and every problem with conjugate gradient.
PAIRS = [("with_gram_forms", method) for method in METHODS] + [(name, "conjugate gradient") for name in PROBLEMS]
PAIRS.remove(("learned_pairs", "conjugate gradient"))  # its preconditioner is made on the host: elsewhere it has none
PAIRS += [("with_matrices", "block"), ("hinged_pairs", "LBFGS"), ("triplets", "gram"), ("learned_pairs", "gram")]


@libraries
@pytest.mark.parametrize(("name", "method"), list(dict.fromkeys(PAIRS)))
def test_iterates_are_numpys_and_nothing_long_travels(name: str, method: str, library: str) -> None:
    there, known = PROBLEMS[name](at(library)), PROBLEMS[name](here)
    start = rng.standard_normal((N, R))
    device = there.device
    assert device is not None
    counts: list[tuple[int, int, int]] = []

    def watch(snapshot: Any) -> None:
        transfers = device.transfers
        counts.append((transfers.to_device, transfers.to_host, transfers.most_rows))
        transfers.clear()

    options: dict[str, Any] = {"max_iterations": 6, "tol": 1e-12}
    found = solve(there, FlatQuotient(N, R), METHODS[method], start=sent(library, start), callback=watch, **options)
    expected = solve(known, FlatQuotient(N, R), METHODS[method], start=start, **options)
    close(found.history["value"], expected.history["value"], 1e-8)
    close(fetched(found.matrix.factor), expected.matrix.factor, 1e-6)
    assert found.counts == expected.counts
    # numbers of sums, small matrices: as many for any n, and none with n rows
    # (the first steps make what is made once, and look at M = 0)
    for to_device, to_host, most_rows in counts[2:]:
        assert to_device <= 16
        assert to_host <= 24
        assert most_rows <= 3 * R
    assert is_of(library, found.matrix.factor)
    assert is_of(library, found.point)


#: Of a step: transfers to the host, each of which waits for the device; small matrices sent; and what is launched.
BUDGET = {
    ("wide alignment", "conjugate gradient"): (3, 3, 58),
    ("wide alignment", "LBFGS"): (6, 3, 110),
    ("wide alignment", "block"): (8, 9, 58),
    ("closest", "conjugate gradient"): (3, 2, 36),
    ("closest", "LBFGS"): (6, 3, 76),
    ("closest", "block"): (8, 6, 38),
}
#: What PyTorch does without work for a device: views, and numbers of the host.
FREE = ("view", "reshape", "permute", "t.", "transpose", "detach", "lift_fresh", "slice", "select", "unsqueeze")


@pytest.mark.parametrize(("name", "method"), BUDGET)
def test_a_step_waits_for_the_device_a_few_times_and_launches_little(name: str, method: str) -> None:
    """The host's share of a step on a GPU, as counts that hold for any n."""
    torch = pytest.importorskip("torch")
    from torch.utils._python_dispatch import TorchDispatchMode

    launched = 0

    class Counted(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), options: Any = None) -> Any:
            nonlocal launched
            launched += not str(function).removeprefix("aten.").startswith(FREE)
            return function(*args, **(options or {}))

    problem = wide_alignment(at("torch")) if name == "wide alignment" else PROBLEMS[name](at("torch"))
    assert problem.device is not None
    transfers = problem.device.transfers
    seen: list[tuple[int, int, int]] = []

    def watch(snapshot: Any) -> None:
        nonlocal launched
        seen.append((transfers.to_host, transfers.to_device, launched))
        transfers.clear()
        launched = 0

    with Counted():
        start = torch.asarray(rng.standard_normal((problem.n, R)))
        geometry = FlatQuotient(problem.n, R)
        solve(problem, geometry, METHODS[method], start=start, max_iterations=9, tol=1e-14, callback=watch)
    assert len(seen) >= 8
    steps = seen[5:]  # what is made once is made by then, and four pairs are kept
    for found, allowed in zip(zip(*steps, strict=True), BUDGET[name, method], strict=True):
        assert int(np.median(found)) <= allowed, steps


@libraries
def test_results_hold_numbers_and_nothing_that_waits(library: str) -> None:
    def numbers(found: Any) -> Any:
        if isinstance(found, dict):
            return [item for value in found.values() for item in numbers(value)]
        if isinstance(found, (list, tuple)):
            return [item for value in found for item in numbers(value)]
        return [found]

    for method in ("gram", "LBFGS", "block"):
        found = solve(with_gram_forms(at(library)), FlatQuotient(N, R), METHODS[method], tol=1e-6)
        assert found.certificate is not None
        everything = numbers([found.history.records, vars(found.certificate), found.value])
        everything += [found.matrix.trace(), found.matrix.norm(), found.matrix.eigenvalues()]
        assert not [item for item in everything if isinstance(item, Later)]


def same_certificate(there: Problem, known: Problem, Y: Any, library: str, tol: float) -> None:
    """That of M = Y Yᵀ, Y of the library, is the same wherever the arrays are."""
    one, other = certify(there, Y, tol=tol), certify(known, fetched(Y), tol=tol)
    assert one.proof == other.proof
    assert one.proves(tol) == other.proves(tol)
    assert is_of(library, one.eigenvector)
    scale = max(abs(other.value), other.unit)
    for field in ("value", "value_at_zero", "unit", "complementarity", "gap", "trace"):
        wanted = getattr(other, field)
        assert getattr(one, field) == (None if wanted is None else pytest.approx(wanted, rel=1e-9, abs=1e-11 * scale))
    for field in ("smallest_eigenvalue", "lower_bound", "dual_infeasibility", "stationarity"):
        assert getattr(one, field) == pytest.approx(getattr(other, field), rel=1e-6, abs=1e-10 * scale)


@libraries
@pytest.mark.parametrize("name", ["with_matrices", "with_gram_forms", "closest"])
def test_whole_runs_end_in_the_same_certificate(name: str, library: str) -> None:
    there, known = PROBLEMS[name](at(library)), PROBLEMS[name](here)
    found, expected = solve(there, tol=1e-8), solve(known, method=ConjugateGradient(), tol=1e-8)
    assert found.optimal
    assert found.certificate is not None
    assert is_of(library, found.matrix.factor)
    assert is_of(library, found.certificate.eigenvector)
    close(found.value, expected.value)
    close(fetched(found.matrix.to_dense()), expected.matrix.to_dense(), 1e-3)
    same_certificate(there, known, found.matrix.factor, library, 1e-8)
    same_certificate(there, known, sent(library, 0.5 * fetched(found.matrix.factor)), library, 1e-8)


def test_beyond_order_500_the_bound_comes_from_block_products_on_the_device() -> None:
    n, library = 520, "strict"
    half = rng.standard_normal((n, 30))
    K = half @ half.T / 30 - 0.05 * np.eye(n)
    there, known = QuadraticSDP(None, 1.0, sent(library, -K)), QuadraticSDP(None, 1.0, -K)
    device = there.device
    assert device is not None
    geometry, method = FlatQuotient(n, 34), ConjugateGradient()
    device.transfers.clear()
    found = solve(there, geometry, method, tol=1e-7)
    assert found.optimal
    same_certificate(there, known, found.matrix.factor, library, 1e-7)
    Y = found.matrix.factor
    device.transfers.clear()
    again = certify(there, found.matrix, tol=1e-7)
    assert again.proves(1e-7)
    blocks = -(-again.products // 2)
    assert device.transfers.to_host <= 60 + 8 * blocks
    assert is_of(library, again.eigenvector)
    # S itself, as an operator and as data
    S = there.at(Y).gradient
    pair, dense = smallest_eigenpair(S, tol=1e-6), smallest_eigenpair(known.at(fetched(Y)).gradient, tol=1e-6)
    assert pair.value == pytest.approx(dense.value, abs=1e-6)
    assert pair.lower_bound <= pair.value
    close(smallest_eigenpair(sent(library, K), tol=1e-8).value, -0.05, 1e-6)


def test_blas_has_one_thread_where_only_small_matrices_are_on_the_host() -> None:
    assert closest(at("strict")).rows == 0
    assert closest(here).rows == N


@libraries
def test_the_rank_grows_on_the_device(library: str) -> None:
    found = solve(closest(at(library)), FlatQuotient(N, 1), ConjugateGradient(), escape=True, tol=1e-8)
    expected = solve(closest(here), FlatQuotient(N, 1), ConjugateGradient(), escape=True, tol=1e-8)
    assert found.optimal
    assert found.rank == expected.rank > 1
    close(found.value, expected.value)


@libraries
def test_batches_of_a_stream_are_where_the_rows_are(library: str) -> None:
    targets, method = T[:40], OnlineRiemannianGradient(batch_size=8, scale=0.125, annealing=1.0)

    def run(rows: Any, **options: Any) -> tuple[Any, Streamed]:
        held_out = psd_regression_problem(rows, targets, None, options.get("direction"))
        problem = Streamed(ArrayStream(rows, targets, seed=1, **options), held_out, rank_one_gradient)
        return solve(problem, FlatQuotient(N, R), method, max_iterations=2), problem

    for options in ({}, {"direction": np.sign(X[:, 0])}):
        (found, problem), (expected, _) = run(sent(library, X), **options), run(X, **options)
        close(found.history["value"], expected.history["value"])
        assert is_of(library, found.matrix.factor)
        rows = next(problem.stream.take(8, 0, 1)).rows
        assert is_of(library, rows.raw)


@libraries
def test_leading_eigenpairs_are_found_on_the_device(library: str) -> None:
    for n in (40, 260):
        K = rng.standard_normal((n, n))
        found, expected = top_eigenpairs(sent(library, K + K.T), 3), top_eigenpairs(K + K.T, 3)
        close(found.values, expected.values, 1e-6)
        assert is_of(library, found.vectors.raw)
        close(found.vectors.T @ found.vectors, np.eye(3))
    found = solve(topk_problem(sent(library, A), 2), FlatQuotient(N, 2))
    close(found.value, -np.sum(np.linalg.eigvalsh(A)[-2:] ** 2))


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
        solve(problem, FlatQuotient(N, R), LBFGS(), start=start, max_iterations=steps, tol=1e-14)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", ["with_matrices", "with_gram_forms", "hinged_pairs", "triplets"])
def test_steps_on_numpy_arrays_never_come_to_the_door(name: str) -> None:
    assert calls_of_the_door(12, name) == calls_of_the_door(6, name)
