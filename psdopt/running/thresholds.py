"""Where one method takes the place of another in :func:`psdopt.running.choose.choose`, and why there."""

from __future__ import annotations

from dataclasses import dataclass

from psdopt.constraints.soft import SoftSize
from psdopt.methods.sphere_gradient import SPARE


@dataclass(frozen=True)
class Thresholds:
    """Thresholds between methods in :func:`choose`, with the measurement behind each number.

    large_order : beyond this order A is not decomposed, so that conjugate gradient lacks its best preconditioner, and
        block conjugate gradient, which needs none, is faster (docs/experiments/lro.md).
    fewest, most : columns at the start of a run under constraints. Columns are added if they do not suffice, and short
        ones are dropped: on tori of order 2,000 runs began with 22 columns and ended with 8.
    on_spheres : columns at the start of `SphereGradient`, or √(2 m) + 1 where that is less and no saddle has to be
        looked for: random graphs of order 100 took .9 and of order 400 .7 of the time from 8 and 9 columns.
    spare : if the diagonal is fixed, a run begins with √(2 m) columns divided by this number: solutions had a quarter
        of √(2 m) columns on random graphs, an eighth on tori. `SphereGradient` adds columns up to the same number.
    spread : a fixed diagonal whose entries differ by more than this factor is left to the interior point method, whose
        steps do not depend on units: at order 60 conjugate gradient is as fast up to 1e4, and takes three to four times
        as long at 1e8.
    affordable : most flops of a step of an interior point method (thetaG11 of SDPLIB takes 2.5e10).
    largest : the same for Newton's system where decompositions are affordable and `factor_steps` steps on a factor cost
        more than one of an interior point method (m = 10,600 takes 0.9 GB): theta numbers of order 1,000 with 7,000
        edges, whose C is dense, end in 25 interior steps of 3.7 s; an augmented Lagrangian was at a gap of .01 after
        215 s.
    factor_steps : ten thousands of them end a run that a dozen or two interior steps end.
    newton_order : up to this order some hundred decompositions are affordable, and an interior point method is faster
        on a face with a linear F: for bisection of a random graph of order 1,001 it took 12 s, whereas methods on a
        factor were far from a solution after 48 s.
    decomposed_order : up to this order an eigendecomposition in every step, 9 n³ flops, is affordable: some seconds.
    many : above this number of constraints per row of a block, splitting the dual is cheaper than systems of order m:
        at 7.4 (theta3) splitting took 2.6 times as long as an interior point method, at 12.1 (theta5) half as long.
    sparse : above this ratio of Σ s³ to √(2 m) times the entries of the constraints, an augmented Lagrangian takes the
        place of splitting: for theta numbers both took as long at 63 (orders 200 and 400, density 0.1), as long as each
        step took a decomposition.
    sparse_apart : the same where no two equations meet in an entry, so that splitting takes a few hundred steps, few of
        them with a decomposition: theta numbers of graphs of degree 20 took half as long at 228 (order 500), less than
        that at 379 (order 700).
    unlike_few : the entries of a nuclear norm whose relative distance from all matrices of log m columns is larger have
        solutions of high rank, found by splitting: at orders 120 to 500 it took a sixth to a tenth of the time of the
        augmented Lagrangian at distances of .0015 to .05, and up to four times as long for exact entries of order 800.
    second_order : up to this number n r of unknowns, 128², Newton steps begin once conjugate gradient has settled, and
        after a hundred of its steps beyond.
    cheap : up to this number of flops a factorisation is cheap for any blocks (m = 1,442), and an interior point
        method, the most reliable one, is chosen.
    fast : up to this number of flops (m = 766) Newton steps are faster than splitting whatever the blocks: at 2e7
        flops noisy entries took .06 to .09 s and .05 to .18 s, at 2.4e8 .23 to .26 s and .08 to .17 s.
    binding : solutions for m measurements have up to √(2 m) columns; a limit below that divided by this number binds:
        at 1/25 to 1/6, steps on the factor took .2 to 1 times as long as those on Lagrange's conditions, at 1/3 to 3/5
        1 to 10 times. Where √(2 m) exceeds n, 122 regressions of order 3 to 30 took .7 to .95 in the mean.
    gradient_steps : gradient steps of DualNewton before another method takes its place. Correlation matrices of order
        30 to 300 under weights from 0 to 1 took 15 to 250, at most 1.7 times as long as Newton steps on factor and
        multipliers (order 30) and down to less than 1/20 (order 300). Weights that span 1e3 took 300 to 1,200.
    unlike : above this ratio of the largest to the least weight of squares, methods on factors and on Lagrange's
        conditions take hundreds and thousands of steps. An interior point method, whose steps do not depend on weights,
        was the fastest, or took at most 1.3 times as long, on 18 problems of entries whose weights span 1e3 (seeds 10
        to 45 of ``python -m benchmarks choices``); the others took up to 18 times as long.
    """

    large_order: int = 2000
    fewest: int = 8
    most: int = 30
    on_spheres: int = 16
    spare: int = SPARE
    spread: float = 1e4
    affordable: float = 6e10
    largest: float = 4e11
    factor_steps: float = 2e3
    newton_order: int = 1500
    decomposed_order: int = 3000
    many: float = 9.0
    sparse: float = 100.0
    sparse_apart: float = 1500.0
    unlike_few: float = 1e-3
    second_order: int = 16384
    cheap: float = 1e9
    fast: float = 1.5e8
    binding: int = 4
    gradient_steps: int = 300
    unlike: float = 100.0


@dataclass(frozen=True)
class Prices:
    """What steps cost where no bound has to hold, in Hessian products of a few quadratic forms, 65 microseconds here.

    Methods on a factor go on until they have cost as much as :class:`~psdopt.methods.InteriorPoint` will, so that both
    together cost at most twice the cheaper one. A step of the latter costs `calls`, and one more for each `flops` of
    sparse A_t; of others it multiplies small matrices, `dense` times as slowly. It takes `steps` steps if all squares
    are two-sided, `kinks` if not. A product costs one more for each `entries` of the m x r measured rows, and `indexed`
    times as much where rows are gathered.
    """

    calls: float = 26.0
    flops: float = 6.5e5
    dense: float = 3.0
    steps: int = 12
    kinks: int = 25
    entries: float = 2e4
    indexed: float = 2.0

    def interior(self, size: SoftSize, kinks: bool) -> float:
        """Of the whole path."""
        step = self.calls + (1.0 if size.sparse else self.dense) * size.flops / self.flops
        return (self.kinks if kinks else self.steps) * step

    def product(self, size: SoftSize, rank: int) -> float:
        """Of a Hessian product on a factor of `rank` columns."""
        return (self.indexed if size.indexed else 1.0) * (1.0 + size.measurements * rank / self.entries)


THRESHOLDS = Thresholds()
PRICES = Prices()
