"""Pictures of a run: convergence and certificate, and pieces for pictures of applications."""

from psdopt.running.plotting.convergence import draw_certificate, draw_gap, plot_convergence, plot_run
from psdopt.running.plotting.style import BLUE, COLOURS, GREY, MARKERS, new_figure

__all__ = [
    "BLUE",
    "COLOURS",
    "GREY",
    "MARKERS",
    "draw_certificate",
    "draw_gap",
    "new_figure",
    "plot_convergence",
    "plot_run",
]
