"""Catalogs: presets by name, from files and of the user."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate._base.locks import Lock
from roofslate._base.messages import shown, unknown
from roofslate.display.html import html_table
from roofslate.errors import InputTypeError, PresetError
from roofslate.presets.files import Part, parts_of, read_file, read_part
from roofslate.presets.preset import KINDS, LONGEST_NAME, Fact, Preset, check_text, fact_of, is_date
from roofslate.presets.validity import FINDINGS, day_of, days_outside, findings_of, series_of, validity_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "AS_OF",
    "Catalog",
    "api_prices",
    "engines",
    "hardware",
    "load_presets",
    "loss_laws",
    "measured_as",
    "models",
    "prices",
    "sites",
    "speculators",
    "storage",
    "workloads",
]

# Files that come with the package, in the order of the catalogs.
_SHIPPED = (
    "hardware.toml",
    "models.toml",
    "models_2026.toml",
    "measured.toml",
    "prices.toml",
    "prices_2026.toml",
    "lecture.toml",
    "techniques.toml",
    "storage.toml",
    "api_prices.toml",
    "api_prices_2026.toml",
    "loss_laws.toml",
    "speculators.toml",
    "workloads.toml",
    "ownership.toml",
    "engines.toml",
)
_FOLDER = Path(__file__).with_name("data")
_ENVIRONMENT = "ROOFSLATE_PRESETS"
AS_OF = " as of "  # between the name of a price and a day


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
        preset = _library.find(self._section, name)
        if preset is None and AS_OF in name:
            return self.as_of(*name.rsplit(AS_OF, 1))
        if preset is None:
            raise unknown(f"{self._kind} preset", name, _library.shelf(self._section).names())
        return preset

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        return _library.find(self._section, name) is not None or (AS_OF in name and name.rsplit(AS_OF, 1)[0] in self)

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
        bases = (start.name, *start.bases) if start else ()
        note = note or (start.note if start else "")
        preset = Preset(name, self._kind, facts, tuple(aliases), attributes, note, bases=bases)
        _library.add(self._section, preset)
        return preset

    def as_of(self, name: str | Preset, date: str | datetime.date, /) -> Preset:
        """Look up the entry of a price that was in force on a day.

        Entries of one attribute `series` follow each other; the one in force when they were collected has the name of
        the series. The same in a call: ``prices="H100 RunPod secure", as_of="2026-09-01"``, and as a name wherever a
        preset is named: ``"H100 RunPod secure as of 2026-09-01"``.

        Parameters
        ----------
        name : str or Preset
            Any entry of the series.
        date : str or datetime.date
            A day, such as ``"2026-06-01"``.

        Returns
        -------
        Preset

        Raises
        ------
        UnknownName
            For an entry that does not exist.
        PresetError
            For a day outside of the validity of every entry, naming the nearest, and for what is no day.

        Examples
        --------
        >>> import roofslate as rs
        >>> rs.prices.as_of("H100 SemiAnalysis hyperscaler TCO", "2026-06-01").facts["chip_price"].written
        '$1.3/h'
        """
        day = day_of(date)
        preset = name if isinstance(name, Preset) else self[name]
        entries = [each for each in self.values() if series_of(each) == series_of(preset)] or [preset]
        distances = [days_outside(each, day) for each in entries]
        nearest = entries[distances.index(min(distances))]
        if min(distances):
            start, end = validity_of(nearest)
            period = f"{start} to {end}" if end else f"from {start} on"
            raise PresetError(f"{preset.name!r} has no entry for {day}; the nearest is {nearest.name!r}, {period}")
        return nearest

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
        >>> [name for name in rs.api_prices.on("2026-03-12") if name.startswith("Claude") and "4.6" in name]
        ['Claude Opus 4.6 until 2026-03-12', 'Claude Sonnet 4.6 until 2026-03-12']
        """
        day = day_of(date)
        presets = _library.shelf(self._section).presets
        return {name: preset for name, preset in presets.items() if not days_outside(preset, day)}

    def check(self, date: str | datetime.date | None = None, /) -> pd.DataFrame:
        """List numbers that are stale, unverified, or contradicted.

        Stale is a price whose series has no entry for the day, or whose entry in force is older than a year.
        Contradicted is a number with another published figure (`Preset.conflicts`) without a decision between them, or
        an entry that holds on a day on which another one of its series does.

        Parameters
        ----------
        date : str or datetime.date, optional
            The day in question, such as ``"2026-11-22"``; today unless given.

        Returns
        -------
        pandas.DataFrame
            A row a finding: preset, quantity, finding ("contradicted", "stale" or "unverified"), value, reason.

        Raises
        ------
        PresetError
            For what is no day.

        Examples
        --------
        >>> import roofslate as rs
        >>> rs.hardware.check("2026-11-22")["finding"].unique().tolist()
        ['unverified']
        """
        import pandas as pd

        rows = findings_of(list(self.values()), day_of(datetime.date.today() if date is None else date))
        return pd.DataFrame(rows, columns=list(FINDINGS))

    def to_frame(self) -> pd.DataFrame:
        """Table of the presets, one row a preset and one column a quantity, in base units.

        Returns
        -------
        pandas.DataFrame
            The last column, ``unverified``, names the quantities whose number was not checked in its source. The units
            are in ``attrs["units"]``.
        """
        import pandas as pd

        presets = _library.shelf(self._section).presets
        index = pd.Index(list(presets), name=self._kind)
        frame = pd.DataFrame([dict(preset.values) for preset in presets.values()], index=index)
        frame["unverified"] = [", ".join(preset.unverified) for preset in presets.values()]
        frame.attrs["units"] = {name: fact.unit for preset in presets.values() for name, fact in preset.facts.items()}
        return frame

    def __repr__(self) -> str:
        presets = _library.shelf(self._section).presets
        checked = [fact.read for preset in presets.values() for fact in preset.facts.values()]
        counted = f"{checked.count(False):,} of {len(checked):,} numbers unverified"
        return f"{len(presets)} {self._kind} presets: {', '.join(presets)}\n{counted}"

    def _repr_html_(self) -> str:
        presets = _library.shelf(self._section).presets.values()
        columns = list(dict.fromkeys(name for preset in presets for name in preset.facts))
        rows = [(p.name, *(_marked(p.facts.get(c)) for c in columns)) for p in presets]
        return html_table(f"{len(rows)} {self._kind} presets (* unverified)", (self._kind, *columns), rows)


