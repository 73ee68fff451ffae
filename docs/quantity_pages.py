"""Pages of the reference, one a theme, and their overview, written from the registry while the site is built."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from roofslate.registry.aliases import aliases
from roofslate.registry.registry import Quantity, entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FOLDER = Path(__file__).parent / "reference" / "quantities"  # git ignores it


def write_pages() -> None:
    """Write the pages that changed, so that Sphinx reads these only, and remove those of themes that are gone."""
    pages = quantity_pages()
    FOLDER.mkdir(exist_ok=True)
    for page in FOLDER.glob("*.md"):
        if page.name not in pages:
            page.unlink()
    for name, text in pages.items():
        page = FOLDER / name
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def quantity_pages() -> dict[str, str]:
    """Texts of all pages by the name of the file."""
    themes: dict[str, list[Quantity]] = {}
    for q in entries().values():
        themes.setdefault(q.theme, []).append(q)
    pages = {f"{theme}.md": _page(theme, quantities) for theme, quantities in themes.items()}
    return {"index.md": _overview(themes), **pages}


def _link(name: str, page: str) -> str:
    theme = entries()[name].theme
    return f"[{name}]({'' if theme == page else f'{theme}.md'}#{name})"


def _links(names: Iterable[str], page: str) -> str:
    return ", ".join(_link(name, page) for name in names)


def _facts(q: Quantity) -> Mapping[str, str]:
    facts = {"Symbol": f"${q.symbol}$"}
    if q.choices:
        facts["One of"] = ", ".join(f"`{word}`" for word in q.choices)
    else:
        facts["Unit"] = "a number" if q.unit == "1" else f"`{q.unit}`"
        if not q.computed:
            facts["Range"] = q.range_text
    if q.bound:
        facts["At most"] = _link(q.bound, q.theme)
    if q.default is not None:
        facts["Default"] = f"`{q.choices[int(q.default)]}`" if q.choices else f"{q.default:g}"
    if q.fallback:
        facts["If not given"] = _link(q.fallback, q.theme)
    if q.needs:
        facts["Needs"] = _links(q.needs, q.theme)
    if q.used_by:
        facts["Used by"] = _links(q.used_by, q.theme)
    if q.name in aliases():
        facts["Also called"] = ", ".join(aliases()[q.name])
    source = f"[{q.source}](../sources.md)" if re.fullmatch(r"[RQ]\d[\d.]*", q.source) else q.source
    return facts | {"Source": source}


def _entry(q: Quantity) -> str:
    parts = [f"## {q.name}", f"{q.brief[0].upper()}{q.brief[1:]}."]
    if q.computed:
        parts += [f"$$\n{q.latex}\n$$", f"```text\n{q.formula}\n```"]
    parts.append("\n".join(f"- {what}: {text}" for what, text in _facts(q).items()))
    return "\n\n".join(parts)


def _page(theme: str, quantities: list[Quantity]) -> str:
    computed = sum(q.computed for q in quantities)
    kinds = f"{len(quantities)} quantities: {computed} computed, {len(quantities) - computed} inputs."
    formulas = f"Formulas: `cpp/roofslate/quantities/{theme}.hpp`."
    return "\n\n".join([f"# {theme.capitalize()}", f"{kinds} {formulas}", *map(_entry, quantities)]) + "\n"


def _overview(themes: Mapping[str, list[Quantity]]) -> str:
    parts = [
        "# Quantities",
        f"{len(entries())} quantities. Each name is the same in C++, as an input, as an output and as a column.",
        "```{toctree}\n:hidden:\n\n" + "\n".join(themes) + "\n```",
    ]
    for theme, quantities in themes.items():
        rows = [
            f"| [{q.name}]({theme}.md#{q.name}) | ${q.symbol}$ | {q.unit} | {q.brief.replace('|', chr(92) + '|')} |"
            for q in quantities
        ]
        table = ["| quantity | symbol | unit | meaning |", "|---|---|---|---|", *rows]
        parts += [f"## {theme.capitalize()}", "\n".join(table)]
    return "\n\n".join(parts) + "\n"
