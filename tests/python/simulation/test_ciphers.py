"""Feistel rounds are exact, and reversible networks nearly so.

Ciphers spread a flipped bit, networks do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import roofslate as rs
from hypothesis import given
from hypothesis import strategies as st
from roofslate import ciphers

FUNCTIONS = {
    "constant": lambda x, _: x * np.uint64(0) + np.uint64(7),
    "square": lambda x, _: x * x,
    "lossy": lambda x, number: x // np.uint64(3) * np.uint64(number + 1),
    "parity": lambda x, _: x & np.uint64(1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("bits", [1, 8, 31, 32, 33, 63, 64])
def test_any_function_comes_back_exactly(name: str, bits: int) -> None:
    table = ciphers.round_trip(FUNCTIONS[name], bits=bits, rounds=5, blocks=200, seed=1)
    assert table["restored"].all()
    assert (table[["x", "y", "x_after", "y_after"]].to_numpy() <= np.uint64((1 << bits) - 1)).all()
    if bits > 8 and name != "parity":
        assert (table["x"] != table["x_after"]).any()


def test_a_round_is_what_the_lecture_draws() -> None:
    table = ciphers.round_trip(FUNCTIONS["square"], bits=32, rounds=1, blocks=50, seed=2)
    x, y = (table[name].to_numpy().astype(object) for name in ("x", "y"))
    assert (table["x_after"].to_numpy().astype(object) == (y + x * x) % 2**32).all()
    assert (table["y_after"].to_numpy().astype(object) == x).all()


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20), st.integers(0, 2**64 - 1), st.integers(1, 20))
def test_decrypt_undoes_encrypt(blocks: list[int], key: int, rounds: int) -> None:
    secret = ciphers.encrypt(blocks, key, rounds=rounds)
    assert ciphers.decrypt(secret, key, rounds=rounds).tolist() == blocks


def test_the_cipher_is_the_one_that_is_written_down() -> None:
    def split_mix(state: int) -> int:
        z = state % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    key, block = 2026, 0x0123456789ABCDEF
    x, y = block >> 32, block % 2**32
    for number in range(1, 13):
        v = x ^ (split_mix(key + 0x9E3779B97F4A7C15 * number) >> 32)
        x, y = (y + (v * v >> 16)) % 2**32, x
    assert ciphers.encrypt([block], key).tolist() == [x << 32 | y]
    assert split_mix(0x9E3779B97F4A7C15) == 0xE220A8397B1DCDAF  # the generator's first published output


def test_the_wrong_key_gives_nothing() -> None:
    blocks = np.arange(100, dtype=np.uint64)
    assert (ciphers.decrypt(ciphers.encrypt(blocks, 1), 2) != blocks).all()


def test_a_cipher_flips_half_of_its_bits() -> None:
    table = ciphers.avalanche(samples=1000, seed=3)
    assert table.index.tolist() == list(range(13))
    assert table.loc[0].tolist() == [1 / 64] * 3
    assert table["flipped"].iloc[-1] == pytest.approx(0.5, abs=0.01)
    assert table["flipped"].iloc[:5].is_monotonic_increasing
    assert 0.49 < table["least"].iloc[-1] < table["most"].iloc[-1] < 0.51
    assert ciphers.avalanche_coefficient(samples=1000, seed=3) == table["flipped"].iloc[-1]


def test_a_network_does_not() -> None:
    table = ciphers.network_avalanche(seed=1)
    assert table["growth"].iloc[0] == pytest.approx(1)
    assert table["flipped"].max() < 1e-3
    assert table["growth"].max() < 4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_reversible_network_undoes_itself_to_a_few_ulp(dtype: Any) -> None:
    table = ciphers.revnet(dtype=dtype, seed=1)
    assert (table["error_ulp"] > 0).any()
    assert table["error_ulp"].iloc[-1] <= 2
    assert table["error_ulp"].max() <= 16
    assert table["gradient_error"].max() < 100 * np.finfo(dtype).eps
    assert table["gradient_error"].iloc[-1] == 0
    stored, undone = table["stored_bytes"], table["reversible_bytes"]
    assert stored.tolist() == [undone.iloc[0] * (number + 1) for number in range(16)]
    assert undone.nunique() == 1
    assert undone.iloc[0] == 2 * 32 * 64 * np.dtype(dtype).itemsize


def test_gradient_of_the_network_is_the_slope_of_its_loss() -> None:
    net = ciphers._Network(1, 3, 4, "float64", 5)

    def loss(weights: Any) -> float:
        x, y = net.forward(net.x, net.y, weights)
        return float((x**2).sum() + (y**2).sum()) / 2

    _, slope = net.backward(net.x, net.weights[0], net.forward(net.x, net.y, net.weights[0]))
    for position in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[position] = 1e-6
        numeric = (loss(net.weights[0] + step) - loss(net.weights[0] - step)) / 2e-6
        assert slope[position] == pytest.approx(numeric, rel=1e-6)


def test_memory_agrees_with_the_closed_form() -> None:
    table = ciphers.revnet(layers=8, width=16, tokens=10, seed=1)
    inputs = {"tokens_per_step": 10, "layers": 8, "hidden_size": 16, "activation_bytes_per_element": 8}
    both = rs.value("activation_bytes", activation_policy="reversible", reversible_streams=2, **inputs)
    assert table["reversible_bytes"].iloc[0] == both
    assert table["stored_bytes"].iloc[-1] == 2 * rs.value("activation_bytes", activation_policy="block", **inputs)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: ciphers.encrypt([1.5], 1), rs.errors.InputTypeError, "blocks"),
        (lambda: ciphers.encrypt([-1], 1), rs.errors.InputTypeError, "blocks"),
        (lambda: ciphers.encrypt([2**64], 1), rs.errors.InputTypeError, "blocks"),
        (lambda: ciphers.encrypt([1], -1), rs.errors.ValueRangeError, "key"),
        (lambda: ciphers.encrypt([1], "secret"), rs.errors.InputTypeError, "key"),
        (lambda: ciphers.encrypt([1], 1, rounds=0), rs.errors.ValueRangeError, "rounds"),
        (lambda: ciphers.round_trip(bits=65, seed=1), rs.errors.ValueRangeError, "bits"),
        (lambda: ciphers.round_trip(blocks=0, seed=1), rs.errors.ValueRangeError, "blocks"),
        (lambda: ciphers.avalanche(samples=1.5, seed=1), rs.errors.InputTypeError, "samples"),
        (lambda: ciphers.avalanche(seed=-1), rs.errors.ValueRangeError, "seed"),
        (lambda: ciphers.revnet(dtype="int8", seed=1), rs.errors.UnknownName, "dtype"),
        (lambda: ciphers.revnet(layers=0, seed=1), rs.errors.ValueRangeError, "layers"),
    ],
)
def test_mistakes_are_named(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()
