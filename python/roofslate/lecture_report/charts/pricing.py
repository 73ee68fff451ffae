"""Chapter 6: implications of price lists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.display.diagram import COLUMN
from roofslate.errors import AxisError, InputTypeError
from roofslate.plotting.chart import chart, note, number, record, source
from roofslate.presets.catalog import api_prices, models
from roofslate.presets.preset import Preset
from roofslate.price_lists.infer import infer

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["price_map"]

_ARCHITECTURES = ("Llama-3.1-405B", "Llama-3.1-70B", "Qwen3-235B-A22B", "DeepSeek-V3", "gpt-oss-120b")

_LISTS = (
    *("lecture", "Claude Opus 4.1", "Claude Opus 4.5", "Claude Opus 4.6 until 2026-03-12", "Claude Opus 4.6"),
    *("Claude Opus 5", "Claude Opus 5.5", "Claude Sonnet 4.5", "Claude Sonnet 4.6", "Claude Haiku 4.5"),
    *("Claude Haiku 5.5", "Gemini 2.5 Pro", "Gemini 3 Pro", "Gemini 3.1 Pro", "Gemini 2.5 Flash", "Gemini 3.5 Flash"),
    *("GPT-5", "GPT-5.2", "GPT-5.4", "GPT-5.5", "GPT-5.6 Sol", "DeepSeek-V3", "DeepSeek-R1"),
    *("DeepSeek-V4 Flash until 2026-05-24", "DeepSeek-V4 Flash until 2026-08-16"),
    *("DeepSeek-V4 Flash until 2026-09-09", "DeepSeek-V4 Flash", "DeepSeek-V4 Pro until 2026-05-24"),
    *("DeepSeek-V4 Pro until 2026-08-16", "DeepSeek-V4 Pro"),
)

# The lecture supposes one KV cache for all layers, eight heads of 128, a byte each.
_SHARED = ("one KV cache, 8 heads", {"layers": 1, "kv_heads": 8, "head_size": 128, "kv_format": "fp8"})
_STEP, _HOLD, _PUBLISHED = "#0072B2", style.RED, "#7A4A12"
_HOLLOW: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": style.INK, "markeredgewidth": 1.1}
_SUPPOSED: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": _PUBLISHED, "markeredgewidth": 1.3}
_PLACES = ((0.29, 0.37), (0.7, 0.12), (0.85, 0.15))  # left and width of the panels, in shares
_ENDS = ("least", "middle", "most")

# Drawn intervals of each list, column and unit.
_INTERVALS = {
    "step_kv_bytes": "byte/token",  # from the step of answers beyond the threshold
    "kept_kv_bytes": "byte/token",  # from the price of keeping a token, in HBM
    "kv_bytes": "byte/token",  # on which all agree
    "decode_cost_ratio": "1",
    "hold_price": "USD/token/s",
}

_COLUMNS = {
    "kv_bytes_from_kink": "byte/token",
    "kv_bytes_per_token": "byte/token",
    **{f"{end}_{name}": unit for name, unit in _INTERVALS.items() for end in _ENDS},
}


def _named(given: Any, known: Any, what: str, example: str) -> list[Preset]:
    listed = [given] if isinstance(given, (str, Preset)) else list(given)
    if not listed:
        raise AxisError(f"{what}: an empty list; give one or more names, such as {example!r}")
    for one in listed:
        if not isinstance(one, (str, Preset)):
            raise InputTypeError(f"{what}: expected names of presets, got {type(one).__name__}")
    return [known[one] if isinstance(one, str) else one for one in listed]


def _read_list(prices: Preset, inputs: dict[str, Any]) -> dict[str, Any]:
    """Run one price list backwards, NaN for missing items."""
    inference = infer(prices, **inputs)
    note(inputs)
    record({a.name: a.nominal for a in inference.each_assumption if a.low == a.nominal == a.high})
    relations = {(r.quantity, r.of): r for r in inference.each_relation}
    row: dict[str, Any] = {"verdict": inference["kv_bytes_per_token"].verdict}
    intervals = {
        "step_kv_bytes": relations.get(("kv_bytes_from_balance_context", "kv_bytes_per_token")),
        "kept_kv_bytes": next((t.kv_bytes for t in inference.each_tier if t.name == "HBM"), None),
        "kv_bytes": inference["kv_bytes_per_token"],
        "decode_cost_ratio": inference["decode_cost_ratio"],
        "hold_price": inference["hold_price"],
    }
    for name, x in intervals.items():
        if x is not None:
            row |= {f"least_{name}": x.low, f"middle_{name}": x.nominal, f"most_{name}": x.high}
    if ("kv_bytes_from_kink", "kv_bytes_per_token") in relations:
        row["kv_bytes_from_kink"] = relations["kv_bytes_from_kink", "kv_bytes_per_token"].nominal
    return row


def _price_map(*, lists: Any = None, architectures: Any = _ARCHITECTURES, **inputs: Any) -> pd.DataFrame:
    import pandas as pd

    source("assumptions of rs.infer: the lecture's model and machine")
    presets = _named(_LISTS if lists is None else lists, api_prices, "lists", "Gemini 3.1 Pro")
    drawn = _named(architectures, models, "architectures", "DeepSeek-V3")
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for preset in presets:
        vendor = str(preset.attributes.get("vendor", preset.name))
        rows["prices", preset.name] = {"vendor": vendor, **_read_list(preset, inputs)}
    for model in drawn:
        rows["published", model.name] = {"kv_bytes_per_token": number("kv_bytes_per_token", model=model)}
    shared, shape = _SHARED
    supposed = number("kv_bytes_per_token", **shape)
    rows["supposed", shared] = {"kv_bytes_per_token": supposed}
    words = ["vendor", "verdict"]
    index = pd.MultiIndex.from_tuples(list(rows), names=["kind", "name"])
    table = pd.DataFrame(list(rows.values()), index=index).reindex(columns=[*words, *_COLUMNS])
    table["alike"] = 0
    if lists is None:
        table = _joined(table)
    lists_told, models_told = (table.xs(kind, level="kind") for kind in ("prices", "published"))
    marks = {
        "supposed_kv_bytes": supposed,
        "kv_bytes_from_kink": float(lists_told["kv_bytes_from_kink"].median()),
        "least_published": float(models_told["kv_bytes_per_token"].min()),
        "most_published": float(models_told["kv_bytes_per_token"].max()),
    }
    for name in _INTERVALS:
        marks |= {f"least_{name}": float(lists_told[f"middle_{name}"].min())}
        marks |= {f"most_{name}": float(lists_told[f"middle_{name}"].max())}
    marks["active_parameters"] = _size_behind(presets[0], inputs)
    table.attrs["marks"] = marks
    mark_units = {f"{end}_{name}": unit for name, unit in _INTERVALS.items() for end in ("least", "most")}
    of_bytes = dict.fromkeys(("supposed_kv_bytes", "least_published", "most_published"), "byte/token")
    table.attrs["units"] = {**dict.fromkeys((*words, "alike"), "1"), **_COLUMNS, **mark_units, **of_bytes}
    table.attrs["units"]["active_parameters"] = "parameter"
    return table


def _size_behind(prices: Preset, inputs: dict[str, Any]) -> float:
    """Active weights assumed behind all lists."""
    assumed = infer(prices, **inputs).assumptions
    return float(str(assumed.loc["active_parameters", "nominal"]))


def _joined(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the newest of equal lists of a vendor, and count the others in `alike`."""
    compared = [name for name in table.columns if name != "alike"]
    groups: dict[Any, list[tuple[str, str]]] = {}
    labels: list[Any] = table.index.to_list()
    for label, row in zip(labels, table[compared].to_numpy().tolist(), strict=True):
        key = tuple(f"{x:.9g}" if isinstance(x, float) else x for x in row) if label[0] == "prices" else label
        groups.setdefault(key, []).append(label)
    counts = {alike[-1]: len(alike) - 1 for alike in groups.values()}
    table = table.loc[[label in counts for label in table.index]].copy()
    table["alike"] = [counts[label] for label in table.index]
    return table


