"""Reading a config.json that nobody vouches for, within limits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofslate._base.json_text import keys_of, parsed_json
from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, PresetError
from roofslate.presets.configs.keys import ConfigError

__all__ = ["Config", "read"]


_LARGEST_FILE = 4 * 2**20  # bytes; the longest published files have 14 kB


_DEEPEST = 40


@dataclass(frozen=True)
class Config:
    """Content of a config.json.

    Attributes
    ----------
    content : dict
    name : str
        Name of the file or of its folder; empty for a mapping.
    path : str
    text : str
        Content of the file; empty for a mapping.
    """

    content: dict[str, Any]
    name: str = ""
    path: str = ""
    text: str = ""

    def located(self, error: PresetError) -> PresetError:
        """An error with the file, and the line of its key."""
        if not self.path:
            return error
        key_name = error.key.partition("[")[0] if isinstance(error, ConfigError) else None
        line = next((f", line {line}" for key, line, _ in keys_of(self.text) if key == key_name), "")
        return PresetError(f"{self.path}{line}: {error}")


def read(source: Any) -> Config:
    """Read a config.json within limits.

    Parameters
    ----------
    source : path-like or Mapping
        A file, a folder with a config.json, or the content of such a file.

    Returns
    -------
    Config

    Raises
    ------
    InputTypeError
        Where `source` is neither.
    PresetError
        Where a file cannot be read, is too large, too deep or no JSON, or has a key twice.
    """
    if isinstance(source, Mapping):
        content = dict(source)
        _check_depth(content)
        return Config(content)
    if not isinstance(source, (str, os.PathLike)):
        raise InputTypeError(f"from_config takes the path of a config.json or a dict, got {shown(source)}")
    path = Path(source)
    try:
        if path.is_dir():
            path /= "config.json"
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise PresetError(f"cannot read {shown(str(path))}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > _LARGEST_FILE:
        raise PresetError(f"{path}: larger than {_LARGEST_FILE >> 20} MiB; this is no config.json")
    content = parsed_json(text, str(path), deepest=_DEEPEST, most=_LARGEST_FILE)
    _check_depth(content)
    return Config(content, path.parent.name if path.stem == "config" else path.stem, str(path), text)


def _check_depth(content: Any) -> None:
    """Refuse nesting that is too deep or circular, without recursion."""
    level = [content]
    for _ in range(_DEEPEST + 1):
        level = [
            item
            for container in level
            if isinstance(container, (Mapping, list, tuple))
            for item in (container.values() if isinstance(container, Mapping) else container)
            if isinstance(item, (Mapping, list, tuple))
        ]
        if not level:
            return
        if len(level) > 10**6:
            break
    raise PresetError(f"the config is nested deeper than {_DEEPEST} levels, or holds itself")
