"""Colours, markers, sizes, files of all pictures. All drawing goes through Figure objects, never pyplot's state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from psdopt.data.files import atomic_write
from psdopt.errors import InvalidInputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Ten colours that people with common colour-vision deficiencies can distinguish (Petroff 2021), each with a marker.
COLOURS = (
    "#3f90da",
    "#ffa90e",
    "#bd1f01",
    "#94a4a2",
    "#832db6",
    "#a96b59",
    "#e76300",
    "#b9ac70",
    "#717581",
    "#92dadd",
)
MARKERS = "os^Dv<>PXh"
BLUE, ORANGE, RED, GREY = COLOURS[0], COLOURS[6], COLOURS[2], COLOURS[8]
RESOLUTION_DPI = 150
PLOT_SUFFIXES = (".png", ".pdf", ".svg")


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of width × height inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=RESOLUTION_DPI, layout="constrained")


def write_plot(figure: Any, path: str | Path) -> None:
    """`figure` in the format of the file's suffix, one of PLOT_SUFFIXES; InvalidInputError for another."""
    suffix = Path(path).suffix.lower()
    if suffix not in PLOT_SUFFIXES:
        raise InvalidInputError(f"a picture must end in {', '.join(PLOT_SUFFIXES)}; found {str(path)!r}")
    with atomic_write(Path(path)) as handle:
        figure.savefig(handle, format=suffix.removeprefix("."))