@chart(
    "C35",
    _price_map,
    title="KV cache per token inferred from price lists, 100B weights",
    subject="KV cache per token inferred from price lists",
    paragraph=(
        "Each list is run backwards, for {active_parameters} active weights, with ranges for unpublished numbers, the "
        "markups of items and the spread of contexts. The following numbers are the middles of the intervals. The "
        "step of answers beyond the threshold gives {least_step_kv_bytes} to {most_step_kv_bytes}, if a list has one. "
        "The price of keeping a token in HBM, marked up like a prompt, gives {least_kept_kv_bytes} to "
        "{most_kept_kv_bytes}. These two readings share only the price of prompts. Most intervals overlap, at any "
        "size of the model. The lecture's own reading, a kink at the threshold (hollow), is {kv_bytes_from_kink}. "
        "Answers that cost {least_decode_cost_ratio:2} to {most_decode_cost_ratio:2} times a prompt exclude it. "
        "Published models keep {least_published} to {most_published}. The lecture supposes one KV cache for all "
        "layers, {supposed_kv_bytes}."
    ),
    inputs=(
        "active_parameters",
        "bytes_per_weight",
        "peak_flops",
        "hbm_bandwidth",
        "hbm_capacity",
        "chip_price",
        "compute_efficiency",
        "bandwidth_efficiency",
        "shortest_context",
        "longest_context",
    ),
    chapter=6,
    size=(6.5, 7.4),
)
def price_map(ax: Axes, table: pd.DataFrame) -> None:
    """KV cache per token, price ratio and price of holding, by price list.

    Equal lists of one vendor share a row, unless they are requested by name.

    Parameters
    ----------
    ax : Axes, optional
        Divided into three panels; a new figure by default.
    lists : str or list of str, optional
        Names in `rs.api_prices`; otherwise the lecture's list and thirty of four vendors.
    architectures : str or list of str
        Names in `rs.models`.
    **inputs
        As for `rs.infer`: the lecture's model and machine unless given.

    Returns
    -------
    matplotlib.axes.Axes
    """
    kinds = table.index.get_level_values("kind")
    lists, shapes = table[kinds == "prices"], table[kinds != "prices"]
    lines = [*range(len(lists)), *(len(lists) + 1.6 + k for k in range(len(shapes)))]
    bottom, top = lines[-1] + 0.7, -0.9
    # letters no larger than the rows, and no smaller than in print if the figure is as wide as a column
    size = min(8.0, 0.62 * 0.82 * ax.get_window_extent().height / ax.figure.dpi * 72 / (bottom - top))
    size = style.LEAST if ax.get_window_extent().width / ax.figure.dpi > COLUMN else size
    kv_size, ratio, hold = _panels(ax)
    _cache_panel(kv_size, lists, shapes, lines, size)
    names = [_row_name(name, alike) for (_, name), alike in zip(table.index, table["alike"], strict=True)]
    kv_size.set_yticks(lines, names, fontsize=size)
    heading: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": size, "weight": "bold", "color": style.INK}
    kv_size.text(-0.02, len(lists) + 0.55, "architectures", transform=kv_size.get_yaxis_transform(), **heading)
    _stems(ratio, lists, "decode_cost_ratio", "s", size, "1")
    _heading(ratio, "answer to\nprompt cost", size)
    _stems(hold, lists, "hold_price", "D", size, "USD/token/s")
    _heading(hold, "to keep 1M\ntokens 1 h", size)
    for panel in (kv_size, ratio, hold):
        panel.set_ylim(bottom, top)
        panel.tick_params(axis="x", labelsize=size)
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
    for panel, unit in ((ratio, "1"), (hold, "USD/token/s")):
        panel.set_yticks([])
        _whole_ticks(panel, unit)
    if lists["middle_hold_price"].isna().all():
        hold.set_axis_off()
    _legend(ax, table, size)


