"""Links to the pages of NumPy, SciPy, scikit-learn and Matplotlib, if their inventories can be had."""

from __future__ import annotations

import logging
from typing import Any

from sphinx.application import Sphinx

#: Where an inventory is: the address of the pages, and None for its usual place there.
INVENTORIES = {
    "python": ("https://docs.python.org/3", None),
    "numpy": ("https://numpy.org/doc/stable", None),
    "scipy": ("https://docs.scipy.org/doc/scipy", None),
    "sklearn": ("https://scikit-learn.org/stable", None),
    "matplotlib": ("https://matplotlib.org/stable", None),
}


def unless_unreached(record: logging.LogRecord) -> bool:
    """A build without a network has no links to other projects. That is no fault of the pages, and no warning."""
    return "failed to reach any of the inventories" not in str(record.msg)


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("sphinx.ext.intersphinx")
    app.config.intersphinx_mapping = INVENTORIES
    app.config.intersphinx_timeout = 5
    logging.getLogger("sphinx.sphinx.ext.intersphinx").addFilter(unless_unreached)
    return {"parallel_read_safe": True}
