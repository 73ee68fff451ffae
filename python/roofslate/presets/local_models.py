"""Models on this machine by a path, or by an id in the local Hugging Face hub."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from roofslate._base.locks import Lock
from roofslate._base.messages import shown
from roofslate.errors import PresetError, UnknownName
from roofslate.presets.catalog import models
from roofslate.presets.checkpoints.locate import cache_folder, cached_folder, existing, kind_of, looks_like_path
from roofslate.presets.model import Model

if TYPE_CHECKING:
    from pathlib import Path

    from roofslate.presets.preset import Preset

__all__ = ["model_named"]


_MOST_KEPT = 64  # models that were read
_kept: dict[tuple[str, int, int], Model] = {}
_lock = Lock()


def model_named(given: str | os.PathLike[str]) -> Preset:
    """Find a model in the catalog, at a path, or in the local Hugging Face hub.

    Parameters
    ----------
    given : str or path-like
        A name of the catalog, an id, a folder, a config.json, a .gguf or a .safetensors file.

    Returns
    -------
    Preset

    Raises
    ------
    UnknownName
        For a word that is none of these, and for one that may mean several models.
    PresetError
        For a path without a model, or one that cannot be read.
    """
    is_path = not isinstance(given, str) or looks_like_path(given)
    if isinstance(given, str) and not is_path and (known := models.named(given)) is not None:
        return known
    path = existing(given)
    if path is None and is_path:
        raise PresetError(f"cannot read the model {shown(os.fspath(given))}: there is no such file or folder")
    if path is None:
        path = cached_folder(os.fspath(given))
    if path is not None:
        return _read(path)
    word = os.fspath(given)
    try:
        return models[word]
    except UnknownName as error:
        if "/" not in word:
            raise
        raise UnknownName(
            f"{error}; no file has this name, nor is it in the local Hugging Face hub {cache_folder()}"
        ) from None


def _read(path: Path) -> Model:
    """Read a model once per version of its file. A partly read one warns each time."""
    kind, path = kind_of(path)
    file = path / "config.json" if path.is_dir() else path
    try:
        result = file.stat()
    except OSError as error:
        raise PresetError(f"cannot read {shown(str(file))}: {error.strerror or error}") from None
    key = (os.path.abspath(path), result.st_mtime_ns, result.st_size)  # noqa: PTH100 - a link may be replaced
    with _lock:
        model = _kept.get(key)
    if model is None:
        readers = {"config": Model.from_config, "gguf": Model.from_gguf, "safetensors": Model.from_safetensors}
        model = readers[kind](path)
        if not model.not_read:
            with _lock:
                if len(_kept) >= _MOST_KEPT:
                    _kept.pop(next(iter(_kept)))
                _kept[key] = model
    return model
