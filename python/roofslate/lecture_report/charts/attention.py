"""Chapter 6: compute of attention and of the weights."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.plotting.chart import chart, dataset, filled, number, tabulated

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["attention_flops"]

# A dense model with 16 d^2 weights in a layer and heads that are together as wide as the residual stream, as the
# scaling book has it: d = 8,192 and 64 layers.
_MODEL = {
    "hidden_size": 8192,
    "layers": 64,
    "attention_heads": 64,
    "head_size": 128,
    "active_parameters": 2.0**36,
    "total_parameters": 2.0**36,
}

_EXAMPLE = "a dense model of 64 layers, as in the scaling book"

_SHORT = "8k"  # a context at which the slope looks tiny
_TERMS = ("flops_per_token", "attention_flops_per_token")


def _attention_flops(*, context_length: Any = None, **inputs: Any) -> pd.DataFrame:
    import numpy as np

    inputs = filled(inputs, {"model": _MODEL}, scenario=_EXAMPLE)
    crossing = number("attention_balance_context", **inputs)
    if context_length is None:
        most = 2.2 * crossing if 0 < crossing < math.inf else 1e6
        points = np.linspace(0, most, 111)
        context_length = np.union1d(points, [crossing]) if math.isfinite(crossing) else points
    terms = dataset([*_TERMS, "attention_to_weight_flops"], context_length=context_length, **inputs)
    marks = {
        "attention_balance_context": crossing,
        "flops_per_token": number("flops_per_token", **inputs),
        "short_context": number("context_length", context_length=_SHORT),
        "short_share": number("attention_to_weight_flops", context_length=_SHORT, **inputs),
    }
    short_units = {"short_context": "token/sequence", "short_share": "1"}
    for name in ("attention_balance_context_from_width", "hidden_size", "balance_context_per_width"):
        marks[name] = number(name, **inputs)
    for name in _TERMS:
        terms[name] = terms[name].broadcast_like(terms["attention_to_weight_flops"])
    table = tabulated(terms, "context_length", "attention_flops", **marks)
    table.attrs["units"] |= short_units
    return table


@chart(
    "C23",
    _attention_flops,
    title="FLOPs of attention by context length, 68.7B weights",
    subject="FLOPs of attention by context length",
    paragraph=(
        "A new token is multiplied with every active weight, {flops_per_token} here, at any context. It is also "
        "multiplied with each key and value before it. On the first {short_context} tokens, the inset, that is the "
        "board's line of tiny slope. Attention adds {short_share:2} of the weights' compute. But it catches up at "
        "{attention_balance_context} tokens, eight times the width of the residual stream in a dense model. The "
        "lecture expects to notice it only in the millions."
    ),
    inputs=(
        "hidden_size",
        "layers",
        "attention_heads",
        "head_size",
        "active_parameters",
    ),
    chapter=6,
    size=(6.5, 4.0),
)
def attention_flops(ax: Axes, table: pd.DataFrame) -> None:
    """Compute of a new token by context length, for weights and attention.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    context_length : array_like, optional
        The axis.
    **inputs
        `model`, or its numbers; without them a dense model of 8,192 elements a token with 16 weights for each pair.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    context = table.index.to_numpy(dtype=float)
    weights, attention = (table[name].to_numpy(dtype=float) for name in _TERMS)
    crossing = marks["attention_balance_context"]
    right, top = float(context[-1]), 1.25 * max(float(weights.max()), float(attention.max()))
    ax.set(xlim=(0, right), ylim=(0, top), xlabel="context (tokens)", ylabel="compute of a new token")
    ax.plot(context, weights, label="flops_per_token", **{**style.COMPUTE, "linewidth": 2.4})
    ax.plot(context, attention, label="attention_flops_per_token", **{**style.KV, "linewidth": 2.4})
    ax.fill_between(context, attention, color="#E69F00", alpha=0.12, linewidth=0)
    ends = [
        (right, float(weights[-1]), "weights", style.COMPUTE["color"]),
        (right, float(attention[-1]), "attention", style.KV["color"]),
    ]
    style.label_ends(ax, ends)
    if crossing <= right:
        level = marks["flops_per_token"]
        ax.plot([crossing, crossing], [0, level], label="drop", color=style.INK, linestyle=(0, (3, 2)), linewidth=1)
        ax.plot(crossing, level, "o", color=style.INK, markersize=8, label="crossing", zorder=3)
        ax.annotate(
            f"equal at {float(f'{crossing:.5g}'):,.0f} tokens{_rule(marks)}",
            (crossing, level),
            xytext=(10, -8),
            textcoords="offset points",
            ha="left",
            va="top",
            fontsize=9,
            color=style.INK,
        )
    if crossing <= right and marks["short_context"] < 0.25 * right:
        _first_tokens(ax.inset_axes((0.07, 0.63, 0.36, 0.26)), table)
    style.scale_ticks(ax.xaxis, "token")
    style.scale_ticks(ax.yaxis, "FLOP/token")


def _rule(marks: dict[str, float]) -> str:
    """Describe the width implied by the dense-model rule, and the model's own."""
    width = marks["attention_balance_context_from_width"]
    rule = f"{marks['balance_context_per_width']:g} × {marks['hidden_size']:,.0f}"
    if math.isclose(width, marks["attention_balance_context"], rel_tol=1e-3):
        return f"\n= {rule}"
    return f"\n({rule} = {width:,.0f})"


def _first_tokens(inset: Axes, table: pd.DataFrame) -> None:
    """Draw the board's flat line, and one of tiny slope."""
    marks = table.attrs["marks"]
    short = marks["short_context"]
    context = table.index.to_numpy(dtype=float)
    inset.plot(context, table["flops_per_token"], **{**style.COMPUTE, "linewidth": 1.8})
    inset.plot(context, table["attention_flops_per_token"], **{**style.KV, "linewidth": 1.8})
    inset.set(xlim=(0, short), ylim=(0, 1.4 * marks["flops_per_token"]), yticks=[])
    inset.set_xticks([0, short], ["0", style.text_of(short, "token")], fontsize=8)
    inset.set_title("the first tokens", fontsize=8, weight="normal", loc="center", pad=3)
    inset.annotate(
        f"{100 * marks['short_share']:.2g}%",
        (1, marks["short_share"] / 1.4),
        xycoords="axes fraction",
        xytext=(3, 0),
        textcoords="offset points",
        fontsize=8,
        va="center",
        color=style.KV["color"],
        annotation_clip=False,
    )
    for side in ("top", "right"):
        inset.spines[side].set_visible(False)
