"""Chapter 7: rounds that can be undone, in ciphers and in networks."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import unknown
from roofslate.display import style
from roofslate.display.diagram import COLUMN, arrow, left_out, round_box
from roofslate.errors import InputTypeError, ValueRangeError
from roofslate.plotting.chart import chart, dataset, filled, number, tabulated
from roofslate.simulation import ciphers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["activation_memory", "feistel", "revnet"]

_STATE: dict[str, Any] = {"facecolor": "#EAF1F7", "edgecolor": "#0072B2"}
_FUNCTION: dict[str, Any] = {"facecolor": "#FBEBC8", "edgecolor": "#8A5A00"}
_KEPT: dict[str, Any] = {"facecolor": "#0072B2", "edgecolor": "#0072B2"}
_DROPPED: dict[str, Any] = {"facecolor": "white", "edgecolor": "#5F7385", "linestyle": (0, (3, 2))}
_AGAIN: dict[str, Any] = {"facecolor": "#EAF1F7", "edgecolor": "#0072B2", "hatch": "/////"}


def _known(chart: str, inputs: dict[str, Any], *names: str) -> None:
    for name in inputs:
        raise unknown(f"input of the chart {chart}", name, names)


def _letters(ax: Axes, width: float, height: float) -> float:
    """Size of letters in points for a diagram of so many units."""
    across, up = style.pixels(ax)
    fitting = min(9.5, 0.235 * 72 / ax.figure.dpi * min(across / width, up / height))
    return max(fitting, style.LEAST) if across / ax.figure.dpi > COLUMN else fitting


def _frame(ax: Axes, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Set the limits of a diagram in equal units, centered if it is narrow."""
    across, up = style.pixels(ax)
    margin = max(0.0, (y[1] - y[0]) * across / up - (x[1] - x[0])) / 2
    ax.set(xlim=(x[0] - margin, x[1] + margin), ylim=y, aspect="equal")
    ax.set_axis_off()


def _sign(ax: Axes, at: tuple[float, float], text: str, gid: str, size: float) -> None:
    from matplotlib.patches import Circle

    ax.add_patch(Circle(at, 0.16, facecolor="white", edgecolor=style.INK, linewidth=1.0, gid=gid, zorder=3))
    ax.text(*at, text, ha="center", va="center_baseline", fontsize=size, zorder=4)


_MOST_ROUNDS, _MOST_WORDS = 6, 3
_UPPER, _LOWER, _WIRES = 3.3, 0.0, 1.6  # lower wire of each row, distance of the wires
_WORD = (1.3, 0.46)


def _feistel(*, rounds: int = 3, block: int = 0x0123456789ABCDEF, key: int = 2026, **inputs: Any) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    _known("feistel", inputs, "rounds", "block", "key")
    if isinstance(block, bool) or not isinstance(block, (int, np.integer)):
        raise InputTypeError(f"block: expected a whole number from 0 to 2^64 - 1, got {block!r}")
    (back,) = ciphers.decrypt(ciphers.encrypt([block], key, rounds=rounds), key, rounds=rounds).tolist()
    steps = [step for step in left_out(rounds + 1, _MOST_ROUNDS + 1, 5) if step is not None]
    table = pd.DataFrame(index=pd.Index(steps, name="round"))
    for start, after in ((int(block), ""), (back, "_back")):
        # the keys of the first rounds do not depend on how many follow
        words = [ciphers.encrypt([start], key, rounds=step)[0] if step else start for step in steps]
        table[f"x{after}"] = [int(word) >> 32 for word in words]
        table[f"y{after}"] = [int(word) & 0xFFFFFFFF for word in words]
    marks = {"rounds": float(rounds), "blocks": 1000.0}
    marks["restored_blocks"] = ciphers.restored_blocks(blocks=1000, rounds=rounds, seed=1)
    table.attrs = {"marks": marks, "units": dict.fromkeys([*table.columns, *marks], "1")}
    return table


