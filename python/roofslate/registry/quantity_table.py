"""Quantities as a table that shows whole briefs, for a console and for Jupyter."""

from __future__ import annotations

import functools
import html
from typing import TYPE_CHECKING, Any

from roofslate.registry.aliases import aliases
from roofslate.registry.registry import matching

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["quantities"]

_MOST_ROWS = 25  # shown; the table has all
_SHOWN = ("brief", "unit")


@functools.cache
def _table_type() -> type[pd.DataFrame]:
    """Make the type of the table when it is first used, because pandas is slow to load."""
    import pandas as pd

    class QuantityTable(pd.DataFrame):
        """Quantities with all their columns, of which unit and whole brief are shown."""

        @property
        def _constructor(self) -> type[QuantityTable]:
            return QuantityTable

        def _is_listing(self) -> bool:
            return {*_SHOWN, "theme"} <= {*self.columns} and self.index.name == "quantity" and len(self) > 0

        def _rows(self) -> list[tuple[str, ...]]:
            columns = [self.index[:_MOST_ROWS], *(self[name].iloc[:_MOST_ROWS] for name in _SHOWN)]
            return [tuple(map(str, row)) for row in zip(*columns, strict=True)]

        def _more(self) -> str:
            hidden = len(self) - _MOST_ROWS
            more = f"{hidden:,} more rows; search with rs.quantities('words'). " if hidden > 0 else ""
            columns = ", ".join(str(name) for name in self.columns if name not in _SHOWN)
            return f"{more}Further columns: {columns}" if columns else more

        def __repr__(self) -> str:
            if not self._is_listing():
                return super().__repr__()
            rows = [("quantity", *_SHOWN), *self._rows()]
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
            return "\n".join([*lines, self._more()]).rstrip()

        def _repr_html_(self) -> str | None:
            if not self._is_listing():
                return super()._repr_html_()  # type: ignore[misc,no-any-return]
            head = "".join(f'<th scope="col" style="text-align:left">{name}</th>' for name in ("quantity", *_SHOWN))
            rows = "".join(
                f'<tr><th scope="row" style="text-align:left">{html.escape(name)}</th>'
                + "".join(f'<td style="text-align:left">{html.escape(text)}</td>' for text in texts)
                + "</tr>"
                for name, *texts in self._rows()
            )
            return (
                f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{html.escape(self._more())}</p>"
            )

    QuantityTable.__qualname__ = "QuantityTable"  # as pickle finds it
    return QuantityTable


def __getattr__(name: str) -> Any:
    if name == "QuantityTable":
        return _table_type()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def quantities(search: str | None = None) -> pd.DataFrame:
    """The registry as a table, one row a quantity.

    Parameters
    ----------
    search : str, optional
        Keep those whose name, alias, meaning or symbol has these words, the best matches first. Aliases are terms of
        the field, such as ``"TPOT"`` and ``"tp"``. Case, word order, ``_`` and ``-`` do not matter.

    Returns
    -------
    pandas.DataFrame
        Indexed by name, with columns theme, unit, brief, symbol, formula, needs, source, default, range, fallback,
        aliases. It shows unit and brief, in full.
    """
    import pandas as pd

    matches = matching(search)
    columns = {
        "theme": [q.theme for q in matches],
        "unit": [q.unit for q in matches],
        "brief": [q.brief for q in matches],
        "symbol": [q.symbol for q in matches],
        "formula": [q.formula for q in matches],
        "needs": [", ".join(q.needs) for q in matches],
        "source": [q.source for q in matches],
        "default": [q.choices[int(q.default)] if q.choices and q.default is not None else q.default for q in matches],
        "range": ["" if q.computed else q.range_text for q in matches],
        "fallback": [q.fallback or "" for q in matches],
        "aliases": [", ".join(aliases().get(q.name, ())) for q in matches],
    }
    return _table_type()(columns, index=pd.Index([q.name for q in matches], name="quantity"))
