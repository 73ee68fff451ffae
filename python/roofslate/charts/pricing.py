"""Chapter 6: what price lists give away."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.catalogs import Preset, api_prices, models
from roofslate.charts import _draw
from roofslate.charts._chart import chart, number
from roofslate.charts.context import scenario
from roofslate.errors import AxisError, InputTypeError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["price_map"]

_ARCHITECTURES = ("Llama-3.1-405B", "Llama-3.1-70B", "Qwen3-235B-A22B", "DeepSeek-V3", "gpt-oss-120b")
# What the lecture supposes behind its prices: one cache for all layers, eight heads of 128, a byte each.
_SHARED = ("one cache, 8 heads", {"layers": 1, "kv_heads": 8, "head_size": 128, "kv_format": "fp8"})
_FORMATS = ("fp4", "fp8", "bf16")
# The board's chip: 4,500 multiply-adds a nanosecond in FP4, and half as many with each doubling of the bits.
_CHIP = {
    "hbm_bandwidth": "8 TB/s",
    "peak_flops_fp4": "9 PFLOP/s",
    "peak_flops_fp8": "4.5 PFLOP/s",
    "peak_flops_bf16": "2.25 PFLOP/s",
}
_ARITHMETIC = ("peak_flops", "weight_balance", "ridge_point")  # of one format
_FORMATTED = (*_ARITHMETIC, "hbm_bandwidth", "hardware", "weight_format", "weight_bytes", "compute_format")
_KINK, _HOLD, _PUBLISHED = "#0072B2", _draw.RED, "#7A4A12"
_HOLLOW: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": _HOLD, "markeredgewidth": 1.3}
_SUPPOSED: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": _PUBLISHED, "markeredgewidth": 1.3}
_PLACES = ((0.24, 0.41), (0.68, 0.15), (0.86, 0.14))  # left and width of the panels, in shares
_COLUMNS = {
    "kv_bytes_from_kink": "byte/token",
    "least_kv_bytes": "byte/token",
    "most_kv_bytes": "byte/token",
    "kv_bytes_from_storage_price": "byte/token",
    "kv_bytes_per_token": "byte/token",
    "output_input_ratio": "1",
    "batch_from_prices": "sequence",
    "hold_price": "USD/token/s",
}


def _named(given: Any, known: Any, what: str, example: str) -> list[Preset]:
    listed = [given] if isinstance(given, (str, Preset)) else list(given)
    if not listed:
        raise AxisError(f"{what}: an empty list; give one or more names, such as {example!r}")
    for one in listed:
        if not isinstance(one, (str, Preset)):
            raise InputTypeError(f"{what}: expected names of presets, got {type(one).__name__}")
    return [known[one] if isinstance(one, str) else one for one in listed]


def _read_list(prices: Preset, inputs: dict[str, Any], chip: dict[str, Any]) -> dict[str, Any]:
    """Read one price list; what it is silent about stays NaN."""
    asked = {**inputs, **prices.values}
    row: dict[str, Any] = {
        "output_input_ratio": number("output_input_ratio", **asked),
        "batch_from_prices": number("batch_from_prices", **asked),
    }
    if "long_context_threshold" in prices.values:
        row["kv_bytes_from_kink"] = number("kv_bytes_from_kink", **asked)
        tried = [row["kv_bytes_from_kink"]]
        if chip:
            bare = {name: x for name, x in asked.items() if name not in _FORMATTED}
            tried = [number("kv_bytes_from_kink", **{**chip, **bare, "weight_format": form}) for form in _FORMATS]
        row |= {"least_kv_bytes": min(tried), "most_kv_bytes": max(tried)}
    source = "cache_storage_price" if "cache_storage_price" in prices.values else "implied_storage_price"
    if source in prices.values or {"cache_write_price", "long_cache_write_price"} <= set(prices.values):
        row["hold_price"] = number(source, **asked)
        kept = number("kv_bytes_from_storage_price", **{**asked, "cache_storage_price": row["hold_price"]})
        row |= {"kv_bytes_from_storage_price": kept, "hold_price_source": source}
    return row


def _price_map(*, lists: Any = None, architectures: Any = _ARCHITECTURES, **inputs: Any) -> pd.DataFrame:
    import pandas as pd

    presets = _named(api_prices if lists is None else lists, api_prices, "lists", "Gemini 3.1 Pro")
    drawn = _named(architectures, models, "architectures", "DeepSeek-V3")
    # the formats of a chip are compared unless the arithmetic is given for one of them
    chip = {} if set(_ARITHMETIC) & set(inputs) else {"hardware": inputs["hardware"]} if "hardware" in inputs else _CHIP
    if not {"prices", "chip_price"} & set(inputs):
        inputs["prices"] = "lecture"
    if "hardware" not in inputs:
        inputs = {"hbm_capacity": "192 GB", **inputs}
    base = scenario({"weight_fetch_ratio": 0, "context_length": 0, **inputs})
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for preset in presets:
        vendor = str(preset.attributes.get("vendor", preset.name))
        rows["prices", preset.name] = {"vendor": vendor, **_read_list(preset, base, chip)}
    for model in drawn:
        rows["published", model.name] = {"kv_bytes_per_token": number("kv_bytes_per_token", model=model)}
    shared, shape = _SHARED
    supposed = number("kv_bytes_from_architecture", **shape)
    rows["supposed", shared] = {"kv_bytes_per_token": supposed}
    words = ["vendor", "hold_price_source"]
    index = pd.MultiIndex.from_tuples(list(rows), names=["kind", "name"])
    table = pd.DataFrame(list(rows.values()), index=index).reindex(columns=[*words, *_COLUMNS])
    table["alike"] = 0
    if lists is None:
        table = _joined(table)
    ranges = {"kv_bytes_from_kink": "kink", "kv_bytes_from_storage_price": "storage", "kv_bytes_per_token": "published"}
    ranges |= {"output_input_ratio": "ratio", "hold_price": "hold_price"}
    marks, units = {"supposed_kv_bytes": supposed}, {"supposed_kv_bytes": "byte/token"}
    for column, short in ranges.items():
        told = table[column].drop("supposed", level="kind")
        marks |= {f"least_{short}": float(told.min()), f"most_{short}": float(told.max())}
        units |= dict.fromkeys((f"least_{short}", f"most_{short}"), _COLUMNS[column])
    named = table.index.to_list()
    first = named.index(("prices", "lecture")) if ("prices", "lecture") in named else 0
    for name in ("kv_bytes_from_kink", "batch_from_prices"):
        marks[name] = float(table[name].iloc[first])
    marks["active_parameters"] = number("active_parameters", **base)
    table.attrs["marks"] = marks
    table.attrs["units"] = {
        **dict.fromkeys((*words, "alike"), "1"),
        **_COLUMNS,
        **units,
        "active_parameters": "parameter",
    }
    return table


def _joined(table: pd.DataFrame) -> pd.DataFrame:
    """Keep one row, the newest, of lists of a vendor that tell the same; `alike` counts the others."""
    told = [name for name in table.columns if name != "alike"]
    groups: dict[Any, list[tuple[str, str]]] = {}
    labels: list[Any] = table.index.to_list()
    for label, row in zip(labels, table[told].to_numpy().tolist(), strict=True):
        key = tuple(f"{x:.9g}" if isinstance(x, float) else x for x in row) if label[0] == "prices" else label
        groups.setdefault(key, []).append(label)
    kept = {alike[-1]: len(alike) - 1 for alike in groups.values()}
    table = table.loc[[label in kept for label in table.index]].copy()
    table["alike"] = [kept[label] for label in table.index]
    return table


@chart(
    "C35",
    _price_map,
    title="What price lists give away, and what could be behind it",
    paragraph=(
        "Read as costs, the lists disagree about the cache of a token. If memory takes as long as arithmetic where the "
        "second tier starts, it is {least_kink} to {most_kink} for {active_parameters} active weights; if a token is "
        "kept at the rent of the HBM that it fills, {least_storage} to {most_storage}. Published models, "
        "{least_published} to {most_published}, fit the second reading; the one cache for all layers that the lecture "
        "supposes, {supposed_kv_bytes}, fits the first. The ratio of output to input, {least_ratio:2} to "
        "{most_ratio:2}, tells a batch, {batch_from_prices} at the lecture's 5. Ratios of prices may tell costs; their "
        "level does not."
    ),
    chapter=6,
    size=(7.4, 6.6),
)
def price_map(ax: Axes, table: pd.DataFrame) -> None:
    """Cache of a token, price ratio and price of holding that each price list implies, beside published architectures.

    Lists of one vendor that tell the same share a row, unless they are asked for by name.

    Parameters
    ----------
    ax : Axes, optional
        Divided into three panels; a figure of its own otherwise.
    lists : str or list of str, optional
        Names in `rs.api_prices`; all of them otherwise.
    architectures : str or list of str
        Names in `rs.models`.
    **inputs
        Of `kv_bytes_from_kink`, `batch_from_prices` and `kv_bytes_from_storage_price`: the lecture's model and a
        balance of 300 unless given.

    Returns
    -------
    matplotlib.axes.Axes
    """
    kinds = table.index.get_level_values("kind")
    lists, others = table[kinds == "prices"], table[kinds != "prices"]
    lines = [*range(len(lists)), *(len(lists) + 1.6 + k for k in range(len(others)))]
    bottom, top = lines[-1] + 0.7, -0.9
    # letters no larger than the rows
    size = min(8.0, 0.62 * 0.88 * ax.get_window_extent().height / ax.figure.dpi * 72 / (bottom - top))
    left, ratio, hold = _panels(ax)
    _cache_panel(left, lists, others, lines, size)
    names = [_row_name(name, alike) for (_, name), alike in zip(table.index, table["alike"], strict=True)]
    left.set_yticks(lines, names, fontsize=size)
    heading: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": size, "weight": "bold", "color": _draw.INK}
    left.text(-0.02, len(lists) + 0.55, "architectures", transform=left.get_yaxis_transform(), **heading)
    texts = [
        f"{x:.3g} ×: {_draw.text_of(batch, 'sequence')}"
        for x, batch in zip(lists["output_input_ratio"], lists["batch_from_prices"], strict=True)
    ]
    _stems(ratio, lists["output_input_ratio"], texts, "s", 2.2, size)
    ratio.set_xlabel("output over input:\nbatch behind it", fontsize=size)
    texts = [_draw.text_of(x, "USD/token/s").removesuffix("/Mtok/h") for x in lists["hold_price"]]
    _stems(hold, lists["hold_price"], texts, "D", 1.75, size)
    hold.set_xlabel("million tokens\nkept for an hour", fontsize=size)
    for panel in (left, ratio, hold):
        panel.set_ylim(bottom, top)
        panel.tick_params(axis="x", labelsize=size)
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
    for panel, unit in ((ratio, "1"), (hold, "USD/token/s")):
        panel.set_yticks([])
        _whole_ticks(panel, unit)
    if lists["hold_price"].isna().all():
        hold.set_axis_off()
    _legend(ax, table, size)


def _panels(ax: Axes) -> list[Axes]:
    ax.set_axis_off()
    made = [ax.inset_axes((x, 0.08, width, 0.92)) for x, width in _PLACES]
    for panel in made:
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
    return made


def _row_name(name: str, alike: int) -> str:
    name, _, until = name.partition(" until ")
    return f"{name}{'*' if until else ''}{f' (+{alike})' if alike else ''}"


def _cache_panel(panel: Axes, lists: pd.DataFrame, others: pd.DataFrame, lines: list[float], size: float) -> None:
    count = len(lists)
    panel.set_xscale("log")
    supposed = others.index.get_level_values("kind") == "supposed"
    published = others["kv_bytes_per_token"]
    columns = [lists[name] for name in ("least_kv_bytes", "most_kv_bytes", "kv_bytes_from_storage_price")]
    finite = [x for x in [*(x for column in columns for x in column), *published] if math.isfinite(x) and x > 0]
    panel.set_xlim(min(finite) / 2, max(finite) * 8)
    if (~supposed).any():
        known = published[~supposed]
        panel.axvspan(known.min(), known.max(), color="#F4ECE3", zorder=0, linewidth=0, label="published")
    panel.hlines(lines[:count], columns[0], columns[1], color=_KINK, linewidth=1.6, label="formats")
    marked: dict[str, Any] = {"linestyle": "none", "zorder": 3, "markersize": 0.72 * size}
    panel.plot(lists["kv_bytes_from_kink"], lines[:count], "o", color=_KINK, label="kv_bytes_from_kink", **marked)
    panel.plot(columns[2], lines[:count], "D", label="kv_bytes_from_storage_price", **_HOLLOW, **marked)
    looks = ((~supposed, {"color": _PUBLISHED}, "kv_bytes_per_token"), (supposed, _SUPPOSED, "supposed"))
    for which, look, label in looks:
        places = [y for y, wanted in zip(lines[count:], which, strict=True) if wanted]
        panel.plot(published[which], places, "s", label=label, **look, **marked)
    beside: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": size - 0.5}
    told = (("kv_bytes_from_kink", "most_kv_bytes"), ("kv_bytes_from_storage_price",) * 2, ("kv_bytes_per_token",) * 2)
    for name, end in told:
        for y, x, at in zip(lines, [*lists[name], *others[name]], [*lists[end], *others[end]], strict=True):
            if math.isfinite(x):
                text = _draw.text_of(x, "byte/token").removesuffix("/tok")
                panel.annotate(text, (at, y), xytext=(6, 0), color=_draw.INK, **beside)
    panel.set_xlabel("cache of a token", fontsize=size)
    _draw.scale_ticks(panel.xaxis, "byte")
    panel.axhline(count + 0.1, color="#CCCCCC", linewidth=0.8)


def _stems(panel: Axes, values: pd.Series[float], texts: list[str], marker: str, room: float, size: float) -> None:
    """Stems with a marker and its number; a row without a number stays empty."""
    panel.set_xlim(0, room * values.max() if values.notna().any() else 1)
    color = _KINK if marker == "s" else _HOLD
    rows = range(len(values))
    panel.hlines(rows, 0, values, color="#B8C7D3", linewidth=1.2, zorder=1)
    panel.plot(values, rows, marker, color=color, markersize=0.62 * size, linestyle="none", label=str(values.name))
    for y, (x, text) in enumerate(zip(values, texts, strict=True)):
        if math.isfinite(x):
            beside: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": size - 0.5}
            panel.annotate(text, (x, y), xytext=(5, 0), color=_draw.INK, **beside)


def _whole_ticks(panel: Axes, unit: str) -> None:
    """Few ticks, at round numbers of the unit that is written."""
    from matplotlib.ticker import FixedLocator, MaxNLocator

    right = panel.get_xlim()[1]
    scale = _draw.scale_of([right], unit)
    ticks = MaxNLocator(3, steps=[1, 2, 5, 10]).tick_values(0, right / scale.factor)
    panel.xaxis.set_major_locator(FixedLocator([t * scale.factor for t in ticks if t * scale.factor <= right]))
    panel.xaxis.set_major_formatter(
        lambda x, _: (f"{x:g} ×" if unit == "1" else _draw.text_of(x, unit).removesuffix("/Mtok/h")) if x else "0"
    )


def _legend(ax: Axes, table: pd.DataFrame, size: float) -> None:
    """Say in the empty corner what the markers mean."""
    from matplotlib.lines import Line2D

    weights = _draw.text_of(table.attrs["marks"]["active_parameters"], "parameter").replace("G", "B")
    spread = "; FP4 to BF16" if (table["least_kv_bytes"] < table["most_kv_bytes"]).any() else ""
    small: dict[str, Any] = {"linestyle": "none", "markersize": 0.72 * size}
    entries = {
        f"behind the second tier,\n{weights} active{spread}": Line2D(
            [], [], marker="o", color=_KINK, linewidth=1.6, markersize=0.72 * size
        ),
        "behind the price of keeping,\nwere it the rent of HBM": Line2D([], [], marker="D", **_HOLLOW, **small),
        "published": Line2D([], [], marker="s", color=_PUBLISHED, **small),
        "supposed in the lecture": Line2D([], [], marker="s", **_SUPPOSED, **small),
    }
    place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.02, 0.08), "frameon": False}
    made = ax.legend(list(entries.values()), list(entries), fontsize=size - 0.5, title="cache of a token", **place)
    made.get_title().set(fontsize=size - 0.5, weight="bold")
    until = [name.partition(" until ")[2] for _, name in table.index if " until " in name]
    if until:
        ax.text(0, 0, f"* until {', '.join(until)}", transform=ax.transAxes, fontsize=size - 0.5, color=_draw.NOTE)