def measured_as(preset: Preset) -> str:
    """Name under which runs of a preset were measured: that of a system's chip, if the system leaves it as it is."""
    for name in preset.bases:
        base = _library.find("hardware", name) if preset.kind == "hardware" else None
        if base is not None and "chips" not in base.values and base.values.items() <= preset.values.items():
            return base.name
    return preset.name


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


def _marked(fact: Fact | None) -> str:
    """Text of a number in a table; a star marks one that was not checked in its source."""
    return "" if fact is None else f"{fact}{'' if fact.read else ' *'}"


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
        return [name for preset in self.presets.values() for name in preset.names]

    def put(self, preset: Preset) -> None:
        for name in preset.names:
            if not isinstance(name, str) or not _key(name) or not name.isprintable() or len(name) > LONGEST_NAME:
                raise PresetError(
                    f"{shown(name)} is not a name for a preset: expected up to {LONGEST_NAME} printable characters"
                )
            holder = self.find(name)
            if holder is not None and not (holder.name == preset.name and holder.origin == preset.origin):
                raise PresetError(f"{name!r} is taken by the {preset.kind} preset {holder.name!r}; choose another name")
        old = self.presets.get(preset.name)
        for name in old.names if old else ():
            self.keys.pop(_key(name), None)
        self.presets[preset.name] = preset
        for name in preset.names:
            self.keys[_key(name)] = preset.name

    def copy(self) -> _Shelf:
        other = _Shelf()
        other.presets, other.keys = dict(self.presets), dict(self.keys)
        return other


class _Shipped:
    """Presets of the package, each read when it is asked for: reading all files takes ten times as long."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[tuple[str, str], Part]] = {}  # by file, and by section and key
        self.read: dict[tuple[str, str], Preset] = {}  # by section and name

    def find(self, section: str, name: str) -> Preset | None:
        """A preset by its name or an alias that its file lists; None leaves it to the whole reading, and its errors."""
        part = self._part(section, _key(name))
        if part is None:
            return None
        found = self.read.get((section, part.name))
        if found is None:
            try:
                found = self.read[section, part.name] = read_part(part, self.find)
            except PresetError:
                return None
        return found

    def _part(self, section: str, key: str) -> Part | None:
        """Return the text of a preset, from the files of its section first."""
        for file in sorted(_SHIPPED, key=lambda file: not file.startswith(section)):
            if file not in self._parts:
                parts = parts_of(_FOLDER / file)
                self._parts[file] = {(p.section, _key(word)): p for p in parts for word in (*p.aliases, p.name)}
            if (section, key) in self._parts[file]:
                return self._parts[file][section, key]
        return None


class _Library:
    """All shelves; read from the files on first use, changed as a whole or not at all."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._shelves: dict[str, _Shelf] | None = None
        self._shipped = _Shipped()

    def find(self, section: str, name: str) -> Preset | None:
        """A preset by name; the files are read as a whole where there is more than those of the package."""
        if self._shelves is None:
            preset = self._shipped.read.get((section, name))
            if preset is None and (self._shipped.read or not os.environ.get(_ENVIRONMENT)):
                with self._lock:
                    preset = self._shipped.find(section, name) if self._shelves is None else None
            if preset is not None:
                return preset
        return self.shelf(section).find(name)

    def open(self) -> dict[str, _Shelf]:
        if self._shelves is not None:
            return self._shelves
        with self._lock:
            if self._shelves is None:
                named = "" if self._shipped.read else os.environ.get(_ENVIRONMENT, "")  # what the first call saw
                extra = [Path(name) for name in named.split(os.pathsep) if name]
                shelves = {section: _Shelf() for section in KINDS}
                for path in [*(_FOLDER / file for file in _SHIPPED), *extra]:
                    _read(path, shelves)
                for (section, name), preset in self._shipped.read.items():  # the one that callers have
                    shelves[section].presets[name] = preset
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
    return read_file(path, lambda s, name: shelves[s].find(name), lambda s, preset: shelves[s].put(preset))


_library = _Library()
hardware = Catalog("hardware")
models = Catalog("models")
prices = Catalog("prices")
loss_laws = Catalog("loss_laws")
storage = Catalog("storage")
api_prices = Catalog("api_prices")
speculators = Catalog("speculators")
workloads = Catalog("workloads")
sites = Catalog("sites")
engines = Catalog("engines")
