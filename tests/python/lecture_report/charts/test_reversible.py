"""Charts of chapter 7 against the ciphers, the network and the quantities."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate import charts, ciphers
from roofslate.errors import InputTypeError, UnknownName, ValueRangeError
from support.pictures import patches


def count(ax: Any, gid: str) -> int:
    return sum(patch.get_gid() == gid for patch in ax.patches)


def ends(ax: Any, gid: str) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Start and end of arrows."""
    return [patch._posA_posB for patch in patches(ax, gid)]


def told(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_they_are_of_chapter_seven() -> None:
    assert [charts.find(name).number for name in ("feistel", "revnet", "activation_memory")] == ["C28", "C29", "C30"]
    assert {charts.find(number).chapter for number in ("C28", "C29", "C30")} == {7}


# ----------------------------------------------------------------------------------------------------------- feistel


@pytest.mark.parametrize("rounds", [1, 3, 5])
def test_feistel_follows_its_rounds(rounds: int) -> None:
    ax = charts.feistel(rounds=rounds)
    assert count(ax, "function") == count(ax, "into f") == count(ax, "out of f") == 2 * rounds
    assert count(ax, "add") == count(ax, "subtract") == rounds
    assert count(ax, "word") == 4 * (rounds + 1)
    assert count(ax, "wire") == 4 * rounds  # two wires a round, there and back
    assert count(ax, "hand over") == 2
    names = [text for text in told(ax) if re.fullmatch(r"\$f_\{\d+\}\$", text)]
    assert sorted(names) == sorted(2 * [f"$f_{{{number}}}$" for number in range(1, rounds + 1)])


def test_the_function_is_used_the_same_way_there_and_back() -> None:
    ax = charts.feistel()
    for gid in ("into f", "out of f"):
        assert all(start[1] > end[1] and start[0] == end[0] for start, end in ends(ax, gid))
    wires = [(start[0] < end[0], start[1] > 2) for start, end in ends(ax, "wire")]
    assert all(to_the_right == upper for to_the_right, upper in wires)
    heights = [np.asarray(artist.get_ydata()) for artist in ax.get_lines()]
    swapped = [height for height in heights if height.size == 3]
    assert len(swapped) == 4 * 3
    assert all(height[0] != height[-1] for height in swapped)


def test_feistel_shows_the_words_of_the_cipher() -> None:
    block, key = 0xFEEDFACECAFEBEEF, 5
    ax = charts.feistel(rounds=2, block=block, key=key)
    after = [block, *(int(ciphers.encrypt([block], key, rounds=rounds)[0]) for rounds in (1, 2))]
    words = [text for text in told(ax) if re.fullmatch(r"[0-9a-f]{8}", text)]
    assert sorted(words) == sorted(2 * [part for word in after for part in (f"{word:016x}"[:8], f"{word:016x}"[8:])])
    table = charts.feistel.data(rounds=2, block=block, key=key)
    assert (table["y"].to_numpy()[1:] == table["x"].to_numpy()[:-1]).all()  # the half that is kept
    assert table["x"].tolist() == table["x_back"].tolist()
    assert table["y"].tolist() == table["y_back"].tolist()


def test_a_wrong_way_back_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ciphers, "decrypt", lambda blocks, key, rounds: ciphers.encrypt(blocks, key, rounds=rounds))
    table = charts.feistel.data()
    assert (table["x"] != table["x_back"]).all()


def test_many_rounds_are_drawn_in_part() -> None:
    ax = charts.feistel(rounds=12)
    assert count(ax, "function") == 6
    assert told(ax).count("\N{HORIZONTAL ELLIPSIS}") == 2
    assert "$f_{12}$" in told(ax)
    assert charts.feistel.data(rounds=12).attrs["marks"]["rounds"] == 12
    assert "1,000 random blocks 1,000" in charts.feistel.paragraph


def test_mistakes_in_a_cipher_are_named() -> None:
    for inputs, kind, message in (
        ({"rounds": 0}, ValueRangeError, "rounds"),
        ({"rounds": 2.5}, InputTypeError, "rounds"),
        ({"block": "text"}, InputTypeError, "block"),
        ({"block": 2**64}, InputTypeError, "block"),
        ({"key": -1}, ValueRangeError, "key"),
        ({"round": 3}, UnknownName, "rounds"),
    ):
        with pytest.raises(kind, match=message):
            charts.feistel(**inputs)


# ------------------------------------------------------------------------------------------------------------ revnet


@pytest.mark.parametrize("layers", [1, 4, 6])
def test_revnet_follows_its_layers(layers: int) -> None:
    ax = charts.revnet(layers=layers)
    assert count(ax, "dropped") == count(ax, "again") == layers
    assert count(ax, "kept") == count(ax, "at hand") == count(ax, "keep") == 2
    assert count(ax, "function") == count(ax, "into f") == count(ax, "out of f") == 2 * layers
    assert count(ax, "skip") == count(ax, "undo") == count(ax, "gradient") == layers
    assert count(ax, "add") == count(ax, "subtract") == layers


