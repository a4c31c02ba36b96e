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

from sphinx_gallery.sorting import ExplicitOrder

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
    "sphinx_design",
    "sphinx_copybutton",
    "docstrings",
    "formulas",
    "neighbours",
    "reference",
    "related",
    "pictures",
    "catalogue",
    "tables",
]
exclude_patterns = ["_build", "experiments/*.py", "images/*.py", "gallery/**.py", "sg_execution_times.rst"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"

html_theme = "pydata_sphinx_theme"
html_title = "psdopt"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_math_renderer = "mathml"
html_sidebars = {"index": [], "start": [], "notation": [], "changelog": [], "architecture": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "header_links_before_dropdown": 6,
    "show_nav_level": 1,
    "navigation_depth": 3,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
pygments_style = "tango"

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "fieldlist"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
suppress_warnings = ["config.cache"]

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"Array": "Array"}
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 80
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

SECTIONS = ("distances", "clusters_and_maps", "graphs_and_matrices", "solving")
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "reset_modules": ("matplotlib", "pictures.look"),
    "image_scrapers": ("pictures.scraper",),
    "thumbnail_size": (400, 400),
    "subsection_order": ExplicitOrder([f"../examples/gallery/{name}" for name in SECTIONS]),
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("psdopt", "psdopt_plugins"),
    "reference_url": {"psdopt": None, "psdopt_plugins": None},
    "show_memory": False,
    "abort_on_example_error": True,
    "write_computation_times": False,
}
warnings.filterwarnings("ignore", message="Matplotlib is currently using agg")
