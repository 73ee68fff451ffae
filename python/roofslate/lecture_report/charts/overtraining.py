"""Chapter 5: pretraining tokens of a model, and their sensitivity to guesses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.analysis.tornado import tornado
from roofslate.display import style
from roofslate.display.tornado import draw_bars
from roofslate.errors import AxisError, ValueRangeError
from roofslate.evaluation import scaling
from roofslate.grid.read import Settled
from roofslate.lecture_report.charts.training import ROUNDED, trained
from roofslate.plotting.chart import chart, completed, datasets, note, number, tabulated
from roofslate.presets.lookup import find_preset
from roofslate.presets.preset import Preset

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["overtraining", "overtraining_tornado"]

_RUMOR = 150e12  # of tokens that a model was pretrained on; "not well cited", says the lecture


def _overtraining(
    *,
    model: Any = None,
    pretraining_tokens: Any = None,
    loss_law: str | Preset | Sequence[str | Preset] | None = None,
    **inputs: Any,
) -> pd.DataFrame:
    import numpy as np

    rows: dict[str, dict[str, Any]] = {}
    names = [model] if model is None or isinstance(model, (str, Preset)) else list(model)
    tokens = [pretraining_tokens] if isinstance(pretraining_tokens, str) else np.atleast_1d(pretraining_tokens).tolist()
    count = max(len(names), len(tokens))
    if not {len(names), len(tokens)} <= {1, count}:
        raise AxisError(f"pretraining_tokens: {len(tokens)} values for {len(names)} models; give one, or one for each")
    scenarios = [_scenario(name, inputs) for name in names]
    if tokens == [None]:
        if completed(inputs):
            rows["the rumor"] = {**scenarios[0], "pretraining_tokens": _RUMOR}
            rows["the estimate, rounded"] = {**scenarios[0], "pretraining_tokens": ROUNDED}
            rows["the estimate, not rounded"] = scenarios[0]
        else:  # a row for each, the tokens its own
            rows |= {
                str(getattr(name, "name", name or "this model")): case
                for name, case in zip(names, scenarios, strict=True)
            }
    else:
        for k in range(count):
            name, case, seen = names[k % len(names)], scenarios[k % len(names)], tokens[k % len(tokens)]
            seen = number("pretraining_tokens", pretraining_tokens=seen)
            label = str(getattr(name, "name", name)) if len(names) > 1 else f"trained on {style.counted(seen, 'token')}"
            if label in rows:
                raise AxisError(
                    f"the chart overtraining has one row for each of its names, but {label!r} is there twice"
                )
            rows[label] = {**case, "pretraining_tokens": seen}
    marks: dict[str, float] = {}
    if loss_law is not None:
        if len(names) > 1:
            raise AxisError(f"loss_law: it is drawn for one model, got {len(names)}")
        given = {"model": model, **inputs} if model is not None else inputs
        best = scaling.optimum(loss_law, **trained(given, rounded=True))
        for law, optimum in best.iterrows():
            rows[f"loss law, {law}"] = {**scenarios[0], "pretraining_tokens": optimum["optimal_pretraining_tokens"]}
        marks |= {str(name): float(x) for name, x in best.iloc[0].items()}
    results = datasets(["chinchilla_tokens", "pretraining_tokens", "overtraining_ratio"], "estimate", rows)
    marks |= {f"ratio_{k}": float(x) for k, x in enumerate(results["overtraining_ratio"])}
    marks |= {f"tokens_{k}": float(x) for k, x in enumerate(results["pretraining_tokens"])}
    per_weight = number("optimal_tokens_per_parameter", **scenarios[0])
    marks |= {"chinchilla_tokens": float(results["chinchilla_tokens"][0]), "optimal_tokens_per_parameter": per_weight}
    table = tabulated(results, "estimate", "overtraining", **marks)
    table.attrs["units"] |= {
        name: "token" if name.startswith("tokens") else "1" for name in marks if name[-1].isdigit()
    }
    return table


def _scenario(model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs of a row: known tokens replace the traffic."""
    if model is None:
        return trained(inputs)
    known = "pretraining_tokens" in find_preset("model", model).values
    return {"model": model, **inputs} if known else trained({"model": model, **inputs})