@chart(
    "C28",
    _feistel,
    title="Rounds of a Feistel cipher, forward and back, three rounds",
    subject="Rounds of a Feistel cipher, forward and back",
    paragraph=(
        "A Feistel cipher splits a block into halves x and y. Each round adds a function of x to y and swaps the "
        "halves. To undo it, the same function of the same half is computed once more and subtracted. The arrows into "
        "f point the same way in both rows. Nobody inverts f, and it need not have an inverse. Here it is a middle "
        "square, which has none. Of {blocks:4} random blocks {restored_blocks:4} come back to the bit after {rounds} "
        "rounds."
    ),
    inputs=(
        "rounds",
        "block",
        "key",
    ),
    chapter=7,
    size=(6.5, 4.1),
)
def feistel(ax: Axes, table: pd.DataFrame) -> None:
    """A Feistel cipher round by round, forward and back.

    Many rounds are drawn in part.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    rounds : int
        Of the cipher of `rs.ciphers.encrypt`.
    block : int
        64 bits to encrypt, its first half x and its second y; the picture has the words that it becomes.
    key : int
        From 0 to 2^64 - 1.

    Returns
    -------
    matplotlib.axes.Axes
    """
    rounds = int(table.attrs["marks"]["rounds"])
    steps = left_out(rounds + 1, _MOST_ROUNDS + 1, 5)
    labelled = [step is not None and (len(steps) <= _MOST_WORDS + 1 or step in (0, rounds)) for step in steps]
    widths = [_WORD[0] if tell else 0.6 if step is None else 0.2 for step, tell in zip(steps, labelled, strict=True)]
    at = [0.0]
    for k, pair in enumerate(itertools.pairwise(steps)):
        at.append(at[-1] + (widths[k] + widths[k + 1]) / 2 + (0.15 if None in pair else 1.75))
    width = at[-1] + _WORD[0] + 0.3
    size = _letters(ax, width + 0.9, 7.2)
    for row, after in ((_UPPER, ""), (_LOWER, "_back")):
        for step, x, tell in zip(steps, at, labelled, strict=True):
            if step is None:
                ax.text(x, row + _WIRES / 2, style.ELLIPSIS, ha="center", va="center", fontsize=16)
                continue
            for half, y in (("x", row + _WIRES), ("y", row)):
                round_box(ax, (x, y), _WORD if tell else (0.2, 0.2), "word", **_STATE)
                if tell:
                    word = f"{table[half + after][step]:08x}"
                    ax.text(x, y, word, ha="center", va="center", fontsize=size, family="monospace", zorder=3)
        for k, (previous, following) in enumerate(itertools.pairwise(steps)):
            if previous is not None and following is not None:
                ends = (at[k] + widths[k] / 2, at[k + 1] - widths[k + 1] / 2)
                _round(ax, ends, row, following, backward=row == _LOWER, size=size)
    _ends(ax, at, size)
    _frame(ax, (-_WORD[0] / 2 - 0.75, at[-1] + _WORD[0] / 2 + 0.25), (_LOWER - 1.0, _UPPER + _WIRES + 1.0))


def _round(ax: Axes, ends: tuple[float, float], row: float, number: int, *, backward: bool, size: float) -> None:
    """Draw one round between its two states, mirrored on the way back except for f."""
    x0, x1 = ends
    top, bottom, middle = row + _WIRES, row, row + _WIRES / 2
    at, cross = x0 + 0.5, x0 + 0.85
    sign = (style.MINUS, "subtract") if backward else ("+", "add")
    thin: dict[str, Any] = {"color": style.INK, "linewidth": 1.0, "linestyle": "-"}
    for start, end in ((top, bottom), (bottom, top)):
        if backward:
            ax.plot([x1, x1 - 0.12, cross], [end, end, start], zorder=1, **thin)
            arrow(ax, (cross, start), (x0, start), "wire")
        else:
            ax.plot([x0, cross, x1 - 0.12], [start, start, end], zorder=1, **thin)
            arrow(ax, (x1 - 0.16, end), (x1, end), "wire")
    arrow(ax, (at, top), (at, middle + 0.27), "into f", color="#8A5A00")
    arrow(ax, (at, middle - 0.27), (at, bottom + 0.17), "out of f", color="#8A5A00")
    ax.plot(at, top, "o", color="#8A5A00", markersize=3.5, zorder=3)
    round_box(ax, (at, middle), (0.6, 0.52), "function", **_FUNCTION)
    ax.text(at, middle, f"$f_{{{number}}}$", ha="center", va="center", fontsize=size + 1, zorder=3)
    _sign(ax, (at, bottom), *sign, size + 1)


