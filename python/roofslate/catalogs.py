"""Catalogs of chips, models, prices and tiers of memory: every number with its source and date.

The numbers stand in TOML files beside this module. Files of the same form are added by `load_presets` or by the
environment variable ``ROOFSLATE_PRESETS``. Nothing is read before a catalog is used.
"""

from __future__ import annotations

import datetime
import math
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate.errors import InputTypeError, PresetError, RoofslateError, ValueRangeError, unknown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Catalog", "Fact", "Preset", "api_prices", "hardware", "load_presets", "models", "prices", "storage"]

_SHIPPED = (
    "hardware.toml",
    "models.toml",
    "measured.toml",
    "prices.toml",
    "lecture.toml",
    "techniques.toml",
    "storage.toml",
    "api_prices.toml",
)
_ENVIRONMENT = "ROOFSLATE_PRESETS"
# Section of a file, and the keyword that takes its presets. No keyword takes the last two: a question has several tiers
# of memory, and a tariff is evidence. Their values are handed over, ``**rs.storage["HDD"].values``, or as a table.
_KINDS = {
    "hardware": "hardware",
    "models": "model",
    "prices": "prices",
    "storage": "storage",
    "api_prices": "api_prices",
}


def unit_of(name: str) -> str:
    """Look up the unit of a quantity in the registry."""
    from roofslate.registry import lookup

    return lookup(name).unit


def choices_of(name: str) -> tuple[str, ...]:
    """Look up the words that a quantity takes; none for a quantity that is a number."""
    from roofslate.registry import lookup

    return lookup(name).choices


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
    """A named set of inputs: a chip, a system, a model, a price or a tier of memory. It does not change.

    Attributes
    ----------
    name : str
    kind : str
        The keyword that takes it: ``"hardware"``, ``"model"`` or ``"prices"``; ``"storage"`` or ``"api_prices"``.
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
        return _KINDS[self._section]

    def __getitem__(self, name: str) -> Preset:
        if not isinstance(name, str):
            raise InputTypeError(f"a preset is asked for by its name, got {name!r}")
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
            Also found under its name from now on.

        Examples
        --------
        >>> rs.hardware.define("H100 at 600 W", base="H100", chip_power="600 W")  # doctest: +SKIP
        """
        start = self[base] if isinstance(base, str) else base
        if start is not None and start.kind != self._kind:
            raise InputTypeError(f"{start.name!r} is no {self._kind} preset, but a {start.kind} preset")
        facts = dict(start.facts) if start else {}
        for quantity, value in values.items():
            facts[quantity] = _fact(quantity, value, source, date, read=True)
        if not facts:
            raise PresetError(f"preset {name!r} supplies nothing; give at least one quantity")
        attributes = start.attributes if start else {}
        preset = Preset(name, self._kind, facts, tuple(aliases), attributes, note or (start.note if start else ""))
        _library.add([(self._section, preset)])
        return preset

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
    _library.open()
    found = _read_file(Path(path), _library.find)
    _library.add(found)
    return [preset for _, preset in found]


# -------------------------------------------------------------------------------------------------------- the store


def _key(name: str) -> str:
    return re.sub(r"[^\w.+]|_", "", name).casefold()


class _Shelf:
    """Presets of one section and the ways to call them."""

    def __init__(self) -> None:
        self.presets: dict[str, Preset] = {}
        self.keys: dict[str, str] = {}

    def find(self, name: str) -> Preset | None:
        owner = self.keys.get(_key(name))
        return self.presets[owner] if owner is not None else None

    def names(self) -> list[str]:
        return [name for preset in self.presets.values() for name in (preset.name, *preset.aliases)]

    def put(self, preset: Preset) -> None:
        for name in (preset.name, *preset.aliases):
            if not _key(name):
                raise PresetError(f"{name!r} is not a name for a preset")
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
                shelves = {section: _Shelf() for section in _KINDS}
                for path in [*(folder / name for name in _SHIPPED), *extra]:
                    for section, preset in _read_file(path, lambda s, name: shelves[s].find(name)):
                        _put(shelves[section], preset)
                self._shelves = shelves
            return self._shelves

    def shelf(self, section: str) -> _Shelf:
        return self.open()[section]

    def find(self, section: str, name: str) -> Preset | None:
        return self.shelf(section).find(name)

    def add(self, found: Iterable[tuple[str, Preset]]) -> None:
        with self._lock:
            shelves = {section: shelf.copy() for section, shelf in self.open().items()}
            for section, preset in found:
                _put(shelves[section], preset)
            self._shelves = shelves


def _put(shelf: _Shelf, preset: Preset) -> None:
    try:
        shelf.put(preset)
    except PresetError as error:
        raise error if preset.origin == "define" else PresetError(f"{preset.origin}: {error}") from None


# ----------------------------------------------------------------------------------------------------- reading files


def _fact(quantity: str, written: Any, source: str, date: str, *, read: bool) -> Fact:
    unit = unit_of(quantity)
    choices = choices_of(quantity)
    if choices:
        if written not in choices:
            raise unknown(f"choice of {quantity}", written, choices)
        return Fact(str(written), unit, str(written), source, date, read)
    try:
        value = units.to_base(written, unit)
    except RoofslateError as error:
        raise type(error)(f"{quantity}: {error}") from None
    if math.isnan(value):
        raise ValueRangeError(f"{quantity}: NaN is not a value")
    return Fact(value, unit, str(written), source, date, read)


class _FileError(Exception):
    """What is wrong in a file, and the keys that lead there."""

    def __init__(self, message: str, *keys: str) -> None:
        super().__init__(message)
        self.keys = keys


