"""Chapters 6 and 7: techniques that shrink a KV cache."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.errors import ValueRangeError
from roofslate.plotting.chart import chart, datasets, filled, tabulated
from roofslate.presets.catalog import models
from roofslate.registry.registry import ancestors

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["cache_techniques"]

_SERVED: dict[str, dict[str, Any]] = {
    "hardware": {"hardware": "HGX H100"},
    "prices": {"prices": "H100 InferenceX TCO"},
    "": {"context_length": 131072.0, "batch_size": 8.0},
}
_PANELS = {
    "balance_context": ("balance context (tokens)", 1.0),
    "cost_per_token": ("cost ($/Mtok)", 1e6),
    "memory_limited_batch": ("sequences that fit", 1.0),
}
_BASE = "Llama-3.1-70B"


def _variants(base: str) -> list[str]:
    """Name the variants of a model that differ only in its KV cache."""
    of_cache = {*ancestors("kv_read_bytes"), *ancestors("kv_stored_bytes"), "pretraining_tokens"}
    plain = models[base].values
    names = []
    for name, preset in models.items():
        values = preset.values
        changed = {key for key in values.keys() | plain.keys() if values.get(key) != plain.get(key)}
        if models[base].name in preset.bases and changed and changed <= of_cache:
            names.append(name)
    return names


def _cache_techniques(*, model: str = _BASE, **inputs: Any) -> pd.DataFrame:
    served = {**{name: x for group in _SERVED.values() for name, x in group.items()}, **filled(inputs, {})}
    names = _variants(model)
    if not names:
        known = sorted({preset.bases[0] for preset in models.values() if preset.bases and _variants(preset.bases[0])})
        raise ValueRangeError(
            f"model: {model!r} has no variant that differs only in its KV cache; {', '.join(known)} have. "
            "rs.models.define makes one"
        )
    base = models[model].name
    cases = {name: {**served, "model": name} for name in (base, *names)}
    table = tabulated(datasets([*_PANELS, "kv_read_bytes", "kv_stored_bytes"], "model", cases), "model", "cache")
    cost = table["cost_per_token"]
    marks = {
        "plain_cost": float(cost.iloc[0]),
        "lowest_cost": float(cost.min()),
        "plain_fit": float(table["memory_limited_batch"].iloc[0]),
        "most_fit": float(table["memory_limited_batch"].max()),
    }
    table.attrs["marks"] = marks
    table.attrs["units"] |= dict.fromkeys(("plain_cost", "lowest_cost"), "USD/token")
    table.attrs["units"] |= dict.fromkeys(("plain_fit", "most_fit"), "sequence") | {"model": "1"}
    return table


@chart(
    "C49",
    _cache_techniques,
    title="Cost and capacity by KV-cache technique, Llama-3.1-70B at 128k",
    subject="Cost and capacity by KV-cache technique",
    paragraph=(
        "Each technique is a variant of Llama-3.1-70B at 128k tokens. The plain KV cache costs {plain_cost:3} and "
        "lets {plain_fit:2} sequences fit. The best costs {lowest_cost:3}, and {most_fit:4} fit. Fewer bytes to read "
        "move the balance context and the cost. Fewer bytes to store move the number that fits. Layers that share a "
        "KV cache do only the second, selected tokens only the first."
    ),
    inputs=("model", "hardware", "prices", "context_length", "batch_size"),
    chapter=7,
    size=(6.5, 4.2),
)
def cache_techniques(ax: Axes, table: pd.DataFrame) -> None:
    """Effect of KV-cache techniques: balance context, cost of a token, and sequences that fit.

    Parameters
    ----------
    ax : Axes, optional
        Axes to divide into three panels, in a new figure by default.
    model : str, optional
        A model with variants of its KV cache in `rs.models`; define others with ``rs.models.define(..., base=model)``.
    **inputs
        Of `cost_per_token`: `hardware`, `prices`, `context_length`, `batch_size`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib.ticker import LogLocator, NullFormatter

    names = table.index.to_list()
    base = names[0]
    labels = ["plain", *(name.removeprefix(f"{base} ") for name in names[1:])]
    panels = style.panels(ax, len(_PANELS), start=0.19, gap=0.045, bottom=0.12, top=0.08)
    for panel, (name, (words, scale)) in zip(panels, _PANELS.items(), strict=True):
        values = scale * table[name].to_numpy(dtype=float)
        known = values[[math.isfinite(x) and x > 0 for x in values]]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.5, 2.0)
        spread = max(high / low, 4.0)
        panel.set(xscale="log", xlim=(low / spread**0.12, low * spread**1.5), ylim=(len(names) - 0.5, -0.5))
        panel.set_title(words, fontsize=9.5, weight="normal", pad=4, loc="left")
        plain = values[0]
        if math.isfinite(plain) and plain > 0:
            panel.axvline(plain, color=style.NOTE, linewidth=0.8, linestyle="--")
        for k, value in enumerate(values):
            color = style.NOTE if k == 0 else "#0072B2"
            if not (math.isfinite(value) and value > 0):
                panel.annotate("never", (low, k), xytext=(6, 0), textcoords="offset points", va="center", fontsize=8.5)
                continue
            if math.isfinite(plain) and plain > 0:
                panel.plot([plain, value], [k, k], color=color, linestyle="-", linewidth=2.6)
            panel.plot(value, k, "o", color=color, markersize=5.5, label=names[k])
            panel.annotate(
                style.text_of(value, "1", 3),
                (max(value, plain if math.isfinite(plain) else value), k),
                xytext=(7, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
            )
        panel.set_yticks(range(len(names)), labels if panel is panels[0] else [""] * len(names), fontsize=9)
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
        panel.xaxis.set_major_locator(LogLocator(subs=(1.0,) if spread > 30 else (1.0, 3.0), numticks=4))
        panel.xaxis.set_major_formatter(lambda x, _: style.text_of(x, "1"))
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.tick_params(axis="x", labelsize=8.5)
