"""Chapters 1 and 7: experts read, drafts and energy by batch size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.errors import AxisError
from roofslate.lecture_report.charts.serving import hatched, memory_end
from roofslate.plotting.chart import chart, dataset, filled, numbers, tabulated
from roofslate.plotting.findings import finding

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["coverage_vs_batch", "energy_vs_batch", "speculation_vs_batch"]

_SHARES = {"half_batch": 0.5, "most_batch": 0.9}


def _batches(inputs: dict[str, Any], most: float) -> Any:
    import numpy as np

    return inputs.pop("batch_size", None) if "batch_size" in inputs else np.geomspace(1, most, 141)


def _reaches(points: Any, rising: Any, level: float) -> float:
    """Interpolate the point at which a rising row reaches a level, inf if never."""
    import numpy as np

    if rising[-1] < level:
        return float("inf")
    return float(np.exp(np.interp(level, rising, np.log(points))))


def _family(
    ax: Axes, values: pd.Series[float], level: str, name: Callable[[float], str]
) -> list[tuple[float, float, str, str]]:
    """Draw a line for each value of a level, and return the ends to label."""
    cases = values.index.unique(level).to_numpy(dtype=float)
    ends = []
    for case, look in zip(cases, style.styles(len(cases)), strict=True):
        row = values.xs(case, level=level)
        line = {"color": look["color"], "linestyle": look["linestyle"], "linewidth": 1.9}
        ax.plot(row.index.to_numpy(dtype=float), row.to_numpy(), label=name(case), **line)
        ends.append((float(row.index[-1]), float(row.iloc[-1]), name(case), look["color"]))
    return ends


def _coverage_vs_batch(**inputs: Any) -> pd.DataFrame:
    inputs = filled(inputs, {"model": {"model": "DeepSeek-V3"}}, scenario="DeepSeek-V3")
    batches = _batches(inputs, 1024)
    inputs = {"expert_reads": "expected", **inputs}
    read = dataset(["expert_coverage", "fetched_weight_bytes", "model_bytes"], **inputs, batch_size=batches)
    read["read_share"] = read["fetched_weight_bytes"] / read["model_bytes"]
    table = tabulated(read.drop_vars("model_bytes"), "batch_size", "coverage_vs_batch")
    points, coverage = table.index.to_numpy(dtype=float), table["expert_coverage"].to_numpy()
    marks = {name: _reaches(points, coverage, share) for name, share in _SHARES.items()}
    marks |= {"first_coverage": float(coverage[0]), "first_read_share": float(table["read_share"].iloc[0])}
    table.attrs["marks"] = marks
    table.attrs["units"] |= dict.fromkeys(_SHARES, "sequence")
    table.attrs["units"] |= dict.fromkeys(("first_coverage", "first_read_share", "read_share"), "1")
    return table


@chart(
    "C44",
    _coverage_vs_batch,
    title="Experts and weights read by batch size, DeepSeek-V3",
    subject="Experts and weights read by batch size",
    paragraph=(
        "A lone sequence activates a share of {first_coverage:2} of the routed experts and reads {first_read_share:2} "
        "of all weights. Half of the experts are activated by {half_batch:2} sequences, nine of ten by "
        "{most_batch:2}. Below that a pass is faster than the latency floor, which reads everything."
    ),
    inputs=("expert_reads", "model"),
    size=(6.5, 4.0),
)
def coverage_vs_batch(ax: Axes, table: pd.DataFrame) -> None:
    """Share of routed experts and of weights that a pass reads, by batch size.

    Parameters
    ----------
    ax : Axes, optional
        Axes to draw into, in a new figure by default.
    batch_size : array_like, optional
        The axis.
    **inputs
        Of `expert_coverage` and `fetched_weight_bytes`: `model`, or its numbers.

    Returns
    -------
    matplotlib.axes.Axes
    """
    batches = table.index.to_numpy(dtype=float)
    ax.set(xscale="log", xlim=(batches[0], batches[-1]), ylim=(0, 1.04), xlabel=style.BATCH, ylabel="share read")
    rows = {"expert_coverage": ("routed experts", style.COMPUTE), "read_share": ("all weights", style.WEIGHTS)}
    ends = []
    for name, (label, look) in rows.items():
        y = table[name].to_numpy(dtype=float)
        dashes = "-" if name == "expert_coverage" else "--"
        ax.plot(batches, y, label=name, **{**look, "linewidth": 2.2, "linestyle": dashes})
        ends.append((float(batches[-1]), float(y[-1]), label, look["color"]))
    for (name, share), to in zip(_SHARES.items(), ((0.08, 0.66), (0.62, 0.6)), strict=True):
        batch = table.attrs["marks"][name]
        if batches[0] < batch < batches[-1]:
            ax.plot(batch, share, "o", color="white", markeredgecolor=style.INK, markersize=7, zorder=3, label=name)
            style.callout(ax, f"{100 * share:.0f}%: {batch:,.0f} sequences", (batch, share), to, bbox=style.HALO)
    style.label_ends(ax, ends)
    ax.yaxis.set_major_formatter(lambda y, _: f"{100 * y:.0f}%")
    style.scale_ticks(ax.xaxis, "sequence")


_DRAFTS = [1, 2, 4, 8]
_DRAFTING: dict[str, dict[str, Any]] = {
    "model": {"model": "DeepSeek-V3 (lecture)", "hardware": "BW72 (lecture)"},
    "": {"context_length": 1000.0},
}


def _speculation_vs_batch(*, acceptance_rate: Any = 0.8, draft_cost: Any = 0.05, **inputs: Any) -> pd.DataFrame:
    import numpy as np

    if "draft_length" in inputs:
        raise AxisError("speculation_vs_batch: 'draft_length' has a line for each of 1, 2, 4 and 8 drafted tokens")
    served = {"serving_mode": "disaggregated", **filled(inputs, _DRAFTING)}
    batches = _batches(served, 65536)
    name = "time_per_output_token"
    plain = dataset([name], **served, batch_size=batches)[name]
    drafts: dict[str, Any] = {"acceptance_rate": acceptance_rate, "draft_cost": draft_cost, "draft_length": _DRAFTS}
    drafted = dataset([name, "emitted_length"], **served, **drafts, batch_size=batches)
    drafted["speedup"] = plain / drafted[name]
    table = tabulated(drafted[["speedup"]], ["draft_length", "batch_size"], "speculation_vs_batch")
    points = table.index.unique("batch_size").to_numpy(dtype=float)
    marks: dict[str, float] = {}
    for length in _DRAFTS:
        gain = table.xs(length, level="draft_length")["speedup"].to_numpy()
        below = np.flatnonzero(gain < 1)
        first = int(below[0]) if len(below) else 0
        marks[f"break_even_{length}"] = float(points[first]) if len(below) else float("inf")
        marks[f"largest_{length}"] = float(gain.max())
    marks["memory_end"] = memory_end("batch_size", batches, served)
    gains = table["speedup"].groupby("batch_size").max().to_numpy()
    gaining = np.flatnonzero(gains >= 1)
    ends = len(gaining) and gaining[-1] < len(points) - 1
    marks["last_gain"] = float(points[gaining[-1]]) if ends else float("inf")
    table.attrs["marks"] = marks
    table.attrs["units"] = {
        "draft_length": "token/sequence",
        "batch_size": "sequence",
        "speedup": "1",
        **{name: "1" if name.startswith("largest") else "sequence" for name in marks},
    }
    return table


@chart(
    "C45",
    _speculation_vs_batch,
    title="Speed-up of drafted tokens by batch size, the board's rack",
    subject="Speed-up of drafted tokens by batch size",
    paragraph=(
        "Drafts are verified in one pass. While a pass is memory-bound that costs nothing, and four drafted tokens "
        "make a token up to {largest_4:2} times faster. When it is compute-bound, each rejected token costs. Eight "
        "drafted tokens lose time above {break_even_8:2} sequences, four above {break_even_4:2}, one above "
        "{break_even_1:2}."
    ),
    inputs=("acceptance_rate", "draft_cost", "context_length"),
    chapter=7,
    size=(6.5, 4.0),
)
def speculation_vs_batch(ax: Axes, table: pd.DataFrame) -> None:
    """Speed-up of drafted tokens by batch size, for four draft lengths.

    Parameters
    ----------
    ax : Axes, optional
        Axes to draw into, in a new figure by default.
    acceptance_rate, draft_cost : float, optional
        Share of drafted tokens that is accepted, and time of a draft relative to a pass.
    batch_size : array_like, optional
        The axis.
    **inputs
        Of `time_per_output_token`, such as `model`, `hardware` and `context_length`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    batches = table.index.unique("batch_size").to_numpy(dtype=float)
    ax.set(xscale="log", xlim=(batches[0], batches[-1]), xlabel=style.BATCH, ylabel="speed relative to no draft")
    ax.plot(batches[[0, -1]], [1, 1], color=style.NOTE, linewidth=0.9, linestyle="-", label="no draft")
    ends = _family(ax, table["speedup"], "draft_length", lambda length: f"{length:.0f} drafted")
    ax.set_ylim(0, 1.08 * float(table["speedup"].max()))
    hatched(ax, table.attrs["marks"]["memory_end"], 0.93)
    last = table.attrs["marks"]["last_gain"]
    finding(ax, table, "no draft pays above\n{last_gain:2} sequences", at=(last, 1.0), to=(0.62, 0.6))
    style.label_ends(ax, ends)
    style.scale_ticks(ax.xaxis, "sequence")


