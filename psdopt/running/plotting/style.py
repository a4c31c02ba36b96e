"""Colours, markers and sizes of all pictures. All drawing goes through Figure objects, never through pyplot's state."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of width × height inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=RESOLUTION_DPI, layout="constrained")