def _panels(ax: Axes) -> list[Axes]:
    ax.set_axis_off()
    panels = [ax.inset_axes((x, 0.12, width, 0.83)) for x, width in _PLACES]
    for panel in panels:
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
    return panels


def _heading(panel: Axes, text: str, size: float) -> None:
    """Write a heading above a panel."""
    look: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    panel.annotate(text, (0, 1), xytext=(0, 2), fontsize=size, weight="bold", color=style.INK, **look)


def _row_name(name: str, alike: int) -> str:
    name, _, until = name.partition(" until ")
    return f"{name}{f' to {until[:7]}' if until else ''}{f' +{alike} alike' if alike else ''}"


def _cache_panel(panel: Axes, lists: pd.DataFrame, shapes: pd.DataFrame, lines: list[float], size: float) -> None:
    count = len(lists)
    panel.set_xscale("log")
    supposed = shapes.index.get_level_values("kind") == "supposed"
    published = shapes["kv_bytes_per_token"]
    drawn = [f"{end}_{name}" for name in ("step_kv_bytes", "kept_kv_bytes") for end in ("least", "most")]
    values = [x for name in drawn for x in lists[name]]
    finite = [x for x in [*values, *published] if math.isfinite(x) and x > 0]
    panel.set_xlim(min(finite) / 2, max(finite) * 8)
    if (~supposed).any():
        known = published[~supposed]
        panel.axvspan(known.min(), known.max(), color="#F4ECE3", zorder=0, linewidth=0, label="published")
    rows = lines[:count]
    for name, shift, color in (("step_kv_bytes", -0.17, _STEP), ("kept_kv_bytes", 0.17, _HOLD)):
        at = [y + shift for y in rows]
        least = lists[f"least_{name}"].clip(lower=panel.get_xlim()[0])
        panel.hlines(at, least, lists[f"most_{name}"], color=color, linewidth=0.3 * size, label=name)
    marked: dict[str, Any] = {"linestyle": "none", "zorder": 3, "markersize": 0.6 * size}
    panel.plot(lists["kv_bytes_from_kink"], rows, "o", label="kv_bytes_from_kink", **_HOLLOW, **marked)
    looks = ((~supposed, {"color": _PUBLISHED}, "kv_bytes_per_token"), (supposed, _SUPPOSED, "supposed"))
    for which, look, label in looks:
        places = [y for y, selected in zip(lines[count:], which, strict=True) if selected]
        panel.plot(published[which], places, "s", label=label, **look, **marked)
    note: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": size}
    ends = lists[["most_step_kv_bytes", "most_kept_kv_bytes"]].max(axis=1)
    for y, low, high, verdict, end in zip(
        rows, lists["least_kv_bytes"], lists["most_kv_bytes"], lists["verdict"], ends, strict=True
    ):
        if math.isfinite(end):
            cache = "contradiction" if verdict == "contradiction" else _span(low, high, "byte/token")
            panel.annotate(cache, (end, y), xytext=(6, 0), color=style.INK, **note)
    for y, x in zip(lines[count:], published, strict=True):
        text = style.text_of(x, "byte/token").removesuffix("/tok")
        panel.annotate(text, (x, y), xytext=(6, 0), color=style.INK, **note)
    _heading(panel, "KV cache of a token", size)
    style.scale_ticks(panel.xaxis, "byte")
    panel.axhline(count + 0.1, color=style.NOTE, linewidth=0.8)