def test_skips_reach_two_layers_back_and_gradients_go_in_step() -> None:
    ax = charts.revnet(layers=5)
    at = sorted(patch.get_x() + patch.get_width() / 2 for gid in ("dropped", "kept") for patch in patches(ax, gid))
    skips, undone = sorted(ends(ax, "skip")), sorted(ends(ax, "undo"))
    assert [start[0] for start, _ in skips] == pytest.approx(at[:-2])
    assert [end[0] for _, end in skips] == pytest.approx(at[2:])
    assert [start[0] for start, _ in undone] == pytest.approx(at[2:])
    assert [end[0] for _, end in undone] == pytest.approx(at[:-2])
    gradients = sorted(ends(ax, "gradient"))
    assert all(start[0] > end[0] for start, end in gradients)
    assert all(at[k + 1] < end[0] < start[0] < at[k + 2] for k, (start, end) in enumerate(gradients))


def test_revnet_is_a_network_that_was_run() -> None:
    table = charts.revnet.data(layers=30, dtype="float32", seed=3)
    run = ciphers.revnet(layers=30, dtype="float32", seed=3)
    assert table["error"].tolist() == run["error"].tolist()
    assert table.attrs["marks"]["gradient_error"] == run["gradient_error"].max()
    ax = charts.revnet(layers=30, dtype="float32", seed=3)
    assert count(ax, "function") == 4
    assert count(ax, "dropped") == 4
    assert count(ax, "kept") == 2
    assert "kept: the last two, 16.4 kB" in told(ax)
    assert "kept otherwise: 492 kB" in told(ax)
    assert "$a_{31}$" in told(ax)
    assert told(ax).count("\N{HORIZONTAL ELLIPSIS}") == 2


def test_mistakes_in_a_network_are_named() -> None:
    for inputs, kind, message in (
        ({"layers": 0}, ValueRangeError, "layers"),
        ({"dtype": "float16"}, UnknownName, "dtype"),
        ({"depth": 3}, UnknownName, "depth"),
    ):
        with pytest.raises(kind, match=message):
            charts.revnet(**inputs)


# ------------------------------------------------------------------------------------------------- activation memory


def line(ax: Any, label: str) -> np.ndarray:
    (result,) = [artist for artist in ax.get_lines() if artist.get_label() == label]
    return np.asarray(result.get_xydata())


@pytest.mark.parametrize("layers", [4, 7])
def test_forward_writes_up_and_backward_reads_down(layers: int) -> None:
    ax = charts.activation_memory(layers=layers)
    stored = line(ax, "activation_bytes")[:, 1]
    each = rs.value("activation_bytes", layers=1, hidden_size=8192, tokens_per_step=4e6, activation_policy="block")
    steps = np.arange(1, layers + 1)
    assert stored == pytest.approx(each * np.concatenate([steps, steps[::-1]]))
    assert count(ax, "held") == layers * (layers + 1)  # as many boxes in a step as layers are held
    assert count(ax, "write") == count(ax, "read") == layers
    assert all(start[1] < end[1] and start[0] < layers for start, end in ends(ax, "write"))
    assert all(start[1] > end[1] and start[0] > layers for start, end in ends(ax, "read"))
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [str(k - 1) for k in (*steps, *steps[::-1])]
    flat = line(ax, "reversible_bytes")
    assert flat[:, 1] == pytest.approx([each, each])
    assert flat[:, 0].tolist() == [0, 2 * layers]


def test_the_scaling_books_example() -> None:
    table = charts.activation_memory.data(layers=64)
    marks = table.attrs["marks"]
    assert marks["activation_bytes"] == pytest.approx(4.194e12, rel=5e-4)
    assert marks["reversible_bytes"] == pytest.approx(65.5e9, rel=5e-3)
    assert marks["recomputation_factor"] == pytest.approx(4 / 3)
    assert table["activation_bytes"].max() == marks["activation_bytes"]
    two = charts.activation_memory.data(layers=64, reversible_streams=2).attrs["marks"]
    assert two["reversible_bytes"] == pytest.approx(131e9, rel=5e-3)
    everything = charts.activation_memory.data(layers=64, activation_policy="all").attrs["marks"]
    assert everything["activation_bytes"] == pytest.approx(83.9e12, rel=5e-4)
    assert "peak 4.19 TB" in told(charts.activation_memory(layers=64))


def test_deep_networks_are_a_triangle_and_a_flat_line() -> None:
    ax = charts.activation_memory(model="Llama-3.1-70B", tokens_per_step=4e6, activation_policy="block")
    stored = line(ax, "activation_bytes")
    assert count(ax, "held") == 0
    assert len(stored) == 160
    rise = np.diff(stored[:80], axis=0)
    assert rise[:, 1] / rise[:, 0] == pytest.approx(stored[0, 1])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "79", "0"]
    deep = charts.activation_memory.data(layers=5000)
    assert len(deep) == 400
    assert all(before < after for before, after in itertools.pairwise(deep.index))
    undone = charts.activation_memory.data(activation_policy="reversible")
    assert undone["activation_bytes"].tolist() == undone["reversible_bytes"].tolist()


def test_mistakes_in_memory_are_named() -> None:
    for inputs, kind, message in (
        ({"layers": 2.5}, ValueRangeError, "layers"),
        ({"activation_policy": "none"}, UnknownName, "none"),
        ({"hidden": 3}, UnknownName, "hidden"),
        ({"layers": [2, 4]}, rs.errors.AxisError, "layers"),
        ({"tokens_per_step": [1e6, 4e6]}, rs.errors.AxisError, "tokens_per_step"),
    ):
        with pytest.raises(kind, match=message):
            charts.activation_memory(**inputs)
