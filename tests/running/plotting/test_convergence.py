"""Pictures of a run: gap, stationarity, certificate, in colours and markers that can be told apart."""

import io
import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib.colors
import matplotlib.pyplot
import numpy as np
import pytest

from psdopt import (
    AugmentedLagrangian,
    ConjugateGradient,
    Constrained,
    FlatQuotient,
    QuadraticSDP,
    Result,
    constraints,
    solve,
)
from psdopt.errors import InvalidInputError
from psdopt.running.plotting import plot_convergence, plot_run
from psdopt.running.plotting.style import BLUE, COLOURS, GREY, MARKERS, ORANGE, RED
from tests.reports.test_trace import random_problem


@pytest.fixture(scope="module")
def result() -> Result:
    return solve(random_problem(), method=ConjugateGradient())


def png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=40)
    return buffer.getvalue()


def test_convergence_shows_gap_stationarity_and_certificate(result: Result) -> None:
    axes = plot_convergence(result)
    assert axes.get_yscale() == "log"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "value above the best, relative", "stationarity", "certificate",
    ]  # fmt: skip
    gap = axes.lines[0].get_ydata()
    assert np.all(gap > 0.0)
    values = result.history["value"]
    decrease = result.certificate.value_at_zero - result.certificate.value
    assert gap[0] == pytest.approx((values[0] - min(values.min(), result.value)) / decrease)
    assert axes.lines[2].get_ydata()[-1] == result.certificate.relative
    assert result.plot(axes) is axes
    assert png(axes.figure).startswith(b"\x89PNG")


def test_a_file_name_in_place_of_axes_writes_the_picture(result: Result, tmp_path: Path) -> None:
    axes = result.plot(tmp_path / "run.PNG")
    assert (tmp_path / "run.PNG").read_bytes().startswith(b"\x89PNG")
    assert axes.get_yscale() == "log"
    with pytest.raises(InvalidInputError, match=r"a picture must end in .png, .pdf, .svg; found 'run.bmp'"):
        result.plot("run.bmp")


def test_run_panels_have_names_with_units_and_the_tolerance(result: Result) -> None:
    figure = plot_run(result, tol=1e-6, title="a run", best=result.value - 1.0)
    left, right = figure.axes
    assert left.get_ylabel() == "F(M) minus the best value (units of F)"
    assert left.get_title() == "Objective, above the closed form's value"
    assert left.lines[0].get_ydata()[-1] == pytest.approx(1.0)
    assert right.get_ylabel() == "relative residual (no unit)"
    texts = [text.get_text() for text in right.get_legend().get_texts()]
    assert texts[:3] == ["stationarity |S Y|", "certificate of optimality", "asked for: 1e-06"]
    assert plot_run(result).axes[0].get_title() == "Objective, above the run's best value"


def test_certificates_without_a_relative_size_are_not_drawn(result: Result) -> None:
    right = plot_run(result, (np.array([0, 3]), np.array([np.inf, np.inf])), tol=1e-6).axes[1]
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["stationarity |S Y|", "asked for: 1e-06"]
    assert right.get_title() == "Stationarity"


def test_widenings_are_marked_and_a_rank_limited_run_is_shown_above_its_own_best() -> None:
    rng = np.random.default_rng(3)
    C = rng.standard_normal((30, 30))
    problem = QuadraticSDP(B=1.0, C=-(C @ C.T))
    grown = solve(problem, FlatQuotient(30, 2), ConjugateGradient(), escape=True)
    widenings = [record for record in grown.history if "widened_to" in record]
    assert widenings
    marks = [line for line in plot_run(grown).axes[0].lines if line.get_linestyle() == ":"]
    assert [line.get_xdata()[0] for line in marks] == [record["iteration"] for record in widenings]
    limited = solve(problem, FlatQuotient(30, 2))
    assert limited.status.label == "stationary"
    assert plot_run(limited, best=grown.value).axes[0].get_title() == "Objective, above the run's best value"


def test_a_run_without_iterations_is_drawn() -> None:
    ended = solve(QuadraticSDP(B=1.0, C=-np.eye(3)), FlatQuotient(3, 3), max_iterations=0)
    assert png(plot_run(ended)).startswith(b"\x89PNG")
    assert png(plot_convergence(ended).figure).startswith(b"\x89PNG")


def test_one_step_is_drawn_from_iteration_0_to_1_with_whole_numbers_below() -> None:
    ended = solve(QuadraticSDP(A=np.diag([1.0, 2.0]), C=-np.eye(2)), FlatQuotient(2, 2), max_iterations=1)
    for axes in plot_run(ended).axes:
        low, high = axes.get_xlim()
        assert (low, high) == pytest.approx((-0.04, 1.04))
        ticks = axes.get_xticks()
        assert np.array_equal(ticks, np.round(ticks))


def test_a_constrained_run_is_shown_by_its_distance_from_the_bound_and_its_infeasibility() -> None:
    C = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    run = solve(Constrained(QuadraticSDP(C=C), constraints.diagonal(3, 1.0)), method=AugmentedLagrangian())
    assert run.status.label == "optimal"
    panel = plot_run(run).axes[0]
    distance, infeasibility = panel.lines
    assert panel.get_title() == "Value and constraints"
    bound = run.certificate.dual_value
    expected = np.abs(run.history["value"] - bound) / abs(bound - run.certificate.value_at_zero)
    assert np.array_equal(distance.get_ydata(), expected[expected > 0.0])
    known = run.history["infeasibility"]
    assert np.array_equal(infeasibility.get_ydata(), known[np.isfinite(known) & (known > 0.0)])


def test_pyplot_is_not_touched() -> None:
    code = (
        "import sys, numpy as np, psdopt\n"
        "psdopt.solve(psdopt.QuadraticSDP(B=1.0, C=-np.eye(3))).plot()\n"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


def test_every_class_has_a_colour_and_a_marker_of_its_own():
    assert len(set(COLOURS)) == len(COLOURS) == len(set(MARKERS)) == len(MARKERS)
    assert {BLUE, ORANGE, RED, GREY} <= set(COLOURS)
    rgb = [np.array(matplotlib.colors.to_rgb(colour)) for colour in COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(rgb, 2)) > 0.1