def _span(low: float, high: float, unit: str) -> str:
    """An interval on which all readings agree, none if one is missing."""
    if not math.isfinite(low):
        return ""
    ends = [style.text_of(x, unit, 2).removesuffix("/tok").removesuffix("/Mtok/h") for x in (low, high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _stems(panel: Axes, lists: pd.DataFrame, name: str, marker: str, size: float, unit: str) -> None:
    """Draw intervals with a marker in the middle and its number."""
    middle, most = lists[f"middle_{name}"], lists[f"most_{name}"]
    panel.set_xlim(0, 2.3 * most.max() if most.notna().any() else 1)
    color = _STEP if marker == "s" else _HOLD
    rows = range(len(lists))
    panel.hlines(rows, lists[f"least_{name}"], most, color=color, linewidth=0.3 * size, alpha=0.4, zorder=1)
    panel.plot(middle, rows, marker, color=color, markersize=0.6 * size, linestyle="none", label=name)
    for y, (x, end) in enumerate(zip(middle, most, strict=True)):
        if math.isfinite(x):
            text = f"{x:.2g} ×" if unit == "1" else style.text_of(x, unit).removesuffix("/Mtok/h")
            note: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": size}
            panel.annotate(text, (end, y), xytext=(5, 0), color=style.INK, **note)


def _whole_ticks(panel: Axes, unit: str) -> None:
    """Few ticks, at round numbers of the unit that is written."""
    from matplotlib.ticker import FixedLocator, MaxNLocator

    right = panel.get_xlim()[1]
    scale = style.scale_of([right], unit)
    ticks = MaxNLocator(2, steps=[1, 2, 5, 10]).tick_values(0, right / scale.factor)
    panel.xaxis.set_major_locator(FixedLocator([t * scale.factor for t in ticks if t * scale.factor <= right]))
    panel.xaxis.set_major_formatter(
        lambda x, _: (f"{x:g} ×" if unit == "1" else style.text_of(x, unit).removesuffix("/Mtok/h")) if x else "0"
    )


def _legend(ax: Axes, table: pd.DataFrame, size: float) -> None:
    """Explain the markers below the panels."""
    from matplotlib.lines import Line2D

    weights = style.text_of(table.attrs["marks"]["active_parameters"], "parameter").replace("G", "B")
    small: dict[str, Any] = {"linestyle": "none", "markersize": 0.6 * size}
    wide = 0.3 * size
    entries = {
        f"from the step of answers, {weights} active": Line2D([], [], color=_STEP, linewidth=wide),
        "from the price of keeping in HBM": Line2D([], [], color=_HOLD, linewidth=wide),
        "from a kink, the lecture's reading": Line2D([], [], marker="o", **_HOLLOW, **small),
        "published": Line2D([], [], marker="s", color=_PUBLISHED, **small),
        "supposed in the lecture": Line2D([], [], marker="s", **_SUPPOSED, **small),
    }
    if table["alike"].any():
        entries["alike: older lists of the vendor, equal intervals"] = Line2D([], [], linestyle="none")
    position: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, -0.01), "frameon": False}
    ax.legend(list(entries.values()), list(entries), fontsize=size, ncols=2, **position)
