"""Local places of a model: paths, and ids in the local Hugging Face hub.

Nothing is downloaded. Layout of the hub folder and its environment variables: huggingface_hub documentation,
"Understand caching" and "Environment variables" (checked in source, 2026-11).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, PresetError

__all__ = ["cache_folder", "cached_folder", "checkpoint_at", "existing", "kind_of", "looks_like_path", "source_of"]


_LONGEST = 4096  # characters of a path
_ID = re.compile(r"(?!.*(?:--|\.\.))[A-Za-z0-9][\w.-]{0,95}(/[\w.-]{1,95})?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_ENDINGS = (".gguf", ".safetensors", ".json")


def cache_folder() -> Path:
    """Return the folder of the local Hugging Face hub, as ``huggingface_hub`` finds it.

    Returns
    -------
    Path
        ``HF_HUB_CACHE``, otherwise ``hub`` in ``HF_HOME``, otherwise in ``huggingface`` of ``~/.cache``.
    """
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(name):
            return Path(os.environ[name]).expanduser()
    home = os.environ.get("HF_HOME") or str(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
    return Path(home).expanduser() / "hub"


def cached_folder(name: str) -> Path | None:
    """Find the snapshot of a model in the local hub.

    Parameters
    ----------
    name : str
        An id, such as ``"Qwen/Qwen3-8B"``.

    Returns
    -------
    Path or None
        Folder of the commit that ``refs/main`` names, otherwise of the only one; None for a model that is not there.

    Raises
    ------
    PresetError
        For a hub folder that has several commits of the model, none of them as main.
    """
    if not _ID.fullmatch(name):
        return None
    root = cache_folder() / f"models--{name.replace('/', '--')}"
    try:
        folder = _main(root)
        if folder is not None:
            return folder
        result = sorted(path for path in (root / "snapshots").iterdir() if path.is_dir())
    except OSError:
        return None
    if len(result) > 1:
        listed = ", ".join(str(path) for path in result[:3])
        raise PresetError(
            f"{name!r} has {len(result)} commits in the local hub and none as main: give the path of one, {listed}"
        )
    return result[0] if result else None


def _main(root: Path) -> Path | None:
    reference = root / "refs" / "main"
    if not reference.is_file():
        return None
    with reference.open("rb") as file:
        commit = file.read(64).decode("ascii", "replace").strip()
    folder = root / "snapshots" / commit
    return folder if _COMMIT.fullmatch(commit) and folder.is_dir() else None


def source_of(config: Any) -> tuple[Any, str]:
    """Find a config.json: a path stays as it is, an id is looked up in the local hub.

    Parameters
    ----------
    config : object
        A path, an id, or anything else, which stays as it is.

    Returns
    -------
    object
        The source.
    str
        Name of the model if its path has it: the id under which the hub holds it.

    Raises
    ------
    PresetError
        For an id that is neither a path nor in the hub.
    """
    if not isinstance(config, (str, os.PathLike)):
        return config, ""
    path = existing(config)
    if path is not None:
        return path, _id_of(path if path.is_dir() else path.parent)
    word = os.fspath(config)
    folder = cached_folder(word)
    if folder is not None:
        return folder, word
    if "/" in word and _ID.fullmatch(word) and not looks_like_path(word):
        where = f"nor is it in the local Hugging Face hub {cache_folder()}"
        raise PresetError(f"cannot read {shown(word)}: there is no such file, {where}")
    return config, ""


def checkpoint_at(given: str | os.PathLike[str]) -> Path:
    """Find a checkpoint: a path, or the folder of an id in the local hub.

    Raises
    ------
    InputTypeError
        For another type.
    PresetError
        For a path where nothing is.
    """
    if not isinstance(given, (str, os.PathLike)):
        raise InputTypeError(f"expected the path of a checkpoint, got {shown(given)}")
    path = existing(given) or cached_folder(os.fspath(given))
    if path is None:
        where = f"nor is it in the local Hugging Face hub {cache_folder()}"
        raise PresetError(f"cannot read {shown(os.fspath(given))}: there is no such file, {where}")
    return path


def _id_of(folder: Path) -> str:
    """The id under which the hub holds a snapshot, or empty for any other folder."""
    folder = folder.absolute()
    name = folder.parent.parent.name
    stored_size = folder.parent.name == "snapshots" and name.startswith("models--")
    return name.removeprefix("models--").replace("--", "/") if stored_size else ""


def looks_like_path(word: str) -> bool:
    """Check if a word can only be meant as a path."""
    return word.startswith((".", "/", "~")) or word.casefold().endswith(_ENDINGS) or (os.sep == "\\" and os.sep in word)


def existing(given: str | os.PathLike[str]) -> Path | None:
    """Return the path that a word names, if something is there.

    Raises
    ------
    InputTypeError
        For a path of bytes.
    """
    word = os.fspath(given)
    if not isinstance(word, str):
        raise InputTypeError(f"expected a path as text, got {shown(word)}")
    if len(word) > _LONGEST or "\0" in word:
        return None
    try:
        path = Path(word).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError, ValueError):
        return None


def kind_of(path: Path) -> tuple[str, Path]:
    """Find the reader of a path.

    Parameters
    ----------
    path : Path
        A file, or a folder with a config.json or with one GGUF file.

    Returns
    -------
    str
        ``"config"``, ``"gguf"`` or ``"safetensors"``.
    Path
        The file; of a folder with a GGUF file, that file.

    Raises
    ------
    PresetError
        For a path that is none of these, naming its files.
    """
    if path.is_dir():
        if (path / "config.json").exists():
            return "config", path
        result = sorted(path.glob("*.gguf"))
        models = [file for file in result if not re.search(r"-(?!00001)\d{5}-of-\d{5}\.gguf$", file.name)]
        models = [file for file in models if "mmproj" not in file.name.casefold()]
        if len(models) == 1:
            return "gguf", models[0]
        if models:
            listed = ", ".join(file.name for file in models[:5])
            raise PresetError(f"{shown(str(path))} has {len(models):,} GGUF models: name one of {listed}")
        raise PresetError(f"{shown(str(path))} has no config.json and no GGUF file")
    name = path.name.casefold()
    if name.endswith(".gguf"):
        return "gguf", path
    if name.endswith((".safetensors", ".safetensors.index.json")):
        return "safetensors", path
    if name.endswith(".json"):
        return "config", path
    raise PresetError(f"{shown(str(path))}: expected a folder, a config.json, a .gguf or a .safetensors file")
