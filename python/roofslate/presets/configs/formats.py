"""Formats of a checkpoint: what ``quantization_config`` says of the weights of each part, and of the cache."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofslate.presets.configs.reading import Keys

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BITS", "Formats", "bits_in", "read_formats"]


BITS = {"bf16": 16.0, "fp8": 8.0, "int8": 8.0, "fp4": 4.0}


"""Bits of an element in each format, scales left out."""


_MATRICES = ("attention", "state_mixer", "dense_ffn", "routed_experts", "shared_experts")


# Words in the names of modules that tell the part, the first that occurs.
_MODULES = (
    ("shared_expert", "shared_experts"),
    ("router", ""),
    ("gate", ""),
    ("expert", "routed_experts"),
    ("linear_attn", "state_mixer"),
    ("mixer", "state_mixer"),
    ("attn", "attention"),
    ("mlp", "dense_ffn"),
    ("ffn", "dense_ffn"),
)


_BLOCK = re.compile(r"_proj|\(gate|gate_up")


_NVFP4 = 4 + 8 / 16  # a scale of 8 bits for 16 elements


_MXFP4 = 4 + 8 / 32


@dataclass(frozen=True)
class Formats:
    """Formats of a checkpoint.

    Attributes
    ----------
    weight : str
        Format of most of its weights.
    kv : str
        Format of the cache that the file asks for, otherwise bf16.
    bits : Mapping of str to float
        Bits of a weight of each part that is not in 16 bits, scales included.
    plain : float
        Bits of a weight of the other parts.
    """

    weight: str
    kv: str
    bits: Mapping[str, float]
    plain: float = 16.0


def bits_in(weight_format: str, *, sparse: bool) -> dict[str, float]:
    """Bits of a weight by part in a format; in 4 bits a model with experts keeps everything else in 16."""
    if weight_format == "bf16":
        return {}
    if weight_format == "fp4":
        return dict.fromkeys(("routed_experts",) if sparse else _MATRICES, _NVFP4)
    return dict.fromkeys(_MATRICES, BITS[weight_format])


def read_formats(config: Keys, keys: Keys, layers: int, *, beside: bool, assumptions: list[str]) -> Formats:
    """Formats that a config states, in its outer object or the inner one.

    Parameters
    ----------
    config, keys : Keys
    layers : int
    beside : bool
        Whether ``mlp`` names a dense part beside experts, which counts as shared experts.
    assumptions : list of str
        Takes what the file leaves open.
    """
    where = next((table for table in (config, keys) if "quantization_config" in table), None)
    dtype = next((word for table in (keys, config) if (word := table.text("torch_dtype") or table.text("dtype"))), "")
    plain = 32.0 if dtype == "float32" else 16.0
    experts = _EXPERT_TYPES.get(keys.text("expert_dtype"))
    if where is None:
        if not dtype:
            assumptions.append("torch_dtype: 16 bits a weight, as most checkpoints have")
        return Formats("bf16", "bf16", {}, plain)
    table = where.inside("quantization_config")
    bits, word = _bits(table, assumptions)
    patterns = [str(entry) for key in ("ignore", "modules_to_not_convert") for entry in table.entries(key) or ()]
    kept = _kept(patterns, layers, beside=beside)
    method = table.text("quant_method").casefold()
    only = {"routed_experts"} if method == "mxfp4" else set(_MATRICES)
    found = {part: bits for part in _MATRICES if part in only - kept} if bits < plain else {}
    mixed = table.text("moe_quant_algo").upper()
    if mixed == "NVFP4":
        experts = _NVFP4
    if experts:
        found["routed_experts"], word = experts, "fp4"
    scheme = (
        "" if table.is_list("kv_cache_scheme") else table.shown("kv_cache_scheme") + table.shown("kv_cache_quant_algo")
    )
    kv = "fp8" if "8" in scheme else "fp4" if "4" in scheme else "bf16"
    for name in ("config_groups", "quantized_layers", "producer", "weight_block_size"):
        table.shown(name)
    return Formats(word, kv, found, plain)


_EXPERT_TYPES = {"fp4": _MXFP4, "mxfp4": _MXFP4, "nvfp4": _NVFP4, "fp8": 8.0, "int4": 4.5}


def _bits(table: Keys, assumptions: list[str]) -> tuple[float, str]:
    """Bits of a quantized weight with its scales, and the word for the format."""
    method, algorithm = table.text("quant_method").casefold(), table.text("quant_algo").upper()
    if algorithm == "NVFP4":
        return _NVFP4, "fp4"
    if method == "mxfp4":
        return _MXFP4, "fp4"
    groups = table.inside("config_groups") if "config_groups" in table else Keys({})
    weights = next((groups.inside(name).inside("weights") for name in groups.names()), Keys({}))
    if method == "fp8" or algorithm == "FP8" or "fp8" in method:
        sides = table.counts("weight_block_size") or []
        return (8 + 32 / (sides[0] * sides[-1]) if sides and all(sides) else 8.0), "fp8"
    if "num_bits" in weights:
        width, group = weights.count("num_bits", low=1, high=32), weights.optional("group_size", low=1)
        kind = weights.text("type", "int")
    elif table.flag("load_in_4bit", False) or table.flag("load_in_8bit", False):
        width, group, kind = (4 if table.flag("load_in_4bit", False) else 8), 64, "int"
    else:
        width, group, kind = table.count("bits", 0, high=32) or table.count("w_bit", 0, high=32), None, "int"
        group = table.optional("group_size", low=-1) or 128
    if not width:
        assumptions.append(f"quantization_config: {method or algorithm or 'no method'} is not known, taken as 16 bits")
        return 16.0, "bf16"
    if width >= 16:
        return 16.0, "bf16"
    scales = 16 / group if group and group > 0 else 0.0
    return width + scales, "fp4" if width <= 4 else "fp8" if kind == "float" else "int8"


def _kept(patterns: list[str], layers: int, *, beside: bool) -> set[str]:
    """Parts whose modules stay in 16 bits, in most of their layers. The patterns are read by words, and not run."""
    hits: dict[str, int] = {}
    for pattern in patterns:
        text = _BLOCK.sub("", pattern)
        part = next((part for word, part in _MODULES if word in text), "")
        if part:
            numbered = re.search(r"layers\.\d", pattern)
            hits[part] = hits.get(part, 0) + (1 if numbered else layers)
    kept = {part for part, count in hits.items() if 2 * count >= layers}
    return kept | {"shared_experts"} if beside and "dense_ffn" in kept else kept
