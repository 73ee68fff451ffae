"""Presets of all sections: shipped, from files in the environment, and of the session."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from roofslate._base.locks import Lock
from roofslate._base.messages import shown
from roofslate.errors import PresetError
from roofslate.presets.files import parts_of, read_file, read_part
from roofslate.presets.preset import KINDS, LONGEST_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roofslate.presets.files import Part
    from roofslate.presets.preset import Preset

__all__ = ["FOLDER", "SHIPPED", "Library", "Shelf", "Shipped"]

# Files that come with the package, in the order of the catalogs.
SHIPPED = (
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
FOLDER = Path(__file__).with_name("data")
_ENVIRONMENT = "ROOFSLATE_PRESETS"


def _key(name: str) -> str:
    return re.sub(r"[^\w.+]|_", "", name).casefold()


class Shelf:
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

    def copy(self) -> Shelf:
        other = Shelf()
        other.presets, other.keys = dict(self.presets), dict(self.keys)
        return other


class Shipped:
    """Presets of the package, each read on request, as a read of all takes ten times as long."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[tuple[str, str], Part]] = {}  # by file, and by section and key
        self.read: dict[tuple[str, str], Preset] = {}  # by section and name

    def find(self, section: str, name: str) -> Preset | None:
        """Find a preset by its name or an alias of its file, None leaves it to a full read."""
        part = self._part(section, _key(name))
        if part is None:
            return None
        preset = self.read.get((section, part.name))
        if preset is None:
            try:
                preset = self.read[section, part.name] = read_part(part, self.find)
            except PresetError:
                return None
        return preset

    def _part(self, section: str, key: str) -> Part | None:
        """Return the text of a preset, from the files of its section first."""
        for file in sorted(SHIPPED, key=lambda file: not file.startswith(section)):
            if file not in self._parts:
                parts = parts_of(FOLDER / file)
                self._parts[file] = {(p.section, _key(word)): p for p in parts for word in (*p.aliases, p.name)}
            if (section, key) in self._parts[file]:
                return self._parts[file][section, key]
        return None


class Library:
    """All shelves, read from the files at first use, and changed atomically."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._shelves: dict[str, Shelf] | None = None
        self._shipped = Shipped()

    def find(self, section: str, name: str) -> Preset | None:
        """Find a preset by name. With files of users, all files are read."""
        if self._shelves is None:
            preset = self._shipped.read.get((section, name))
            if preset is None and (self._shipped.read or not os.environ.get(_ENVIRONMENT)):
                with self._lock:
                    preset = self._shipped.find(section, name) if self._shelves is None else None
            if preset is not None:
                return preset
        return self.shelf(section).find(name)

    def open(self) -> dict[str, Shelf]:
        if self._shelves is not None:
            return self._shelves
        with self._lock:
            if self._shelves is None:
                named = "" if self._shipped.read else os.environ.get(_ENVIRONMENT, "")  # its value at the first call
                extra = [Path(name) for name in named.split(os.pathsep) if name]
                shelves = {section: Shelf() for section in KINDS}
                for path in [*(FOLDER / file for file in SHIPPED), *extra]:
                    _read(path, shelves)
                for (section, name), preset in self._shipped.read.items():  # the one that callers have
                    shelves[section].presets[name] = preset
                self._shelves = shelves
            return self._shelves

    def shelf(self, section: str) -> Shelf:
        return self.open()[section]

    def load(self, path: Path) -> list[Preset]:
        with self._lock:
            shelves = {section: shelf.copy() for section, shelf in self.open().items()}
            presets = _read(path, shelves)
            self._shelves = shelves
        return presets

    def add(self, section: str, preset: Preset) -> None:
        with self._lock:
            shelf = self.shelf(section).copy()
            shelf.put(preset)
            self._shelves = {**self.open(), section: shelf}


def _read(path: Path, shelves: Mapping[str, Shelf]) -> list[Preset]:
    return read_file(path, lambda s, name: shelves[s].find(name), lambda s, preset: shelves[s].put(preset))
