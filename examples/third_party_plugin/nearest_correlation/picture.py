"""What `psdopt run low-rank-correlation --plot` draws: the matrix, and the run that found it."""

from psdopt.plugins import draw_gap, new_figure


def draw_correlation(estimator, dataset, *, result, best=None, title="", **run):
    """Two panels: the fitted correlations of the columns of `dataset.X`, and F(M) above its best value."""
    figure = new_figure(9.6, 4.2)
    left, right = figure.subplots(1, 2)
    shown = left.imshow(estimator.correlation_, cmap="RdBu_r", vmin=-1.0, vmax=1.0)
    figure.colorbar(shown, ax=left, label="correlation")
    left.set(xlabel="column", ylabel="column", title=f"Correlation of rank {result.rank}")
    draw_gap(right, result, best)
    figure.suptitle(title, fontweight="bold")
    return figure
