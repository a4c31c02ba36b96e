"""Colours and markers can be told apart, and figures are not pyplot's."""

import itertools

import matplotlib.colors
import matplotlib.pyplot
import numpy as np

from psdopt.running.plotting.style import BLUE, COLOURS, GREY, MARKERS, ORANGE, RED, new_figure


def test_every_class_has_a_colour_and_a_marker_of_its_own():
    assert len(set(COLOURS)) == len(COLOURS) == len(set(MARKERS)) == len(MARKERS)
    assert {BLUE, ORANGE, RED, GREY} <= set(COLOURS)
    rgb = [np.array(matplotlib.colors.to_rgb(colour)) for colour in COLOURS]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(rgb, 2)) > 0.1


def test_figures_are_not_registered_with_pyplot():
    before = matplotlib.pyplot.get_fignums()
    figure = new_figure(3.0, 2.0)
    axes = figure.subplots()
    assert figure.get_size_inches().tolist() == [3.0, 2.0]
    assert figure.axes == [axes]
    assert matplotlib.pyplot.get_fignums() == before
