"""Pictures of a run: convergence and certificate, and pieces for pictures of applications."""

from psdopt.deprecated import former_names
from psdopt.plotting.convergence import draw_certificate, draw_gap, plot_convergence, plot_run
from psdopt.plotting.style import BLUE, COLOURS, GREY, MARKERS, new_figure

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

_PICTURES = ("plot_embedding", "plot_metric", "plot_prediction")
__getattr__ = former_names(__name__, {name: f"psdopt_plugins.pictures:{name}" for name in _PICTURES})
