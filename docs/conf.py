"""How the site is built: `sphinx-build -W --keep-going -b html docs build/docs`. Nothing is fetched."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # the package beside these pages, not another one that is installed

import gstar_fast  # noqa: E402 - the line above decides which one

project = "gstar_fast"
author = "The gstar_fast developers"
version = release = gstar_fast.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_copybutton"]
exclude_patterns = ["_build"]

RESULTS = ROOT / "benchmarks/results"
PAGES = Path(__file__).parent / "benchmarks/results"  # written here at every build, not kept in the repository


def write_result_pages():
    """Give each recorded result a page that includes it."""
    PAGES.mkdir(exist_ok=True)
    results = {path.name for path in RESULTS.glob("*.md")}
    for page in PAGES.glob("*.md"):
        if page.name not in results:
            page.unlink()
    for name in results:
        text = f"```{{include}} ../../../benchmarks/results/{name}\n:relative-images:\n```\n"
        if not (PAGES / name).exists() or (PAGES / name).read_text() != text:
            (PAGES / name).write_text(text)


def link_to_result_pages(_app, _docname, source):
    """Links to benchmarks/results, which work in the repository, become links to those pages."""
    source[0] = re.sub(r"\]\((?:\.\./)+benchmarks/results/(\w+\.md)", r"](/benchmarks/results/\1", source[0])


def setup(app):
    """Called by Sphinx before it looks for pages."""
    write_result_pages()
    app.connect("source-read", link_to_result_pages)


# Pages are plain Markdown, to be read in the repository as well; a heading's anchor is the one GitHub gives it.
myst_heading_anchors = 3
copybutton_exclude = ".linenos, .gp, .go"

# Docstrings state their types; a word in single backticks becomes a link where it names something public.
default_role = "py:obj"
add_module_names = False
autodoc_typehints = "none"
autodoc_member_order = "groupwise"  # source order is not known of classes that say they live in the package
autodoc_inherit_docstrings = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"
html_title = f"gstar_fast {release}"
html_copy_source = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["narrow.css"]
html_theme_options = {"navigation_with_keys": True}
