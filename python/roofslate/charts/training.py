"""Chapter 5: what training and serving cost together, and how many tokens a model should see."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from roofslate import scaling
from roofslate.catalogs import Preset, models
from roofslate.charts import _draw
from roofslate.charts._chart import chart, dataset, datasets, number, tabulated
from roofslate.errors import AxisError, ValueRangeError
from roofslate.inputs import find_preset
from roofslate.registry import lookup

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["compute_buckets", "equal_cost", "overtraining", "overtraining_tornado"]

_TRAINING = (
    "active_parameters",
    "decode_inefficiency",
    "rl_flops_per_parameter",
    "model_token_rate",
    "model_lifetime",
)
_MEASURED = {"prefill_utilization", "decode_utilization", "prefill_token_rate", "decode_token_rate"}
_SERVED = {
    "inference_tokens",
    "expected_inference_tokens",
    "lifetime_tokens",
    "model_token_rate",
    "model_lifetime",
    "deployment_probability",
}
_ROUNDED = 200e12  # what the lecture makes of the tokens that its model serves
_RUMOUR = 150e12  # of tokens that a model was pretrained on; "not well cited", says the lecture


def _trained(inputs: Mapping[str, Any], *, rounded: bool = False) -> dict[str, Any]:
    """Complete inputs by what the lecture trains and serves; what a preset supplies is the preset's.

    `rounded` takes the lecture's round number of served tokens where the inputs say nothing of them.
    """
    lecture = models["lecture training"]
    known = set(inputs)
    if "model" in inputs:
        known |= set(find_preset("model", inputs["model"]).values)
    if known & _MEASURED:
        known.add("decode_inefficiency")
    served = {"inference_tokens": _ROUNDED} if rounded and not known & _SERVED else {}
    return served | {name: lecture[name] for name in _TRAINING if name not in known} | dict(inputs)


def _flops(value: float) -> str:
    """Arithmetic as on paper: ``1.2 × 10²⁶``."""
    mantissa, power = f"{value:.1e}".split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{float(mantissa):g} × 10{raised}"


def _count(value: float, unit: str) -> str:
    """Tokens or weights, these in billions."""
    text = _draw.text_of(value, unit)
    return text.replace("G", "B") if unit == "parameter" else text


# ---------------------------------------------------------------------------------------------------- C17, equal cost

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
        told = ["least_cost_effort", "least_cost", "least_cost_ratio", "equal_cost_effort", "equal_cost_penalty"]
        found = {f"{name}_{pair}": number(name, **law) for name in told}
        meet, least = found[f"equal_cost_effort_{pair}"], found[f"least_cost_effort_{pair}"]
        found[f"equal_part_{pair}"] = number("rising_cost", effort=meet, **law)
        marks |= found
        if effort is not None:
            points = effort
        elif pair == "exponential":
            points = meet * np.exp(np.linspace(-1.6, 1.6, 181))
        else:
            # as far as the sum stays in sight, and past the crossing
            far = np.linspace(least, 2.6 * max(meet, least), 200)
            low = dataset(["effort_cost"], effort=far, **law)["effort_cost"] <= 2.2 * found[f"least_cost_{pair}"]
            span = max(float(far[low.to_numpy()].max()), 1.3 * meet)
            points = np.union1d(np.linspace(span / 200, span, 200), [meet, least])
        table = tabulated(dataset(["rising_cost", "falling_cost", "effort_cost"], effort=points, **law), "effort", pair)
        # e^x and e^-x are x and 1/x over an axis that counts by factors
        table["x"] = np.log(table.index) if pair == "exponential" else table.index
        tables.append(table)
    whole = pd.concat(tables, keys=_PAIRS, names=["pair"])
    whole.attrs["marks"] = marks
    whole.attrs["units"] = dict.fromkeys([*whole.columns, *whole.index.names, *marks], "1")
    return whole


@chart(
    "C17",
    _equal_cost,
    title="A sum is least near where its two parts are equal",
    paragraph=(
        "One cost falls with the effort and another rises. Where both follow the same power, or both are "
        "exponentials, the sum is least exactly where the curves cross. Otherwise it is not: on the right the parts "
        "are {least_cost_ratio_unequal} to 1 where the sum is least. But a sum is flat near its minimum. Who makes the "
        "parts equal even there pays {equal_cost_penalty_unequal} times the least, no more."
    ),
    chapter=5,
    size=(7.4, 3.6),
)
def equal_cost(ax: Axes, table: pd.DataFrame) -> None:
    """Falling and rising costs with their sums: of equal powers, of exponentials, of two different powers.

    Parameters
    ----------
    ax : Axes, optional
        Divided into three panels; a figure of its own otherwise.
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
    panels = _draw.panels(ax, 3, left=0.03, gap=0.06 if roomy else 0.12, bottom=0.14, top=0.13 if roomy else 0)
    for panel, pair in zip(panels, _PAIRS, strict=True):
        exponential = pair == "exponential"
        rows = table.loc[pair]
        where = {mark: marks[f"{mark}_{pair}"] for mark in ("equal_cost_effort", "least_cost_effort")}
        meet, best = (float(np.log(x)) if exponential else x for x in where.values())
        part, least = marks[f"equal_part_{pair}"], marks[f"least_cost_{pair}"]
        left, right = (rows["x"].iloc[0] if exponential else 0), rows["x"].iloc[-1]
        top = max(2.4 * least, 1.03 * rows["effort_cost"].iloc[-1])
        panel.set(xlim=(left, right), ylim=(0, top))
        rising, falling = ((marks[f"{way}_coefficient"], marks[f"{way}_exponent"]) for way in ("rising", "falling"))
        looks: dict[str, tuple[dict[str, Any], str]] = {
            "falling_cost": ({**_draw.KV, "linestyle": "--"}, _term(falling, -1, pair)),
            "rising_cost": (_draw.COMPUTE, _term(rising, 1, pair)),
            "effort_cost": (_draw.BOLD, "sum"),
        }
        for name, (look, _) in looks.items():
            panel.plot(rows["x"], rows[name], label=name, **look)
        thin: dict[str, Any] = {"color": _draw.NOTE, "linewidth": 0.9, "zorder": 1}
        panel.plot([meet, meet], [0, part], linestyle=":", label="crossing_line", **thin)
        panel.plot([best, best], [0, least], linestyle="-", label="least_line", **thin)
        panel.plot(meet, part, "o", markerfacecolor="white", color=_draw.INK, markersize=6, label="crossing", zorder=3)
        panel.plot(best, least, "o", color="#B24700", markersize=7, label="least", zorder=3)
        ends = [(right, rows[name].iloc[-1], text, _draw.INK) for name, (_, text) in looks.items()]
        panel.set_xlabel(("logarithm of the effort" if roomy else "logarithm") if exponential else "effort")
        _draw.label_ends(panel, ends)
        ratio = marks[f"least_cost_ratio_{pair}"]
        equal = math.isclose(ratio, 1, rel_tol=1e-9)
        said = "least where they cross" if equal else f"least where the rising\nis {ratio:.3g} × the falling"
        if roomy:
            panel.set_title(said, fontsize=9, weight="normal", loc="left", pad=4)
        panel.set_yticks([0, least], ["0", f"{least:.3g}"])
        near = abs(meet - best) < (0.15 if roomy else 0.4) * (right - left)
        ticks = [best] if near else sorted([best, meet])
        panel.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])