_CONTEXTS = [1e3, 1e4, 1e5]
_POWERED: dict[str, dict[str, Any]] = {
    "model": {"model": "DeepSeek-V3 (lecture)", "hardware": "BW72 (lecture)"},
    "": {"replica_power": 120e3, "power_usage_effectiveness": 1.2, "electricity_price": "0.08 USD/kWh"},
}


def _energy_vs_batch(**inputs: Any) -> pd.DataFrame:
    import numpy as np

    powered = filled(inputs, _POWERED)
    contexts = powered.pop("context_length", _CONTEXTS)
    batches = _batches(powered, 65536)
    price = powered.pop("electricity_price", None)
    energy = dataset(["energy_per_token"], **powered, context_length=contexts, batch_size=batches)
    table = tabulated(energy, ["context_length", "batch_size"], "energy_vs_batch")
    shortest = table.xs(table.index.unique("context_length")[0], level="context_length")["energy_per_token"]
    marks = {"first_energy": float(shortest.iloc[0]), "least_energy": float(shortest.min())}
    if price is not None:
        cost = "electricity_cost_per_token"
        marks["lowest_cost"] = numbers([cost], energy_per_token=marks["least_energy"], electricity_price=price)[cost]
    table.attrs["marks"] = marks
    marks["memory_end"] = memory_end("batch_size", batches, {**powered, "context_length": float(np.min(contexts))})
    table.attrs["units"] |= {
        "memory_end": "sequence",
        "first_energy": "J/token",
        "least_energy": "J/token",
        "lowest_cost": "USD/token",
    }
    return table


