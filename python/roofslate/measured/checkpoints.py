"""Checkpoints as engines store them: default number formats of weights and KV cache."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from roofslate.evaluation.value import value
from roofslate.presets.frameworks import framework_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from roofslate.presets.preset import Preset

__all__ = ["FORMATS", "checkpoint_format", "number_formats", "stored_formats"]

# By the name of a weight format: format of the registry, format of compute, bytes with scales.
FORMATS = {
    "bf16": ("bf16", "bf16", 2.0),
    "fp16": ("bf16", "bf16", 2.0),
    "fp8": ("fp8", "fp8", 1.0),
    "mxfp8": ("fp8", "fp8", 1.03125),
    "int8": ("int8", "int8", 1.0),
    "fp4": ("fp4", "fp4", 0.5625),
    "nvfp4": ("nvfp4", "nvfp4", 0.5625),
    "mxfp4": ("mxfp4", "mxfp4", 0.53125),
    "int4": ("int4", "bf16", 0.53125),  # which no chip multiplies
}
_FOUR_BITS = ("fp4", "nvfp4", "mxfp4", "int4")


def checkpoint_format(model: Preset, written: str) -> str:
    """The format of a model's only checkpoint in four bits, whatever a table calls it."""
    return str(model.attributes.get("experts_format", written)) if written in ("fp4", "nvfp4", "mxfp4") else written


def number_formats(written: Iterable[str]) -> dict[str, list[Any]]:
    """Return the formats of weights and compute and the bytes per weight, scales included."""
    formats = [FORMATS[word] for word in written]
    names = ("weight_format", "compute_format", "bytes_per_weight")
    return {name: [each[k] for each in formats] for k, name in enumerate(names)}


def stored_formats(table: pd.DataFrame, inputs: Mapping[str, Any], kv_format: Any = None) -> dict[str, list[Any]]:
    """Return the formats of weights and KV cache by engine, if the table leaves them out.

    Checkpoints of experts in four bits have the remaining weights in bf16. The KV cache is fp8 for weights of fp8 and
    nvfp4, except with vLLM on chips without fp4 compute. A given `kv_format` wins, of all rows or a column's.
    """
    given = table["framework"] if "framework" in table.columns else [""] * len(table)
    engines = [framework_name(name) if isinstance(name, str) else "" for name in given]
    caches = ("kv_bytes_per_token", "recurrent_state_bytes")
    columns: dict[str, list[Any]] = {name: [] for name in ("dense_format", "kv_format", *caches)}
    given_caches = inputs.get("kv_format", [kv_format] * len(table))
    names = ("model", "hardware", "weight_format")
    for model, chip, weights, written, engine, cache in zip(
        *map(inputs.__getitem__, names), table["weight_format"], engines, given_caches, strict=True
    ):
        experts = float(model.values.get("experts", 1)) > 1
        narrow = written in ("fp8", "fp4", "nvfp4", "mxfp4") and ("peak_flops_fp4" in chip.values or engine != "vllm")
        columns["dense_format"].append("bf16" if experts and weights in _FOUR_BITS else "same")
        stored = cache if isinstance(cache, str) else "fp8" if narrow else "bf16"
        columns["kv_format"].append(stored)
        for name, size in zip(caches, _cache_bytes(model, stored), strict=True):
            columns[name].append(size)
    return columns


@functools.lru_cache(maxsize=256)
def _cache_bytes(model: Preset, kv_format: str) -> tuple[float, ...]:
    """Return the KV cache per token and the states in a format, whatever the preset's is."""
    stored, stated = (value("kv_bits", kv_format=f) for f in (kv_format, model.values.get("kv_format", "bf16")))
    ratio = float(stored) / float(stated)
    states = float(model.values.get("recurrent_state_bytes", 0))
    return tuple(ratio * size for size in (float(value("kv_bytes_per_token", model=model)), states))
