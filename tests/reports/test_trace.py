"""Certificates along a run."""

from typing import Any

import numpy as np

from psdopt import ConjugateGradient, FlatQuotient, QuadraticSDP, certify, solve
from psdopt.reports import CertificateTrace


def random_problem(n: int = 12) -> QuadraticSDP:
    rng = np.random.default_rng(1)
    A, C = rng.standard_normal((n, n)), rng.standard_normal((n, n))
    return QuadraticSDP(A=A @ A.T / n, C=C + C.T)


def test_the_trace_is_spaced_geometrically_and_holds_true_certificates() -> None:
    problem, factors = random_problem(), {}

    trace = CertificateTrace()

    def callback(snapshot: Any) -> bool:
        factors[snapshot.iteration] = snapshot.state.evaluation.factor
        return trace(snapshot)

    result = solve(problem, FlatQuotient(12, 12), ConjugateGradient(), tol=1e-8, callback=callback)
    iterations = [iteration for iteration, _ in trace.points]
    assert iterations[:4] == [1, 2, 3, 5]
    assert len(iterations) <= 2 + np.log(result.iterations) / np.log(1.45)
    for iteration, relative in trace.points:
        exact = certify(problem, factors[iteration], tol=1e-10)
        assert 0.9 * exact.relative <= relative <= 1.2 * exact.relative + 1e-8
    at, curve = trace.curve(result)
    assert at[-1] == result.iterations
    assert curve[-1] == result.certificate.relative


def test_the_trace_of_several_runs_is_that_of_the_last_and_the_whole_shows_one_behind_the_other() -> None:
    trace = CertificateTrace()
    for steps in (9, 4):
        result = solve(random_problem(), method=ConjugateGradient(), max_iterations=steps, callback=trace)
    assert [iteration for iteration, _ in trace.points] == [1, 2, 3]
    assert trace.curve(result)[0][-1] == result.iterations
    shown, (at, relative) = trace.whole(result, [5.0, 4.0])
    assert shown.history["iteration"].tolist() == list(range(1, 2 + 9 + 4 + 1))
    assert shown.history["value"][:2].tolist() == [5.0, 4.0]
    np.testing.assert_array_equal(shown.history["value"][-5:], result.history["value"])  # the start included
    assert at[-1] == 2 + 9 + 4
    assert relative[-1] == result.certificate.relative


def test_a_last_run_without_a_step_follows_the_others() -> None:
    trace = CertificateTrace()
    first = solve(random_problem(), FlatQuotient(12, 12), ConjugateGradient(), callback=trace, tol=1e-7)
    again = solve(
        random_problem(), FlatQuotient(12, 12), ConjugateGradient(), start=first.matrix.factor, callback=trace
    )
    assert again.iterations == 0
    shown, (at, _) = trace.whole(again)
    assert shown.history["iteration"][-1] == at[-1] == first.iterations
