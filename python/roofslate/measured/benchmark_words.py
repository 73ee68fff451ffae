"""Words of benchmark files: names of chips and weight formats, and dates."""

from __future__ import annotations

import datetime
from typing import Any

from roofslate.measured.checkpoints import FORMATS
from roofslate.presets.lookup import PRESETS

__all__ = ["day_of", "hardware_name", "weight_format_name"]

_WEIGHT_FORMATS = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "fp8_e4m3": "fp8",
    "fp8_block_scales": "fp8",
    "w8a8_fp8": "fp8",
    "modelopt": "fp8",
    "modelopt_fp8": "fp8",
    "modelopt_fp4": "nvfp4",
    "w8a8_int8": "int8",
    "awq": "int4",
    "gptq": "int4",
    "awq_marlin": "int4",
    "gptq_marlin": "int4",
    "w4a16_awq": "int4",
    "w4a16_gptq": "int4",
}


def weight_format_name(word: str) -> str:
    """Name of a weight format in tables of measured runs, or an unknown word as it is."""
    written = word.strip().casefold()
    return written if written in FORMATS else _WEIGHT_FORMATS.get(written, word)


def hardware_name(word: str) -> str:
    """Name of a chip in the catalog, from its device name or a runner label.

    An unknown word is returned as it is.

    Examples
    --------
    >>> hardware_name("NVIDIA H100 80GB HBM3"), hardware_name("mi355x-amd_0")
    ('H100', 'MI355X')
    """
    catalog = PRESETS["hardware"]
    if word in catalog:
        return catalog[word].name
    parts = word.casefold().replace("-", " ").replace("_", " ").split()
    if "a100" in parts:
        return "A100-80" if {"80gb", "80"} & {*parts} else "A100-40" if {"40gb", "40"} & {*parts} else word
    names = {name.casefold(): name for name in catalog if " " not in name}
    return next((names[part] for part in parts if part in names), word)


def day_of(written: Any) -> str | None:
    """Day of a run: of a date as text, or of seconds since 1970."""
    try:
        if isinstance(written, str):
            digits = written[:10].replace("-", "")[:8]
            return datetime.datetime.strptime(digits, "%Y%m%d").date().isoformat()
        if isinstance(written, (int, float)) and not isinstance(written, bool):
            return datetime.datetime.fromtimestamp(written, datetime.timezone.utc).date().isoformat()
    except (ValueError, OverflowError, OSError):
        pass
    return None