def _ends(ax: Axes, at: list[float], size: float) -> None:
    """Label input and output, and lead the encrypted block to the lower row."""
    first, last = at[0], at[-1]
    small: dict[str, Any] = {"fontsize": size, "color": style.NOTE}
    for row in (_UPPER, _LOWER):
        for half, y in (("x", row + _WIRES), ("y", row)):
            ax.text(first - 0.95, y, f"${half}$", ha="center", va="center", fontsize=size + 1.5)
    ax.text(first - 0.95, _UPPER + _WIRES + 0.65, "encrypt: add, swap", ha="left", va="center", **small)
    ax.text(last + 0.65, _UPPER + _WIRES + 0.65, "encrypted", ha="right", va="center", **small)
    ax.text(first - 0.95, _LOWER - 0.65, "the same block again", ha="left", va="center", **small)
    ax.text(last + 0.65, _LOWER - 0.65, "decrypt: swap, take away", ha="right", va="center", **small)
    for x in (last - 0.25, last + 0.25):
        arrow(ax, (x, _UPPER - 0.3), (x, _LOWER + _WIRES + 0.3), "hand over")


_MOST_LAYERS = 6
_FORWARD, _BACKWARD, _PITCH = 3.2, 0.0, 1.9


def _revnet(
    *, layers: int = 4, width: int = 64, tokens: int = 32, dtype: Any = "float64", seed: int = 7, **inputs: Any
) -> pd.DataFrame:
    _known("revnet", inputs, "layers", "width", "tokens", "dtype", "seed")
    table = ciphers.revnet(layers=layers, width=width, tokens=tokens, dtype=dtype, seed=seed)
    marks = {
        "layers": float(layers),
        "error_ulp": float(table["error_ulp"].max()),
        "gradient_error": float(table["gradient_error"].max()),
        "stored_bytes": float(table["stored_bytes"].iloc[-1]),
        "reversible_bytes": float(table["reversible_bytes"].iloc[-1]),
    }
    column_units = {**dict.fromkeys([*table.columns, *marks], "1"), **table.attrs["units"]}
    table.attrs = {"marks": marks, "units": column_units}
    return table


