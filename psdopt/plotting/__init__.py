"""Pictures of a run: convergence, certificate, and samples before and after a learned metric, kernel or embedding."""

from psdopt.plotting.convergence import plot_convergence, plot_run
from psdopt.plotting.samples import plot_embedding, plot_metric, plot_prediction

__all__ = ["plot_convergence", "plot_embedding", "plot_metric", "plot_prediction", "plot_run"]
