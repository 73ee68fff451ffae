"""Catalogs of chips, models, prices, loss laws and tiers of memory: every number with its source and date.

The numbers stand in TOML files beside this module. Files of the same form are added by `load_presets` or by the
environment variable ``ROOFSLATE_PRESETS``. Nothing is read before a catalog is used.
"""

from __future__ import annotations

import datetime
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate.errors import InputTypeError, PresetError, shown, unknown

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "KINDS",
    "Catalog",
    "Fact",
    "Preset",
    "api_prices",
    "check_text",
    "fact_of",
    "hardware",
    "is_date",
    "load_presets",
    "loss_laws",
    "models",
    "prices",
    "storage",
]

_SHIPPED = (
    "hardware.toml",
    "models.toml",
    "measured.toml",
    "prices.toml",
    "lecture.toml",
    "techniques.toml",
    "storage.toml",
    "api_prices.toml",
    "loss_laws.toml",
)
_ENVIRONMENT = "ROOFSLATE_PRESETS"
_LONGEST_NAME, _LONGEST_TEXT = 100, 1000  # characters
# Section of a file, and the keyword that takes its presets. No keyword takes the last two: a question has several tiers
# of memory, and a tariff is evidence. Their values are handed over, ``**rs.storage["HDD"].values``, or as a table.
KINDS = {
    "hardware": "hardware",
    "models": "model",
    "prices": "prices",
    "loss_laws": "loss_law",
    "storage": "storage",
    "api_prices": "api_prices",
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
        Whether the number was read there; otherwise it was recalled and wants checking.
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
    def origin(self) -> str:
        """Source and date in words, and whether the number was read there or recalled."""
        return f"{self.source}{', ' * bool(self.date)}{self.date} ({'read' if self.read else 'recalled'})"


@dataclass(frozen=True, repr=False)
class Preset:
    """A named set of inputs: a chip, a system, a model, a price, a loss law or a tier of memory.

    It does not change.

    Attributes
    ----------
    name : str
    kind : str
        The keyword that takes it: ``"hardware"``, ``"model"``, ``"prices"`` or ``"loss_law"``; ``"storage"`` or
        ``"api_prices"``.
    facts : Mapping[str, Fact]
        What it supplies, by the name of the quantity.
    values : Mapping[str, float or str]
        The same as values in base units.
    aliases : tuple of str
        Other names.
    attributes : Mapping[str, float or str]
        What is known beyond quantities, also as ``preset.name_of_attribute``.
    note : str
        What a reader of the numbers should know.
    origin : str
        File that it was read from, or ``"define"``.
    """

    name: str
    kind: str
    facts: Mapping[str, Fact]
    aliases: tuple[str, ...] = ()
    attributes: Mapping[str, float | str] = field(default_factory=dict)
    note: str = ""
    origin: str = "define"
    values: Mapping[str, float | str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "facts", MappingProxyType(dict(self.facts)))
        put(self, "attributes", MappingProxyType(dict(self.attributes)))
        put(self, "values", MappingProxyType({name: fact.value for name, fact in self.facts.items()}))

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (dict(self.facts), self.aliases, dict(self.attributes), self.note, self.origin)
        return Preset, (self.name, self.kind, *arguments)

    def __hash__(self) -> int:
        return hash((self.kind, self.name))

    def __getitem__(self, quantity: str) -> float | str:
        try:
            return self.values[quantity]
        except KeyError:
            raise unknown(f"quantity of {self.name!r}", quantity, self.values) from None

    def __getattr__(self, name: str) -> float | str:
        if not name.startswith("_"):
            for known in (self.attributes, self.values):
                if name in known:
                    return known[name]
        raise AttributeError(f"preset {self.name!r} has no {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.attributes, *self.values]

    @property
    def date(self) -> str:
        """Date of the newest source."""
        return max((fact.date for fact in self.facts.values()), default="")

    def to_frame(self) -> pd.DataFrame:
        """Table of the facts, one row a quantity.

        Returns
        -------
        pandas.DataFrame
            Columns value, unit, written, source, date, read.
        """
        import pandas as pd

        rows = [vars(fact) for fact in self.facts.values()]
        index = pd.Index(list(self.facts), name="quantity")
        return pd.DataFrame(rows, index=index, columns=["value", "unit", "written", "source", "date", "read"])

    def _rows(self) -> list[tuple[str, str, str]]:
        return [(name, str(fact), fact.origin) for name, fact in self.facts.items()]

    def __repr__(self) -> str:
        rows = self._rows()
        first, second = (max((len(row[i]) for row in rows), default=0) for i in (0, 1))
        lines = [f"  {name:<{first}}  {value:<{second}}  {source}" for name, value, source in rows]
        return "\n".join([f"{self.name} ({self.kind})", *([f"  {self.note}"] if self.note else []), *lines])

    def _repr_html_(self) -> str:
        from markupsafe import Markup

        from roofslate.typesetting import html_table

        rows = [*self._rows(), *((name, _plain(value), "attribute") for name, value in self.attributes.items())]
        note = Markup("<p>{}</p>").format(self.note) if self.note else ""
        caption = Markup("<b>{}</b> ({}){}").format(self.name, self.kind, note)
        return html_table(caption, ("quantity", "value", "source"), rows)


class Catalog(Mapping[str, Preset]):
    """Presets of one kind, by name or alias.

    Case, spaces, dashes and brackets in a name do not matter: ``hardware["gb200-nvl72"]``.
    """

    def __init__(self, section: str) -> None:
        self._section = section

    @property
    def _kind(self) -> str:
        return KINDS[self._section]

    def __getitem__(self, name: str) -> Preset:
        if not isinstance(name, str):
            raise InputTypeError(f"a preset is asked for by its name, got {shown(name)}")
        shelf = _library.shelf(self._section)
        preset = shelf.find(name)
        if preset is None:
            raise unknown(f"{self._kind} preset", name, shelf.names())
        return preset

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _library.shelf(self._section).find(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(list(_library.shelf(self._section).presets))

    def __len__(self) -> int:
        return len(_library.shelf(self._section).presets)

    def define(
        self,
        name: str,
        /,
        base: str | Preset | None = None,
        *,
        aliases: Iterable[str] = (),
        note: str = "",
        source: str = "defined in this session",
        date: str = "",
        **values: Any,
    ) -> Preset:
        """Add a preset of your own.

        Parameters
        ----------
        name : str
            A new name, or one defined before in this session.
        base : str or Preset, optional
            Preset whose values it starts from.
        aliases : iterable of str
            Other names.
        note, source, date : str
            What a reader of the numbers should know, and where they come from.
        **values : float, str or pint.Quantity
            Quantities that it supplies: numbers in base units, or texts with a unit.

        Returns
        -------
        Preset
            Also found under its name, from now on and in the whole process.

        Raises
        ------
        UnknownName
            For a base or a quantity that does not exist.
        UnitError, ValueRangeError, InputTypeError
            For a value that its quantity does not take.
        PresetError
            For a name that is taken, or where nothing is supplied.

        Examples
        --------
        >>> import roofslate as rs
        >>> chip = rs.hardware.define("B200 with faster memory", base="B200", hbm_bandwidth="10 TB/s")
        >>> rs.value("hbm_drain_time", hardware=chip)
        0.018
        """
        start = self[base] if isinstance(base, str) else base
        if start is not None and not isinstance(start, Preset):
            raise InputTypeError(f"base: expected the name of a preset or a preset, got {shown(base)}")
        if start is not None and start.kind != self._kind:
            raise InputTypeError(f"{start.name!r} is no {self._kind} preset, but a {start.kind} preset")
        if isinstance(aliases, str):
            raise InputTypeError(f"aliases: expected a list of names, got {shown(aliases)}")
        for what, text in (("note", note), ("source", source)):
            check_text(what, text)
        if date != "" and not is_date(date):
            raise PresetError(f"date: expected a date such as '2026-05', got {shown(date)}")
        facts = dict(start.facts) if start else {}
        for quantity, value in values.items():
            facts[quantity] = fact_of(quantity, value, source, date, read=True)
        if not facts:
            raise PresetError(f"preset {shown(name)} supplies nothing; give at least one quantity")
        attributes = start.attributes if start else {}
        preset = Preset(name, self._kind, facts, tuple(aliases), attributes, note or (start.note if start else ""))
        _library.add(self._section, preset)
        return preset

    def on(self, date: str | datetime.date, /) -> dict[str, Preset]:
        """Look up the presets that held on a day, by their attributes ``valid_from`` and ``valid_until``.

        Parameters
        ----------
        date : str or datetime.date
            A day, such as ``"2026-03-01"``.

        Returns
        -------
        dict of str to Preset
            In the order of the catalog. One that says no end was on the list when it was collected, and holds on.

        Raises
        ------
        PresetError
            For what is no day.

        Examples
        --------
        >>> import roofslate as rs
        >>> [name for name in rs.api_prices.on("2026-03-12") if "4.6" in name]
        ['Claude Opus 4.6 until 2026-03-12', 'Claude Sonnet 4.6']
        """
        day = date.isoformat()[:10] if isinstance(date, datetime.date) else date
        if not is_date(day) or len(day) != 10:
            raise PresetError(f"expected a day such as '2026-03-01', got {shown(date)}")

        def holds(preset: Preset) -> bool:
            start, end = (str(preset.attributes.get(name, "")) for name in ("valid_from", "valid_until"))
            return day[: len(start)] >= start and (not end or day[: len(end)] <= end)

        return {name: preset for name, preset in _library.shelf(self._section).presets.items() if holds(preset)}

    def to_frame(self) -> pd.DataFrame:
        """Table of the presets, one row a preset and one column a quantity, in base units.

        Returns
        -------
        pandas.DataFrame
            The units stand in ``attrs["units"]``.
        """
        import pandas as pd

        presets = _library.shelf(self._section).presets
        index = pd.Index(list(presets), name=self._kind)
        frame = pd.DataFrame([dict(preset.values) for preset in presets.values()], index=index)
        frame.attrs["units"] = {name: fact.unit for preset in presets.values() for name, fact in preset.facts.items()}
        return frame

    def __repr__(self) -> str:
        return f"{len(self)} {self._kind} presets: {', '.join(self)}"

    def _repr_html_(self) -> str:
        from roofslate.typesetting import html_table

        presets = _library.shelf(self._section).presets.values()
        columns = list(dict.fromkeys(name for preset in presets for name in preset.facts))
        rows = [(p.name, *(str(p.facts[c]) if c in p.facts else "" for c in columns)) for p in presets]
        return html_table(f"{len(rows)} {self._kind} presets", (self._kind, *columns), rows)


def load_presets(path: str | os.PathLike[str]) -> list[Preset]:
    """Add the presets of a TOML file to the catalogs.

    Parameters
    ----------
    path : path-like
        A file of the same form as those that come with the package::

            [hardware."My chip"]
            sources = [{ source = "our lab", date = "2026-05", read = true }]

            [hardware."My chip".values]
            peak_flops_bf16 = "900 TFLOP/s"
            hbm_bandwidth = "4 TB/s"
            hbm_capacity = "96 GB"

    Returns
    -------
    list of Preset
        What was added. A file may be loaded again after a change.

    Raises
    ------
    PresetError
        Where something in the file is not as it should be; the message names the line.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputTypeError(f"load_presets: expected the path of a file, got {shown(path)}")
    return _library.load(Path(path))


# -------------------------------------------------------------------------------------------------------- the store


def _key(name: str) -> str:
    return re.sub(r"[^\w.+]|_", "", name).casefold()


class _Shelf:
    """Presets of one section and the ways to call them."""

    def __init__(self) -> None:
        self.presets: dict[str, Preset] = {}
        self.keys: dict[str, str] = {}

    def find(self, name: str) -> Preset | None:
        as_written = self.presets.get(name)
        if as_written is not None:
            return as_written
        owner = self.keys.get(_key(name))
        return self.presets[owner] if owner is not None else None

    def names(self) -> list[str]:
        return [name for preset in self.presets.values() for name in (preset.name, *preset.aliases)]

    def put(self, preset: Preset) -> None:
        for name in (preset.name, *preset.aliases):
            if not isinstance(name, str) or not _key(name) or not name.isprintable() or len(name) > _LONGEST_NAME:
                raise PresetError(
                    f"{shown(name)} is not a name for a preset: expected up to {_LONGEST_NAME} printable characters"
                )
            holder = self.find(name)
            if holder is not None and not (holder.name == preset.name and holder.origin == preset.origin):
                raise PresetError(f"{name!r} is taken by the {preset.kind} preset {holder.name!r}; choose another name")
        old = self.presets.get(preset.name)
        for name in (old.name, *old.aliases) if old else ():
            self.keys.pop(_key(name), None)
        self.presets[preset.name] = preset
        for name in (preset.name, *preset.aliases):
            self.keys[_key(name)] = preset.name

    def copy(self) -> _Shelf:
        other = _Shelf()
        other.presets, other.keys = dict(self.presets), dict(self.keys)
        return other


class _Library:
    """All shelves; read from the files on first use, changed as a whole or not at all."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._shelves: dict[str, _Shelf] | None = None

    def open(self) -> dict[str, _Shelf]:
        if self._shelves is not None:
            return self._shelves
        with self._lock:
            if self._shelves is None:
                folder = Path(__file__).with_name("presets")
                extra = [Path(name) for name in os.environ.get(_ENVIRONMENT, "").split(os.pathsep) if name]
                shelves = {section: _Shelf() for section in KINDS}
                for path in [*(folder / name for name in _SHIPPED), *extra]:
                    _read(path, shelves)
                self._shelves = shelves
            return self._shelves

    def shelf(self, section: str) -> _Shelf:
        return self.open()[section]

    def load(self, path: Path) -> list[Preset]:
        with self._lock:
            shelves = {section: shelf.copy() for section, shelf in self.open().items()}
            found = _read(path, shelves)
            self._shelves = shelves
        return found

    def add(self, section: str, preset: Preset) -> None:
        with self._lock:
            shelf = self.shelf(section).copy()
            shelf.put(preset)
            self._shelves = {**self.open(), section: shelf}


def _read(path: Path, shelves: Mapping[str, _Shelf]) -> list[Preset]:
    from roofslate.preset_files import read_file

    return read_file(path, lambda s, name: shelves[s].find(name), lambda s, preset: shelves[s].put(preset))


# --------------------------------------------------------------------------------------------------------- checking


def fact_of(quantity: str, written: Any, source: str, date: str, *, read: bool) -> Fact:
    """Make a fact of what was written; it is checked as an input of the quantity would be."""
    from roofslate.inputs import number
    from roofslate.registry import lookup

    q = lookup(quantity)
    x = number(written, q)
    return Fact(q.choices[int(x)] if q.choices else x, q.unit, str(written), source, date, read)


def check_text(what: str, text: object) -> None:
    """Refuse what is no line of text that can be printed."""
    if not isinstance(text, str):
        raise InputTypeError(f"{what}: expected a text, got {shown(text)}")
    if not text.isprintable() or len(text) > _LONGEST_TEXT:
        raise PresetError(f"{what}: expected one line of up to {_LONGEST_TEXT} characters, got {shown(text)}")


def is_date(text: object) -> bool:
    """Whether this is a year, a month or a day: ``"2026"``, ``"2026-05"``, ``"2026-05-03"``."""
    if not isinstance(text, str) or len(text) not in (4, 7, 10):
        return False
    try:
        datetime.date.fromisoformat(text + "0000-01-01"[len(text) :])
    except ValueError:
        return False
    return True


# --------------------------------------------------------------------------------------------------------- showing


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"


_library = _Library()
hardware = Catalog("hardware")
models = Catalog("models")
prices = Catalog("prices")
loss_laws = Catalog("loss_laws")
storage = Catalog("storage")
api_prices = Catalog("api_prices")
