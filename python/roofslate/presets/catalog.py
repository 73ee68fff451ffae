"""Catalogs: presets by name, from files and of the user."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import shown, unknown
from roofslate.display.html import html_table
from roofslate.errors import InputTypeError, PresetError, UnknownName
from roofslate.presets.library import Library
from roofslate.presets.preset import KINDS, LONGEST_NAME, Fact, Preset, check_text, fact_of, is_date
from roofslate.presets.synonyms import meant_by, ranked
from roofslate.presets.validity import FINDINGS, day_of, days_outside, findings_of, series_of, validity_of
from roofslate.registry.registry import lookup

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

_PARTS = ("hardware", "models")  # sections whose entries a part of a name may mean; prices differ by their maker
_MAIN = {
    "hardware": ("chips", "hbm_capacity", "hbm_bandwidth", "peak_flops_bf16"),
    "models": ("total_parameters", "active_parameters", "weight_format"),
}
_LONGEST_SEARCH = 200  # characters
_MOST_LISTED = 6  # of presets that a name may mean
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
        if preset is not None:
            return preset
        meant = self._meant(name)
        if len(meant) > 1:
            listed = ", ".join(repr(each.name) for each in meant[:_MOST_LISTED])
            more = f" and {len(meant) - _MOST_LISTED} more" if len(meant) > _MOST_LISTED else ""
            raise UnknownName(f"{shown(name)} may be any of {len(meant)} {self._kind} presets: {listed}{more}")
        if not meant:
            raise unknown(f"{self._kind} preset", name, _library.shelf(self._section).names())
        return meant[0]

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if self.named(name) is not None or (AS_OF in name and name.rsplit(AS_OF, 1)[0] in self):
            return True
        return len(self._meant(name)) == 1

    def named(self, name: str) -> Preset | None:
        """Return the preset of this name, alias or published id, in any case, if any."""
        return _library.find(self._section, name)

    def _meant(self, name: str) -> list[Preset]:
        """Presets that a text may mean. Chips and models accept part of a name."""
        if len(name) > LONGEST_NAME:
            return []
        return meant_by(name, _library.shelf(self._section).presets.values(), parts=self._section in _PARTS)

    def __getattr__(self, name: str) -> Any:
        hint = ""
        if not name.startswith("_"):
            hint = f". Find entries with rs.{self._section}.search('words'), or filter rs.{self._section}.to_frame()"
        raise AttributeError(f"a catalog has no attribute {name!r}{hint}", name=name, obj=self)

    def _ipython_key_completions_(self) -> list[str]:
        return _library.shelf(self._section).names()

    def __iter__(self) -> Iterator[str]:
        return iter(list(_library.shelf(self._section).presets))

    def __len__(self) -> int:
        return len(_library.shelf(self._section).presets)

    def search(self, text: str, /) -> pd.DataFrame:
        """Find presets by words: of names, published ids, notes and main numbers.

        Case, order and separators do not matter, and forms of the field are known: ``"8x H100"``, ``"A100 SXM4"``,
        ``"80 GB"``, ``"llama 70b"``.

        Parameters
        ----------
        text : str
            Words that an entry should all have, or beginnings of words. Without any, all entries are listed.

        Returns
        -------
        pandas.DataFrame
            One row a preset, the best matches first: main numbers in base units, other names, and the note. Empty if
            nothing matches.

        Raises
        ------
        InputTypeError
            For another type.

        Examples
        --------
        >>> import roofslate as rs
        >>> rs.hardware.search("h100 80gb").index[0]
        'H100'
        >>> list(rs.models.search("llama 70b").index[:2])
        ['Llama-3.1-70B', 'Llama-2-70b-hf']
        """
        import pandas as pd

        if not isinstance(text, str):
            raise InputTypeError(f"search: expected a text, got {shown(text)}")
        presets = list(_library.shelf(self._section).presets.values())
        matches = ranked(text[:_LONGEST_SEARCH], presets) if text.strip() else presets
        columns = {name: [preset.values.get(name) for preset in matches] for name in _MAIN.get(self._section, ())}
        columns["names"] = [", ".join(preset.names[1:]) for preset in matches]
        columns["note"] = [preset.note for preset in matches]
        frame = pd.DataFrame(columns, index=pd.Index([preset.name for preset in matches], name=self._kind))
        frame.attrs["units"] = {name: lookup(name).unit for name in _MAIN.get(self._section, ())}
        return frame

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
        """Add your own preset.

        Parameters
        ----------
        name : str
            A new name, or one defined before in this session.
        base : str or Preset, optional
            Preset whose values it starts from.
        aliases : iterable of str
            Other names.
        note, source, date : str
            Remarks for a reader of the numbers, and their origin.
        **values : float, str or pint.Quantity
            Quantities that it supplies: numbers in base units, or texts with a unit.

        Returns
        -------
        Preset
            Also registered under its name in the whole process.

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
        For a day outside of the validity of every entry, naming the nearest, and for an invalid day.
            For a day outside of the validity of every entry, naming the nearest, and for an invalid day.

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
            period = f"{start} to {end}" if end else f"{start} or later"
            raise PresetError(f"{preset.name!r} has no entry for {day}; the nearest is {nearest.name!r}, {period}")
        return nearest

    def on(self, date: str | datetime.date, /) -> dict[str, Preset]:
        """Look up the presets valid on a day, by ``valid_from`` and ``valid_until``.

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
            For an invalid day.

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
        Contradicted is a number with another published figure (`Preset.conflicts`) without a decision between them,
        or an entry whose validity overlaps with another one of its series on the day.

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
            For an invalid day.

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
    """Return the name under which runs of a preset were measured: itself or a system's chip."""
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
        The added presets. A file may be loaded again after a change.

    Raises
    ------
    PresetError
        Where something in the file is not as it should be; the message names the line.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputTypeError(f"load_presets: expected the path of a file, got {shown(path)}")
    return _library.load(Path(path))


def _marked(fact: Fact | None) -> str:
    """Write a number for a table, with a star if it was not checked in its source."""
    return "" if fact is None else f"{fact}{'' if fact.read else ' *'}"


_library = Library()
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