def _term(law: tuple[float, float], sign: int, pair: str) -> str:
    """A cost as a formula: ``3 x``, ``12 / x^2``, ``e^-x``; the exponent holds in the pair of unequal powers alone."""
    coefficient, exponent = law
    factor = "" if coefficient == 1 else _draw.text_of(coefficient, "1")
    if pair == "exponential":
        return f"${factor}\\,e^{{{'-' if sign < 0 else ''}x}}$"
    power = "" if exponent == 1 or pair == "equal" else f"^{{{exponent:.3g}}}"
    return f"${factor or '1'}/x{power}$" if sign < 0 else f"${factor}\\,x{power}$"


# ------------------------------------------------------------------------------------------------ C18, three buckets

_BUCKETS = {
    "pretraining": ("pretraining_tokens", "pretraining_flops"),
    "reinforcement learning": ("rl_tokens", "rl_flops"),
    "serving": ("inference_tokens", "inference_flops"),
}


def _compute_buckets(**inputs: Any) -> pd.DataFrame:
    import pandas as pd

    inputs = _trained(inputs, rounded=True)
    names = [name for bucket in _BUCKETS.values() for name in bucket]
    found = dataset([*names, "lifetime_flops", "inference_flops_share", "decode_inefficiency"], **inputs)
    others = [str(dim) for dim in found.dims]
    if others:
        raise AxisError(f"the chart compute_buckets draws one scenario, but {others[0]} is an axis: give one value")
    tokens = {name: float(found[name]) for name, _ in _BUCKETS.values()}
    # the same tokens where decoding loses nothing
    done = dataset(names[1::2], **{**inputs, **tokens, "decode_inefficiency": 1})
    table = pd.DataFrame(
        {
            "tokens": list(tokens.values()),
            "flops": [float(found[name]) for _, name in _BUCKETS.values()],
            "done_flops": [float(done[name]) for _, name in _BUCKETS.values()],
        },
        index=pd.Index(list(_BUCKETS), name="bucket"),
    )
    inner = ("active_parameters", "rl_flops_per_parameter", "training_flops_per_parameter", "flops_per_parameter_token")
    marks = {str(name): float(array) for name, array in found.items()}
    marks |= {name: number(name, **inputs) for name in inner}
    table.attrs["marks"] = marks
    flops = dict.fromkeys(("flops", "done_flops"), "FLOP")
    table.attrs["units"] = {"tokens": "token", **flops} | {name: lookup(name).unit for name in marks}
    return table