@chart(
    "C19",
    _overtraining,
    title="Pretraining relative to optimal tokens, 100B weights",
    subject="Pretraining relative to optimal tokens",
    paragraph=(
        "For training only, {optimal_tokens_per_parameter:2} for each active weight are best, {chinchilla_tokens} for "
        "the lecture's model. Its served tokens justify {tokens_2}, {ratio_2} times as many. The lecture rounds to "
        "{tokens_1} and says {ratio_1}. A rumor of {tokens_0}, in the lecture's words not well cited, would be "
        "{ratio_0} times."
    ),
    inputs=(
        "active_parameters",
        "decode_inefficiency",
        "model_token_rate",
        "model_lifetime",
    ),
    chapter=5,
    size=(6.5, 3.2),
)
def overtraining(ax: Axes, table: pd.DataFrame) -> None:
    """Pretraining tokens relative to compute-optimal tokens, by model.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    model : str or list of str, optional
        The lecture's otherwise.
    pretraining_tokens : float, str or list, optional
        Of each model; otherwise those that are published, or that cost as much as serving, which needs
        `inference_tokens` or traffic. Of the lecture's model also the lecture's rumor and its rounded number.
    loss_law : str, Preset or a list of them, optional
        Of `rs.loss_laws`: adds the optimum of each, for the lecture's 200T served tokens unless
        `inference_tokens` are given.
    **inputs
        Of `overtraining_ratio`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    start, end = table["chinchilla_tokens"], table["pretraining_tokens"]
    low, high = min(start.min(), end.min()), max(start.max(), end.max())
    head = 0.25 + 0.25 * len(table)  # room for the words above the first row
    said = -head + 0.12 * len(table)
    ax.set(xscale="log", xlim=(low / 1.6, high * 2.6), ylim=(len(table) - 0.4, -head))
    ax.set_xlabel("tokens that a model is pretrained on")
    rule = f"{marks['optimal_tokens_per_parameter']:.3g} tokens a weight"
    words: dict[str, Any] = {"fontsize": 9, "va": "center", "color": style.NOTE}
    shared = bool((start == start.iloc[0]).all())
    if shared:
        at = start.iloc[0]
        line = [len(table) - 0.4, said + 0.1 * len(table)]
        ax.plot([at, at], line, color=style.NOTE, linestyle="--", linewidth=1.2, label="chinchilla", zorder=1)
        text = f"Chinchilla: {rule}, {style.counted(at, 'token')}"
        right = math.log(at / low) > 0.6 * math.log(high / low)
        ax.annotate(
            text,
            (at, said),
            xytext=(6 if right else -6, 0),
            textcoords="offset points",
            ha="right" if right else "left",
            **words,
        )
    else:
        ax.text(0, said, f"hollow: Chinchilla's {rule}", transform=ax.get_yaxis_transform(), **words)
    for k, (name, row) in enumerate(table.iterrows()):
        law = str(name).startswith("loss law")
        color = style.RED if law else style.COMPUTE["color"]
        a, b = row["chinchilla_tokens"], row["pretraining_tokens"]
        ax.plot([a, b], [k, k], color=color, linewidth=1.3, linestyle="--" if law else "-", label=f"span {k}", zorder=1)
        if not shared:
            ax.plot(a, k, "o", markerfacecolor="white", color=color, markersize=6, label=f"chinchilla {k}")
        marker = "D" if law else "o"
        ax.plot(b, k, marker, color=color, markersize=7, label=str(name), zorder=3)
        ax.annotate(
            f"{_ratio(row['overtraining_ratio'])} ×",
            (math.sqrt(a) * math.sqrt(b), k),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=9,
        )
        ax.annotate(
            style.counted(b, "token"),
            (max(a, b), k),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    ax.set_yticks(range(len(table)), list(table.index))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    style.scale_ticks(ax.xaxis, "token")


# Plausible ranges for an outsider.
_RANGES: dict[str, tuple[Any, Any]] = {
    "model_token_rate": ("10 Mtok/s", "500 Mtok/s"),
    "model_lifetime": ("30 d", "365 d"),
    "decode_inefficiency": (1, 5),
    "active_parameters": (30e9, 300e9),
    "optimal_tokens_per_parameter": (10, 118),
    "deployment_probability": (0.5, 1),
}


def _overtraining_tornado(**inputs: Any) -> pd.DataFrame:

    given = {name: x for name, x in inputs.items() if isinstance(x, tuple)}
    base = trained({name: x for name, x in inputs.items() if name not in given})
    lecture = _RANGES if completed(inputs) else {}
    ranges = {name: ends for name, ends in lecture.items() if name not in inputs} | given
    output = "overtraining_ratio"
    if ranges:
        stays = (
            {name: number(name, **base) for name in ranges} if completed(inputs) else None
        )  # of (low, high), the middle
        fixed = {name: x for name, x in base.items() if name not in ranges}
        note([output])
        bars = tornado(output, Settled({**fixed, **ranges}), base=stays)
        table, middle = bars.table, bars.base
        table = table[(table["swing"] > 1) | table.index.isin(given)]
    if not ranges or table.empty:
        raise ValueRangeError("no input is left to vary: give a range as (low, high)")
    table = table.drop(columns="swing").rename(columns={"at_low": "ratio_at_low", "at_high": "ratio_at_high"})
    marks = {output: middle}
    for name, row in table.iterrows():
        marks |= {f"{name}_low": row["ratio_at_low"], f"{name}_high": row["ratio_at_high"]}
    table.attrs["marks"] = marks
    ratios = ("ratio_at_low", "ratio_at_high", *marks)
    table.attrs["units"] = dict.fromkeys(("low", "base", "high", "unit"), "as in unit") | dict.fromkeys(ratios, "1")
    return table


@chart(
    "C34",
    _overtraining_tornado,
    title="Overtraining ratio by input, 100B weights",
    subject="Overtraining ratio by input",
    paragraph=(
        "Each bar moves one input of the over-training and leaves the others at the lecture's numbers, which give "
        "{overtraining_ratio} without rounding. Few outsiders know how many tokens a model serves in a second. This "
        "input moves the result from {model_token_rate_low} to {model_token_rate_high}. The model's life moves it "
        "from {model_lifetime_low} to {model_lifetime_high}. The inefficiency of decoding, the subject of so many "
        "words, moves it from {decode_inefficiency_low} to {decode_inefficiency_high} only."
    ),
    chapter=5,
    size=(6.5, 3.9),
)
def overtraining_tornado(ax: Axes, table: pd.DataFrame) -> None:
    """Over-training as one input at a time goes through its range, the widest bar on top.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        Of `overtraining_ratio`. One value fixes an input and takes its bar away; a tuple ``(low, high)`` is its range
        and gives it a bar.

    Returns
    -------
    matplotlib.axes.Axes
    """
    base = table.attrs["marks"]["overtraining_ratio"]
    renamed = table.rename(columns={"ratio_at_low": "at_low", "ratio_at_high": "at_high"})
    draw_bars(ax, renamed, base, "1", "pretraining tokens relative to Chinchilla's", lambda x: f"{_ratio(x)} ×")


def _ratio(x: float) -> str:
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"
