"""The site: Sphinx, MyST pages, numpydoc, a gallery that runs. Built by ``sphinx-build -W docs docs/_build/html``."""

from __future__ import annotations

import os
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small arrays: threads would only wait for each other
os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
sys.path.append(str(Path(__file__).parents[1]))  # the page on checks shows the known-bad objects of the tests

from psdopt import __version__

project = "psdopt"
author = "The psdopt developers"
copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "reference",
    "catalogue",
    "tables",
]
exclude_patterns = ["_build", "experiments/*.py", "images/*.py", "gallery/*.py", "sg_execution_times.rst"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"

html_theme = "furo"
html_title = f"psdopt {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "fieldlist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "reset_modules": ("matplotlib", "pictures.look"),
    "show_memory": False,
    "abort_on_example_error": True,
    "write_computation_times": False,
}
warnings.filterwarnings("ignore", message="Matplotlib is currently using agg")
