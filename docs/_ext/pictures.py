"""Pictures of the site: the look of the gallery's, their square thumbnails, and what ``psdopt run --plot`` draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from sphinx.application import Sphinx

#: The panel of a script's last figure that its thumbnail shows, where it is not the first.
PANELS = {
    "plot_metric_wine": 1,
    "plot_lmnn_tsne": 1,
    "plot_nca": 1,
    "plot_clusters_from_links": 1,
    "plot_missing_distances": 1,
    "plot_nearest_correlation": 1,
    "plot_escape": 1,
    "plot_rows_on_disk": 1,
}
#: Applications whose pages show the picture of ``psdopt run NAME --plot``; the others show one of the gallery.
RUNS = (
    "metric-linear", "metric-distances", "metric-psdboost", "kernel-quadratic", "kernel-distances", "communities",
    "lovasz-theta", "sparse-precision",
)  # fmt: skip


def look(gallery: Any, script: Any) -> None:
    """Settings before each script, called by sphinx-gallery."""
    mpl.rcParams.update(
        {
            "figure.dpi": 110,
            "savefig.dpi": 110,
            "font.size": 10,
            "axes.titlesize": 10,
            "axes.labelsize": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "0.5",
            "xtick.labelsize": 8,
            "ytick.labelsize": 8,
            "xtick.color": "0.3",
            "ytick.color": "0.3",
            "legend.frameon": False,
            "legend.fontsize": 8,
        }
    )


def scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Saves the figures of a block as sphinx-gallery does, and one panel of each as a square beside the thumbnails."""
    from matplotlib import pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    script = Path(block_vars["src_file"]).stem
    images = Path(str(block_vars["image_path_iterator"].image_path)).parent
    figures = [plt.figure(number) for number in plt.get_fignums()]
    answer = matplotlib_scraper(block, block_vars, gallery_conf)
    for figure in figures:
        (images / "square").mkdir(exist_ok=True)
        save_square(figure, PANELS.get(script, 0), images / "square" / f"{script}.png")
    return answer


def save_square(figure: Any, panel: int, path: Path, inches: float = 2.6) -> None:
    """Panel number `panel` of `figure` alone, without its texts, in a square of 400 pixels."""
    axes = figure.axes[panel]
    figure.set_layout_engine("none")
    for other in figure.axes:
        other.set_visible(other is axes)
    if axes.get_legend() is not None:
        axes.get_legend().remove()
    axes.set(title="", xlabel="", ylabel="")
    axes.tick_params(which="both", length=0, labelbottom=False, labelleft=False)
    if axes.get_aspect() == "auto" and axes.name != "3d":
        axes.set_box_aspect(1)
    figure.set_size_inches(inches, inches)
    axes.set_position((0.03, 0.03, 0.94, 0.94))
    figure.savefig(path, dpi=400 / inches)


def square_thumbnails(app: Sphinx) -> None:
    """The squares in the place of sphinx-gallery's thumbnails."""
    for square in Path(app.srcdir).glob("gallery/*/images/square/*.png"):
        thumbnail = square.parents[1] / "thumb" / f"sphx_glr_{square.stem}_thumb.png"
        thumbnail.write_bytes(square.read_bytes())


def draw_runs(app: Sphinx) -> None:
    """docs/images/runs/NAME.png for each of RUNS that is not there yet."""
    from psdopt.cli.main import main

    folder = Path(app.srcdir) / "images" / "runs"
    folder.mkdir(exist_ok=True)
    for name in RUNS:
        path = folder / f"{name}.png"
        if not path.exists():
            main(["run", name, "--quiet", "--plot", str(path)])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", draw_runs)
    app.connect("builder-inited", square_thumbnails, priority=900)  # after sphinx-gallery
    return {"parallel_read_safe": True}
