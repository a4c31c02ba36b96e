"""Searches along curves whose values are prescribed: which step is taken, and how many values it costs."""

import math

import pytest

from psdopt.linalg.tolerances import EPS
from psdopt.methods.searches.step_lengths import SUFFICIENT, halved, modelled


class Prescribed:
    """A path with the values of a function; `model` is the minimiser along the tangent line."""

    def __init__(self, function, model=1.0, longest=math.inf, exact=False):
        self.function, self.model, self.longest, self.exact, self.asked = function, model, longest, exact, []

    def value(self, s):
        self.asked.append(s)
        return self.function(s)

    def tangent(self):
        return self

    def minimize(self):
        return self.model

    nearly_minimize = minimize


def test_halving_takes_the_first_that_falls_enough():
    for first, expected in ((1.0, 0.25), (0.4, 0.2), (0.2, 0.2), (8.0, 0.25)):
        path = Prescribed(lambda s: -s + 3.0 * s * s)  # falls by half of what is predicted up to s = 1/6, at all to 1/3
        assert halved(path, 0.0, -1.0, first, 0.1) == expected
    assert halved(Prescribed(lambda s: -0.5 * s), 0.0, -1.0, 1.0, 0.5) == 1.0  # exactly enough
    assert halved(Prescribed(lambda s: 1.0 - 0.5 * s), 1.0, -1.0, 1.0, 0.51) <= 64.0 * 8.0 * EPS
    assert halved(Prescribed(lambda s: -s, longest=0.125), 0.0, -1.0, 1.0, 0.1) == 0.125
    for slope in (0.0, 1.0, math.nan):
        assert halved(Prescribed(lambda s: -s), 0.0, slope, 1.0, 0.1) == 0.0


@pytest.mark.parametrize("value", [1.0, -64.0, 1e10])
def test_halving_counts_a_decrease_below_the_rounding_of_f_as_met(value):
    """A rise by half of 8 ε |F| is accepted once less than 64 times of that is predicted, and not before."""
    noise = 8.0 * EPS * abs(value)
    step = halved(Prescribed(lambda s: value + 0.5 * noise), value, -1.0, 1.0, 1e-4)
    assert 32.0 * noise * (1 - 1e-9) <= step < 64.0 * noise
    assert halved(Prescribed(lambda s: value + 2.0 * noise), value, -1.0, 1.0, 1e-4) == 0.0


@pytest.mark.parametrize(
    ("minimum", "expected", "count"),
    [(0.5, 0.5, 2), (0.2, 0.2, 2), (0.95, 1.0, 1), (1.05, 1.0, 1), (1.2, 1.2, 2), (2.0, 2.0, 2), (30.0, 4.0, 2)],
)
@pytest.mark.parametrize("unit", [1e-3, 1.0, 64.0])
def test_a_step_of_the_model_is_refined_by_one_parabola(minimum, expected, count, unit):
    """F(s) = s²/2 − m s: from s = 1 the parabola is F itself, and is followed within a tenth and four times s."""
    path = Prescribed(lambda s: (s / unit) ** 2 / 2.0 - minimum * s / unit, model=unit)
    step = modelled(path, 0.0, -minimum / unit)
    assert step == pytest.approx(expected * unit, rel=1e-12)
    assert len(path.asked) == count


def test_a_refinement_is_at_most_tenfold_shorter_and_then_halved():
    path = Prescribed(lambda s: 1e4 * s * s - s)
    step = modelled(path, 0.0, -1.0)
    assert path.asked[:2] == [1.0, 0.1]
    assert path.asked[2:] == [0.1 * 0.5**k for k in range(1, len(path.asked) - 1)]
    assert 1e4 * step * step - step <= -SUFFICIENT * step < 0.0
    assert 4e4 * step * step - 2 * step > -SUFFICIENT * 2 * step


