"""GrowingSamples: few passes, proofs that hold, refusals, resumed runs, sums whose parts are elsewhere."""

from __future__ import annotations

import gc
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psdopt import (
    Ability,
    FlatQuotient,
    GrowingSamples,
    LowRankPSD,
    Problem,
    ProvenGap,
    QuadraticSDP,
    Result,
    Snapshot,
    TermSum,
    certify,
    solve,
)
from psdopt.errors import IncompatibleError, InvalidInputError
from psdopt.linalg import linear_map
from psdopt.problems.distributed import Here, Summed, touched
from psdopt.problems.distributed.totals import Total, added, size_of
from psdopt.terms import HalfSquaredOneSided, IdentityForm, LinearTerm, Loss, MeasuredTerm, PairDistances

N, M, D = 2_000, 40_000, 8
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D))
FIRST = RNG.integers(N, size=M)
SECOND = (FIRST + 1 + RNG.integers(N - 1, size=M)) % N
FACTOR = RNG.standard_normal((D, 3)) / 2
EXACT = np.sum(((X[FIRST] - X[SECOND]) @ FACTOR) ** 2, axis=1)
NOISY = EXACT * np.exp(0.3 * RNG.standard_normal(M))
SIDES = np.where(RNG.random(M) < 0.5, 1.0, -1.0)
BOUNDS = np.median(EXACT) * np.where(SIDES > 0.0, 0.5, 1.5)
TRACE = LinearTerm(IdentityForm(D), 0.01)


def pairs(chosen: Any = slice(None), sided: bool = False, data: Any = X) -> TermSum:
    """The part of the mean loss that comes from the `chosen` pairs."""
    rows, ends = touched(np.column_stack([FIRST[chosen], SECOND[chosen]]))
    loss = HalfSquaredOneSided(BOUNDS[chosen], SIDES[chosen]) if sided else HalfSquaredOneSided(NOISY[chosen])
    taken = data[rows] if isinstance(data, np.ndarray) else data
    ends = ends if isinstance(data, np.ndarray) else np.column_stack([FIRST[chosen], SECOND[chosen]])
    return TermSum([MeasuredTerm(PairDistances(ends[:, 0], ends[:, 1], taken), loss, 1.0 / M)])


def whole(sided: bool = False) -> TermSum:
    return TermSum([*pairs(sided=sided).terms, TRACE])


def divided(sided: bool = False) -> Summed:
    recipes = [(pairs, slice(k, None, 3), sided) for k in range(3)]
    return Summed([*recipes, None], local=TermSum([TRACE]))


def grown(problem: Problem, share: float = 1e-4, **options: Any) -> Result:
    stopping = ProvenGap(share)
    return solve(problem, FlatQuotient(D, D), GrowingSamples(), tol=1e-9, stopping=stopping, **options)


