"""Keys of a config's object, looked up by name, type and range, with a record of reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from roofslate._base.messages import shown
from roofslate.errors import PresetError
from roofslate.presets.configs.known import ALIASES, SETTLED, TOWER, disagree, is_harmless

__all__ = ["ConfigError", "Keys"]


_WIDEST = 10**7  # widths, heads, vocabulary


_MOST_LAYERS = 10**4


_TOWERS = ("vision_config.", "audio_config.")


# Objects that their own readers understand or call unknown as a whole.
_OWN = ("quantization_config", "quantization")


class ConfigError(PresetError):
    """A mistake at a key of a config, named by its path."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key = key


class Keys:
    """The keys of one object of a config, looked up by meaning, with a record of look-ups.

    A null counts as a key that is not there.
    """

    def __init__(self, table: Mapping[Any, Any], path: str = "") -> None:
        self._table = {str(name): value for name, value in table.items() if value is not None}
        self._nulls = {str(name) for name, value in table.items() if value is None}
        self._path = path
        self._paths: dict[str, str] = {}  # of keys that come from elsewhere
        self._seen: set[str] = set()
        self._rivals: set[str] = set()  # other names of read keys, with other values
        self._replaced: dict[str, tuple[str, Any]] = {}  # keys of single layers, by the names that they replace
        self._inner: dict[str, Keys] = {}
        self.defaults: Mapping[str, int] = {}  # sizes that the family's files leave out
        self.defaulted: dict[str, int] = {}  # those that were needed

    def replaced(self, changes: Iterable[tuple[str, Any, str]]) -> Keys:
        """Return the keys with some values replaced, each with its path. Reads count for both."""
        over, paths = {}, {}
        for name, value, path in changes:
            written = next((key for key in _names_beside(name) if key in self._table), name)
            over[written], paths[written] = value, path
        if not over:
            return self
        keys = Keys({**self._table, **over}, self._path)
        keys._nulls |= self._nulls - set(over)
        keys._paths = paths
        keys._seen, keys._rivals, keys._inner = self._seen, self._rivals, self._inner
        self._replaced.update({name: (paths[name], value) for name, value in over.items()})
        keys.defaults, keys.defaulted = self.defaults, self.defaulted
        return keys

    def __contains__(self, name: str) -> bool:
        return self._find(name) is not None

    def _find(self, name: str) -> str | None:
        """The key in the file that has this meaning."""
        names = ALIASES.get(name, (name,))
        given = [key for key in names if key in self._table]
        self._seen.update(names)
        self._rivals.update(key for key in given[1:] if disagree(given[0], key, self._table))
        return given[0] if given else None

    def names(self) -> Iterator[str]:
        """Keys of this object as the file writes them."""
        return iter(self._table)

    def content(self) -> dict[str, Any]:
        """Return every key of this object with its value. All count as read."""
        self._seen.update(self._table)
        return dict(self._table)

    def content_of(self, name: str) -> dict[str, Any]:
        """Return every key of an inner object with its value, or none without such an object."""
        return self.inside(name).content() if isinstance(self._table.get(name), Mapping) else {}

    def left(self) -> list[str]:
        """Keys of this object that were not looked up and hold something."""
        return [
            name
            for name, value in self._table.items()
            if name not in self._seen and (value or not isinstance(value, (bool, str, list, Mapping)))
        ]

    def inside(self, name: str) -> Keys:
        """Return the keys of an inner object, or none if it is missing."""
        if name not in self._inner:
            value = self._value(name, {}, lambda value: isinstance(value, Mapping), "an object")
            self._inner[name] = Keys(value, f"{self._path}{name}.")
        return self._inner[name]

    def count(self, name: str, default: int | None = None, *, low: int = 0, high: int = _WIDEST) -> int:
        """Return a whole number, also from a list of equal ones. Without default it is required."""
        key = self._find(name)
        if key is None:
            if self._defaults(name):
                return self.defaulted.setdefault(ALIASES.get(name, (name,))[0], self.defaults[name])
            if default is None:
                raise PresetError(self._missing(name))
            return default
        value = self._table[key]
        if isinstance(value, list) and value and all(item == value[0] for item in value):
            value = value[0]
        return self._checked(key, value, low, high)

    def optional(self, name: str, *, low: int = 0, high: int = _WIDEST) -> int | None:
        """A whole number, or None where the key is missing."""
        return self.count(name, low=low, high=high) if name in self or self._defaults(name) else None

    def _defaults(self, name: str) -> bool:
        """Return True if the family has a default size for a missing key that is not null."""
        return name in self.defaults and not self._nulls.intersection(ALIASES.get(name, (name,)))

    def is_null(self, name: str) -> bool:
        """Return True if a key exists and is null."""
        return name in self._nulls

    def counts(self, name: str, *, high: int = _WIDEST) -> list[int] | None:
        """A list of whole numbers, or None where the key is missing."""
        key = self._find(name)
        if key is None:
            return None
        return [self._checked(f"{key}[{i}]", value, 0, high) for i, value in enumerate(self.entries(name) or ())]

    def number(self, name: str, default: float | None = None, *, low: float, high: float) -> float:
        """A finite number in a range. Without default the key must be there."""
        if default is None and name not in self:
            raise PresetError(self._missing(name))
        value = self._value(name, default, _is_finite, "a finite number")
        if not low <= value <= high:
            raise ConfigError(self._at(name), f"expected {low:,} to {high:,}, got {shown(value)}")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        return bool(self._value(name, default, lambda value: isinstance(value, bool), "true or false"))

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        return str(self._value(name, default, lambda value: isinstance(value, str), "a text"))

    def shown(self, name: str) -> str:
        """Return the value of a key as text, empty if it is missing."""
        key = self._find(name)
        return "" if key is None else shown(self._table[key])

    def entries(self, name: str) -> list[Any] | None:
        """Return a list of at most one entry a layer, except tokens, or None without the key."""
        value = self._value(name, None, lambda value: isinstance(value, (list, tuple)), "a list")
        if value is not None and len(value) > _MOST_LAYERS:
            raise ConfigError(self.written(name), f"a list of {len(value):,} entries, more than {_MOST_LAYERS:,}")
        return None if value is None else list(value)

    def is_list(self, name: str) -> bool:
        """Return True if a key exists and its value is a list."""
        key = self._find(name)
        return key is not None and isinstance(self._table[key], (list, tuple))

    def is_text(self, name: str) -> bool:
        """Return True if a key exists and its value is a text."""
        key = self._find(name)
        return key is not None and isinstance(self._table[key], str)

    def layers(self) -> int | None:
        """Number of layers, if the file has it."""
        return self.optional("layers", low=1, high=_MOST_LAYERS)

    def written(self, name: str) -> str:
        """A key as the file writes it, or as most files do, with its path."""
        return self._at(self._find(name) or ALIASES.get(name, (name,))[0])

    def _at(self, key: str) -> str:
        return self._path + self._paths.get(key, key)

    def fail(self, name: str, problem: str) -> PresetError:
        """Error that names a key."""
        return ConfigError(self.written(name), problem)

    def unread(self, settled: bool) -> list[str]:
        """Return unread keys that may mean weights, by path. `settled`: the family is known."""
        known = SETTLED if settled else frozenset()
        if self._path.endswith(_TOWERS):
            known |= TOWER
        names = [
            name
            for name, value in self._table.items()
            if name in self._rivals
            or (
                name not in self._seen
                and not is_harmless(name, value)
                and not (name in known and (value is not True or name in TOWER))
            )
        ]
        paths = [self._at(name) for name in names]
        paths += [
            self._path + path
            for name, (path, value) in self._replaced.items()
            if name not in self._seen and not is_harmless(name, value)
        ]
        return paths + [key for name, inner in self._inner.items() if name not in _OWN for key in inner.unread(settled)]

    def _value(self, name: str, default: Any, fits: Callable[[Any], bool], expected: str) -> Any:
        key = self._find(name)
        if key is None:
            return default
        value = self._table[key]
        if not fits(value):
            raise ConfigError(self._at(key), f"expected {expected}, got {shown(value)}")
        return value

    def _checked(self, key: str, value: Any, low: int, high: int) -> int:
        if not _is_finite(value) or value != int(value):
            raise ConfigError(self._at(key), f"expected a whole number, got {shown(value)}")
        if not low <= value <= high:
            raise ConfigError(self._at(key), f"expected {low:,} to {high:,}, got {shown(value)}")
        return int(value)

    def _missing(self, name: str) -> str:
        names = ALIASES.get(name, (name,))
        alternatives = f" (or {', '.join(names[1:])})" if names[1:] else ""
        null = ", which is null" if self._nulls.intersection(names) else ""
        return f"the config has no {self._path}{names[0]}{alternatives}{null}"


def _is_finite(value: Any) -> bool:
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and -1e300 < value < 1e300
    )  # as no integer is too large


def _names_beside(name: str) -> tuple[str, ...]:
    """All names with the meaning of a name."""
    return next((names for names in ALIASES.values() if name in names), (name,))
