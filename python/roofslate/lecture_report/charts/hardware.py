"""Chapter 1: chips, and the balance of their compute and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.errors import AxisError
from roofslate.plotting.chart import chart, completed, datasets, tabulated
from roofslate.presets.catalog import models
from roofslate.presets.preset import Preset

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["machine_balance", "roofline"]


def _by_chip(inputs: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Split the inputs of a call by chip."""
    given = inputs.get("hardware")
    if given is None:
        return {"this chip": inputs}
    chips = [given] if isinstance(given, (str, Preset)) else list(given)
    formats = inputs.get("weight_format")
    if not isinstance(formats, (list, tuple)):
        formats = [formats] * len(chips)
    if len(formats) != len(chips):
        raise AxisError(f"weight_format: {len(formats)} formats for {len(chips)} chips; give one, or one for each")
    cases = {}
    for chip, form in zip(chips, formats, strict=True):
        name = chip.name if isinstance(chip, Preset) else str(chip)
        cases[name] = {**inputs, "hardware": chip, **({} if form is None else {"weight_format": form})}
    return cases


_ROOFS = ("A100-80", "H100", "B200", "TPU v5e", "MI300X")


def _roofline(**inputs: Any) -> pd.DataFrame:
    import numpy as np

    if not {"hardware", "peak_flops", "hbm_bandwidth"} & set(inputs):
        inputs["hardware"] = list(_ROOFS)
    if completed(inputs) and "weight_format" not in inputs:
        inputs.setdefault("compute_format", "bf16")
    cases = _by_chip(inputs)
    chips = datasets(["ridge_point", "peak_flops"], "hardware", cases)
    ridges = chips["ridge_point"].to_numpy()
    intensity = inputs.pop("arithmetic_intensity", None)
    if intensity is None:
        intensity = np.union1d(np.geomspace(ridges.min() / 300, ridges.max() * 6, 121), ridges)
    along_axis = {name: {"arithmetic_intensity": intensity, **case} for name, case in cases.items()}
    roofs = datasets(["attainable_flops"], "hardware", along_axis)
    table = tabulated(roofs, ["hardware", "arithmetic_intensity"], "roofline")
    names = chips["hardware"].to_numpy().tolist()
    mark_units = {"ridge_point": "FLOP/byte", "peak_flops": "FLOP/s/chip"}
    table.attrs["marks"] = {
        f"{mark} {name}": float(chips[mark].sel(hardware=name)) for mark in mark_units for name in names
    }
    table.attrs["units"] |= {f"{mark} {name}": unit for mark, unit in mark_units.items() for name in names}
    table.attrs["marks"] |= {"least_ridge_point": float(ridges.min()), "most_ridge_point": float(ridges.max())}
    table.attrs["units"] |= dict.fromkeys(("least_ridge_point", "most_ridge_point"), "FLOP/byte")
    return table


