"""Constraints on arrays of other libraries: the answers are NumPy's, and what travels is what the guide says."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psdopt import (
    LBFGS,
    AugmentedLagrangian,
    Constrained,
    Constraint,
    FlatQuotient,
    FunctionProblem,
    InteriorPoint,
    QuadraticSDP,
    SphereGradient,
    TermSum,
    TrustRegions,
    certify,
    constraints,
    solve,
)
from psdopt.devices import Device
from psdopt.errors import IncompatibleError, InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import as_dense
from psdopt.terms import LinearTerm
from psdopt.terms.forms import IdentityForm
from psdopt.terms.measurements import Entries
from tests.devices.libraries import is_of, sent
from tests.integration.device_constraints import PROBLEMS, SECOND, A, C, N, R, X, max_cut
from tests.integration.device_problems import at, close, here, libraries

rng = np.random.default_rng(17)


@pytest.fixture
def fetches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of all arrays that come to the host."""
    shapes: list[tuple[int, ...]] = []
    fetch, together = Device.fetch, Device._together

    def one(device: Device, raw: Any) -> Any:
        shapes.append(tuple(raw.shape))
        return fetch(device, raw)

    def several(device: Device, raws: list[Any]) -> Any:
        shapes.extend(tuple(raw.shape) for raw in raws)
        return together(device, raws)

    monkeypatch.setattr(Device, "fetch", one)
    monkeypatch.setattr(Device, "_together", several)
    return shapes


@libraries
@pytest.mark.parametrize("name", PROBLEMS)
def test_runs_end_where_numpys_do_with_the_same_certificate(name: str, library: str) -> None:
    there, known = PROBLEMS[name](at(library)), PROBLEMS[name](here)
    options: dict[str, Any] = {"start": rng.standard_normal((N, R)), "tol": 1e-9, "escape": True}
    geometry, method = FlatQuotient(N, R), AugmentedLagrangian()
    found, expected = solve(there, geometry, method, **options), solve(known, geometry, method, **options)
    assert found.optimal
    assert expected.optimal
    assert found.value == pytest.approx(expected.value, rel=2e-9)
    assert found.certificate.gap_relative <= 1e-9
    assert found.certificate.constraints.primal_infeasibility <= 1e-9
    for array in (found.matrix.factor, found.point, found.certificate.eigenvector):
        assert is_of(library, array)
    assert isinstance(found.certificate.constraints.multipliers, np.ndarray)
    close(found.certificate.slack(), as_dense(expected.certificate.slack()), 1e-3)
    again = certify(there, found.matrix, tol=1e-8, dual=found.certificate.constraints.multipliers)
    assert again.proves(1e-8)


@libraries
@pytest.mark.parametrize("name", PROBLEMS)
def test_certificates_of_any_matrix_and_multipliers_are_numpys(name: str, library: str) -> None:
    there, known = PROBLEMS[name](at(library)), PROBLEMS[name](here)
    Y, y = rng.standard_normal((N, R)), rng.standard_normal(known.m)
    one, other = certify(there, sent(library, Y), dual=y), certify(known, Y, dual=y)
    assert is_of(library, one.eigenvector)
    for field in ("value", "value_at_zero", "trace", "stationarity", "smallest_eigenvalue", "complementarity"):
        assert getattr(one, field) == pytest.approx(getattr(other, field), rel=1e-9), field
    if there.forms is not None:  # else NumPy's looks at entries, which bound the trace
        assert one.unit == pytest.approx(other.unit, rel=1e-6)
        assert one.gap == pytest.approx(other.gap, rel=1e-6)
    relative = one.constraints.primal_infeasibility
    assert relative > 0.0
    if there.forms is not None:
        assert relative == pytest.approx(other.constraints.primal_infeasibility, rel=1e-9)
    close(there.norms, known.norms, 0.3 if there.forms is None else 1e-12)
    close(there.measured(there.at(sent(library, Y)).factor), known.measured(Y))


@libraries
def test_vectors_travel_at_the_ends_of_rounds_and_matrices_never(library: str, fetches: list[tuple[int, ...]]) -> None:
    """Beyond order 500, at which no gradient is gathered: A(M) and the diagonal of M are all that is long."""
    n, r = 520, 33
    sides = np.triu(rng.random((n, n)) < 0.1, 1) * 1.0
    laplacian = np.diag((sides + sides.T).sum(axis=1)) - (sides + sides.T)
    start, within, sent_within = rng.standard_normal((n, r)), [0], [0]

    def problem(at: Any) -> Constrained:
        return Constrained(QuadraticSDP(C=at(-0.25 * laplacian)), constraints.diagonal(n, 1.0))

    there = problem(at(library))
    device = there.device
    assert device is not None

    def watch(snapshot: Any) -> None:
        ended = snapshot.history["rounds"]
        long = [shape for shape in fetches if shape and shape[0] > 3 * r]
        assert all(shape == (n,) for shape in long)
        assert len(long) <= 3 * r
        if len(ended) > 1 and ended[-1] == ended[-2]:
            within.append(len(long))
            sent_within.append(device.transfers.most_rows)
        fetches.clear()
        device.transfers.clear()

    method = AugmentedLagrangian(inside_steps=2)
    found = solve(there, FlatQuotient(n, r), method, start=sent(library, start), tol=1e-3, callback=watch)
    assert found.optimal
    assert is_of(library, found.matrix.factor)
    assert len(within) > 2
    assert max(within) == 0
    assert max(sent_within) <= 3 * r
    expected = solve(problem(here), FlatQuotient(n, r), method, start=start, tol=1e-3)
    assert found.value == pytest.approx(expected.value, rel=2e-3)
    assert found.certificate.gap_relative <= 1e-3


