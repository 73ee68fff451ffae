"""Chapter 7: one flipped bit in a cipher, and a small step in a network."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from roofslate.display import style
from roofslate.plotting.chart import chart
from roofslate.plotting.findings import finding
from roofslate.simulation import ciphers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["avalanche"]


def _avalanche(*, rounds: int = 12, samples: int = 200, width: int = 64, seed: int = 1) -> pd.DataFrame:
    table = ciphers.avalanche(rounds=rounds, samples=samples, seed=seed)
    network = ciphers.network_avalanche(layers=rounds, width=width, samples=samples, seed=seed)
    table["network_flipped"] = network["flipped"].to_numpy()
    reached = table.index[table["least"] > 0.45]
    marks = {
        "first_flipped": float(table["flipped"].iloc[1]),
        "last_flipped": float(table["flipped"].iloc[-1]),
        "mixed_rounds": float(reached[0]) if len(reached) else math.inf,
        "network_flipped": float(table["network_flipped"].iloc[-1]),
    }
    table.attrs = {"marks": marks, "units": dict.fromkeys([*table.columns, *marks, "round"], "1")}
    return table


@chart(
    "C50",
    _avalanche,
    title="Flipped bits by round, twelve rounds of a cipher and a network",
    subject="Flipped bits by round",
    paragraph=(
        "The chart shows one flipped input bit, and the share of the output that flips with it. One round of the "
        "cipher passes it on to a share of {first_flipped:2}. With {mixed_rounds} rounds even the weakest input bit "
        "flips nearly half. A small step in a network of the same rounds changes the sign of a share of "
        "{network_flipped:1} of its activations. It stays a small step, so that networks can be trained."
    ),
    inputs=("rounds", "samples", "width", "seed"),
    chapter=7,
    size=(6.5, 4.0),
)
def avalanche(ax: Axes, table: pd.DataFrame) -> None:
    """Share of flipped output bits of a Feistel cipher and of a network, by round.

    Parameters
    ----------
    ax : Axes, optional
        Axes to draw into, in a new figure by default.
    rounds : int, optional
        Of the cipher; the network has as many layers.
    samples, width, seed : int, optional
        As in `rs.ciphers.avalanche` and `rs.ciphers.network_avalanche`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib.ticker import MaxNLocator

    rounds = table.index.to_numpy(dtype=float)
    cipher, network = style.PALETTE[0], style.PALETTE[1]
    ax.fill_between(rounds, table["least"], table["most"], color=cipher, alpha=0.15, linewidth=0)
    ax.plot(rounds, table["flipped"], "o-", color=cipher, linewidth=1.9, markersize=4, label="flipped")
    ax.plot(rounds, table["network_flipped"], "s--", color=network, linewidth=1.9, markersize=4, label="network")
    ax.plot(rounds[[0, -1]], [0.5, 0.5], color=style.NOTE, linewidth=0.8, linestyle=":", label="half")
    ax.set(xlim=(rounds[0], rounds[-1]), ylim=(-0.01, 0.56), xlabel="round or layer", ylabel="share that flips")
    ends = [
        (float(rounds[-1]), float(table["flipped"].iloc[-1]), "cipher (band: least\nto most of the bits)", cipher),
        (float(rounds[-1]), float(table["network_flipped"].iloc[-1]), "network (signs)", network),
    ]
    ax.annotate("a half", (rounds[0], 0.5), xytext=(4, 3), textcoords="offset points", fontsize=9, color=style.NOTE)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    mixed = table.attrs["marks"]["mixed_rounds"]
    if math.isfinite(mixed):
        height = float(table["least"].loc[int(mixed)])
        finding(ax, table, "round {mixed_rounds:2}: every bit flips\n45% or more", at=(mixed, height), to=(0.4, 0.5))
    style.label_ends(ax, ends)
    ax.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}%")
    style.end_ticks(ax.xaxis)
