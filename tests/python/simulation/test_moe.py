"""The layer of experts conserves copies and moves the bytes of the closed form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from hypothesis import given, settings
from hypothesis import strategies as st
from roofslate import moe
from roofslate.errors import InputTypeError, ValueRangeError


def batch(tokens: int = 256, width: int = 64, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((tokens, width))


@given(
    st.integers(1, 120), st.integers(1, 12), st.integers(1, 12), st.none() | st.floats(0.05, 4), st.integers(0, 2**20)
)
@settings(max_examples=40, deadline=None)
def test_each_copy_is_processed_or_counted_as_dropped(
    tokens: int, experts: int, copies: int, factor: float | None, seed: int
) -> None:
    copies = min(copies, experts)
    layer = moe.random_layer(hidden_size=8, expert_intermediate_size=4, experts=experts, router_skew=0.5, seed=seed)
    output = moe.forward(layer, batch(tokens, 8, seed), experts_per_token=copies, capacity_factor=factor)
    assert all(len(set(row)) == copies for row in output.chosen.tolist())
    assert output.weights.sum(axis=1) == pytest.approx(np.ones(tokens))
    assert (np.diff(output.weights, axis=1) <= 0).all()
    load = moe.load(output)
    assert load["routed"].sum() == tokens * copies
    assert (load["processed"] + load["dropped"] == load["routed"]).all()
    capacity = tokens * copies if factor is None else math.ceil(factor * tokens * copies / experts)
    assert output.capacity == (None if factor is None else capacity)
    assert (load["processed"] == np.minimum(load["routed"], capacity)).all()


def test_the_output_is_the_weighted_sum_and_the_residual() -> None:
    layer, x = moe.random_layer(experts=6, seed=2), batch(20)
    output = moe.forward(layer, x, experts_per_token=3)
    scores = x @ layer.router + layer.bias
    for token, choice in enumerate(output.chosen):
        assert choice.tolist() == np.argsort(-scores[token])[:3].tolist()
        softmax = np.exp(scores[token, choice]) / np.exp(scores[token, choice]).sum()
        parts = [moe.expert(layer, x[token : token + 1], int(e))[0] for e in choice]
        expected = x[token] + sum(w * part for w, part in zip(softmax, parts, strict=True))
        assert output.tokens[token] == pytest.approx(expected)


def test_identical_experts_are_a_dense_layer() -> None:
    layer = moe.random_layer(experts=8, router_skew=1, seed=4)
    same = layer._replace(up=np.broadcast_to(layer.up[:1], layer.up.shape), down=layer.down[:1].repeat(8, axis=0))
    x = batch()
    dense = x + moe.expert(same, x, 0)
    for copies in (1, 3, 8):
        assert moe.forward(same, x, experts_per_token=copies).tokens == pytest.approx(dense)


def test_permuted_tokens_give_permuted_outputs() -> None:
    layer, x = moe.random_layer(experts=8, router_skew=0.5, seed=5), batch()
    order = np.random.default_rng(1).permutation(len(x))
    plain, permuted = moe.forward(layer, x), moe.forward(layer, x[order])
    assert permuted.tokens == pytest.approx(plain.tokens[order])
    assert (permuted.chosen == plain.chosen[order]).all()


def test_first_choices_and_early_tokens_keep_their_place() -> None:
    """Two tokens prefer expert 0, the third has it second, and each expert takes one copy."""
    router = np.array([[3.0, 2.0, 1.0], [3.0, 1.0, 2.0], [2.0, 3.0, 1.0]])
    layer = moe.Layer(router, np.zeros(3), np.ones((3, 3, 1)), np.ones((3, 1, 3)))
    output = moe.forward(layer, np.eye(3), experts_per_token=2, capacity_factor=0.5)
    assert output.capacity == 1
    assert output.chosen.tolist() == [[0, 1], [0, 2], [1, 0]]
    assert output.processed.tolist() == [[True, False], [False, True], [True, False]]
    lone = moe.forward(layer, np.eye(3)[1:2], experts_per_token=2)
    assert output.tokens[0] == pytest.approx(np.eye(3)[0] + output.weights[0, 0])
    assert output.tokens[1] == pytest.approx(np.eye(3)[1] + lone.weights[0, 1])


def test_a_token_whose_copies_are_dropped_keeps_its_residual() -> None:
    layer = moe.random_layer(hidden_size=4, experts=2, seed=1)
    crowded = layer._replace(bias=np.array([50.0, 0.0]))
    output = moe.forward(crowded, batch(10, 4), experts_per_token=1, capacity_factor=0.4)
    assert output.capacity == 2
    assert moe.load(output)["dropped"].tolist() == [8, 0]
    assert (output.tokens[2:] == batch(10, 4)[2:]).all()


@pytest.mark.parametrize(("copies", "dispatch", "combine"), [(1, 2, 2), (8, 1, 2), (4, 2, 1)])
def test_the_exchange_moves_the_bytes_of_the_closed_form(copies: int, dispatch: float, combine: float) -> None:
    layer, x = moe.random_layer(experts=64, seed=6), batch(512)
    output = moe.forward(layer, x, experts_per_token=copies)
    bytes_of = {"dispatch_bytes_per_element": dispatch, "combine_bytes_per_element": combine}
    table = moe.exchange(output, chips=16, **bytes_of)
    each = rs.value("all_to_all_bytes_per_layer", experts_per_token=copies, hidden_size=64, **bytes_of)
    assert table[["dispatch_bytes", "combine_bytes"]].to_numpy().sum() == each * len(x)
    assert table["sent"].tolist() == [32 * copies] * 16
    assert table["received"].tolist() == moe.load(output, chips=16).groupby("chip")["processed"].sum().tolist()
    assert 0 < table["local"].sum() < table["sent"].sum()
    dropped = moe.exchange(moe.forward(layer, x, experts_per_token=copies, capacity_factor=0.5), chips=16, **bytes_of)
    assert dropped["sent"].sum() < table["sent"].sum()


def test_a_token_reaches_as_many_chips_as_the_closed_form_says() -> None:
    layer = moe.random_layer(hidden_size=32, expert_intermediate_size=1, experts=256, seed=7)
    output = moe.forward(layer, batch(2048, 32), experts_per_token=8)
    contacted = moe.exchange(output, chips=64)["contacted"].mean()
    expected = rs.value("chips_contacted", expert_parallel=64, experts_per_token=8)
    assert contacted == pytest.approx(expected, rel=0.02)  # the form lets a token choose an expert twice


@pytest.mark.parametrize("chips", [8, 16, 64])
@pytest.mark.parametrize("skew", [0.1, 0.5])
def test_the_load_is_that_of_the_registry(chips: int, skew: float) -> None:
    table = moe.imbalance(tokens=2048, chips=chips, router_skew=skew, layers=24, hidden_size=16, seed=1)
    means = table.mean()
    # 24 routers vary by a few percent, and their popularity is no gamma distribution, which the form takes
    assert means["imbalance"] == pytest.approx(means["expected_imbalance"], rel=0.12 if chips == 64 else 0.06)
    even = moe.imbalance(tokens=2048, chips=chips, router_skew=0, layers=2, hidden_size=16, seed=1).mean()
    assert even["popularity_cv"] < means["popularity_cv"]


def test_popularity_is_told_apart_from_chance() -> None:
    """Few tokens load experts unevenly by chance too."""
    few, many = (moe.imbalance(tokens=tokens, layers=24, seed=2)["popularity_cv"].mean() for tokens in (256, 8192))
    assert few == pytest.approx(many, rel=0.06)
    uneven = moe.imbalance(tokens=256, layers=24, seed=2)["imbalance"].mean()
    assert uneven > moe.imbalance(tokens=8192, layers=24, seed=2)["imbalance"].mean()


def test_mistakes_are_named() -> None:
    layer, x = moe.random_layer(experts=4, seed=1), batch(8)
    cases: list[tuple[Any, type[Exception], str]] = [
        (lambda: moe.forward(layer, x[:, :3]), InputTypeError, r"shape \(tokens, 64\), got \(8, 3\)"),
        (lambda: moe.forward(layer, x, experts_per_token=5), ValueRangeError, "at most experts, 4, got 5"),
        (lambda: moe.forward(layer, x, capacity_factor=0), ValueRangeError, "capacity_factor must be .* positive"),
        (lambda: moe.forward(layer, x, capacity_factor="1"), InputTypeError, "capacity_factor: expected a number"),
        (lambda: moe.expert(layer, x, 4), ValueRangeError, "number must be from 0 to 3, got 4"),
        (lambda: moe.load(moe.forward(layer, x), chips=5), ValueRangeError, "chips must be at most 4"),
        (lambda: moe.random_layer(router_skew=-1, seed=1), ValueRangeError, "router_skew"),
        (lambda: moe.random_layer(experts=0, seed=1), ValueRangeError, "experts"),
    ]
    for call, kind, message in cases:
        with pytest.raises(kind, match=message):
            call()
