"""Models of the catalog by their published repository, and back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from roofslate._base.messages import did_you_mean, shown
from roofslate.errors import UnknownName
from roofslate.presets.catalog import models

if TYPE_CHECKING:
    from roofslate.presets.preset import Preset

__all__ = ["catalog_model", "published_id"]

_REPOSITORY = re.compile(r"([\w.-]+/[\w.-]+), config\.json")
_FORMAT_OF_SUFFIX = {
    "fp8": "fp8",
    "nvfp4": "nvfp4",
    "fp4": "nvfp4",
    "mxfp4": "mxfp4",
    "awq": "int4",
    "gptq-int4": "int4",
    "w8a8": "int8",
    "int4": "int4",
    "bf16": "bf16",
}
_FURTHER_SUFFIXES = ("instruct", "chat", "base", "it", "hf", "dynamic", "block")


def published_id(model: Preset) -> str:
    """Published repository of a model: an alias, the source of its facts, or its name."""
    for name in (model.name, *model.aliases):
        if "/" in name:
            return name
    base = next((models[name] for name in model.bases if name in models), None)
    new = {name: fact for name, fact in model.facts.items() if base is None or base.facts.get(name) != fact}
    for fact in new.values():
        match = _REPOSITORY.match(fact.source)
        if match:
            return match.group(1)
    return published_id(base) if base is not None and new.keys() <= {"kv_format"} else model.name


def catalog_model(checkpoint: str) -> tuple[str, str | None]:
    """Find the model of the catalog for a published checkpoint.

    Parameters
    ----------
    checkpoint : str
        Repository, folder, or name.

    Returns
    -------
    name : str
    weight_format : str or None
        Format in the name of the checkpoint, unless it is the model's.

    Raises
    ------
    UnknownName
        For a checkpoint of no model of the catalog, with the nearest.
    """
    if models.named(checkpoint) is not None:
        return models[checkpoint].name, None
    published: dict[str, str] = {}
    for name, preset in models.items():
        published.setdefault(published_id(preset).casefold(), name)
    path = checkpoint.rstrip("/").casefold()
    if path in published:
        return published[path], None
    last = checkpoint.rstrip("/").rsplit("/", 1)[-1]
    tails = {key.rsplit("/", 1)[-1]: name for key, name in reversed(published.items())}
    stored: str | None = None
    while last:
        same = models.named(last)
        model = tails.get(last.casefold()) or (same.name if same is not None else None)
        if model is not None:
            return model, None if stored == models[model].values.get("weight_format") else stored
        suffix = _suffix(last)
        if not suffix:
            break
        stored = stored or _FORMAT_OF_SUFFIX.get(suffix)
        last = last[: -len(suffix) - 1]
    known = [*models, *published]
    hint = did_you_mean(checkpoint[:100].rsplit("/", 1)[-1], known)
    raise UnknownName(
        f"the catalog has no model for {shown(checkpoint)} (give model=, a name, folder or config.json){hint}"
    )


def _suffix(name: str) -> str:
    """Ending of a name for a format or a variant of the same shape, or empty."""
    lowered = name.casefold()
    if (dated := re.search(r"-(\d{4}|v\d[\d.]{0,5})$", lowered)) is not None:
        return dated[1]
    return next((s for s in (*_FORMAT_OF_SUFFIX, *_FURTHER_SUFFIXES) if lowered.endswith(f"-{s}")), "")