@chart(
    "C31",
    _roofline,
    title="Attainable compute by arithmetic intensity, six chips, 16-bit",
    subject="Attainable compute by arithmetic intensity",
    paragraph=(
        "At low arithmetic intensity, memory bounds the attainable compute of a chip. Beyond the ridge point, peak "
        "compute bounds it. The ridge point is {least_ridge_point} to {most_ridge_point} for these chips in 16-bit "
        "formats, though their peaks differ far more. Decode at a small batch is at the far left, and batching moves "
        "it to the right."
    ),
    inputs=("compute_format",),
    size=(6.5, 4.3),
)
def roofline(ax: Axes, table: pd.DataFrame) -> None:
    """Attainable compute of a chip by arithmetic intensity.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        Of `attainable_flops`; `arithmetic_intensity` is the axis. `hardware` (a name or a list), `compute_format` (bf16
        unless given) or `weight_format` (one for all, or a list with one for each), efficiencies; or `peak_flops` and
        `hbm_bandwidth`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    chips = table.index.unique("hardware")
    ax.set(xscale="log", yscale="log")
    ax.set(xlabel="arithmetic intensity (FLOP/B)", ylabel="attainable compute of a chip")
    ends = []
    for chip, look in zip(chips, style.styles(len(chips)), strict=True):
        roof = table.loc[chip, "attainable_flops"]
        ridge = marks[f"ridge_point {chip}"]
        line = {"color": look["color"], "linestyle": look["linestyle"], "linewidth": 2}
        ax.plot(roof.index, roof, label=chip, **line)
        top = roof.max()
        ax.plot(ridge, top, look["marker"], color=look["color"], markersize=7, label=f"ridge {chip}")
        ends.append((roof.index[-1], roof.iloc[-1], f"{chip}: {ridge:,.0f}", style.INK))
    values = table["attainable_flops"]
    across = table.index.unique("arithmetic_intensity")
    ax.set(xlim=(across.min(), across.max()), ylim=(values.min(), values.max() * 1.8))
    style.label_ends(ax, ends)
    style.scale_ticks(ax.yaxis, "FLOP/s/chip")
    style.scale_ticks(ax.xaxis, "1")
    note = "markers: ridge points, in FLOP/B"
    ax.text(0.03, 0.95, note, transform=ax.transAxes, fontsize=9, color=style.NOTE, va="top")


# The chips of the lecture's claim, in the format that each is compared in.
_GENERATIONS = {
    "A100-40": "bf16",
    "A100-80": "bf16",
    "H100": "fp8",
    "H200": "fp8",
    "B200 (lecture)": "fp4",
    "GB200": "fp4",
    "GB300": "fp4",
    "Rubin (lecture)": "fp4",
    "TPU v5e (lecture)": "bf16",
    "TPU v5p": "bf16",
    "TPU v6e (lecture)": "bf16",
    "TPU 7x": "bf16",
    "MI300X": "bf16",
}

# Drawn quantities of each chip, with the lecture's claimed name and the unit.
_CLAIMED = {"balance_tokens": ("balance_tokens", "token"), "hbm_drain_time": ("batch_interval", "s")}


def _machine_balance(**inputs: Any) -> pd.DataFrame:
    if "hardware" not in inputs:
        inputs["hardware"] = list(_GENERATIONS)
        inputs.setdefault("weight_format", list(_GENERATIONS.values()))
    cases = _by_chip(inputs)
    chips = datasets(["balance_tokens", "hbm_drain_time"], "hardware", cases)
    chips["weight_format"] = ("hardware", [str(case.get("weight_format", "")) for case in cases.values()])
    table = tabulated(chips, "hardware", "machine_balance")
    lecture = models["lecture"]
    claims = {f"claimed_{name}": (lecture[claim], unit) for name, (claim, unit) in _CLAIMED.items()}
    least = {f"least_{name}": (table[name].min(), unit) for name, (_, unit) in _CLAIMED.items()}
    most = {f"most_{name}": (table[name].max(), unit) for name, (_, unit) in _CLAIMED.items()}
    marks = claims | least | most
    table.attrs["marks"] = {name: float(x) for name, (x, _) in marks.items()}
    table.attrs["units"] |= {name: unit for name, (_, unit) in marks.items()}
    return table


@chart(
    "C32",
    _machine_balance,
    title="Machine balance and drain time by chip, 13 chips",
    subject="Machine balance and drain time by chip",
    paragraph=(
        "The lecture relies on two constants of hardware. {claimed_balance_tokens} tokens hide the read of one "
        "weight, and a chip reads its whole memory in {claimed_hbm_drain_time}. For these chips the first runs from "
        "{least_balance_tokens} to {most_balance_tokens}, the second from {least_hbm_drain_time} to "
        "{most_hbm_drain_time}."
    ),
    size=(6.5, 4.4),
)
def machine_balance(ax: Axes, table: pd.DataFrame) -> None:
    """Balance of compute and memory, and drain time, by chip.

    Parameters
    ----------
    ax : Axes, optional
        Divided into two panels; a new figure by default.
    **inputs
        `hardware` (a name or a list) and `weight_format`: one for all (bf16 unless given), or a list with one for each.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    chips = table.index.to_numpy()
    formats = table["weight_format"].to_numpy()
    rows = range(len(chips))
    names = [f"{chip.replace(' (lecture)', '*')}, {word.upper()}" for chip, word in zip(chips, formats, strict=True)]
    balance_panel, drain_panel = style.panels(ax, 2, start=0.22, gap=0.06, bottom=0.11, top=0.04)
    columns = (
        (balance_panel, "balance_tokens", "token", "o", "tokens that hide one weight's fetch"),
        (drain_panel, "hbm_drain_time", "s", "s", "time to read all memory"),
    )
    for panel, name, unit, marker, title in columns:
        values = table[name].to_numpy()
        claim = marks[f"claimed_{name}"]
        panel.axvline(claim, color=style.INK, linestyle=(0, (3, 2)), linewidth=1.1, label=f"claimed {name}")
        panel.hlines(rows, 0, values, color="#B8C7D3", linewidth=1.4, zorder=1)
        color = style.COMPUTE["color"] if unit == "token" else "#A84A00"
        panel.plot(values, rows, marker, color=color, markersize=6, label=name, linestyle="none")
        for y, x in zip(rows, values, strict=True):
            text = style.text_of(x, unit)
            panel.annotate(
                text,
                (x, y),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
                color=style.INK,
                bbox=style.HALO,
            )
        panel.set(xlim=(0, 1.22 * max(values.max(), claim)), ylim=(len(chips) - 0.5, -0.9), xlabel=title)
        panel.text(
            claim,
            -0.95,
            f"lecture: {style.text_of(claim, unit)}",
            fontsize=8,
            ha="center",
            va="bottom",
            color=style.INK,
        )
        style.scale_ticks(panel.xaxis, unit)
        panel.spines["left"].set_visible(False)
        panel.set_yticks(list(rows), names if panel is balance_panel else [], fontsize=8.5)
        panel.tick_params(axis="y", length=0)
    if any("(lecture)" in chip for chip in chips):
        ax.text(0, 0, "* the lecture's figures", transform=ax.transAxes, fontsize=8, color=style.NOTE)
