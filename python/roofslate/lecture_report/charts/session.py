"""Chapter 6: a chat, which alternates between prefill and decode."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.errors import AxisError, InputTypeError, RoofslateError, ValueRangeError
from roofslate.evaluation.frame import frame
from roofslate.grid.read import Settled
from roofslate.lecture_report.charts.context import scenario
from roofslate.plotting.chart import chart, note, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["chat_session"]

_MOST_TURNS, _MOST_STRIPS, _MOST_CELLS = 5, 60, 5
_LEAST_INCHES = 4.5  # of the axes, for columns of numbers next to the picture
_FRESH = {"prefill": ("#0072B2", "white"), "decode": ("#9AD0F0", style.INK)}  # paper and ink


def _lengths(name: str, given: Any, turns: int) -> list[float]:
    """Tokens of each turn, from a repeated list."""
    import numpy as np

    listed = list(given) if isinstance(given, (list, tuple)) or np.ndim(given) else [given]
    if not listed:
        raise ValueRangeError(f"{name}: an empty list; give the tokens of a turn, or of each of the first turns")
    lengths = []
    for one in listed:
        try:
            tokens = number("output_tokens", output_tokens=one)
        except RoofslateError as error:
            raise type(error)(str(error).replace("output_tokens", name)) from None
        if tokens < 1 or tokens != int(tokens):
            raise ValueRangeError(f"{name}: a turn has a whole number of tokens, at least one, got {one!r}")
        lengths.append(tokens)
    return [lengths[turn % len(lengths)] for turn in range(turns)]


def _chat_session(
    *,
    turns: int = 3,
    prompt_length: Any = ("3k", "2k", "500"),
    output_tokens: Any = "1,200",
    prompt_names: Sequence[str] = ("prompt", "tool result", "message"),
    **inputs: Any,
) -> pd.DataFrame:
    import pandas as pd

    if isinstance(turns, bool) or not isinstance(turns, int):
        raise InputTypeError(f"turns: expected a whole number, got {type(turns).__name__}")
    if not 1 <= turns <= 1_000_000:
        raise ValueRangeError(f"turns: expected 1 to a million, got {turns}")
    if isinstance(prompt_names, str) or not prompt_names:
        raise InputTypeError("prompt_names: expected a list of words, one for each of the first turns")
    for name in ("context_length", "pass_length", "prefix_length"):
        if name in inputs:
            raise AxisError(f"{name} grows along the session; give prompt_length, output_tokens and turns")
    prompts = _lengths("prompt_length", prompt_length, turns)
    answers = _lengths("output_tokens", output_tokens, turns)
    tokens = [x for pair in zip(prompts, answers, strict=True) for x in pair]
    starts = [0.0, *itertools.accumulate(tokens)][:-1]
    table = pd.DataFrame({"start": starts, "tokens": tokens})
    table.insert(0, "kind", ["prefill", "decode"] * turns)
    names = list(prompt_names)
    table.insert(1, "name", [x for turn in range(turns) for x in (names[turn % len(names)], "answer")])
    prefill = table["kind"] == "prefill"
    # a chunk goes through one pass, an answer through a pass a token
    table["passes"] = table["tokens"].mask(prefill, 1.0)
    session = scenario(inputs)
    note(["prefix_bytes"])
    for name, prefix in (("prefix_bytes", table["start"]), ("last_prefix_bytes", table["start"] + table["passes"] - 1)):
        table[name] = frame(pd.DataFrame({"prefix_length": prefix}), "prefix_bytes", Settled(session))["prefix_bytes"]
    table.index.name = "segment"
    last = table.iloc[-1]
    marks = {
        "turns": float(turns),
        "session_tokens": float(last["start"] + last["tokens"]),
        "chunk_prefix": float(table["start"].iloc[-2]),
        "chunk_prefix_bytes": float(table["prefix_bytes"].iloc[-2]),
        "answer_tokens": float(last["tokens"]),
        "kv_bytes_per_token": number("kv_bytes_per_token", **session),
    }
    length, one = "token/sequence", "1"
    table.attrs["marks"] = marks
    table.attrs["units"] = {
        **dict.fromkeys(("kind", "name", "passes", "turns"), one),
        **dict.fromkeys(("start", "tokens", "session_tokens", "chunk_prefix", "answer_tokens"), length),
        **dict.fromkeys(("prefix_bytes", "last_prefix_bytes", "chunk_prefix_bytes"), "byte/sequence"),
        "kv_bytes_per_token": "byte/token",
    }
    return table


@chart(
    "C21",
    _chat_session,
    title="Passes and context of a chat session, three turns",
    subject="Passes and context of a chat session",
    paragraph=(
        "A conversation is one growing sequence. Input, such as a prompt, a tool's result or a file, is prefilled in "
        "one pass. Output is decoded, a pass for each token. Either reads the KV cache of all earlier tokens. The "
        "last chunk here reads {chunk_prefix_bytes} for {chunk_prefix:4} tokens, once. The answer to it reads that "
        "and more in each of its {answer_tokens} passes."
    ),
    inputs=(
        "turns",
        "output_tokens",
        "kv_bytes_per_token",
    ),
    chapter=6,
    size=(6.5, 3.6),
)
def chat_session(ax: Axes, table: pd.DataFrame) -> None:
    """A chat as prefilled chunks and decoded answers, with the cached prefix of each.

    Long sessions and answers are drawn in part.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    turns : int
        Chunks that come in, each followed by an answer.
    prompt_length, output_tokens : float or str, or a list of them
        Tokens of a chunk and of an answer. A list has one for each turn and starts again when it ends.
    prompt_names : list of str
        What the chunks are called, in the same manner.
    **inputs
        Of `prefix_bytes`, such as `model`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    turns, total = int(marks["turns"]), marks["session_tokens"]
    shown = table
    if turns > _MOST_TURNS:
        shown = table.iloc[[*range(4), *range(len(table) - 4, len(table))]]
    rows: dict[float, dict[Any, Any]] = {}
    labels, row = {}, 1.3
    for segment in shown.reset_index().to_dict("records"):
        if rows and segment["segment"] > len(rows) == len(shown) // 2:
            hidden = turns - len(shown) // 2
            words = f"{style.ELLIPSIS}  {hidden:,} more turn{'s' * (hidden > 1)}"
            _words(ax, total / 2, row + 0.45, words, gid="hidden turns", color=style.NOTE)
            row += 1
        rows[row] = segment
        labels[row + 0.4] = f"{segment['name']}, {style.text_of(segment['tokens'], 'token/sequence', 4)}"
        _draw_segment(ax, segment, row, total)
        row += 1
    _draw_strip(ax, table if turns <= _MOST_STRIPS else shown, total)
    if turns > _MOST_STRIPS:
        _words(ax, total / 2, 0.4, style.ELLIPSIS, gid="hidden turns")
    ax.set(xlim=(0, total), ylim=(row, -0.1), xlabel="place in the sequence (tokens)")
    ax.set_yticks([0.4, *labels], ["session", *labels.values()], fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    _draw_columns(ax, rows)
    style.scale_ticks(ax.xaxis, "token/sequence")


def _words(ax: Axes, x: float, y: float, text: str, **more: Any) -> None:
    ax.text(x, y, text, **{"ha": "center", "va": "center", "fontsize": 9, **more})


def _draw_strip(ax: Axes, table: pd.DataFrame, total: float) -> None:
    from matplotlib.patches import Rectangle

    inches = 0.6 * ax.get_window_extent().width / ax.figure.dpi  # width after names and columns
    for kind, start, tokens in zip(table["kind"], table["start"], table["tokens"], strict=True):
        face, ink = _FRESH[kind]
        ax.add_patch(Rectangle((start, 0), tokens, 0.8, facecolor=face, edgecolor="white", gid=f"strip {kind}"))
        if tokens / total * inches > 0.4:
            _words(ax, start + tokens / 2, 0.4, kind, fontsize=8, color=ink)
    ax.add_patch(Rectangle((0, 0), total, 0.8, facecolor="none", edgecolor=style.INK, linewidth=0.9, gid="strip"))


def _draw_segment(ax: Axes, segment: dict[Any, Any], y: float, total: float) -> None:
    from matplotlib.patches import FancyArrowPatch, Rectangle

    kind, start, tokens, passes = (segment[name] for name in ("kind", "start", "tokens", "passes"))
    face, _ = _FRESH[kind]
    if start > 0:
        shade: dict[str, Any] = {"facecolor": "#FBEBCB", "edgecolor": "#DDB565", "hatch": "....", "linewidth": 0.6}
        ax.add_patch(Rectangle((0, y), start, 0.8, gid="prefix", **shade))
        ax.add_patch(
            FancyArrowPatch(
                (start, y + 0.4),
                (0, y + 0.4),
                arrowstyle="-|>",
                mutation_scale=9,
                linewidth=1.1,
                color="#8A5A00",
                shrinkA=0,
                shrinkB=0,
                gid="read",
            )
        )
    cells = int(min(passes, _MOST_CELLS))
    part = passes > cells
    for cell in range(cells):
        if part and cell == cells // 2:
            if tokens > 0.02 * total:
                _words(ax, start + tokens / 2, y + 0.36, style.ELLIPSIS, gid="hidden passes", fontsize=8)
            continue
        x, width = start + tokens * cell / cells, tokens / cells
        ax.add_patch(Rectangle((x, y), width, 0.8, facecolor=face, edgecolor=style.INK, linewidth=0.6, gid=kind))


def _draw_columns(ax: Axes, rows: dict[float, dict[Any, Any]]) -> None:
    """Write the passes of each segment and the bytes that each of them reads."""
    from matplotlib.transforms import blended_transform_factory

    if ax.get_window_extent().width / ax.figure.dpi < _LEAST_INCHES:
        return
    transform = blended_transform_factory(ax.transAxes, ax.transData)
    right = ax.get_xlim()[1]
    column_share = 0.34
    ax.set_xlim(0, right / (1 - column_share))
    ax.spines["bottom"].set_bounds(0, right)
    ax.xaxis.label.set_x((1 - column_share) / 2)
    heads = {0.775: "passes", 0.99: "KV cache read"}
    look: dict[str, Any] = {"transform": transform, "ha": "right", "va": "center", "fontsize": 9}
    for x, word in heads.items():
        ax.text(x, 0.4, word, color=style.NOTE, **look)
    for y, row in rows.items():
        first, last = (style.text_of(row[name], "byte") for name in ("prefix_bytes", "last_prefix_bytes"))
        same = first.split()[-1] == last.split()[-1]
        read = first if first == last else f"{first.split()[0] if same else first} to {last}"
        ax.text(0.775, y + 0.4, style.text_of(row["passes"], "1", 4), gid="passes", **look)
        ax.text(0.99, y + 0.4, read, gid="cache", **look)