def _read_file(path: Path, find: Any) -> list[tuple[str, Preset]]:
    """Presets of one file in its order; `find` looks up bases that stand elsewhere."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PresetError(f"cannot read the preset file {str(path)!r}: {error}") from None
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PresetError(f"{path}: {error}") from None
    found: dict[tuple[str, str], Preset] = {}
    try:
        for section, presets in content.items():
            if section not in _KINDS or not isinstance(presets, dict):
                raise _FileError(f"unknown section {section!r}; a file has {', '.join(_KINDS)}", section)
            for name, table in presets.items():
                base = table.get("base") if isinstance(table, dict) else None
                start = None
                if base is not None:
                    here = {_key(n): preset for (s, n), preset in found.items() if s == section}
                    start = here.get(_key(str(base))) or find(section, str(base))
                    if start is None:
                        raise _FileError(
                            f"the base {base!r} of {name!r} is not defined before it", section, name, "base"
                        )
                found[section, name] = _read_preset(section, name, table, start, str(path))
    except _FileError as trouble:
        line = _line_of(text, trouble.keys)
        raise PresetError(f"{path}, line {line}: {trouble}") from None
    return [(section, preset) for (section, _), preset in found.items()]


def _read_preset(section: str, name: str, table: Any, start: Preset | None, origin: str) -> Preset:
    here = (section, name)
    if not isinstance(table, dict):
        raise _FileError(f"{name!r} should be a table", *here)
    expected = {"aliases": list, "attributes": dict, "base": str, "note": str, "sources": list, "values": dict}
    for key, value in table.items():
        if key not in expected:
            raise _FileError(str(unknown(f"key of {name!r}", key, expected)), *here, key)
        if not isinstance(value, expected[key]):
            raise _FileError(f"{key!r} of {name!r} should be a {expected[key].__name__}", *here, key)
    values = table.get("values", {})
    if not values:
        raise _FileError(f"{name!r} supplies no values", *here)
    sources = _sources(table.get("sources"), values, here, Path(origin).name)
    facts = dict(start.facts) if start else {}
    for quantity, written in values.items():
        source, date, read = sources[quantity]
        try:
            facts[quantity] = _fact(quantity, written, source, date, read=read)
        except RoofslateError as error:
            raise _FileError(str(error), *here, "values", quantity) from None
    attributes = {**(start.attributes if start else {}), **table.get("attributes", {})}
    for key, value in attributes.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise _FileError(f"the attribute {key!r} should be a number or a text", *here, "attributes", key)
    aliases = table.get("aliases", [])
    if not all(isinstance(alias, str) for alias in aliases):
        raise _FileError("aliases are texts", *here, "aliases")
    preset = Preset(name, _KINDS[section], facts, tuple(aliases), attributes, table.get("note", ""), origin)
    if section == "prices" and preset.date:
        dated = f"{name} {preset.date}"
        return Preset(name, preset.kind, facts, (*aliases, dated), attributes, preset.note, origin)
    return preset


def _sources(
    entries: list[Any] | None, values: Mapping[str, Any], here: tuple[str, str], file_name: str
) -> dict[str, tuple[str, str, bool]]:
    """Source, date and whether it was read, for each value; one source a value."""
    if entries is None:
        return dict.fromkeys(values, (file_name, "", False))
    told: dict[str, tuple[str, str, bool]] = {}
    rest = None
    for entry in entries:
        if not isinstance(entry, dict) or not set(entry) <= {"of", "source", "date", "read"}:
            raise _FileError("a source has the keys of, source, date, read", *here, "sources")
        text, date, read = entry.get("source"), entry.get("date"), entry.get("read")
        if isinstance(date, (datetime.date, datetime.datetime)):
            date = date.isoformat()
        if not (isinstance(text, str) and isinstance(date, str) and isinstance(read, bool)):
            raise _FileError("a source needs source = '...', date = '...' and read = true or false", *here, "sources")
        if "of" not in entry:
            if rest is not None:
                raise _FileError("two sources without 'of': only one can have the rest", *here, "sources")
            rest = (text, date, read)
            continue
        names = entry["of"] if isinstance(entry["of"], list) else [entry["of"]]
        for quantity in names:
            if quantity not in values:
                raise _FileError(f"a source is given for {quantity!r}, which has no value here", *here, "sources")
            if quantity in told:
                raise _FileError(f"{quantity!r} has two sources", *here, "sources")
            told[quantity] = (text, date, read)
    for quantity in values:
        if quantity not in told:
            if rest is None:
                raise _FileError(f"{quantity!r} has no source", *here, "values", quantity)
            told[quantity] = rest
    return told


def _line_of(text: str, keys: tuple[str, ...]) -> int:
    """Line of a key in a TOML file, or of the nearest table around it."""
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\[?(.+?)\]\]?\s*(?:#.*)?$", line)
        if header and (path := _key_path(header[1])):
            table = path
            lines.setdefault(table, number)
        elif "=" in line and (path := _key_path(line.split("=", 1)[0])):
            lines.setdefault(table + path, number)
    for depth in range(len(keys), 0, -1):
        matches = [number for path, number in lines.items() if path[:depth] == keys[:depth]]
        if matches:
            return min(matches)
    return 1


def _key_path(text: str) -> tuple[str, ...]:
    try:
        node = tomllib.loads(f"{text} = 0")
    except tomllib.TOMLDecodeError:
        return ()
    path: tuple[str, ...] = ()
    while isinstance(node, dict) and len(node) == 1:
        (key, node) = next(iter(node.items()))
        path += (key,)
    return path


# --------------------------------------------------------------------------------------------------------- showing


def _plain(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"


_library = _Library()
hardware = Catalog("hardware")
models = Catalog("models")
prices = Catalog("prices")
storage = Catalog("storage")
api_prices = Catalog("api_prices")
