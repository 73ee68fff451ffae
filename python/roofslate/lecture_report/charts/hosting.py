"""Chapter 6: rent chips, own them, or call an API."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.errors import AxisError
from roofslate.plotting.chart import chart, dataset, filled, numbers, tabulated

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["rent_own_or_call"]

_SCENARIO = "DeepSeek-V3 on HGX H200, DeepSeek's list"
_SERVICE: dict[str, dict[str, Any]] = {
    "model": {"model": "DeepSeek-V3", "hardware": "HGX H200", "calibration": "serving"},
    "api_prices": {"api_prices": "DeepSeek-V3"},
    "site": {"site": "US colocation"},
    "": {
        "chips": 8, "tensor_parallel": 8, "concurrency": 160.0, "input_tokens": 4000.0, "prefix_hit_rate": 0.5,
        "output_tokens": 500.0,
    },
}  # fmt: skip
_POINTS = 400
_FLEETS = 12.0  # replicas at the right end


def _rent_own_or_call(
    *, rented: Any = "H200 SemiAnalysis retail rent", owned: Any = "H200 owned", **inputs: Any
) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    for name in ("monthly_demand", "prices", "chip_price"):
        if name in inputs:
            use = "its axis" if name == "monthly_demand" else "given by rented= and owned=, names of prices"
            raise AxisError(f"rent_own_or_call: {name!r} is {use}")
    service = filled(inputs, _SERVICE, scenario=_SCENARIO)
    marks = numbers(["blended_price", "replica_monthly_tokens"], **service, prices=rented)
    for case, prices in (("rent", rented), ("own", owned)):
        costs = numbers(["chip_price", "blended_cost_per_token", "break_even_demand"], **service, prices=prices)
        marks |= {f"{case}_{name}": x for name, x in costs.items()}
    crossings = [marks[f"{case}_break_even_demand"] for case in ("rent", "own")]
    capacity = marks["replica_monthly_tokens"]
    least = min([capacity, *(x for x in crossings if math.isfinite(x))]) / _FLEETS
    demand = np.unique(np.append(np.geomspace(least, _FLEETS * capacity, _POINTS), [x for x in crossings if x < 1e300]))
    columns = {
        case: dataset(["hosted_cost_per_token"], **service, prices=prices, monthly_demand=demand)
        for case, prices in (("rent", rented), ("own", owned))
    }
    table = pd.concat(
        [
            tabulated(points, "monthly_demand", "rent_own_or_call")["hosted_cost_per_token"].rename(case)
            for case, points in columns.items()
        ],
        axis=1,
    )
    table["call"] = marks["blended_price"]
    prices = {name: x for name, x in marks.items() if name.endswith(("price", "token"))}
    table.attrs["marks"] = marks
    table.attrs["units"] = {
        "monthly_demand": "token",
        **dict.fromkeys(("rent", "own", "call"), "USD/token"),
        **{name: "USD/s/chip" if name.endswith("chip_price") else "USD/token" for name in prices},
        **dict.fromkeys(("replica_monthly_tokens", "rent_break_even_demand", "own_break_even_demand"), "token"),
    }
    return table


@chart(
    "C52",
    _rent_own_or_call,
    title="Cost per token by monthly demand, rented, owned and API",
    subject="Cost per token by monthly demand",
    paragraph=(
        "An API charges {blended_price} for a token, at any demand. A replica of rented chips costs the same, busy or "
        "idle, and is cheaper than the list price above {rent_break_even_demand:2} tokens a month. One of owned "
        "chips, at {own_chip_price} a chip, is cheaper above {own_break_even_demand:2}. A full replica serves "
        "{replica_monthly_tokens:2}."
    ),
    inputs=("concurrency", "input_tokens", "prefix_hit_rate", "output_tokens"),
    chapter=6,
    size=(6.5, 4.2),
)
def rent_own_or_call(ax: Axes, table: pd.DataFrame) -> None:
    """Cost per token of rented chips, owned chips and an API against the demand of a month.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure otherwise.
    rented, owned : str or Preset, optional
        Prices of a chip, names of `rs.prices`: a rent, and one that is owned.
    **inputs
        Of `hosted_cost_per_token`, with `api_prices` and `site`. `monthly_demand` is the axis.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    demand = table.index.to_numpy()
    looks = dict(zip(("rent", "own", "call"), style.styles(3), strict=True))
    names = {"rent": "rent", "own": "own", "call": "call an API"}
    ends = []
    for case, look in looks.items():
        y = table[case].to_numpy()
        ax.plot(demand, y, label=case, linewidth=1.9, color=look["color"], linestyle=look["linestyle"])
        ends.append((demand[-1], y[-1], names[case], look["color"]))
    ax.set(xscale="log", yscale="log", xlim=(demand[0], demand[-1]))
    ax.set(xlabel="demand of a month (tokens of prompts and answers)", ylabel="cost of a token")
    price = marks["blended_price"]
    for case, to in (("own", (0.03, 0.1)), ("rent", (0.45, 0.75))):
        x, color = marks[f"{case}_break_even_demand"], looks[case]["color"]
        if demand[0] <= x <= demand[-1]:
            ax.plot(x, price, "o", color=color, markersize=7, zorder=3, label=f"{case} even")
            said = f"{names[case]} above {style.text_of(x, 'token')} tokens"
            style.callout(ax, said, (x, price), to, bbox=style.HALO)
    style.label_ends(ax, ends)
    style.scale_ticks(ax.xaxis, "token")
    low, high = ax.get_ylim()
    prices = [x for power in range(-12, 3) for x in (10.0**power, 2 * 10.0**power, 5 * 10.0**power) if low < x < high]
    scale = style.scale_of(prices, "USD/token")
    ax.set_yticks(prices, [scale.tick(x) for x in prices])
    ax.yaxis.minorticks_off()
