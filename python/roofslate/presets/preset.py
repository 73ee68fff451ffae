"""One preset: sourced numbers of a chip, a model or a price."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate._base.locks import cached_property
from roofslate._base.messages import shown, unknown
from roofslate.display.html import html_table
from roofslate.errors import InputTypeError, PresetError
from roofslate.registry.registry import lookup
from roofslate.registry.values import number

if TYPE_CHECKING:
    from collections.abc import KeysView, Mapping

    import pandas as pd

__all__ = ["KINDS", "Conflict", "Fact", "Preset", "check_text", "fact_of", "is_date", "is_name", "origin_of"]

LONGEST_NAME, _LONGEST_TEXT = 100, 1000  # characters

# Section of a file, and the keyword that takes its presets.
KINDS = {
    "hardware": "hardware",
    "models": "model",
    "prices": "prices",
    "loss_laws": "loss_law",
    "storage": "storage",
    "api_prices": "api_prices",
    "speculators": "speculator",
    "workloads": "workload",
    "sites": "site",
    "engines": "engine",
}


@dataclass(frozen=True)
class Fact:
    """One number of a preset and where it comes from.

    Attributes
    ----------
    value : float or str
        In base units; a word for a choice such as ``weight_format``.
    unit : str
        Unit of `value`, made of base units.
    written : str
        The number as the preset file writes it.
    source, date : str
        Where it was published and when.
    read : bool
        Whether the number was read there; otherwise it is unverified.
    """

    value: float | str
    unit: str
    written: str
    source: str
    date: str
    read: bool

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return self.value
        if self.value.is_integer() and abs(self.value) < 1e6 and self.unit == "1":
            return f"{self.value:,.0f}"
        return units.format(self.value, self.unit)

    @property
    def status(self) -> str:
        """``"checked in source"`` if the number was read there, otherwise ``"unverified"``."""
        return _status(self.read)

    @property
    def origin(self) -> str:
        """Source, date, and status in words."""
        return origin_of(self.source, self.date, read=self.read)


@dataclass(frozen=True)
class Conflict:
    """A figure that contradicts the one of a preset.

    Attributes
    ----------
    quantity : str
    fact : Fact
        The other figure and its source.
    decision : str
        Reason for the preset's figure; empty while none is recorded.
    """

    quantity: str
    fact: Fact
    decision: str


@dataclass(frozen=True, repr=False)
class Preset:
    """A named set of inputs, such as a chip, system, model, price, loss law or memory tier.

    It does not change. ``**preset`` passes its values to any call as inputs that are given.

    Attributes
    ----------
    name : str
    kind : str
        The keyword that takes it: ``"hardware"``, ``"model"``, ``"prices"``, ``"loss_law"``, ``"storage"``,
        ``"api_prices"``, ``"speculator"``, ``"workload"`` or ``"site"``.
    facts : Mapping[str, Fact]
        Supplied facts by the name of the quantity.
    values : Mapping[str, float or str]
        The same as values in base units.
    aliases : tuple of str
        Other names.
    attributes : Mapping[str, float or str]
        Further knowledge that is no quantity, also as ``preset.name_of_attribute``.
    note : str
        Advice for readers of the numbers.
    origin : str
        File that it was read from, or ``"define"``.
    bases : tuple of str
        Names of the presets that it started from, nearest first: of a system its chip.
    conflicts : tuple of Conflict
        Published figures that contradict its own, each with the decision between them.
    published : Mapping[str, str]
        Ids under which a model is published on Hugging Face, each with its source. They are names too.
    """

    name: str
    kind: str
    facts: Mapping[str, Fact]
    aliases: tuple[str, ...] = ()
    attributes: Mapping[str, float | str] = field(default_factory=dict)
    note: str = ""
    origin: str = "define"
    bases: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    published: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, float | str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "facts", MappingProxyType(dict(self.facts)))
        put(self, "attributes", MappingProxyType(dict(self.attributes)))
        put(self, "published", MappingProxyType(dict(self.published)))
        put(self, "values", MappingProxyType({name: fact.value for name, fact in self.facts.items()}))
        put(self, "_hash", hash((self.kind, self.name)))

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (dict(self.facts), self.aliases, dict(self.attributes), self.note, self.origin, self.bases)
        return Preset, (self.name, self.kind, *arguments, self.conflicts, dict(self.published))

    def __hash__(self) -> int:
        return self.__dict__["_hash"]  # type: ignore[no-any-return]

    def __getitem__(self, quantity: str) -> float | str:
        try:
            return self.values[quantity]
        except KeyError:
            raise unknown(f"quantity of {self.name!r}", quantity, self.values) from None

    def keys(self) -> KeysView[str]:
        """Names of the quantities that it supplies, for ``**``."""
        return self.values.keys()

    def __getattr__(self, name: str) -> float | str:
        if not name.startswith("_"):
            for known in (self.attributes, self.values):
                if name in known:
                    return known[name]
        raise AttributeError(f"preset {self.name!r} has no {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.attributes, *self.values]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.values)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that finds it: its name, aliases and published ids."""
        return (self.name, *self.aliases, *self.published)

    @cached_property
    def date(self) -> str:
        """Date of the newest source."""
        return max((fact.date for fact in self.facts.values()), default="")

    def to_frame(self) -> pd.DataFrame:
        """Table of the facts, one row a quantity.

        Returns
        -------
        pandas.DataFrame
            Columns value, unit, written, source, date, read, and status ("checked in source" or "unverified").
        """
        import pandas as pd

        rows = [{**vars(fact), "status": fact.status} for fact in self.facts.values()]
        index = pd.Index(list(self.facts), name="quantity")
        return pd.DataFrame(rows, index=index, columns=["value", "unit", "written", "source", "date", "read", "status"])

    @property
    def unverified(self) -> tuple[str, ...]:
        """Quantities whose number was not checked in its source."""
        return tuple(name for name, fact in self.facts.items() if not fact.read)

    def _rows(self) -> list[tuple[str, str, str]]:
        ids = [("published", name, origin) for name, origin in self.published.items()]
        return [*((name, str(fact), fact.origin) for name, fact in self.facts.items()), *ids]

    def __repr__(self) -> str:
        rows = self._rows()
        first, second = (max((len(row[i]) for row in rows), default=0) for i in (0, 1))
        lines = [f"  {name:<{first}}  {value:<{second}}  {source}" for name, value, source in rows]
        return "\n".join([f"{self.name} ({self.kind})", *([f"  {self.note}"] if self.note else []), *lines])

    def _repr_html_(self) -> str:
        from markupsafe import Markup

        rows = [*self._rows(), *((name, plain(value), "attribute") for name, value in self.attributes.items())]
        note = Markup("<p>{}</p>").format(self.note) if self.note else ""
        caption = Markup("<b>{}</b> ({}){}").format(self.name, self.kind, note)
        return html_table(caption, ("quantity", "value", "source"), rows)


