"""Problem checks: what a share of the rows of a sum promises to methods that look at samples."""

from __future__ import annotations

import numpy as np

from psdopt.contracts.abilities import Ability
from psdopt.contracts.problem import Problem
from psdopt.errors import InvalidInputError, InvalidTypeError
from psdopt.linalg.arrays import norm
from psdopt.testing.checks.common import PASSED, compare, failed, point_of, rounding_of, slope_unit, value_unit
from psdopt.testing.registry import FEW, Case, Deviation, Deviations, check

#: Samples drawn, each of this share of the rows, and the standard deviations that their mean may be off: by chance less
#: than once in 10⁷ checks.
DRAWS, SHARE, DEVIATIONS = 64, 0.3, 6.0


@check("problem", "0.3", needs={Ability.SAMPLE}, regimes=FEW)
def sample_of_all(problem: Problem, case: Case) -> Deviations:
    """sample(1) is F, in value and gradient; a share of 0, or above 1, is refused."""
    for share in (0.0, 1.5):
        try:
            problem.sample(share, case.rng)
        except InvalidInputError:
            continue
        return failed(f"gives a sample of {share:g} of its rows")
    whole = point_of(problem, case)
    sample = problem.sample(1.0, case.rng).at(whole.factor)
    G, found = whole.factor_gradient(), sample.factor_gradient()
    yield compare("F on all rows", sample.value, whole.value, value_unit(problem, whole), problem.n)
    yield compare("2 S Y on all rows", found, G, slope_unit(problem, whole), problem.n)
    return None


@check("problem", "0.3", needs={Ability.SAMPLE}, regimes=FEW)
def sample_is_unbiased(problem: Problem, case: Case) -> Deviations:
    """Over samples of a share of the rows, the means of F and 2 S Y are those of all rows; equal seeds draw alike."""
    whole = point_of(problem, case)
    seeds = case.rng.integers(2**31, size=DRAWS)
    samples = [problem.sample(SHARE, np.random.default_rng(seed)).at(whole.factor) for seed in seeds]
    again = problem.sample(SHARE, np.random.default_rng(seeds[0])).at(whole.factor)
    if again.value != samples[0].value:
        return failed("draws another sample with the same seed: a resumed run would not be the run")
    values, gradients = np.array([s.value for s in samples]), np.array([s.factor_gradient() for s in samples])
    found = (
        ("F", values, whole.value, value_unit(problem, whole)),
        ("2 S Y", gradients, whole.factor_gradient(), slope_unit(problem, whole)),
    )
    for noun, drawn, expected, unit in found:
        error, spread = norm(drawn.mean(axis=0) - expected), norm(drawn.std(axis=0)) / np.sqrt(DRAWS)
        words = f"the mean of {noun} over {DRAWS} samples is {error:.3g} from {noun} of all rows, of size "
        words += f"{norm(np.asarray(expected)):.3g}; chance explains {spread:.3g}"
        yield Deviation(error, DEVIATIONS * spread + rounding_of(unit, problem.n), words)
    return None


@check(
    "problem",
    "0.3",
    when=lambda problem: Ability.SAMPLE not in problem.abilities,
    reason="declares that it can be sampled",
    regimes=("full-rank",),
    repeats=False,
)
def sample_refused(problem: Problem, case: Case) -> Deviation:
    """What does not declare the ability gives no sample, which nobody could tell from one that is right."""
    try:
        problem.sample(0.5, case.rng)
    except InvalidTypeError:
        return PASSED
    return failed("gives a sample without declaring the ability")