@chart(
    "C18",
    _compute_buckets,
    title="Three buckets, and as much in each",
    paragraph=(
        "A model of {active_parameters} active weights that serves {inference_tokens} tokens. At equal cost it is "
        "pretrained on {pretraining_tokens} tokens and generates {rl_tokens} in reinforcement learning: "
        "{pretraining_flops:2} each. A decoded token counts {decode_inefficiency} times, since the chips that decode "
        "could have trained so much more meanwhile; the hatched part is what they could have done and did not."
    ),
    chapter=5,
    size=(6.6, 4.0),
)
def compute_buckets(ax: Axes, table: pd.DataFrame) -> None:
    """Arithmetic of pretraining, reinforcement learning and serving: what is done, and what decoding loses.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a figure of its own otherwise.
    **inputs
        Of `lifetime_flops`: a model, tokens or traffic, `decode_inefficiency`. What is left out of the lecture's model
        is the lecture's, and so are its 200T served tokens; tokens of training that are not given cost as much.

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib.ticker import MaxNLocator

    marks = table.attrs["marks"]
    place = range(len(table))
    color = _draw.COMPUTE["color"]
    ax.bar(place, table["flops"], 0.62, color="white", edgecolor=color, hatch="////", label="flops", gid="flops")
    ax.bar(place, table["done_flops"], 0.62, color=color, edgecolor=color, label="done_flops", gid="done")
    top = 1.3 * table["flops"].max()
    ax.set(xlim=(-0.55, len(table) - 0.45), ylim=(0, top), ylabel="arithmetic that training could do (FLOP)")
    ax.yaxis.set_major_locator(MaxNLocator(4))
    weights = _count(marks["active_parameters"], "parameter")
    wait = f" × {marks['decode_inefficiency']:.3g}"
    each = ("training_flops_per_parameter", "rl_flops_per_parameter", "flops_per_parameter_token")
    inches = ax.get_window_extent().width / ax.figure.dpi / len(table)
    for x, (bucket, row), name in zip(place, table.iterrows(), each, strict=True):
        tokens = _count(row["tokens"], "token")
        formula = f"\n{marks[name]:.3g} × {weights} × {tokens}{wait if bucket != 'pretraining' else ''}"
        ax.annotate(
            f"{_flops(row['flops'])} FLOP{formula}" if inches > 1.4 else _flops(row["flops"]),
            (x, row["flops"]),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=9 if inches > 1.4 else 7.5,
            linespacing=1.35,
        )
    for x, low, high in zip(place, table["done_flops"], table["flops"], strict=True):
        if high - low > 0.12 * top and inches > 1.1:
            ax.text(x, (low + high) / 2, "waits for\nmemory", ha="center", va="center", fontsize=9, bbox=_draw.HALO)
    names = [bucket if inches > 1.4 else textwrap.fill(bucket, 13) for bucket in table.index]
    labels = [f"{name}\n{_count(x, 'token')} tokens" for name, x in zip(names, table["tokens"], strict=True)]
    ax.set_xticks(place, labels, fontsize=9 if inches > 1.4 else 8)
    ax.tick_params(axis="x", length=0)
    ax.yaxis.set_major_formatter(lambda y, _: _flops(y) if y else "0")


# -------------------------------------------------------------------------------------------------- C19, over-training


def _overtraining(
    *, model: Any = None, pretraining_tokens: Any = None, fit: str | Sequence[str] | None = None, **inputs: Any
) -> pd.DataFrame:
    import numpy as np

    rows: dict[str, dict[str, Any]] = {}
    names = [model] if model is None or isinstance(model, (str, Preset)) else list(model)
    tokens = [pretraining_tokens] if isinstance(pretraining_tokens, str) else np.atleast_1d(pretraining_tokens).tolist()
    count = max(len(names), len(tokens))
    if not {len(names), len(tokens)} <= {1, count}:
        raise AxisError(f"pretraining_tokens: {len(tokens)} values for {len(names)} models; give one, or one for each")
    scenarios = [_trained({"model": name, **inputs} if name is not None else inputs) for name in names]
    if tokens == [None]:
        if model is None:
            rows["the rumour"] = {**scenarios[0], "pretraining_tokens": _RUMOUR}
            rows["the estimate, rounded"] = {**scenarios[0], "pretraining_tokens": _ROUNDED}
            rows["the estimate, not rounded"] = scenarios[0]
        else:
            rows |= {str(getattr(name, "name", name)): case for name, case in zip(names, scenarios, strict=True)}
    else:
        for k in range(count):
            name, case, seen = names[k % len(names)], scenarios[k % len(names)], tokens[k % len(tokens)]
            seen = number("pretraining_tokens", pretraining_tokens=seen)
            label = str(getattr(name, "name", name)) if len(names) > 1 else f"trained on {_count(seen, 'token')}"
            if label in rows:
                raise AxisError(
                    f"the chart overtraining has one row for each of its names, but {label!r} is there twice"
                )
            rows[label] = {**case, "pretraining_tokens": seen}
    marks: dict[str, float] = {}
    if fit is not None:
        if len(names) > 1:
            raise AxisError(f"fit: a loss law is drawn for one model, got {len(names)}")
        given = {"model": model, **inputs} if model is not None else inputs
        best = scaling.optimum(fit, **_trained(given, rounded=True))
        for law, told in best.iterrows():
            rows[f"loss law, {law}"] = {**scenarios[0], "pretraining_tokens": told["optimal_pretraining_tokens"]}
        marks |= {str(name): float(x) for name, x in best.iloc[0].items()}
    found = datasets(["chinchilla_tokens", "pretraining_tokens", "overtraining_ratio"], "estimate", rows)
    marks |= {f"ratio_{k}": float(x) for k, x in enumerate(found["overtraining_ratio"])}
    marks |= {f"tokens_{k}": float(x) for k, x in enumerate(found["pretraining_tokens"])}
    per_weight = number("optimal_tokens_per_parameter", **scenarios[0])
    marks |= {"chinchilla_tokens": float(found["chinchilla_tokens"][0]), "optimal_tokens_per_parameter": per_weight}
    table = tabulated(found, "estimate", "overtraining", **marks)
    table.attrs["units"] |= {
        name: "token" if name.startswith("tokens") else "1" for name in marks if name[-1].isdigit()
    }
    return table


@chart(
    "C19",
    _overtraining,
    title="A hundred times Chinchilla's tokens",
    paragraph=(
        "Where training alone counts, {optimal_tokens_per_parameter:2} for each active weight are best: "
        "{chinchilla_tokens} for the lecture's model. What it serves makes {tokens_2} worth while, {ratio_2} times as "
        "many; the lecture rounds to {tokens_1} and says {ratio_1}. A rumour of {tokens_0}, which it calls not well "
        "cited, would be {ratio_0} times."
    ),
    chapter=5,
    size=(6.8, 3.2),
)
def overtraining(ax: Axes, table: pd.DataFrame) -> None:
    """Tokens of pretraining against those where training alone counts, each with the ratio of the two.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a figure of its own otherwise.
    model : str or list of str, optional
        The lecture's otherwise.
    pretraining_tokens : float, str or list, optional
        Of each model; otherwise those that cost as much as serving, and beside them the lecture's rumour and its
        rounded number if the model is the lecture's.
    fit : str or list of str, optional
        Rows of `scaling.fits`: adds what each loss law calls best, for the lecture's 200T served tokens unless
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
    words: dict[str, Any] = {"fontsize": 9, "va": "center", "color": _draw.NOTE}
    shared = bool((start == start.iloc[0]).all())
    if shared:
        at = start.iloc[0]
        line = [len(table) - 0.4, said + 0.1 * len(table)]
        ax.plot([at, at], line, color=_draw.NOTE, linestyle="--", linewidth=1.2, label="chinchilla", zorder=1)
        text = f"Chinchilla: {rule}, {_count(at, 'token')}"
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
        color = "#B24700" if law else _draw.COMPUTE["color"]
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
            _count(b, "token"),
            (max(a, b), k),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    ax.set_yticks(range(len(table)), list(table.index))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    _draw.scale_ticks(ax.xaxis, "token")


