"""The catalog of number formats: bytes per weight with scales, and peaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roofslate.presets.lookup import find_preset
from roofslate.registry.formats import formats

if TYPE_CHECKING:
    import pandas as pd

    from roofslate.presets.preset import Preset

__all__ = ["number_formats"]


def number_formats(hardware: str | Preset | None = None) -> pd.DataFrame:
    """List the number formats of weights: bytes per weight, scales, and peaks.

    A format that a chip does not multiply is turned into bf16 first.

    Parameters
    ----------
    hardware : str or Preset, optional
        Chip of `multiplied_in` and `peak_flops`. By default `multiplied_in` is for a chip with every peak.

    Returns
    -------
    pandas.DataFrame
        Indexed by `format`, the word of ``weight_format``: `bits_per_weight`, `bytes_per_weight` (scales and zero
        points included), `element_bits`, `group_size` (weights that share a scale; 0: a tensor or channel),
        `scale_bits` and `zero_point_bits` of a group, `multiplied_in`, with `hardware` also `peak_flops` (FLOP/s/chip),
        `aliases`, `source`, `date` and `verified`, whether the sizes were read in the source.

    Raises
    ------
    UnknownName
        For hardware that the catalog does not have.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.number_formats("H100").loc[["nvfp4", "fp8-block", "Q4_K_M"], ["bytes_per_weight", "multiplied_in"]]
               bytes_per_weight multiplied_in
    format
    nvfp4              0.562500          bf16
    fp8-block          1.000244           fp8
    Q4_K_M             0.611800          bf16
    """
    import pandas as pd

    entries = formats().values()
    peaks = [entry.peak for entry in entries]
    columns: dict[str, object] = {
        "bits_per_weight": [entry.bits for entry in entries],
        "bytes_per_weight": [entry.bits / 8 for entry in entries],
        **{
            name: [getattr(entry, name) for entry in entries]
            for name in ("element_bits", "group_size", "scale_bits", "zero_point_bits")
        },
        "multiplied_in": peaks,
    }
    if hardware is not None:
        chip = find_preset("hardware", hardware).values
        peaks = [peak if f"peak_flops_{peak}" in chip else "bf16" for peak in peaks]
        columns |= {"multiplied_in": peaks, "peak_flops": [chip.get(f"peak_flops_{peak}") for peak in peaks]}
    columns |= {"aliases": [", ".join(entry.aliases) for entry in entries]}
    columns |= {name: [getattr(entry, name) for entry in entries] for name in ("source", "date")}
    columns["verified"] = [entry.read for entry in entries]
    return pd.DataFrame(columns, index=pd.Index([entry.name for entry in entries], name="format"))
