"""Compute, bandwidth and memory of chips by year."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.errors import PresetError
from roofslate.plotting.chart import chart, completed, datasets, tabulated
from roofslate.presets.catalog import models
from roofslate.presets.lookup import find_preset

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from roofslate.presets.preset import Preset

__all__ = ["hardware_generations"]

_CHIPS = (
    *("A100-80", "H100", "H200", "GB200", "GB300", "Rubin"),
    *("MI300X", "MI325X", "MI355X"),
    *("TPU v4", "TPU v5e", "TPU v5p", "TPU v6e", "TPU 7x"),
    *("Trainium2", "Trainium3"),
)

# Drawn quantities with their labels. Records are marked, and the balance is compared with the lecture's claim.
_GROWING = {
    "peak_flops": "peak compute of a chip",
    "hbm_bandwidth": "memory bandwidth of a chip",
    "hbm_capacity": "memory of a chip",
}

_STANDING = 0.5  # years of a record, to be named
_BALANCE = "tokens that hide one weight's fetch"


def _year(preset: Preset) -> float:
    """Year with fraction of a chip's announcement, otherwise of its figures."""
    date = str(preset.attributes.get("announced", preset.date))
    if not date:
        raise PresetError(f"{preset.name!r} has no date: give date= where it is defined, or the attribute 'announced'")
    year, month = int(date[:4]), int(date[5:7] or 6)
    return year + (month - 0.5) / 12


def _records(values: NDArray[np.float64]) -> list[int]:
    """Places of those that exceed all before them."""
    records: list[int] = []
    for k, x in enumerate(values):
        if not records or x > values[records[-1]]:
            records.append(k)
    return records


def _hardware_generations(**inputs: Any) -> pd.DataFrame:
    given = inputs.pop("hardware", _CHIPS)
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    chips = sorted((find_preset("hardware", one) for one in listed), key=_year)
    if completed(inputs):
        inputs.setdefault("weight_format", "bf16")
    cases = {chip.name: {**inputs, "hardware": chip} for chip in chips}
    specifications = datasets([*_GROWING, "balance_tokens"], "hardware", cases)
    specifications["announced"] = ("hardware", [_year(chip) for chip in chips])
    specifications["vendor"] = ("hardware", [str(chip.attributes.get("vendor", "others")) for chip in chips])
    table = tabulated(specifications, "hardware", "hardware_generations")
    table.attrs["format"] = str(inputs.get("compute_format", inputs.get("weight_format", "each format given")))
    marks = {"claimed_balance_tokens": float(models["lecture"]["balance_tokens"])}
    marks["least_balance_tokens"] = float(table["balance_tokens"].min())
    marks["most_balance_tokens"] = float(table["balance_tokens"].max())
    table.attrs["units"] |= dict.fromkeys(marks, "token")
    for name in _GROWING:
        values = table[name].to_numpy()
        marks[f"{name}_growth"] = float(values[_records(values)[-1]] / values[0])
        table.attrs["units"][f"{name}_growth"] = "1"
    table.attrs["marks"] = marks
    return table


@chart(
    "C36",
    _hardware_generations,
    title="Peak compute, bandwidth and memory by chip, 16-bit formats",
    subject="Peak compute, bandwidth and memory by chip",
    paragraph=(
        "From the first of these chips to the last the best peak in a 16-bit format grew {peak_flops_growth}-fold. "
        "The best bandwidth grew {hbm_bandwidth_growth}-fold, and the largest memory {hbm_capacity_growth}-fold. The "
        "balance of compute and bandwidth has no such trend. It ranges from {least_balance_tokens} to "
        "{most_balance_tokens} tokens, around the lecture's {claimed_balance_tokens}."
    ),
    inputs=("weight_format",),
    size=(6.5, 6.0),
)
def hardware_generations(ax: Axes, table: pd.DataFrame) -> None:
    """Compute, bandwidth, memory and balance of chips by year of announcement.

    Parameters
    ----------
    ax : Axes, optional
        Divided into four panels; a new figure by default.
    **inputs
        `hardware` (names or presets; each has the attribute ``announced`` or a date), `weight_format` (bf16 unless
        given) and `compute_format`, efficiencies. A chip that lacks the format works at its bf16 peak.

    Returns
    -------
    matplotlib.axes.Axes
    """
    import numpy as np
    from matplotlib.ticker import LogLocator

    vendors = list(dict.fromkeys(table["vendor"]))
    looks = dict(zip(vendors, style.styles(len(vendors)), strict=True))
    years = table["announced"].to_numpy()
    first, last = math.floor(years.min()), math.ceil(years.max())
    panels = style.panels(ax, 2, rows=2, start=0.08, gap=0.13, bottom=0.05, top=0.1)
    drawn = zip(panels, (*_GROWING, "balance_tokens"), (*_GROWING.values(), _BALANCE), strict=True)
    for panel, name, title in drawn:
        values = table[name].to_numpy()
        panel.set(yscale="log", xlim=(first - 1.4, last + 0.8), ylim=(values.min() / 2, values.max() * 2.4))
        for vendor, look in looks.items():
            of_vendor = (table["vendor"] == vendor).to_numpy()
            marker = {"color": look["color"], "marker": look["marker"], "markersize": 5}
            panel.plot(years[of_vendor], values[of_vendor], linestyle="none", label=vendor, zorder=3, **marker)
        if name in _GROWING:
            records = _records(values)
            panel.plot(
                years[records], values[records], color="#66757F", drawstyle="steps-post", linewidth=1.4, label="record"
            )
            ends = [*years[records[1:]], math.inf]
            labelled = [k for k, end in zip(records, ends, strict=True) if end - years[k] > _STANDING]
        else:
            labelled = sorted({int(values.argmin()), int(values.argmax())})
            claim = table.attrs["marks"]["claimed_balance_tokens"]
            panel.axhline(claim, color=style.INK, linestyle=(0, (3, 2)), linewidth=1.1, label="claimed balance_tokens")
            note: dict[str, Any] = {"fontsize": 8, "color": style.INK, "va": "bottom", "bbox": style.HALO}
            panel.annotate(f"lecture: {claim:.0f}", (first - 1.3, claim), (0, 3), textcoords="offset points", **note)
        newest = [int(np.flatnonzero(table["vendor"] == vendor)[-1]) for vendor in vendors]
        for k in sorted({*labelled, *newest}):
            color = looks[table["vendor"].iloc[k]]["color"]
            _name(panel, str(table.index[k]), years[k], values[k], color)
        if name == "peak_flops":
            title = f"{title}, {table.attrs['format']}"
        panel.text(0, 1.03, title, transform=panel.transAxes, fontsize=9, color=style.INK)
        unit = table.attrs["units"][name]
        style.scale_ticks(panel.yaxis, unit)
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        panel.set_xticks(range(first, last + 1, 2), [str(year) for year in range(first, last + 1, 2)], fontsize=8)
    shown = [line for line in panels[0].get_lines() if line.get_label() in looks]
    panels[0].legend(
        handles=shown, loc="lower left", bbox_to_anchor=(-0.03, 1.09), ncols=len(shown), fontsize=8.5, frameon=False
    )


def _name(panel: Axes, name: str, x: np.float64, y: np.float64, color: str) -> None:
    look: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "va": "bottom", "gid": "finding"}
    panel.annotate(name, (x, y), xytext=(-4, 3), fontsize=8, color=color, **look)
