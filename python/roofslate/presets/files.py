"""Files of presets: TOML within limits, checked key by key with file and line in errors."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from roofslate._base.messages import shown, unknown
from roofslate._base.toml import TomlFile
from roofslate.errors import PresetError, RoofslateError
from roofslate.presets.preset import KINDS, Conflict, Preset, check_text, fact_of, is_date, origin_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path

    from roofslate.presets.preset import Fact

__all__ = ["Part", "parts_of", "read_file", "read_part"]

_DATES = ("announced", "valid_from", "valid_until", "last_seen")  # attributes
_BEGIN = re.compile(r'\n\[(\w+)\.(?:"([^"\n]+)"|([\w-]+))\]\n')
_NAMES = re.compile(r"^(?:aliases|published) = \[(.*)\]$", re.MULTILINE)
_ID = re.compile(r"[\w.-]+/[\w.-]+")
_TEXT = re.compile(r'"([^"]*)"')
_SOURCE = "{ source = '...', date = '2026-05', read = true }"


class _FileError(Exception):
    """A mistake in a file, and the keys that lead to it."""

    def __init__(self, message: object, *keys: str) -> None:
        super().__init__(str(message))
        self.keys = keys


def read_file(
    path: Path, find: Callable[[str, str], Preset | None], put: Callable[[str, Preset], None]
) -> list[Preset]:
    """Read the presets of a file in its order.

    Parameters
    ----------
    path : Path
    find : callable
        Looks a base up, by section and name.
    put : callable
        Receives each preset with its section. A PresetError that it raises is extended by the preset's line.

    Returns
    -------
    list of Preset

    Raises
    ------
    PresetError
        With the file and the line.
    """
    file = TomlFile.read(path, "preset file")
    result = []
    with _lines(path, file):
        for section, presets in file.content.items():
            if section not in KINDS:
                raise _FileError(unknown("section", section, KINDS), section)
            if not isinstance(presets, dict):
                raise _FileError(f"{section!r} should hold presets, each a table [{section}.<name>]", section)
            for name, table in presets.items():
                preset = _preset(section, name, table, find, path)
                try:
                    put(section, preset)
                except PresetError as error:
                    raise _FileError(error, section, name) from None
                result.append(preset)
    return result


class Part(NamedTuple):
    """One preset in a file that comes with the package, before it is read."""

    path: Path
    section: str
    name: str
    aliases: tuple[str, ...]  # those that the file lists, published ids included
    text: str  # of its table, and of the tables inside


def parts_of(path: Path) -> list[Part]:
    """Find the presets of a file by the headings of their tables, without a full parse.

    The file must be written like the package's files: a line ``[section.name]`` or ``[section."name"]`` begins a
    preset, which extends to the next such line. Its aliases are in one line, its published ids too.
    """
    _, *pieces = _BEGIN.split("\n" + path.read_text(encoding="utf-8"))
    parts = []
    for section, quoted, name, text in zip(*(pieces[k::4] for k in range(4)), strict=True):
        aliases = tuple(name for listed in _NAMES.findall(text) for name in _TEXT.findall(listed))
        parts.append(Part(path, section, quoted or name, aliases, text))
    return parts


def read_part(part: Part, find: Callable[[str, str], Preset | None]) -> Preset:
    """Read one preset by itself, like `read_file`. Lines of errors count from its first line."""
    file = TomlFile.parse(part.path, f'[{part.section}."{part.name}"]\n{part.text}', "preset file")
    with _lines(part.path, file):
        return _preset(part.section, part.name, file.content[part.section][part.name], find, part.path)


@contextlib.contextmanager
def _lines(path: Path, file: TomlFile) -> Iterator[None]:
    """Extend an error by its line."""
    try:
        yield
    except _FileError as trouble:
        raise PresetError(f"{path}, line {file.line(trouble.keys)}: {trouble}") from None


def _preset(section: str, name: str, table: Any, find: Callable[[str, str], Preset | None], path: Path) -> Preset:
    key_path, who = (section, name), shown(name)
    if not isinstance(table, dict):
        raise _FileError(f"{who} should be a table", *key_path)
    expected = {"aliases": list, "attributes": dict, "base": str, "conflicts": list, "note": str, "sources": list}
    expected |= {"published": list, "values": dict}
    for key, value in table.items():
        if key not in expected:
            raise _FileError(unknown(f"key of {who}", key, expected), *key_path, key)
        if not isinstance(value, expected[key]):
            raise _FileError(f"{key!r} of {who} should be a {expected[key].__name__}", *key_path, key)
    start = None
    if "base" in table:
        start = find(section, table["base"])
        if start is None:
            raise _FileError(f"the base {shown(table['base'])} of {who} is not defined before it", *key_path, "base")
    values = table.get("values", {})
    if not values:
        raise _FileError(f"{who} supplies no values", *key_path)
    published = _published(section, table.get("published", []), key_path)
    sources = _sources(table.get("sources", []), [*values, *published], key_path)
    facts = dict(start.facts) if start else {}
    for quantity, written in values.items():
        source, date, read = sources[quantity]
        try:
            facts[quantity] = fact_of(quantity, written, source, date, read=read)
        except RoofslateError as error:
            raise _FileError(error, *key_path, "values", quantity) from None
    attributes = {**(start.attributes if start else {}), **_attributes(table.get("attributes", {}), key_path)}
    note = table.get("note", "")
    _check_text("note", note, *key_path, "note")
    aliases = table.get("aliases", [])
    if not all(isinstance(alias, str) for alias in aliases):
        raise _FileError("aliases are texts", *key_path, "aliases")
    bases = (start.name, *start.bases) if start else ()
    conflicts = tuple(_conflict(entry, facts, key_path) for entry in table.get("conflicts", []))
    ids = {each: origin_of(*sources[each][:2], read=sources[each][2]) for each in published}
    preset = Preset(name, KINDS[section], facts, tuple(aliases), attributes, note, str(path), bases, conflicts, ids)
    if section == "prices" and preset.date:
        return dataclasses.replace(preset, aliases=(*aliases, f"{name} {preset.date}"))
    return preset


def _published(section: str, ids: list[Any], key_path: tuple[str, str]) -> list[str]:
    """Ids under which a model is published."""
    if ids and section != "models":
        raise _FileError(
            f"only models have published ids, {shown(key_path[1])} is in {section!r}", *key_path, "published"
        )
    for each in ids:
        if not isinstance(each, str) or not _ID.fullmatch(each):
            raise _FileError(f"a published id is 'organisation/name', got {shown(each)}", *key_path, "published")
    return ids


def _conflict(entry: Any, facts: Mapping[str, Fact], key_path: tuple[str, str]) -> Conflict:
    """Read a figure that contradicts the preset's own."""
    at = (*key_path, "conflicts")
    if not isinstance(entry, dict) or not set(entry) <= {"of", "value", "source", "date", "read", "decision"}:
        raise _FileError("a conflict has the keys of, value, source, date, read, decision", *at)
    quantity = entry.get("of")
    if not isinstance(quantity, str) or quantity not in facts:
        raise _FileError(f"a conflict is given for {shown(quantity)}, which has no value here", *at)
    source, date, read = _source(entry, *at)
    decision = entry.get("decision", "")
    if not isinstance(decision, str):
        raise _FileError("the decision of a conflict should be a text", *at)
    _check_text("decision", decision, *at)
    try:
        return Conflict(quantity, fact_of(quantity, entry.get("value"), source, date, read=read), decision)
    except RoofslateError as error:
        raise _FileError(error, *at) from None


