"""The landing page of a folder: links, search, and flashcards."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate.plotting.pages.page import embedded, plain, unit_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["landing_page"]

_FOLDER = Path(__file__).parent


def landing_page(
    chapters: Sequence[Mapping[str, Any]],
    calculators: Sequence[tuple[str, str]],
    data: Mapping[str, Any],
    version: str,
    links: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the page as text.

    Parameters
    ----------
    chapters : list of dict
        ``href``, ``title`` and ``charts``, pairs of link and title.
    calculators : list of tuple
        Link and title.
    data : dict
        ``quantities``, ``presets`` and ``cards``.
    version : str
    links : list of tuple
        Address and words of links at the top.
    """
    import jinja2

    loader = jinja2.FileSystemLoader(_FOLDER)
    environment = jinja2.Environment(loader=loader, trim_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters["text"] = html.escape
    names = dict.fromkeys(answer["unit"] for card in data["cards"] for answer in card["answers"])
    content = plain({**data, "units": unit_data(names)})
    scripts = [(_FOLDER / name).read_text(encoding="utf-8") for name in ("units.js", "landing.js")]
    return environment.get_template("landing.html.jinja").render(
        chapters=chapters,
        calculators=calculators,
        links=links,
        cards=data["cards"],
        style=(_FOLDER / "page.css").read_text(encoding="utf-8"),
        data=embedded(json.dumps(content, allow_nan=False, separators=(",", ":"))),
        script="\n".join(scripts),
        version=version,
    )