# --------------------------------------------------------------------------------------- C34, what moves the hundred

# What is thought possible, by those who look from outside.
_RANGES: dict[str, tuple[Any, Any]] = {
    "model_token_rate": ("10 Mtok/s", "500 Mtok/s"),
    "model_lifetime": ("30 d", "365 d"),
    "decode_inefficiency": (1, 5),
    "active_parameters": (30e9, 300e9),
    "optimal_tokens_per_parameter": (10, 118),
    "deployment_probability": (0.5, 1),
}


def _overtraining_tornado(**inputs: Any) -> pd.DataFrame:
    import pandas as pd

    given = {name: x for name, x in inputs.items() if isinstance(x, tuple)}
    base = _trained({name: x for name, x in inputs.items() if name not in given})
    ranges = {name: ends for name, ends in _RANGES.items() if name not in inputs} | given
    if "model" in inputs and "active_parameters" not in given:
        ranges.pop("active_parameters", None)
    output = "overtraining_ratio"
    middle = number(output, **base)
    rows: dict[str, dict[str, Any]] = {}
    for name, between in ranges.items():
        if len(between) != 2:
            raise ValueRangeError(f"{name}: a range has two ends, (low, high); got {between!r}")
        low, high = (number(name, **{name: end}) for end in between)
        if not low < high:
            raise ValueRangeError(f"{name}: a range is (low, high) with low below high; got {between!r}")
        at = [number(output, **{**base, name: end}) for end in (low, high)]
        if at[0] != at[1] or name in given:
            told = {"low": low, "base": number(name, **base), "high": high, "unit": lookup(name).unit}
            rows[name] = told | {"ratio_at_low": at[0], "ratio_at_high": at[1]}
    if not rows:
        raise ValueRangeError("no input is left to vary: give a range as (low, high)")
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("input")
    ends = table[["ratio_at_low", "ratio_at_high"]]
    table = table.loc[(ends.max(axis=1) / ends.min(axis=1)).sort_values(ascending=False, kind="stable").index]
    marks = {output: middle}
    for name in table.index:
        marks |= {f"{name}_low": rows[name]["ratio_at_low"], f"{name}_high": rows[name]["ratio_at_high"]}
    table.attrs["marks"] = marks
    ratios = ("ratio_at_low", "ratio_at_high", *marks)
    table.attrs["units"] = dict.fromkeys(("low", "base", "high", "unit"), "as in unit") | dict.fromkeys(ratios, "1")
    return table


