"""What `psdopt run low-rank-correlation --plot` draws: the matrix. Of the run, `--plot-run` has a picture already."""

from psdopt.plugins import new_figure


def draw_correlation(estimator, dataset, *, result, title="", **run):
    """The fitted correlations of the columns of `dataset.X`."""
    figure = new_figure(5.6, 4.6)
    axes = figure.subplots()
    shown = axes.imshow(estimator.correlation_, cmap="RdBu_r", vmin=-1.0, vmax=1.0)
    figure.colorbar(shown, ax=axes, label="correlation")
    axes.set(xlabel="column", ylabel="column", title=f"Correlation of rank {result.rank}")
    figure.suptitle(title, fontweight="bold")
    return figure
