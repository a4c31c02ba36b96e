"""Problems, methods and certificates on arrays of other libraries: the same answers, and nothing long travels."""

from typing import Any

import numpy as np
import pytest

from psdopt import ConjugateGradient, FlatQuotient, OnlineRiemannianGradient, QuadraticSDP, certify, solve
from psdopt.contracts.abilities import Ability
from psdopt.data.streams import ArrayStream
from psdopt.devices import Deferred
from psdopt.linalg import top_eigenpairs
from psdopt.linalg.extreme import smallest_eigenpair
from psdopt.methods import TruncatedNewton
from psdopt.problems.streamed import Streamed
from psdopt_plugins.regression.online import rank_one_gradient
from psdopt_plugins.regression.problem import psd_regression_problem
from psdopt_plugins.spectral import topk_problem
from tests.devices.libraries import fetched, is_of, sent
from tests.integration.device_problems import (
    METHODS,
    PROBLEMS,
    A,
    N,
    R,
    T,
    X,
    at,
    close,
    closest,
    here,
    libraries,
    rng,
    same_certificate,
    wide_alignment,
    with_gram_forms,
)


@libraries
@pytest.mark.parametrize("name", PROBLEMS)
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
    # for a certificate NumPy has the entries of S, and S Y from them; on a device these are products with n columns
    # and with those of Y (at most one product of few columns is NumPy's alone)
    more = {key: found.counts[key] - expected.counts[key] for key in found.counts | expected.counts}
    assert more["operator_applications"] >= 0
    assert 0 <= more["operator_columns"] <= N * (more["operator_applications"] + 1)
    assert all(count == 0 for key, count in more.items() if not key.startswith("operator_"))
    # numbers of sums, small matrices: as many for any n, and none with n rows
    # (the first steps make what is made once, and look at M = 0)
    for to_device, to_host, most_rows in counts[2:]:
        assert to_device <= 16
        assert to_host <= 24
        assert most_rows <= 3 * R
    assert is_of(library, found.matrix.factor)
    assert is_of(library, found.point)


@libraries
@pytest.mark.parametrize("name", PROBLEMS)
def test_newtons_steps_are_numpys_and_send_numbers_only(name: str, library: str) -> None:
    """Each of its products takes four inner products, and whatever a Hessian product and a preconditioner ask for."""
    there, known = PROBLEMS[name](at(library)), PROBLEMS[name](here)
    if Ability.PRECONDITIONER in known.abilities - there.abilities:
        pytest.skip("its preconditioner is made on the host: elsewhere it has none")
    start, device = rng.standard_normal((N, R)), there.device
    counts: list[tuple[int, int, int]] = []

    def watch(snapshot: Any) -> None:
        transfers = device.transfers
        counts.append((transfers.to_device, transfers.to_host, transfers.most_rows))
        transfers.clear()

    options: dict[str, Any] = {"max_iterations": 5, "tol": 1e-12}
    geometry = FlatQuotient(N, R)
    found = solve(there, geometry, TruncatedNewton(), start=sent(library, start), callback=watch, **options)
    expected = solve(known, geometry, TruncatedNewton(), start=start, **options)
    close(found.history["value"], expected.history["value"], 1e-8)
    close(fetched(found.matrix.factor), expected.matrix.factor, 1e-5)
    assert is_of(library, found.matrix.factor)
    products = found.history["products"]
    for (to_device, to_host, most_rows), made in list(zip(counts, products[1:], strict=False))[2:]:
        assert to_device <= 16 + 8 * made
        assert to_host <= 24 + 8 * made
        assert most_rows <= 3 * R


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
        everything = numbers([found.history.records, vars(found.certificate), found.value])
        everything += [found.matrix.trace(), found.matrix.norm(), found.matrix.eigenvalues()]
        assert not [item for item in everything if isinstance(item, Deferred)]


@libraries
@pytest.mark.parametrize("name", ["with_matrices", "with_gram_forms", "closest"])
def test_whole_runs_end_in_the_same_certificate(name: str, library: str) -> None:
    there, known = PROBLEMS[name](at(library)), PROBLEMS[name](here)
    found, expected = solve(there, tol=1e-8), solve(known, method=ConjugateGradient(), tol=1e-8)
    assert found.optimal
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


def test_the_size_of_the_largest_array_is_known_on_any_device() -> None:
    assert closest(at("strict")).rows == closest(here).rows == N


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
