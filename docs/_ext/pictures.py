"""How the gallery's pictures look."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl


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
