"""Write measured kernel limits into the hardware presets, from the kernel catalog.

``python python/tools/kernel_shares.py`` rewrites the block of kernel values of each chip in the catalog, in
``presets/data/hardware.toml``. The fastest of several engines and versions counts, as the others adopt it.
"""

from __future__ import annotations

import csv
import math
import re
import sys
from pathlib import Path

import roofslate

DATA = Path(roofslate.__file__).parent / "presets" / "data"
MARK = "# kernels: written by python/tools/kernel_shares.py from kernels.csv"
SOURCE = "aiconfigurator-core 0.12.0, tables of measured kernels (Apache-2.0): kernels.csv"

PROMPTS = ("bfloat16, kv bfloat16", "bfloat16, kv fp8")
# A quantity, the fact behind it, its formats in the table, and the peak it is relative to.
SHARES = (
    ("dense_bandwidth_share_bf16", "gemm_bandwidth_share", ("bfloat16",), ""),
    ("dense_bandwidth_share_fp8", "gemm_bandwidth_share", ("fp8", "fp8_block"), ""),
    ("dense_bandwidth_share_fp4", "gemm_bandwidth_share", ("nvfp4",), ""),
    ("expert_bandwidth_share_bf16", "grouped_gemm_bandwidth_share", ("bfloat16",), ""),
    ("expert_bandwidth_share_fp8", "grouped_gemm_bandwidth_share", ("fp8", "fp8_block"), ""),
    ("expert_bandwidth_share_nvfp4", "grouped_gemm_bandwidth_share", ("nvfp4",), ""),
    ("expert_bandwidth_share_mxfp4", "grouped_gemm_bandwidth_share", ("w4a16_mxfp4", "w4a8_mxfp4_mxfp8"), ""),
    ("expert_bandwidth_share_int4", "grouped_gemm_bandwidth_share", ("int4_wo",), ""),
    ("attention_bandwidth_share_bf16", "attention_decode_bandwidth_share", ("kv bfloat16",), ""),
    ("attention_bandwidth_share_fp8", "attention_decode_bandwidth_share", ("kv fp8",), ""),
    ("dense_peak_share_bf16", "gemm_bf16_peak_share", ("bfloat16",), "bf16"),
    ("dense_peak_share_fp8", "gemm_bf16_peak_share", ("fp8", "fp8_block"), "fp8"),
    ("dense_peak_share_fp4", "gemm_bf16_peak_share", ("nvfp4",), "fp4"),
    ("expert_peak_share_bf16", "grouped_gemm_bf16_peak_share", ("bfloat16",), "bf16"),
    ("expert_peak_share_fp8", "grouped_gemm_bf16_peak_share", ("fp8", "fp8_block"), "fp8"),
    ("expert_peak_share_nvfp4", "grouped_gemm_bf16_peak_share", ("nvfp4",), "fp4"),
    ("expert_peak_share_mxfp4", "grouped_gemm_bf16_peak_share", ("w4a16_mxfp4", "w4a8_mxfp4_mxfp8"), "fp4"),
    ("expert_peak_share_int4", "grouped_gemm_bf16_peak_share", ("int4_wo",), "bf16"),
    (
        "attention_peak_share_bf16",
        "attention_prefill_bf16_peak_share",
        ("bfloat16, kv bfloat16", "bfloat16, kv fp8"),
        "bf16",
    ),
)
# Chips with the compute of another one: the same die.
DIES = {"A100-40": "A100-80", "H800": "H100", "GB200": "B200", "GB300": "B300"}
# The smallest products of A100, H100 and B200 take 4.5, 3.1 and 2.3 us, the cube root of the peak.
REFERENCE_PEAK, EXPONENT = 1e15, 1 / 3
# Hopper multiplies four-bit numbers as bf16, whatever their scales.
WEIGHTS_ALONE = {"nvfp4": "mxfp4"}


def facts() -> dict[tuple[str, str, str, int], list[float]]:
    """Read the values of the catalog, by fact, chip, format and number of chips."""
    by_fact: dict[tuple[str, str, str, int], list[float]] = {}
    with (DATA / "kernels.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = (row["fact"], row["chip"], row["format"], int(row["chips"]))
            by_fact.setdefault(key, []).append(float(row["value"]))
    return by_fact


def peak(chip: str, width: str) -> float:
    """Return the peak of a chip in a format, or its bf16 peak if it has none."""
    values = roofslate.hardware[chip].values
    return float(values.get(f"peak_flops_{width}", values["peak_flops_bf16"]))


def values_of(chip: str, catalog: dict[tuple[str, str, str, int], list[float]]) -> dict[str, str]:
    """Format the kernel values of a chip for its preset."""
    die = DIES.get(chip, chip)
    values: dict[str, str] = {}
    for name, fact, formats, width in SHARES:
        known = [x for f in formats for x in catalog.get((fact, die, f, 1), [])]
        if known:
            share = max(known) * (peak(die, "bf16") / peak(die, width) if width else 1.0)
            values[name] = f"{min(share, 1.0):.3g}"
    for missing, other in WEIGHTS_ALONE.items():
        for kind in ("expert_bandwidth_share", "expert_peak_share"):
            if f"{kind}_{other}" in values:
                values.setdefault(f"{kind}_{missing}", values[f"{kind}_{other}"])
    products = catalog.get(("gemm_fixed_time", die, "bfloat16", 1))
    if products:
        scale = (peak(die, "bf16") / REFERENCE_PEAK) ** EXPONENT
        values["small_product_time"] = f'"{min(products) * scale:.3g} us"'
    pair, eight = (
        min((x for f in ("bfloat16", "half") for x in catalog.get(("all_reduce_fixed_time", die, f, n), [])), default=0)
        for n in (2, 8)
    )
    if pair and eight:
        values["small_all_reduce_time"] = f'"{eight:.3g} us"'
        values["all_reduce_exponent"] = f"{max(math.log(eight / pair) / math.log(4), 0):.3g}"
    return values


def written(text: str, chip: str, values: dict[str, str]) -> str:
    """Return the file with the updated block of one chip."""
    begin = text.index(f"[hardware.{chip}]\n")
    end = text.find("\n[hardware.", text.index(f"[hardware.{chip}.values]\n") + 1)
    block = text[begin : end + 1]
    block = re.sub(rf"\n{MARK}\n(?:\w+ = .*\n)*", "\n", block)
    block = re.sub(r"    \{ of = \[[^]]*\], source = \"aiconfigurator-core 0\.12\.0, tables.*\n", "", block)
    names = ", ".join(f'"{name}"' for name in values)
    source = f'    {{ of = [{names}], source = "{SOURCE}", date = "2026-08", read = true }},\n'
    block = re.sub(r"(sources = \[\n(?:    .*\n)*)\]", rf"\g<1>{source}]", block, count=1)
    lines = "".join(f"{name} = {value}\n" for name, value in values.items())
    block = re.sub(r"(\.values\]\n(?:\w+ = .*\n)*)", rf"\g<1>{MARK}\n{lines}", block, count=1)
    return text[:begin] + block + text[end + 1 :]


def main() -> None:
    """Rewrite the preset file."""
    path = DATA / "hardware.toml"
    text = path.read_text(encoding="utf-8")
    catalog = facts()
    for chip in dict.fromkeys([*(key[1] for key in catalog), *DIES]):
        if f"[hardware.{chip}]\n" in text:
            text = written(text, chip, values_of(chip, catalog))
    path.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