@chart(
    "C46",
    _energy_vs_batch,
    title="Energy per token by batch size, the board's rack at 120 kW",
    subject="Energy per token by batch size",
    paragraph=(
        "The rack draws its power at any output. A lone sequence takes {first_energy:2} for a token, a full pass "
        "{least_energy:2}. A long context keeps the energy up, since its KV cache is read for every token."
    ),
    inputs=("replica_power", "power_usage_effectiveness", "electricity_price"),
    chapter=7,
    size=(6.5, 4.0),
)
def energy_vs_batch(ax: Axes, table: pd.DataFrame) -> None:
    """Electric energy of a token against the batch, for several contexts.

    Parameters
    ----------
    ax : Axes, optional
        Axes to draw into, in a new figure by default.
    batch_size : array_like, optional
        The axis.
    context_length : array_like, optional
        A line each.
    **inputs
        Of `energy_per_token`: `model` and `hardware`, or `replica_power` and the time of a pass. With
        `electricity_price` the least energy has its price.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    batches = table.index.unique("batch_size").to_numpy(dtype=float)
    ax.set(xscale="log", yscale="log", xlim=(batches[0], batches[-1]), xlabel=style.BATCH, ylabel="energy per token")
    ends = _family(
        ax,
        table["energy_per_token"],
        "context_length",
        lambda context: f"{style.text_of(context, 'token/sequence')} context",
    )
    least = marks["least_energy"]
    words = f"least: {style.text_of(least, 'J/token')}"
    if "lowest_cost" in marks:
        words += f"\n${1e9 * marks['lowest_cost']:.2g} of electricity for a billion"
    ax.annotate(
        words,
        (0.03, 0.05),
        xycoords="axes fraction",
        fontsize=9,
        color=style.NOTE,
        va="bottom",
        annotation_clip=False,
        gid="finding",
    )
    hatched(ax, marks["memory_end"], 0.93)
    style.label_ends(ax, ends)
    style.scale_ticks(ax.xaxis, "sequence")
    style.scale_ticks(ax.yaxis, "J/token")