def _attributes(given: Mapping[str, Any], key_path: tuple[str, str]) -> Mapping[str, float | str]:
    for key, value in given.items():
        at = (*key_path, "attributes", key)
        if isinstance(value, str):
            _check_text(f"the attribute {shown(key)}", value, *at)
        elif isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise _FileError(f"the attribute {shown(key)} should be a number or a text", *at)
        if key in _DATES and not is_date(value):
            raise _FileError(f"the attribute {key!r} should be a date such as '2026-05', got {shown(value)}", *at)
    return given


def _check_text(what: str, text: str, *keys: str) -> None:
    try:
        check_text(what, text)
    except PresetError as error:
        raise _FileError(error, *keys) from None


def _source(entry: Mapping[str, Any], *at: str) -> tuple[str, str, bool]:
    """Source, date and whether it was read, of one entry."""
    text, date, read = entry.get("source"), entry.get("date"), entry.get("read")
    if isinstance(date, datetime.date):
        date = date.isoformat()
    if not (isinstance(text, str) and isinstance(date, str) and isinstance(read, bool)):
        raise _FileError("a source needs source = '...', date = '...' and read = true or false", *at)
    _check_text("source", text, *at)
    if not text.strip() or not is_date(date):
        raise _FileError(f"a source needs a name and a date such as '2026-05', got {shown(text)}, {shown(date)}", *at)
    return text, date, read


def _sources(
    entries: list[Any], values: Collection[str], key_path: tuple[str, str]
) -> dict[str, tuple[str, str, bool]]:
    """Source, date and whether it was read, for each value and published id, one source each."""
    at = (*key_path, "sources")
    if not entries:
        raise _FileError(f"{shown(key_path[1])} says nothing of where its values come from: sources = [{_SOURCE}]", *at)
    by_quantity: dict[str, tuple[str, str, bool]] = {}
    default = None
    for entry in entries:
        if not isinstance(entry, dict) or not set(entry) <= {"of", "source", "date", "read"}:
            raise _FileError("a source has the keys of, source, date, read", *at)
        text, date, read = _source(entry, *at)
        if "of" not in entry:
            if default is not None:
                raise _FileError("two sources without 'of': only one can have the rest", *at)
            default = (text, date, read)
            continue
        names = entry["of"] if isinstance(entry["of"], list) else [entry["of"]]
        for quantity in names:
            if not isinstance(quantity, str) or quantity not in values:
                raise _FileError(f"a source is given for {shown(quantity)}, which has no value here", *at)
            if quantity in by_quantity:
                raise _FileError(f"{quantity!r} has two sources", *at)
            by_quantity[quantity] = (text, date, read)
    for quantity in values:
        if quantity not in by_quantity:
            if default is None:
                raise _FileError(f"{shown(quantity)} has no source", *key_path, "values", quantity)
            by_quantity[quantity] = default
    return by_quantity