def test_steps_where_the_curve_falls_faster_than_a_line_are_doubled():
    path = Prescribed(lambda s: -s - s * s)
    assert modelled(path, 0.0, -1.0) == 2.0
    assert path.asked == [1.0, 2.0]
    for unit in (0.125, 1.0, 32.0):
        path = Prescribed(lambda s: -s, model=unit)  # exactly a line
        assert modelled(path, 0.0, -1.0) == 2.0 * unit


def test_a_worse_refinement_is_not_taken():
    path = Prescribed(lambda s: {1.0: -0.5, 2.0: 5.0}.get(s, 0.0) if s <= 1.0 else 5.0)
    assert modelled(path, 0.0, -2.0) == 1.0


def test_models_without_a_step_begin_at_the_longest_or_one():
    for model in (0.0, -1.0, math.inf, math.nan):
        path = Prescribed(lambda s: s * s - 2.0 * s, model=model)
        assert modelled(path, 0.0, -2.0) == 1.0
        path = Prescribed(lambda s: s * s - 2.0 * s, model=model, longest=0.25)
        assert modelled(path, 0.0, -2.0) == 0.25
    path = Prescribed(lambda s: s * s - 2.0 * s, model=5.0, longest=0.5)
    assert modelled(path, 0.0, -2.0) == 0.5
    assert max(path.asked) <= 0.5


def test_below_the_rounding_of_f_no_parabola_is_fitted():
    path = Prescribed(lambda s: 1.0 + 1e-15 * (s * s - s), model=1.0)
    assert modelled(path, 1.0, -1e-15) in (0.0, 1.0)
    assert len([s for s in path.asked if s > 1.0]) == 0
    coarse = Prescribed(lambda s: 1.0 + 1e-9 * (s * s / 6.0 - s), model=1.0)
    assert modelled(coarse, 1.0, -1e-9) == pytest.approx(3.0, rel=1e-3)


def test_an_exact_model_is_the_step_and_asks_for_no_value():
    path = Prescribed(lambda s: s, model=0.7, exact=True)
    assert modelled(path, 0.0, -1.0) == 0.7
    assert path.asked == []
    path = Prescribed(lambda s: s, model=math.nan, exact=True)
    assert math.isnan(modelled(path, 0.0, -1.0))
    assert len(path.asked) == 1
    for slope in (0.0, 1.0):
        assert modelled(Prescribed(lambda s: -s), 0.0, slope) == 0.0


def test_a_change_that_is_less_than_the_decrease_asked_for_is_no_step():
    """Neither a rise nor a fall by half of it; F = 0 has no rounding: halving goes on to the least numbers."""
    small = 0.5 * SUFFICIENT
    for change in (small, -small):
        assert modelled(Prescribed(lambda s, change=change: change * s), 0.0, -1.0) < 1e-300
    assert modelled(Prescribed(lambda s: -4.0 * small * s), 0.0, -1.0) >= 1.0


class Sloped(Prescribed):
    """A path that knows its slopes as well; how often they are asked for is counted."""

    def __init__(self, function, there):
        super().__init__(function)
        self.there, self.slopes = there, 0

    def slope(self, s):
        self.slopes += 1
        return self.there


@pytest.mark.parametrize("size", [1.0, 1e-9, 1e9])
def test_where_values_tie_the_smaller_slope_decides(size):
    """F(1) = F(0) but for rounding, as the slope lets expect: s = 1 is taken where |F'(1)| is clearly below |F'(0)|."""
    value, slope = -size, -100.0 * EPS * size

    def step(there, rise=2.0, slope=slope):
        path = Sloped(lambda s: value + rise * EPS * size, there)
        return modelled(path, value, slope), path.slopes

    for share in (0.0, 0.5, -0.5, 0.85, -0.85):
        assert step(share * slope) == (1.0, 1)
    for share in (0.95, 1.0, -1.0, 1.5, -2.0, 100.0):
        found, asked = step(share * slope)
        assert found < 1.0
        assert asked == 1
    assert step(0.0, rise=7.0) == (0.5, 0)  # no tie
    assert step(0.0, slope=-2e3 * EPS * size)[1] == 0  # a fall that values would show
