"""Pages as one file each: engine, resolved inputs, chart library, controls."""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import html
import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate._base.files import write
from roofslate._base.version import __version__
from roofslate.display import style
from roofslate.display.mathml import mathml
from roofslate.errors import RoofslateError
from roofslate.plotting.pages.figure import LINES, figure_item, library_script
from roofslate.plotting.pages.view import preset_data
from roofslate.registry.registry import current, entries
from roofslate.units.table import BARE, TABLE

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from roofslate.plotting.pages.view import View
    from roofslate.registry.registry import Quantity

__all__ = ["Page", "embedded", "engine_files", "plain", "unit_data", "write_shared"]

_FOLDER = Path(__file__).parent
_ENGINE = Path(__file__).parents[2] / "web"
_SCRIPTS = ("units.js", "scenario.js", "chart.js", "page.js")
_EXPORT = re.compile(r"^export\s+(?:default\s+)?(?=async\b|function\b|class\b|const\b|let\b|var\b)", re.MULTILINE)
_EXPORTED = re.compile(r"^export\s*(?:\{[^}]*\}|default\s+\w+)\s*;?", re.MULTILINE)


class Page:
    """A page that computes in the browser, without a network.

    Attributes
    ----------
    title : str
    views : list of View
        Each a chart with its controls.
    """

    def __init__(
        self,
        views: Sequence[View],
        *,
        title: str = "",
        brief: str = "",
        links: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.views = list(views)
        self.title = title or self.views[0].title
        self.brief = brief or (self.views[0].brief if len(self.views) == 1 else "")
        self.links = list(links)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page as one HTML file.

        Parameters
        ----------
        path : path-like
            File name, which is replaced in one step.

        Returns
        -------
        pathlib.Path

        Raises
        ------
        RoofslateError
            If this build has no engine for browsers.
        ModuleNotFoundError
            Without Bokeh. Run ``pip install 'roofslate[pages]'``.

        Examples
        --------
        >>> import roofslate as rs
        >>> explorer = rs.explore("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth=("1 TB/s", "20 TB/s"))
        >>> page = explorer.save("drain.html")  # doctest: +SKIP
        """
        target = Path(path)
        write(target, self.to_html().encode())
        return target

    def to_html(self, *, shared: bool = False) -> str:
        """Return the page as text.

        Parameters
        ----------
        shared : bool
            Load style, scripts and engine from the page's folder, as `write_shared` writes them.
        """
        import jinja2

        files = _files()
        script, engine = engine_files()
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_FOLDER),
            autoescape=False,
            trim_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        drawn = any(view.groups for view in self.views)
        charts = [(view.name, html.escape(view.title)) for view in self.views] if len(self.views) > 1 else []
        return environment.get_template("page.html.jinja").render(
            title=html.escape(self.title),
            brief=html.escape(self.brief),
            links=[(html.escape(href), html.escape(words)) for href, words in self.links],
            charts=charts,
            shared={name: f"{name}?{_digest(text)}" for name, text in files.items()} if shared else {},
            style=files["page.css"],
            data=embedded(json.dumps(plain(self._data(drawn)), allow_nan=False, separators=(",", ":"))),
            engine=engine,
            drawn=drawn,
            chart_library="" if shared or not drawn else _script(library_script()),
            script="" if shared else _script(_page_script(script)),
            version=__version__,
        )

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html())
        return (
            f'<iframe srcdoc="{page}" title="{html.escape(self.title)}" sandbox="allow-scripts allow-modals" '
            'style="width:100%;height:900px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<page {self.title!r}: {', '.join(view.name for view in self.views)}>"

    def _data(self, drawn: bool) -> dict[str, Any]:
        known = entries()
        names = dict.fromkeys(name for view in self.views for name in view.quantities)
        formulas = {name for view in self.views for name in view.formulas}
        quantities = {name: _quantity(known[name], with_formula=name in formulas) for name in names}
        presets: dict[str, dict[str, dict[str, float]]] = {}
        for view in self.views:
            for keyword, numbers in preset_data(view).items():
                for name, supplied in numbers.items():
                    presets.setdefault(keyword, {}).setdefault(name, {}).update(supplied)
        return {
            "version": __version__,
            "units": unit_data(dict.fromkeys(q["unit"] for q in quantities.values())),
            "quantities": quantities,
            "presets": presets,
            "bounds": [pair for pair in current().bounded_pairs if {*pair} <= names.keys()],
            "views": [view.to_json() for view in self.views],
            "figure": {**figure_item(), "lines": LINES} if drawn else None,
        }


def write_shared(folder: Path) -> None:
    """Write the files that pages by ``to_html(shared=True)`` load from their folder.

    Raises
    ------
    RoofslateError
        If this build has no engine for browsers.
    """
    for name, text in _files().items():
        write(folder / name, text.encode())


def _files() -> dict[str, str]:
    """Return the files that pages share, by name.

    Scripts are no modules, as a page opened as a file can load none.
    """
    script, engine = engine_files()
    return {
        "page.css": (_FOLDER / "page.css").read_text(encoding="utf-8"),
        "bokeh.js": library_script(),
        "engine.js": f'"use strict";\nglobalThis.roofslateEngine = "{engine}";\n',
        "page.js": f'"use strict";\n{_page_script(script)}\n',
    }


def _page_script(engine_script: str) -> str:
    parts = [(_FOLDER / name).read_text(encoding="utf-8") for name in _SCRIPTS]
    return "\n".join([engine_script, "{", *parts, "startPage();", "}"])  # a block: names of the engine stay its own


def _digest(text: str) -> str:
    """Return a mark of a file's content, by which a browser's stored copy is replaced."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def engine_files() -> tuple[str, str]:
    """Return the engine's module without exports, and its code in WebAssembly, packed as text.

    Raises
    ------
    RoofslateError
        If the build left them out.
    """
    script, code = _ENGINE / "engine.js", _ENGINE / "engine.wasm"
    if not (script.is_file() and code.is_file()):
        raise RoofslateError(
            "this build has no engine for browsers, so a page cannot be saved. Install emscripten and run `make wasm`"
        )
    return _read_engine(script, code, script.stat().st_mtime_ns)


@functools.lru_cache(maxsize=2)
def _read_engine(script: Path, code: Path, _changed: int) -> tuple[str, str]:
    text = script.read_text(encoding="utf-8")
    packed = gzip.compress(code.read_bytes(), 9, mtime=0)
    return _EXPORTED.sub("", _EXPORT.sub("", text)), base64.b64encode(packed).decode()


def _script(text: str) -> str:
    """Write a script so that nothing in it ends its element."""
    return re.sub(r"</(?=script)|<!--", lambda match: match[0].replace("<", "\\x3c"), text, flags=re.IGNORECASE)


def embedded(text: str) -> str:
    """Write JSON so that nothing in it ends its element."""
    return re.sub(r"<(?=/?script|!--)", r"\\u003c", text, flags=re.IGNORECASE)  # other tags are many


def plain(x: Any) -> Any:
    """Replace infinities by words, which JSON has no number for."""
    if isinstance(x, dict):
        return {str(key): plain(item) for key, item in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(item) for item in x]
    if isinstance(x, float) and not math.isfinite(x):
        return "Infinity" if x > 0 else "-Infinity" if x < 0 else "NaN"
    return x


def _quantity(q: Quantity, *, with_formula: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "label": style.words(q.name),
        "brief": q.brief,
        "unit": q.unit,
        "words": list(q.choices),
        "low": q.low,
        "high": q.high,
        "above": q.above_low,
        "range": q.range_text,
    }
    if with_formula and q.computed and q.latex:
        shown["formula"] = str(mathml(q.latex))
    return shown


def unit_data(names: Iterable[str]) -> dict[str, Any]:
    """Describe units for the page: the table of names, and the scales of each unit."""
    return {
        "table": {
            name: [str(unit.factor.numerator), str(unit.factor.denominator), unit.dimension.exponents]
            for name, unit in TABLE.items()
        },
        "bare": {name: str(factor) for name, factor in BARE.items()},
        "counted": list(units.COUNTED_UNITS),
        "ladders": {name: _ladder(name) for name in names},
    }


def _ladder(unit: str) -> Mapping[str, Any]:
    rungs, plain = units.ladder(unit)
    return {"rungs": [list(rung) for rung in rungs], "plain": plain, "dims": units.dimension_of(unit).exponents}
