"""A run that is cut before F at its start is known: its result holds the start, no value and no certificate."""

import numpy as np
import pytest

import psdopt.running.beginning
from psdopt import AutogradProblem, ConjugateGradient, FlatQuotient, LowRankPSD, QuadraticSDP, Status, solve
from psdopt.running.verdicts import CUTS

START = np.arange(12.0).reshape(6, 2) + 1.0


def cut_off(kind):
    class Cut(AutogradProblem):
        def at(self, Y):
            raise kind

    return Cut(lambda M: 0.0, 6, convex=True)


@pytest.mark.parametrize(("kind", "status"), CUTS.items())
@pytest.mark.parametrize("pieces", [(), (FlatQuotient(6, 2), ConjugateGradient())])
@pytest.mark.parametrize("start", [None, LowRankPSD(START)])
def test_a_cut_in_the_first_evaluation_returns_the_start(kind, status, pieces, start):
    result = solve(cut_off(kind), *pieces, start=start)
    assert result.status is status
    assert result.message.endswith("F at the start is not known")
    assert np.isnan(result.value)
    assert result.certificate is None
    assert len(result.history) == result.iterations == 0
    assert result.geometry
    assert result.method
    assert not result.converged
    assert "value=nan" in repr(result)
    if start is not None:
        assert np.array_equal(result.matrix.to_dense(), START @ START.T)


@pytest.mark.parametrize(("kind", "status"), CUTS.items())
@pytest.mark.parametrize("name", ["choose", "plain_start", "fitted_start"])
@pytest.mark.parametrize("start", [None, LowRankPSD(START)])
def test_a_cut_before_the_first_evaluation_returns_what_there_is(monkeypatch, kind, status, name, start):
    def cut(*args, **options):
        raise kind

    monkeypatch.setattr(psdopt.running.beginning, name, cut)
    problem = QuadraticSDP(None, 1.0, np.diag(np.arange(6.0)))
    result = solve(problem, start=start)
    assert result.status is status
    assert np.isnan(result.value)
    expected = np.zeros((6, 6)) if start is None else START @ START.T
    if name != "fitted_start" or start is not None:
        assert np.array_equal(result.matrix.to_dense(), expected)
    result.as_dict()


def test_a_result_without_a_value_is_saved_and_loaded(tmp_path):
    result = solve(cut_off(MemoryError))
    result.save(tmp_path / "cut.npz")
    loaded = type(result).load(tmp_path / "cut.npz")
    assert loaded.status is Status.OUT_OF_MEMORY
    assert np.isnan(loaded.value)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError])
def test_a_cut_as_the_products_are_counted_returns_the_start(kind):
    class Cut(QuadraticSDP):
        asked = False

        def counts(self):
            if not self.asked:
                self.asked = True
                raise kind
            return super().counts()

    result = solve(Cut(None, 1.0, np.eye(6)), start=LowRankPSD(START))
    assert result.status is CUTS[kind]
    assert np.array_equal(result.matrix.to_dense(), START @ START.T)
