"""Inputs that each output of the floor asks for: no more than before there was one chain.

floor_inputs.csv has a row for each output that follows from others, with the inputs that were asked for one after the
other at commit c08bf5c, before the chains became one, in today's names. Other outputs on the same scale have no row:
weights counted in parameters are now counted in bytes and so ask for a format, the KV cache next to windows is now all
of a sequence's KV cache, a request's energy counts its prompts, and the time of a token under drafts or with prompts in
the batch is now every deployment's.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import roofslate as rs
from roofslate import _core

ROWS = list(csv.DictReader(Path(__file__).with_name("floor_inputs.csv").read_text(encoding="utf-8").splitlines()))
VARYING = np.array([0.0, 1.0])  # takes every branch that depends on an input

# Full peak was assumed for training without a number, and prefill replaced training next to decoding. Now each of these
# asks for one number, or for inputs that compute it.
UTILIZED = {
    "balanced_pretraining_tokens", "balanced_rl_tokens", "break_even_inference_tokens", "decode_inefficiency",
    "equal_loss_parameters", "equal_loss_tokens", "inference_chip_time", "inference_cost", "inference_flops",
    "inference_flops_share", "law_overtraining", "least_training_tokens", "lifetime_chip_time", "lifetime_cost",
    "lifetime_flops", "optimal_inference_training_ratio", "optimal_lifetime_saving", "optimal_loss",
    "optimal_overtraining", "optimal_pretraining_tokens", "optimal_token_ratio", "overtraining_ratio",
    "pretraining_chip_time", "pretraining_cost", "pretraining_flops", "pretraining_inference_token_ratio",
    "pretraining_loss", "pretraining_rl_token_ratio", "pretraining_steps", "pretraining_time", "pretraining_tokens",
    "reported_utilization", "rl_chip_time", "rl_cost", "rl_flops", "rl_time", "rl_tokens", "serving_chips",
    "serving_inefficiency", "training_optimal_parameters",
}  # fmt: skip

# Activations of experts for the backward pass were not counted.
COUNTED = {"training_memory": "experts_per_token shared_experts"}


def supplied(words: str) -> dict[str, object]:
    """Numbers that vary, and words of choices as they are."""
    inputs: dict[str, object] = {}
    for word in words.split():
        name, _, choice = word.partition("=")
        inputs[name] = float(rs.quantity(name).choices.index(choice)) if choice else (VARYING, [0])
    return inputs


def asks_for_more(output: str, inputs: dict[str, object]) -> str:
    """The error for an input that is still missing, or nothing."""
    try:
        _core.Grid([len(VARYING)], inputs).used([output])
    except rs.errors.MissingInput as error:
        return str(error)
    return ""


@pytest.mark.parametrize("row", ROWS, ids=[row["output"] for row in ROWS])
def test_no_output_asks_for_more_than_it_did(row: dict[str, str]) -> None:
    inputs = supplied(f"{row['inputs']} {COUNTED.get(row['output'], '')}")
    if row["output"] in UTILIZED:
        assert "give training_utilization" in asks_for_more(row["output"], inputs)
        inputs["training_utilization"] = VARYING, [0]
    assert asks_for_more(row["output"], inputs) == ""


def test_each_output_that_was_asked_then_has_a_row() -> None:
    assert len(ROWS) == 532
    assert {row["output"] for row in ROWS} >= UTILIZED
    for name in ("pass_time", "cost_per_token", "hbm_used", "time_per_output_token", "cost_per_output_token"):
        assert any(row["output"] == name for row in ROWS)