@chart(
    "C29",
    _revnet,
    title="Layers of a reversible network, forward and back, four layers",
    subject="Layers of a reversible network, forward and back",
    paragraph=(
        "A reversible network skips two layers back. Each activation is the one before last plus a function of the "
        "last. Two neighbors therefore give all others, forward by adding and backward by subtracting. The backward "
        "pass computes each activation again just when its gradient needs it. A network of {layers} layers that was "
        "run for this picture keeps {reversible_bytes} instead of {stored_bytes}. It undoes itself to {error_ulp:2} "
        "units in the last place. Its gradients differ from the gradients of kept activations by {gradient_error:2}."
    ),
    inputs=(
        "layers",
        "width",
        "tokens",
        "seed",
    ),
    chapter=7,
    size=(6.5, 4.3),
)
def revnet(ax: Axes, table: pd.DataFrame) -> None:
    """A reversible network: activations forward, recomputed in step with the gradients.

    Deep networks are drawn in part.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    layers, width, tokens : int
        Of the network of `rs.ciphers.revnet`, which is run.
    dtype : {"float64", "float32"}
    seed : int
        Of its weights and inputs.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    last = int(marks["layers"]) + 1
    steps = left_out(last + 1, _MOST_LAYERS + 2, 6, 3)
    at = {step: k * _PITCH for k, step in enumerate(steps) if step is not None}
    end = (len(steps) - 1) * _PITCH
    size = _letters(ax, end + 1.9, 8.0)
    for step, x in at.items():
        stored = step >= last - 1
        for row, look, gid in (
            (_FORWARD, _KEPT if stored else _DROPPED, "kept" if stored else "dropped"),
            (_BACKWARD, _KEPT if stored else _AGAIN, "at hand" if stored else "again"),
        ):
            round_box(ax, (x, row), (0.72, 0.62), gid, **look)
            halo = None if stored else {**style.HALO, "pad": 0.6}
            words: dict[str, Any] = {"color": "white" if stored else style.INK, "bbox": halo}
            ax.text(x, row, f"$a_{{{step}}}$", ha="center", va="center", fontsize=size + 0.5, zorder=3, **words)
        if stored:
            arrow(ax, (x, _FORWARD - 0.36), (x, _BACKWARD + 0.36), "keep", color="#0072B2", linewidth=1.6)
    for step in at:
        if step - 1 in at and step + 1 in at:
            _layer(ax, (at[step - 1], at[step], at[step + 1]), step, size)
    if None in steps:
        for row in (_FORWARD, _BACKWARD):
            ax.text(steps.index(None) * _PITCH, row, style.ELLIPSIS, ha="center", va="center", fontsize=16)
    reversible, total = (style.text_of(marks[name], "byte") for name in ("reversible_bytes", "stored_bytes"))
    left_aligned: dict[str, Any] = {"ha": "left", "va": "center", "fontsize": size}
    ax.text(-0.5, _FORWARD + 1.75, "forward: add to the one before last", color=style.INK, **left_aligned)
    ax.text(-0.5, _BACKWARD - 2.25, "backward: take away, with the gradients in step", color=style.RED, **left_aligned)
    middle = (_FORWARD + _BACKWARD) / 2
    right_aligned = {**left_aligned, "ha": "right", "color": "#0072B2", "weight": "bold"}
    ax.text(end - _PITCH - 0.2, middle, f"kept: the last two, {reversible}", **right_aligned)
    if last > 2:
        ax.text(-0.5, middle, f"kept otherwise: {total}", color=style.NOTE, **left_aligned)
    _frame(ax, (-0.75, end + 0.75), (_BACKWARD - 2.6, _FORWARD + 2.1))


def _layer(ax: Axes, at: tuple[float, float, float], number: int, size: float) -> None:
    """Draw how two activations give the next, and how the first is recovered."""
    before, layer, after = at
    _function(ax, (layer, after), _FORWARD, number, size)
    _function(ax, (layer, before), _BACKWARD, number, size)
    for start, end, row, up, gid in ((before, after, _FORWARD, 1, "skip"), (after, before, _BACKWARD, -1, "undo")):
        sign = "+" if up > 0 else style.MINUS
        arrow(
            ax,
            (start, row + 0.33 * up),
            (end, row + 0.33 * up),
            gid,
            connectionstyle="arc3,rad=-0.42",
            color=style.INK if up > 0 else style.RED,
        )
        _sign(ax, ((start + end) / 2, row + 1.13 * up), sign, "add" if up > 0 else "subtract", size + 1)
    arrow(
        ax, (after - 0.2, _BACKWARD - 1.75), (layer + 0.2, _BACKWARD - 1.75), "gradient", color=style.RED, linewidth=1.8
    )


def _function(ax: Axes, ends: tuple[float, float], row: float, number: int, size: float) -> None:
    start, end = ends
    direction = math.copysign(1, end - start)
    middle = (start + end) / 2
    arrow(ax, (start + 0.36 * direction, row), (middle - 0.27 * direction, row), "into f", color="#8A5A00")
    arrow(ax, (middle + 0.27 * direction, row), (end - 0.36 * direction, row), "out of f", color="#8A5A00")
    round_box(ax, (middle, row), (0.54, 0.5), "function", **_FUNCTION)
    ax.text(middle, row, f"$f_{{{number}}}$", ha="center", va="center", fontsize=size + 0.5, zorder=3)


_MOST_BOXES, _MOST_STEPS = 8, 200


def _activation_memory(**inputs: Any) -> pd.DataFrame:
    import numpy as np
    import xarray as xr

    board = {"layers": 4, "hidden_size": 8192, "tokens_per_step": 4e6, "activation_policy": "block"}
    inputs = filled(inputs, {"": board}, scenario="four layers as wide as the scaling book's example")
    layers = number("layers", **inputs)
    width = number("hidden_size", **inputs)
    if "model" in inputs:  # the picture builds the network up layer by layer, its other numbers do not matter
        inputs = {**inputs, "layers": layers, "hidden_size": width}
        del inputs["model"]
    if layers < 1 or layers != round(layers):
        raise ValueRangeError(f"layers: the drawing needs a whole number of them, got {layers:g}")
    marks = {name: number(name, **inputs) for name in ("layers", "activation_bytes")}
    undone = {**inputs, "activation_policy": "reversible"}
    marks["reversible_bytes"] = number("activation_bytes", **undone)
    marks["recomputation_factor"] = number("recomputation_factor", **{"flops_per_parameter_token": 2, **undone})
    counts = np.unique(np.linspace(1, layers, min(int(layers), _MOST_STEPS)).round())
    stored = dataset(["activation_bytes"], **{**inputs, "layers": counts})["activation_bytes"].to_numpy()
    step = np.concatenate([counts - 1, 2 * layers - counts[::-1]])
    both = np.concatenate([stored, stored[::-1]])
    data = xr.Dataset(
        {
            "layer": ("step", np.concatenate([counts - 1, counts[::-1] - 1])),
            "activation_bytes": ("step", both, {"units": "byte"}),
            "reversible_bytes": ("step", np.full(both.shape, marks["reversible_bytes"]), {"units": "byte"}),
        },
        coords={"step": step},
    )
    table = tabulated(data, "step", "activation_memory", **marks)
    table.attrs["units"]["reversible_bytes"] = "byte"
    return table


@chart(
    "C30",
    _activation_memory,
    title="Activation memory during a training step, four layers",
    subject="Activation memory during a training step",
    paragraph=(
        "The forward pass writes the input of each layer, the backward pass reads it in reverse order and drops it. "
        "The peak, {activation_bytes} for {layers} layers here, grows with the depth. A reversible network keeps only "
        "the last layer's output, {reversible_bytes} at any depth. Its price is {recomputation_factor} times the "
        "compute."
    ),
    inputs=(
        "layers",
        "hidden_size",
        "tokens_per_step",
        "activation_policy",
        "flops_per_parameter_token",
    ),
    chapter=7,
    size=(6.5, 4.0),
)
def activation_memory(ax: Axes, table: pd.DataFrame) -> None:
    """Activations held in a training step, with and without a reversible network.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        Of `activation_bytes`: `layers`, `hidden_size` or `model`, `tokens_per_step`; `activation_policy` applies to
        the network that is not reversible.

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib.patches import Rectangle

    marks = table.attrs["marks"]
    layers, flat = int(marks["layers"]), marks["reversible_bytes"]
    step, stored = table.index.to_numpy(), table["activation_bytes"].to_numpy()
    boxed = layers <= _MOST_BOXES
    if boxed:
        levels = [0.0, *stored[:layers]]
        for x, top in zip(step, stored, strict=True):
            for low, high in itertools.pairwise([level for level in levels if level <= top]):
                box = Rectangle((x + 0.06, low), 0.88, high - low, facecolor="#DDE6EE", edgecolor="#5F7385", gid="held")
                ax.add_patch(box)
    middles = step + 0.5
    ax.plot(middles, stored, color="#0072B2", marker="o" if boxed else None, markersize=4, label="activation_bytes")
    if not boxed:
        ax.fill_between(middles, stored, color="#DDE6EE", linewidth=0)
    dashed: dict[str, Any] = {"color": style.RED, "linestyle": (0, (4, 2)), "linewidth": 2.2}
    ax.plot([0, 2 * layers], [flat, flat], label="reversible_bytes", zorder=3, **dashed)
    top = 1.28 * max(stored.max(), flat)
    ax.set(xlim=(0, 2 * layers), ylim=(0, top), ylabel="activations held")
    ax.axvline(layers, color=style.NOTE, linewidth=0.9, linestyle=":")
    for x, word in ((0.25, "forward writes"), (0.75, "backward reads")):
        ax.text(x, 0.97, word, transform=ax.transAxes, ha="center", va="top", fontsize=9.5, weight="bold")
    if boxed:
        ax.set_xticks(middles, [f"{layer:.0f}" for layer in table["layer"]])
        ax.tick_params(axis="x", length=0)
        ax.set_xlabel("layer")
        for k in range(layers):
            for x, ends, gid in ((k, (0, 1), "write"), (2 * layers - 1 - k, (1, 0), "read")):
                low = levels[k] + 0.16 * (levels[k + 1] - levels[k])
                high = levels[k + 1] - 0.16 * (levels[k + 1] - levels[k])
                y = [low, high]
                arrow(ax, (x + 0.5, y[ends[0]]), (x + 0.5, y[ends[1]]), gid, color="#0072B2", linewidth=1.4)
    else:
        ax.set_xticks([0.5, layers, 2 * layers - 0.5], ["0", f"{layers - 1}", "0"])
        ax.set_xlabel("layer")
    style.scale_ticks(ax.yaxis, "byte")
    peak, low = (style.text_of(marks[name], "byte") for name in ("activation_bytes", "reversible_bytes"))
    factor = style.text_of(marks["recomputation_factor"], "1")
    remark = f"reversible: {low}\nthroughout, for {factor} ×\nthe compute"
    style.callout(ax, f"peak {peak}", (layers - 0.5, stored.max()), (0.03, 0.76))
    style.callout(ax, remark, (1.985 * layers, flat), (0.995, 0.72), ha="right", color="#9C4400", bbox=style.HALO)
