"""Chapter 5: joint cost of training and serving, and its minimum."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.plotting.chart import chart, dataset, filled, number, numbers, tabulated
from roofslate.presets.catalog import models
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["ROUNDED", "compute_buckets", "equal_cost", "trained"]

_TRAINING = (
    "active_parameters",
    "decode_inefficiency",
    "rl_flops_per_parameter",
    "model_token_rate",
    "model_lifetime",
)

_MEASURED = {"decode_utilization", "decode_token_rate"}

_SERVED = {
    "inference_tokens",
    "expected_inference_tokens",
    "lifetime_tokens",
    "model_token_rate",
    "model_lifetime",
    "deployment_probability",
}

ROUNDED = 200e12  # the lecture's rounded number of served tokens


def trained(inputs: Mapping[str, Any], *, rounded: bool = False) -> dict[str, Any]:
    """Complete inputs by the lecture's training and serving.

    `rounded` takes the lecture's round number of served tokens where the inputs say nothing of them.
    """
    lecture = models["lecture training"]
    known = set(inputs)
    if known & _MEASURED:
        known.add("decode_inefficiency")
    served = {"inference_tokens": ROUNDED} if rounded and not known & _SERVED else {}
    return filled(inputs, {"": served | {name: lecture[name] for name in _TRAINING if name not in known}})


def _flops(value: float) -> str:
    """Write compute as on paper: ``1.2 × 10²⁶``."""
    mantissa, power = f"{value:.1e}".split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{float(mantissa):g} × 10{raised}"


_PAIRS = ("equal", "exponential", "unequal")


def _equal_cost(
    *,
    rising_coefficient: Any = 1,
    falling_coefficient: Any = 1,
    rising_exponent: Any = 0.5,
    falling_exponent: Any = 2,
    effort: Any = None,
) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    coefficients = {"rising_coefficient": rising_coefficient, "falling_coefficient": falling_coefficient}
    powers = {"rising_exponent": rising_exponent, "falling_exponent": falling_exponent}
    marks = {name: number(name, **{name: x}) for name, x in (coefficients | powers).items()}
    tables = []
    for pair in _PAIRS:
        law = {**coefficients, **(powers if pair == "unequal" else {})}
        outputs = ["least_cost_effort", "least_cost", "least_cost_ratio", "equal_cost_effort", "equal_cost_penalty"]
        results = {f"{name}_{pair}": number(name, **law) for name in outputs}
        meet, least = results[f"equal_cost_effort_{pair}"], results[f"least_cost_effort_{pair}"]
        results[f"equal_part_{pair}"] = number("rising_cost", effort=meet, **law)
        marks |= results
        if effort is not None:
            points = effort
        elif pair == "exponential":
            points = meet * np.exp(np.linspace(-1.6, 1.6, 181))
        else:
            # as far as the sum stays in sight, and past the crossing
            far = np.linspace(least, 2.6 * max(meet, least), 200)
            low = dataset(["effort_cost"], effort=far, **law)["effort_cost"] <= 2.2 * results[f"least_cost_{pair}"]
            span = max(float(far[low.to_numpy()].max()), 1.3 * meet)
            points = np.union1d(np.linspace(span / 200, span, 200), [meet, least])
        table = tabulated(dataset(["rising_cost", "falling_cost", "effort_cost"], effort=points, **law), "effort", pair)
        # e^x and e^-x are x and 1/x over an axis that counts by factors
        table["x"] = np.log(table.index) if pair == "exponential" else table.index
        tables.append(table)
    combined = pd.concat(tables, keys=_PAIRS, names=["pair"])
    combined.attrs["marks"] = marks
    combined.attrs["units"] = dict.fromkeys([*combined.columns, *combined.index.names, *marks], "1")
    return combined


@chart(
    "C17",
    _equal_cost,
    title="A falling and a rising cost, and their sum, three pairs",
    subject="A falling and a rising cost, and their sum",
    paragraph=(
        "One cost falls with the effort and another rises. If both follow the same power, or both are exponentials, "
        "the sum is least exactly at the crossing of the curves. Otherwise it is not. On the right, the parts are "
        "{least_cost_ratio_unequal} to 1 at the least sum. But a sum is flat near its minimum. Equal parts cost "
        "{equal_cost_penalty_unequal} times the least even there, no more."
    ),
    inputs=(
        "rising_coefficient",
        "falling_coefficient",
        "rising_exponent",
        "falling_exponent",
    ),
    chapter=5,
    size=(6.5, 3.6),
)
def equal_cost(ax: Axes, table: pd.DataFrame) -> None:
    """Falling and rising costs with their sums, for three pairs.

    Parameters
    ----------
    ax : Axes, optional
        Divided into three panels; a new figure by default.
    rising_coefficient, falling_coefficient : float
        Of all three pairs.
    rising_exponent, falling_exponent : float
        Of the last pair.
    effort : array_like, optional
        The axis of all three; the middle panel draws its logarithm.

    Returns
    -------
    matplotlib.axes.Axes
    """
    import numpy as np

    marks = table.attrs["marks"]
    roomy = ax.get_window_extent().width > 4.5 * ax.figure.dpi
    panels = style.panels(ax, 3, start=0.03, gap=0.06 if roomy else 0.12, bottom=0.14, top=0.13 if roomy else 0)
    for panel, pair in zip(panels, _PAIRS, strict=True):
        exponential = pair == "exponential"
        rows = table.loc[pair]
        where = {mark: marks[f"{mark}_{pair}"] for mark in ("equal_cost_effort", "least_cost_effort")}
        meet, best = (float(np.log(x)) if exponential else x for x in where.values())
        part, least = marks[f"equal_part_{pair}"], marks[f"least_cost_{pair}"]
        x_min, x_max = (rows["x"].iloc[0] if exponential else 0), rows["x"].iloc[-1]
        top = max(2.4 * least, 1.03 * rows["effort_cost"].iloc[-1])
        panel.set(xlim=(x_min, x_max), ylim=(0, top))
        rising, falling = (
            (marks[f"{trend}_coefficient"], marks[f"{trend}_exponent"]) for trend in ("rising", "falling")
        )
        looks: dict[str, tuple[dict[str, Any], str]] = {
            "falling_cost": ({**style.KV, "linestyle": "--"}, _term(falling, -1, pair)),
            "rising_cost": (style.COMPUTE, _term(rising, 1, pair)),
            "effort_cost": (style.BOLD, "sum"),
        }
        for name, (look, _) in looks.items():
            panel.plot(rows["x"], rows[name], label=name, **look)
        thin: dict[str, Any] = {"color": style.NOTE, "linewidth": 0.9, "zorder": 1}
        panel.plot([meet, meet], [0, part], linestyle=":", label="crossing_line", **thin)
        panel.plot([best, best], [0, least], linestyle="-", label="least_line", **thin)
        panel.plot(meet, part, "o", markerfacecolor="white", color=style.INK, markersize=6, label="crossing", zorder=3)
        panel.plot(best, least, "o", color=style.RED, markersize=7, label="least", zorder=3)
        ends = [(x_max, rows[name].iloc[-1], text, style.INK) for name, (_, text) in looks.items()]
        panel.set_xlabel(("logarithm of the effort" if roomy else "logarithm") if exponential else "effort")
        style.label_ends(panel, ends)
        ratio = marks[f"least_cost_ratio_{pair}"]
        equal = math.isclose(ratio, 1, rel_tol=1e-9)
        said = "least where they cross" if equal else f"least where the rising\nis {ratio:.3g} × the falling"
        if roomy:
            panel.set_title(said, fontsize=9, weight="normal", loc="left", pad=4)
        panel.set_yticks([0, least], ["0", f"{least:.3g}"])
        near = abs(meet - best) < (0.25 if roomy else 0.4) * (x_max - x_min)
        ticks = [best] if near else sorted([best, meet])
        panel.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])


def _term(law: tuple[float, float], sign: int, pair: str) -> str:
    """Write a cost as a formula: ``3 x``, ``12 / x^2``, ``e^-x``."""
    coefficient, exponent = law
    factor = "" if coefficient == 1 else style.text_of(coefficient, "1")
    if pair == "exponential":
        return f"${factor}\\,e^{{{'-' if sign < 0 else ''}x}}$"
    power = "" if exponent == 1 or pair == "equal" else f"^{{{exponent:.3g}}}"
    return f"${factor or '1'}/x{power}$" if sign < 0 else f"${factor}\\,x{power}$"


_BUCKETS = {
    "pretraining": ("pretraining_tokens", "pretraining_flops"),
    "reinforcement learning": ("rl_tokens", "rl_flops"),
    "serving": ("inference_tokens", "inference_flops"),
}

_COSTS = ("pretraining_cost", "rl_cost", "inference_cost")


def _compute_buckets(**inputs: Any) -> pd.DataFrame:
    import pandas as pd

    inputs = trained(inputs, rounded=True)
    names = [name for bucket in _BUCKETS.values() for name in bucket]
    inner = ("active_parameters", "rl_flops_per_parameter", "training_flops_per_parameter", "flops_per_parameter_token")
    priced = bool({"chip_price", "prices"} & set(inputs))
    money = [*_COSTS, "lifetime_cost"] if priced else []
    totals = ("lifetime_flops", "inference_flops_share", "decode_inefficiency")
    marks = numbers([*names, *totals, *inner, *money], **inputs)
    tokens = {name: marks[name] for name in names[::2]}
    # the same tokens if decoding were as efficient
    done = dataset(names[1::2], **{**inputs, **tokens, "decode_inefficiency": 1})
    table = pd.DataFrame(
        {
            "tokens": list(tokens.values()),
            "flops": [marks[name] for name in names[1::2]],
            "done_flops": [float(done[name]) for name in names[1::2]],
        },
        index=pd.Index(list(_BUCKETS), name="bucket"),
    )
    if priced:
        table["cost"] = [marks[name] for name in _COSTS]
    table.attrs["marks"] = marks
    flops = {"flops": "FLOP", "done_flops": "FLOP", "cost": "USD"}
    table.attrs["units"] = {"tokens": "token", **flops} | {name: lookup(name).unit for name in marks}
    return table


@chart(
    "C18",
    _compute_buckets,
    title="Compute of pretraining, RL and serving, 100B weights",
    subject="Compute of pretraining, RL and serving",
    paragraph=(
        "A model of {active_parameters} active weights serves {inference_tokens} tokens. At equal cost it is "
        "pretrained on {pretraining_tokens} tokens and generates {rl_tokens} in reinforcement learning, "
        "{pretraining_flops:2} each. A decoded token counts {decode_inefficiency} times, since the decoding chips "
        "could have trained so much more meanwhile. The hatched part is this lost training."
    ),
    inputs=(
        "inference_tokens",
        "active_parameters",
        "decode_inefficiency",
        "rl_flops_per_parameter",
        "pretraining_tokens",
        "rl_tokens",
    ),
    chapter=5,
    size=(6.5, 4.0),
)
def compute_buckets(ax: Axes, table: pd.DataFrame) -> None:
    """Compute of pretraining, reinforcement learning and serving.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        Of `lifetime_flops`: a model, tokens or traffic, `decode_inefficiency`. Without `model`, `hardware`
        and `calibration` the lecture's model and its 200T served tokens supply the omitted inputs. Tokens of training
        that are not given cost as much. With the price and the peak of chips, ``hardware=`` and ``prices=``, each bar
        also has its cost.

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib.ticker import MaxNLocator

    marks = table.attrs["marks"]
    positions = range(len(table))
    color = style.COMPUTE["color"]
    ax.bar(positions, table["flops"], 0.62, color="white", edgecolor=color, hatch="////", label="flops", gid="flops")
    ax.bar(positions, table["done_flops"], 0.62, color=color, edgecolor=color, label="done_flops", gid="done")
    top = 1.3 * table["flops"].max()
    ax.set(xlim=(-0.55, len(table) - 0.45), ylim=(0, top), ylabel="compute that training could do (FLOP)")
    ax.yaxis.set_major_locator(MaxNLocator(4))
    weights = style.counted(marks["active_parameters"], "parameter")
    wait = f" × {marks['decode_inefficiency']:.3g}"
    each = ("training_flops_per_parameter", "rl_flops_per_parameter", "flops_per_parameter_token")
    inches = ax.get_window_extent().width / ax.figure.dpi / len(table)
    for x, (bucket, row), name in zip(positions, table.iterrows(), each, strict=True):
        tokens = style.counted(row["tokens"], "token")
        formula = f"\n{marks[name]:.3g} × {weights} × {tokens}{wait if bucket != 'pretraining' else ''}"
        price = f", {style.text_of(row['cost'], 'USD')}" if "cost" in table else ""
        ax.annotate(
            f"{_flops(row['flops'])} FLOP{price}{formula}" if inches > 1.4 else _flops(row["flops"]),
            (x, row["flops"]),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=9 if inches > 1.4 else 7.5,
            linespacing=1.35,
        )
    for x, low, high in zip(positions, table["done_flops"], table["flops"], strict=True):
        if high - low > 0.12 * top and inches > 1.1:
            ax.text(x, (low + high) / 2, "waits for\nmemory", ha="center", va="center", fontsize=9, bbox=style.HALO)
    names = [bucket if inches > 1.4 else textwrap.fill(bucket, 13) for bucket in table.index]
    labels = [f"{name}\n{style.counted(x, 'token')} tokens" for name, x in zip(names, table["tokens"], strict=True)]
    ax.set_xticks(positions, labels, fontsize=9 if inches > 1.4 else 8)
    ax.tick_params(axis="x", length=0)
    ax.yaxis.set_major_formatter(lambda y, _: _flops(y) if y else "0")