@libraries
def test_columns_are_added_on_the_device(library: str) -> None:
    options: dict[str, Any] = {"start": rng.standard_normal((N, 1)), "escape": True, "tol": 1e-8}
    found, expected = (
        solve(max_cut(place), FlatQuotient(N, 1), AugmentedLagrangian(), **options) for place in (at(library), here)
    )
    assert found.optimal
    assert found.rank == expected.rank > 1
    assert found.value == pytest.approx(expected.value, rel=1e-8)
    limited = solve(max_cut(at(library)), FlatQuotient(N, 1), AugmentedLagrangian(), escape=True, max_rank=2, tol=1e-8)
    assert limited.rank <= 2


@libraries
def test_without_a_method_the_one_that_works_on_a_device_is_chosen(library: str) -> None:
    for name in ("max_cut", "squares"):
        found, expected = solve(PROBLEMS[name](at(library)), tol=1e-8), solve(PROBLEMS[name](here), tol=1e-8)
        assert found.method == "AugmentedLagrangian"
        assert found.optimal
        assert found.value == pytest.approx(expected.value, rel=1e-8)


@libraries
def test_inner_methods_of_first_order(library: str) -> None:
    method = AugmentedLagrangian(inside=LBFGS())
    found, expected = (solve(max_cut(place), FlatQuotient(N, R), method, tol=1e-2) for place in (at(library), here))
    assert found.optimal
    assert found.value == pytest.approx(expected.value, rel=2e-2)


@libraries
def test_a_resumed_run_is_the_unbroken_one(library: str, tmp_path: Path) -> None:
    start, file = rng.standard_normal((N, R)), tmp_path / "run.psdopt"
    geometry, method = FlatQuotient(N, R), AugmentedLagrangian(inside_steps=2)

    def run(steps: int, **options: Any) -> Any:
        return solve(PROBLEMS["fit"](at(library)), geometry, method, max_iterations=steps, tol=1e-12, **options)

    unbroken = run(9, start=start)
    run(4, start=start, checkpoint=file)
    resumed = run(9, resume=file)
    assert resumed.history["value"].tolist() == unbroken.history["value"].tolist()
    assert is_of(library, resumed.matrix.factor)


@libraries
def test_what_needs_numpys_arrays_says_so_before_the_run(library: str) -> None:
    F, alone = QuadraticSDP(C=sent(library, C)), "takes NumPy arrays only, and the data of F are on a device"
    for constraint, name in (
        (constraints.sparse_forms([np.eye(N)], 1.0), "sparse_forms"),
        (constraints.norm_bound(Entries([0, 1], [0, 1], N), 0.0, 1.0), "norm_bound under cones"),
    ):
        with pytest.raises(InvalidTypeError, match=f"^{name} {alone}"):
            Constrained(F, constraint)
    squares = constraints.quadratic_forms(sent(library, X), upper=1.0)
    trace = TermSum([LinearTerm(IdentityForm(N))])
    for objective, constraint in ((F, constraints.quadratic_forms(X, upper=1.0)), (trace, squares)):
        with pytest.raises(InvalidInputError, match="the arrays of F and of quadratic_forms must be in one place"):
            Constrained(objective, constraint)
    there = max_cut(at(library))
    with pytest.raises(IncompatibleError, match="inside=TrustRegions takes NumPy arrays only"):
        solve(there, FlatQuotient(N, R), AugmentedLagrangian(inside=TrustRegions()))
    for method in (InteriorPoint(), SphereGradient()):
        with pytest.raises(IncompatibleError, match=f"the method {type(method).__name__} takes NumPy arrays only"):
            solve(there, FlatQuotient(N, R), method)
    singular = Constrained(F, [constraints.diagonal(N, upper=1.0), constraints.entries([0], [0], N, 0.0)])
    with pytest.raises(IncompatibleError, match="constraints that confine M to a face of the cone take NumPy arrays"):
        solve(singular, FlatQuotient(N, R), AugmentedLagrangian())


@libraries
def test_contradictory_constraints_are_proven_so(library: str) -> None:
    F = QuadraticSDP(sent(library, A), None, sent(library, C))
    off = Constraint(Entries([0], SECOND[:1], N), 2.0)  # |M_0j| <= 1 where the diagonal is 1
    found = solve(Constrained(F, [constraints.diagonal(N, 1.0), off]), FlatQuotient(N, R), AugmentedLagrangian())
    assert found.status.label == "infeasible"


def test_a_function_of_pytorch_under_constraints() -> None:
    torch = pytest.importorskip("torch")
    there = torch.asarray(C)
    F = FunctionProblem(lambda M: (there * M).sum() + 0.5 * (M * M).sum(), N, "torch", "matrix", True, device="cpu")
    cube = constraints.diagonal(N, 1.0)
    found, expected = (
        solve(Constrained(each, cube), FlatQuotient(N, R), AugmentedLagrangian(), escape=True, tol=1e-8)
        for each in (F, QuadraticSDP(None, 0.5, 0.5 * C))
    )
    assert found.optimal
    assert is_of("torch", found.matrix.factor)
    assert found.value == pytest.approx(expected.value, rel=2e-8)