@pytest.fixture(scope="module", params=[False, True], ids=["squares", "bounds"])
def sided(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def least(sided: bool) -> float:
    best = solve(whole(sided), tol=1e-9)
    assert best.optimal
    return best.value


@pytest.mark.parametrize("make", [whole, divided])
def test_few_passes_prove_the_gap_that_was_asked(make: Any, sided: bool, least: float):
    result = grown(make(sided))
    certificate = result.certificate
    assert certificate is not None
    assert certificate.gap_relative <= 1e-4
    assert result.value - certificate.gap <= least + 1e-12 * abs(least)
    records = result.history.records
    assert records[-1]["share"] < 1.0  # at no time were all pairs in a sample
    # a plain run needs thirty and more, without a proof before its end
    assert records[-1]["passes"] <= (16.0 if sided else 10.0) * (2.0 if make is divided else 1.0)
    assert all(later["value"] < earlier["value"] for earlier, later in itertools.pairwise(records))


def test_every_bound_on_the_way_holds(sided: bool, least: float):
    """A proof that counted the curvature of the sample as that of all rows would be below the truth at first."""
    bounds: list[tuple[float, float]] = []

    def note(snapshot: Snapshot) -> None:
        found = certify(snapshot.state.problem, snapshot.state.evaluation, tol=1e-4, proof="needed")
        assert found.gap is not None
        bounds.append((found.gap, found.value - least))

    grown(whole(sided), callback=note)
    assert len(bounds) >= 3
    assert all(proven >= true for proven, true in bounds)


def test_curvature_scaled_up_to_all_rows_would_be_refuted():
    """The known-bad proof: rows of a sample of 1/64, counted 64 times, give bounds that the minimum passes."""
    problem, rng = whole(), np.random.default_rng(5)
    least, wrong = solve(problem, tol=1e-9).value, 0
    for _ in range(12):
        sample = problem.sample(1 / 256, rng)
        M = solve(sample, tol=1e-6).matrix
        evaluation = problem.at(M.factor)
        gap = certify(sample, M, tol=1e-6).gap
        assert gap is not None
        wrong += evaluation.value - gap > least
    assert wrong > 0


def test_a_sample_has_the_sum_as_its_expectation_and_keeps_terms_without_rows():
    problem = whole(True)
    Y = 0.5 * np.eye(D)
    values = [problem.sample(1 / 50, np.random.default_rng(seed)).at(Y).value for seed in range(60)]
    assert np.mean(values) == pytest.approx(problem.at(Y).value, abs=4.0 * np.std(values) / np.sqrt(60))
    sample = problem.sample(1 / 50, np.random.default_rng(0))
    assert sample.items == -(-M // 50)
    assert TRACE in sample.terms


def test_parts_draw_their_own_samples_and_agree_with_them():
    summed = divided()
    sample = summed.sample(1 / 10, np.random.default_rng(1))
    Y = 0.5 * np.eye(D)
    assert sample.at(Y).value == pytest.approx(summed.at(Y).value, rel=0.1)
    assert sample.at(Y).value != pytest.approx(summed.at(Y).value, rel=1e-6)
    again = summed.sample(1 / 10, np.random.default_rng(1))
    assert again.at(Y).value == sample.at(Y).value
    assert summed.items == M


class Counting(Here):
    """Counts the rounds in which it is asked, the bytes that go to each part, and what the parts keep at the end."""

    asked = 0

    def ask(self, questions: Any) -> Any:
        self.asked += 1
        self.sent += sum(size_of(tuple(given)) for _, _, given, _ in questions)
        return super().ask(questions)

    def total(self, question: Any) -> Any:
        self.asked += 1
        parts, _, given, _ = question
        self.sent += len(parts) * size_of(tuple(given))
        return added(Total.of(k, reply) for k, reply in zip(parts, self._of(question), strict=True))

    def _of(self, question: Any) -> Any:
        parts, *rest = question
        return super().ask([(k, *rest) for k in parts])

    def kept(self) -> int:
        return max(len(resident._held) for resident in self._residents if resident.problem is not None)


def test_rounds_and_bytes_of_samples_count_and_their_evaluations_are_forgotten():
    recipes, engine = [(pairs, slice(k, None, 3)) for k in range(3)], Counting()
    summed = Summed([*recipes, None], engine, TermSum([TRACE]))
    begun = engine.asked, engine.sent
    result = grown(summed)
    assert result.counts["rounds"] == engine.asked - begun[0] > 30  # a step on a sample is two rounds
    assert result.counts["sent"] == engine.sent - begun[1] > 0
    del result
    gc.collect()
    summed.total("items")  # with this request the parts forget
    assert engine.kept() <= 1  # F(0) stays with the problem


class Losing(Here):
    """An engine whose parts are lost, and made again, now and then."""

    asked = 0

    def place(self, parts: Any) -> None:
        self.parts = parts
        super().place(parts)

    def ask(self, questions: Any) -> Any:
        self.asked += 1
        if self.asked % 17 == 0:
            super().place(self.parts)
        return super().ask(questions)


def test_samples_survive_the_loss_of_parts():
    recipes = [(pairs, slice(k, None, 3)) for k in range(3)]
    lost, kept = (grown(Summed(recipes, engine), 1e-3) for engine in (Losing(), Here()))
    assert lost.value == pytest.approx(kept.value, rel=1e-4)
    assert lost.certificate.gap_relative <= 1e-3


@pytest.mark.parametrize("make", [whole, divided])
def test_a_resumed_run_ends_as_one_that_was_not_stopped(make: Any, tmp_path: Path):
    path = tmp_path / "run"
    whole_run = grown(make())
    solve(
        make(),
        FlatQuotient(D, D),
        GrowingSamples(),
        tol=1e-9,
        stopping=ProvenGap(1e-4),
        max_iterations=2,
        checkpoint=path,
    )
    resumed = grown(make(), resume=path)
    assert resumed.iterations == whole_run.iterations
    assert resumed.value == pytest.approx(whole_run.value, rel=1e-13)
    assert resumed.certificate.gap_relative <= 1e-4


def sources(folder: Path) -> list[Any]:
    """X in files of several kinds, as far as their libraries are here."""
    np.save(folder / "rows.npy", X)
    found: list[Any] = [np.load(folder / "rows.npy", mmap_mode="r")]
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(str(folder / "rows.zarr"), shape=X.shape, dtype=X.dtype, chunks=(500, D))
    array[:] = X
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({f"x{k}": X[:, k] for k in range(D)}), folder / "rows.parquet", row_group_size=500)
    found += [array, parquet.ParquetFile(folder / "rows.parquet")]
    dask = pytest.importorskip("dask.array")
    return [*found, dask.from_array(X, chunks=(500, D))]


def test_rows_in_files_give_the_same_run(tmp_path: Path):
    expected = grown(pairs(), 1e-3)
    for data in sources(tmp_path):
        result = grown(pairs(data=linear_map(data)), 1e-3)
        assert result.certificate.gap_relative <= 1e-3
        assert result.value == pytest.approx(expected.value, rel=1e-10)
        assert result.iterations == expected.iterations


class Joint(Loss):
    """½ (Σ a)²: no sum over measurements."""

    separable = False

    def value(self, a: Any) -> float:
        return 0.5 * float(a.sum()) ** 2

    def derivative(self, a: Any) -> Any:
        return np.full(len(a), a.sum())

    def curvature(self, a: Any, direction: Any) -> Any:
        return np.full(len(a), direction.sum())


def test_what_is_no_sum_over_rows_is_refused_in_a_sentence():
    joint = TermSum([MeasuredTerm(PairDistances([0, 1], [1, 2], X), Joint())])
    without = [Summed([None], local=TermSum([TRACE])), Summed([None, None], local=whole())]
    for problem in (joint, QuadraticSDP(B=1.0, C=-np.eye(4)), Summed([joint]), *without):
        assert Ability.SAMPLE not in problem.abilities
        with pytest.raises(IncompatibleError, match="sample"):
            solve(problem, FlatQuotient(problem.n, 2), GrowingSamples())
        with pytest.raises(TypeError, match="cannot be sampled"):
            problem.sample(0.5, np.random.default_rng(0))
    with pytest.raises(TypeError, match="is no sum over measurements"):
        Joint().part(np.arange(2))
    with pytest.raises(InvalidInputError, match="share must be"):
        whole().sample(0.0, np.random.default_rng(0))


@pytest.mark.parametrize("given", [{"first": 0.0}, {"growth": 1.0}, {"steps": 0}, {"accuracy": 1.0}, {"seed": -1}])
def test_parameters_are_checked(given: dict[str, Any]):
    with pytest.raises(InvalidInputError, match=next(iter(given))):
        GrowingSamples(**given)


def test_samples_too_small_for_the_unknowns_are_skipped():
    few = TermSum(
        [MeasuredTerm(PairDistances(FIRST[:200], SECOND[:200], X), HalfSquaredOneSided(NOISY[:200]), 1 / 200)]
    )
    result = solve(few, FlatQuotient(D, D), GrowingSamples(), tol=1e-7)
    assert result.optimal
    assert all(record.get("share", 1.0) == 1.0 for record in result.history.records)


def test_a_given_start_and_a_low_rank_are_kept():
    start = LowRankPSD(np.eye(D)[:, :3])
    method = GrowingSamples(first=1 / 8)
    result = solve(whole(), FlatQuotient(D, 3), method, start=start, max_iterations=4, tol=1e-9)
    assert result.matrix.rank == 3
    assert result.value < whole().at(start.factor).value
    grew = solve(whole(), FlatQuotient(D, 2), method, escape=True, stopping=ProvenGap(1e-3), tol=1e-4)
    assert grew.matrix.rank > 2
    assert grew.certificate.gap_relative <= 1e-3


def test_a_misleading_sample_grows_and_never_raises_the_value():
    """Targets of a few far pairs dominate F: small samples miss them, and what they promise is not kept."""
    heavy = np.where(np.arange(M) % 997 == 0, 1e3, 1.0) * NOISY
    term = MeasuredTerm(PairDistances(FIRST, SECOND, X), HalfSquaredOneSided(heavy), 1.0 / M)
    shares: list[float] = []
    values: list[float] = []

    def note(snapshot: Snapshot) -> None:
        shares.append(snapshot.state.share)
        values.append(snapshot.value)

    result = grown(TermSum([term]), 1e-3, callback=note)
    assert result.certificate.gap_relative <= 1e-3
    assert all(later <= earlier for earlier, later in itertools.pairwise(values))
    assert max(shares) > min(shares)


def test_rows_of_a_local_problem_are_neither_drawn_nor_counted():
    recipes, local = [(pairs, slice(k, 3_000, 3)) for k in range(3)], pairs(slice(3_000, None))
    summed = Summed(recipes, local=local)
    assert summed.items == 3_000
    before = summed.readings
    evaluation = summed.at(np.eye(D))
    assert evaluation.value > 0.0
    evaluation.factor_gradient()
    assert summed.readings - before == 2 * 3_000
    result = solve(summed, FlatQuotient(D, D), GrowingSamples(), stopping=ProvenGap(1e-4), tol=1e-9)
    assert result.history.records[1]["share"] * 3_000 >= 8 * D * (D + 1) // 2


def test_passes_never_fall_where_parts_are_lost():
    """A part that was made again counts from 0."""
    engine, passes = Losing(), []
    summed = Summed([(pairs, slice(k, None, 3)) for k in range(3)], engine)

    def lose(snapshot: Snapshot) -> None:
        passes.append(snapshot.record["passes"])
        engine.place(engine.parts)

    grown(summed, callback=lose)
    assert len(passes) >= 3
    assert passes[0] > 0.0
    assert all(later >= earlier for earlier, later in itertools.pairwise(passes))


def test_work_on_samples_is_counted():
    problem = whole()
    sample = problem.sample(1 / 10, np.random.default_rng(0))
    before = problem.readings
    evaluation = sample.at(np.eye(D))
    assert evaluation.value > 0.0
    evaluation.factor_gradient()
    assert problem.readings - before == 2 * M // 10