def _status(read: bool) -> str:
    return "checked in source" if read else "unverified"


def origin_of(source: str, date: str, *, read: bool) -> str:
    """Source, date, and whether something was read there, in words."""
    return f"{source}{', ' * bool(date)}{date} ({_status(read)})"


def fact_of(quantity: str, written: Any, source: str, date: str, *, read: bool) -> Fact:
    """Make a fact of a written value, checked like an input of the quantity."""
    q = lookup(quantity)
    x = number(written, q)
    return Fact(q.choices[int(x)] if q.choices else x, q.unit, str(written), source, date, read)


def check_text(what: str, text: object) -> None:
    """Refuse values other than one line of printable text."""
    if not isinstance(text, str):
        raise InputTypeError(f"{what}: expected a text, got {shown(text)}")
    if not text.isprintable() or len(text) > _LONGEST_TEXT:
        raise PresetError(f"{what}: expected one line of up to {_LONGEST_TEXT} characters, got {shown(text)}")


def is_name(text: object) -> bool:
    """Check if this can name a preset: printable and short."""
    return isinstance(text, str) and text.strip() != "" and text.isprintable() and len(text) <= LONGEST_NAME


def is_date(text: object) -> bool:
    """Return True for a year, a month or a day: ``"2026"``, ``"2026-05"``, ``"2026-05-03"``."""
    if not isinstance(text, str) or len(text) not in (4, 7, 10):
        return False
    try:
        datetime.date.fromisoformat(text + "0000-01-01"[len(text) :])
    except ValueError:
        return False
    return True


def plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"
