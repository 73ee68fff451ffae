"""Sphinx: pages in Markdown, formulas in MathML, charts drawn while the site is built; it needs no network."""

import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes

sys.path.insert(0, str(Path(__file__).parent))  # for examples.py, live_pages.py and quantity_pages.py

project = "Roofslate"
author = "The Roofslate developers"
project_copyright = author
version_file = Path(__file__).parents[1] / "python/roofslate/_base/version.py"
(release,) = re.findall(r'^__version__ = "(.+)"', version_file.read_text(encoding="utf-8"), re.MULTILINE)
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "matplotlib.sphinxext.plot_directive",
]
exclude_patterns = ["_build"]
nitpicky = True
# Words of docstrings that are types of other packages, or no types at all; those of this package are checked.
nitpick_ignore_regex = [("py:.*", r"(?!roofslate\b).*")]

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings name them
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_use_rtype = False

plot_formats = ["svg"]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = True

html_math_renderer = "mathml"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = f"Roofslate {release}"
html_show_search_summary = False  # a page that was opened as a file may not read others
html_use_index = False  # the search and the page of quantities have more
html_domain_indices = False


def write_quantities(_app: Any) -> None:
    """Write the pages of quantities, before Sphinx looks for pages."""
    import quantity_pages

    quantity_pages.write_pages()


def write_live_pages(app: Any) -> None:
    """Write the lecture, live, and the calculators, before pages link to them."""
    import live_pages

    if app.builder.format == "html" and live_pages.can_be_written():
        live_pages.write_pages(Path(app.outdir))


def add_live_pages(app: Any, docname: str, source: list[str]) -> None:
    """Link the live pages, or say why there are none."""
    import live_pages

    if docname in ("index", "readers/teach") and app.builder.format == "html":
        source[0] = live_pages.linked(docname, source[0], Path(app.outdir))


def add_charts(app: Any, docname: str, source: list[str]) -> None:
    """Append every chart, drawn, to the page of charts."""
    if docname != "reference/charts":
        return
    import live_pages
    from roofslate import charts

    live = live_pages.chart_links(Path(app.outdir)) if app.builder.format == "html" else {}
    for chart in charts.all():
        link = f'\n<a href="../{live[chart.name]}">Move its inputs in this browser.</a>\n' if chart.name in live else ""
        source[0] += (
            f"\n## {chart.name}\n\n{chart.number}: {chart.brief}\n\n```{{eval-rst}}\n.. plot::\n"
            f"   :include-source: false\n   :filename-prefix: {chart.name}\n   :alt: {chart.brief}\n\n"
            f"   import roofslate as rs\n   rs.charts.{chart.name}()\n```\n\n{chart.paragraph}\n".replace("$", r"\$")
        ) + link


# Charts of the landing page, in the order of its readers.
GALLERY = (
    "latency_vs_batch",
    "cost_vs_batch",
    "roofline",
    "coverage_vs_batch",
    "memory_vs_stages",
    "latency_vs_rate",
    "replicas_vs_promise",
    "rent_own_or_call",
    "hardware_generations",
    "training_bubble",
    "overtraining",
    "tier_cost",
)


def add_gallery(_app: Any, docname: str, source: list[str]) -> None:
    """Append pictures of charts to the landing page, each a link to its text."""
    if docname != "index":
        return
    from roofslate import charts

    pictures = []
    for name in GALLERY:
        chart = charts.find(name)
        pictures.append(
            f"```{{eval-rst}}\n.. plot::\n   :include-source: false\n   :filename-prefix: gallery_{name}\n"
            f"   :alt: {chart.brief}\n\n   import roofslate as rs\n   rs.charts.{name}()\n```\n\n"
            f"[`rs.charts.{name}()`](reference/charts.md#{name})\n"
        )
    items = "\n".join(f"::::{{container}} picture\n{picture}::::\n" for picture in pictures)
    source[0] += f"\n:::::{{container}} gallery\n{items}:::::\n".replace("$", r"\$")


def add_inconsistencies(_app: Any, docname: str, source: list[str]) -> None:
    """Append the register of inconsistencies, with its numbers, to its page."""
    if docname != "explanation/lecture-and-fact":
        return
    import roofslate as rs

    register = rs.inconsistencies()
    for chapter, entries in register.groupby("chapter", sort=True):
        source[0] += f"\n## Chapter {chapter}\n"
        for number, entry in entries.iterrows():
            parts = {"Claims": entry["claims"], "Computed": entry["computed"], "Treatment": [entry["why"]]}
            source[0] += f"\n### {number}: {entry['topic']}\n\n"
            for title, lines in parts.items():
                source[0] += f"{title}:\n\n" + "".join(f"- {line}\n" for line in lines).replace("$", r"\$") + "\n"


def add_examples(_app: Any, docname: str, source: list[str]) -> None:
    """Append an example and a plot to each computed quantity of the reference."""
    folder, _, theme = docname.rpartition("/")
    if folder == "reference/quantities" and theme != "index":
        import examples

        source[0] = examples.add_examples(theme, source[0])


def inline_formula(self: Any, node: nodes.math) -> None:
    """Put a formula into a line, drawn by the browser itself."""
    from roofslate.display.mathml import mathml

    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def displayed_formula(self: Any, node: nodes.math_block) -> None:
    """Put a formula into a line of its own, which scrolls where it is wider than the screen."""
    from roofslate.display.mathml import mathml

    drawn = str(mathml(node.astext().strip())).replace("<math>", '<math display="block">', 1)
    self.body.append(f'<div class="math">{drawn}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Connect what this site does beyond its extensions."""
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
    import live_pages

    app.add_config_value("live_pages", live_pages.can_be_written(), "env")  # if it changes, all pages are read again
    app.connect("builder-inited", write_quantities)
    app.connect("builder-inited", write_live_pages)
    app.connect("source-read", add_charts)
    app.connect("source-read", add_live_pages)
    app.connect("source-read", add_gallery)
    app.connect("source-read", add_inconsistencies)
    app.connect("source-read", add_examples)
