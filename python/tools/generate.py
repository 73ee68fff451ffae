"""What is written from the registry and checked in: stubs, the types of inputs, and the reference pages.

``python python/tools/generate.py`` writes them, with ``--check`` it only compares.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from declarations import package_stub, types_module, wrapped
from roofslate import _core
from roofslate._base.files import write
from roofslate.registry.registry import Quantity, entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["generated_files", "main", "stale_files"]

_MARK = "<!-- Written by python python/tools/generate.py. -->"
_REFERENCE = Path("docs/reference")


# ------------------------------------------------------------------------------------------------------------- stub

# How pybind11 spells types, and how a stub does. pybind11 differs between versions in the first two.
_TYPES = (
    (r"typing\.SupportsFloat( \| typing\.SupportsIndex)?", "float"),
    (r"typing\.SupportsInt( \| typing\.SupportsIndex)?", "int"),
    (r"typing\.Annotated\[numpy\.typing\.ArrayLike, numpy\.(float64|uint32)\]", "npt.ArrayLike"),
    (r"numpy\.typing\.NDArray\[numpy\.(float64|bool)_?\]", r"npt.NDArray[np.\1]"),
    (r"\bnumpy\.ndarray\b", "npt.NDArray[Any]"),
    (r"roofslate\._core\.", ""),
    (r"collections\.abc\.", ""),
    (r"\btuple\b(?!\[)", "tuple[Any, ...]"),
    (r"\blist\b(?!\[)", "list[Any]"),
    (r"\bdict\b(?!\[)", "dict[str, Any]"),
    (r"-> object$", "-> Any"),
)


def _stub() -> str:
    functions = []
    for name, function in inspect.getmembers(_core, callable):
        if inspect.isclass(function):
            made = _declaration(function.__init__).replace(f"self: {name}", "self")
            functions.append(f"class {name}:\n{textwrap.indent(made, '    ')}\n")
        else:
            functions.append(_declaration(function))
    return (
        "# Written by python python/tools/generate.py.\n"
        "from collections.abc import Mapping, Sequence\n"
        "from contextvars import ContextVar\n"
        "from typing import Any\n\n"
        "import numpy as np\n"
        "import numpy.typing as npt\n\n"
        "RESERVED_WORDS: frozenset[str]\nSCOPE: ContextVar[Any]\n\n" + "".join(functions)
    )


def _declaration(function: Any) -> str:
    signature = (function.__doc__ or "").partition("\n")[0]
    for spelled, wanted in _TYPES:
        signature = re.sub(spelled, wanted, signature)
    name, arguments, result = re.fullmatch(r"(\w+)\((.*)\) -> (.*)", signature).groups()  # type: ignore[union-attr]
    return wrapped(name, re.split(r", (?=\w+: )", arguments), result)


# -------------------------------------------------------------------------------------------------- reference pages


def _themes() -> dict[str, list[Quantity]]:
    themes: dict[str, list[Quantity]] = {}
    for q in entries().values():
        themes.setdefault(q.theme, []).append(q)
    return themes


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
        facts["Where it is not given"] = _link(q.fallback, q.theme)
    if q.needs:
        facts["Needs"] = _links(q.needs, q.theme)
    if q.used_by:
        facts["Used by"] = _links(q.used_by, q.theme)
    source = f"[{q.source}](sources.md)" if re.fullmatch(r"[RQ]\d[\d.]*", q.source) else q.source
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
    formulas = f"Their formulas stand in `cpp/roofslate/quantities/{theme}.hpp`."
    return "\n\n".join([_MARK, f"# {theme.capitalize()}", f"{kinds} {formulas}", *map(_entry, quantities)]) + "\n"


def _overview(themes: Mapping[str, list[Quantity]]) -> str:
    parts = [
        _MARK,
        "# Quantities",
        f"Everything that can be asked for or given: {len(entries())} quantities. Each name is the same in C++, as an "
        "input, as an output and as a column.",
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


# ------------------------------------------------------------------------------------------------------------ files


def generated_files() -> dict[Path, str]:
    """Contents of all generated files, by their path in the source tree.

    Returns
    -------
    dict of pathlib.Path to str
    """
    themes = _themes()
    pages = {_REFERENCE / f"{theme}.md": _page(theme, quantities) for theme, quantities in themes.items()}
    return {
        Path("python/roofslate/_core.pyi"): _stub(),
        Path("python/roofslate/__init__.pyi"): package_stub(),
        Path("python/roofslate/typing.py"): types_module(),
        _REFERENCE / "quantities.md": _overview(themes),
        **pages,
    }


def stale_files(root: Path) -> list[Path]:
    """Files of a source tree that differ from what the registry says, and pages of themes that are gone.

    Parameters
    ----------
    root : pathlib.Path
        The source tree.

    Returns
    -------
    list of pathlib.Path
        In the tree; empty where all is as it should be.
    """
    wanted = generated_files()
    differing = [path for path, text in wanted.items() if _read(root / path) != text]
    return differing + [path for path in _pages_in(root) if path not in wanted]


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _pages_in(root: Path) -> list[Path]:
    pages = sorted((root / _REFERENCE).glob("*.md"))
    return [page.relative_to(root) for page in pages if (_read(page) or "").startswith(_MARK)]


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 where a file differs.")
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(__file__).parents[2],
    help="The source tree; by default the one that this package lies in.",
)
def main(check: bool, root: Path) -> None:
    """Write stubs, the types of inputs and the reference pages from the registry."""
    stale = stale_files(root)
    wanted = generated_files()
    for path in stale:
        if check:
            click.echo(f"{path} is not what the registry says", err=True)
        elif path in wanted:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            write(root / path, wanted[path])
            click.echo(f"wrote {path}")
        else:
            (root / path).unlink()
            click.echo(f"removed {path}")
    if check and stale:
        click.echo("run python python/tools/generate.py", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