@chart(
    "C34",
    _overtraining_tornado,
    title="The hundredfold hangs on how much a model is used",
    paragraph=(
        "Each bar moves one input of the over-training and leaves the others at the lecture's numbers, which give "
        "{overtraining_ratio} when nothing is rounded. How many tokens a model serves in a second, which hardly "
        "anyone outside knows, moves the result from {model_token_rate_low} to {model_token_rate_high}; how long it "
        "serves, from {model_lifetime_low} to {model_lifetime_high}. The inefficiency of decoding, the subject of so "
        "many words, moves it from {decode_inefficiency_low} to {decode_inefficiency_high} only."
    ),
    chapter=5,
    size=(7.2, 3.9),
)
def overtraining_tornado(ax: Axes, table: pd.DataFrame) -> None:
    """Over-training as one input at a time goes through its range, the widest bar on top.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a figure of its own otherwise.
    **inputs
        Of `overtraining_ratio`. One value fixes an input and takes its bar away; a tuple ``(low, high)`` is its range
        and gives it a bar.

    Returns
    -------
    matplotlib.axes.Axes
    """
    base = table.attrs["marks"]["overtraining_ratio"]
    ends = table[["ratio_at_low", "ratio_at_high"]]
    low, high = min(ends.min().min(), base), max(ends.max().max(), base)
    ax.set(xscale="log", xlim=(low, high), ylim=(len(table) - 0.45, -1.1))
    ax.set_xlabel("pretraining tokens over Chinchilla's")
    sides = (("less", "#E69F00", "////"), ("more", _draw.COMPUTE["color"], ""))
    words = []
    for k, (_, row) in enumerate(table.iterrows()):
        (left, at_left), (right, at_right) = sorted(
            [(row["ratio_at_low"], row["low"]), (row["ratio_at_high"], row["high"])]
        )
        spans = ((left, min(right, base)), (max(left, base), right))
        for (side, color, hatch), (a, b) in zip(sides, spans, strict=True):
            if a < b:
                look = {"facecolor": "white" if hatch else color, "edgecolor": color, "hatch": hatch}
                ax.barh(k, b - a, 0.52, left=a, gid=side, label=f"{side} {k}", **look)
        for x, value, align, shift in ((left, at_left, "right", -5), (right, at_right, "left", 5)):
            if x != base:
                text = f"{_count(value, row['unit'])}\n{_ratio(x)} ×"
                look = {"textcoords": "offset points", "va": "center", "fontsize": 8.5, "annotation_clip": False}
                words.append(ax.annotate(text, (x, k), xytext=(shift, 0), ha=align, **look))
    ax.set_yticks(range(len(table)), [textwrap.fill(_draw.words(name), 20) for name in table.index])
    # room for the words beside the bars, in an axis that the layout narrows for its names
    widest = max((word.get_window_extent().width for word in words), default=0)
    names = max(label.get_window_extent().width for label in ax.get_yticklabels())
    share = min(1.25 * widest / max(1.25 * ax.get_window_extent().width - names, widest), 0.36)
    room = (high / low) ** (share / (1 - 2 * share))
    ax.set_xlim(low / room, high * room)
    decades = 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high))
    ax.spines["bottom"].set_bounds(max(low / room, decades[0]), min(high * room, decades[1]))
    ax.plot([base, base], [len(table) - 0.45, -0.5], color=_draw.INK, linewidth=1.1, label="base", zorder=3)
    ax.text(base, -0.55, f"base {_ratio(base)} ×", ha="center", va="bottom", fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    _draw.scale_ticks(ax.xaxis, "1")


def _ratio(x: float) -> str:
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"
