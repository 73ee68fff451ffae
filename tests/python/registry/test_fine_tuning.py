"""Fine-tuning of adapters: FLOPs, memory and links against counts by hand."""

from __future__ import annotations

import pytest
import roofslate as rs
from roofslate import errors

BASE = {
    "model": "Llama-3.1-70B", "hardware": "H100", "chips": 64, "tensor_parallel": 2, "pipeline_stages": 2,
    "microbatches": 2, "global_batch_size": 64, "sequence_length": 4096, "activation_policy": "all",
}  # fmt: skip
LORA = {"trained_weights": "adapters", "lora_rank": 16, "lora_targets": "all"}

pytestmark = pytest.mark.filterwarnings("ignore::roofslate.errors.DoesNotFit")


def test_adapters_take_four_flops_for_each_frozen_weight() -> None:
    adapter = rs.value("adapter_parameters", model="Llama-3.1-70B", lora_rank=16, lora_targets="all")
    active = rs.models["Llama-3.1-70B"].values["active_parameters"]
    counted = rs.value("training_flops_per_token", model="Llama-3.1-70B", **LORA)
    assert counted == pytest.approx(4 * active + 6 * adapter, rel=1e-12)
    full = {"model": "Llama-3.1-70B", "sequence_length": 4096, "arithmetic": "full"}
    attention = rs.value("attention_training_flops", model="Llama-3.1-70B", sequence_length=4096)  # it has no weights
    assert rs.value("training_flops_per_token", full, **LORA) == pytest.approx(counted + attention, rel=1e-12)


@pytest.mark.parametrize("policy", ["all", "block"])
def test_a_step_on_ideal_chips_is_its_flops(policy: str) -> None:
    """2 FLOPs forward, 2 backward, and 2 more for a repeated forward pass."""
    ideal = {"scale_up_bandwidth": 1e30, "scale_out_bandwidth": 1e30, "hbm_bandwidth": 1e30, "scale_up_domain": 8}
    run = {**BASE, **ideal, "peak_flops": 1e15, "peak_flops_bf16": 1e15, "pipeline_stages": 1, "microbatches": 1}
    del run["hardware"]
    run["activation_policy"] = policy
    step = rs.value("training_step_time", run, **LORA)
    flops = rs.value("training_flops_per_token", model=run["model"], **LORA) * (1 if policy == "all" else 6 / 4)
    assert step == pytest.approx(64 * 4096 * flops / (64 * 1e15), rel=1e-9)


@pytest.mark.parametrize("sharded", ["none", "optimizer", "gradients", "weights"])
def test_states_of_adapters_and_frozen_weights(sharded: str) -> None:
    adapter = rs.value("adapter_parameters", model="Llama-3.1-70B", lora_rank=16, lora_targets="all") / 4
    weights, copies = rs.models["Llama-3.1-70B"].values["total_parameters"] / 4, 16
    state = {"none": 18, "optimizer": 6 + 12 / copies, "gradients": 2 + 16 / copies, "weights": 18 / copies}[sharded]
    frozen = 0.516 * weights / (copies if sharded == "weights" else 1)
    counted = rs.value("training_state_bytes", {**BASE, **LORA}, frozen_bytes_per_weight=0.516, sharded_state=sharded)
    assert counted == pytest.approx(state * adapter + frozen, rel=1e-12)


def test_adapters_are_quicker_smaller_and_lighter_on_links() -> None:
    outputs = ["training_step_time", "training_memory", "gradient_collective_time", "checkpoint_bytes"]
    cases = {"all": {}, "lora": LORA, "qlora": {**LORA, "frozen_bytes_per_weight": 0.516}}
    for sharded in ("optimizer", "weights"):
        scenario = {**BASE, "sharded_state": sharded, "calibration": "training"}
        full, lora, qlora = (rs.evaluate(outputs, scenario, **more) for more in cases.values())
        for name in outputs:
            assert float(lora[name]) < float(full[name])
        assert float(qlora["training_memory"]) < float(lora["training_memory"])
        frozen = {"trained_weights": "adapters"}
        assert rs.value("dequantization_time", scenario, **frozen, frozen_bytes_per_weight=0.516) > 0
        assert rs.value("dequantization_time", scenario, **frozen) == 0


def test_frozen_weights_leave_no_gradient_to_fill_gaps_with() -> None:
    scenario = {"pipeline_stages": 8, "microbatches": 32, "pipeline_schedule": "zb_h1"}
    assert rs.value("pipeline_idle_time", scenario, trained_weights="adapters") == pytest.approx(7 * 2, rel=1e-12)
    assert rs.value("backward_forward_ratio", trained_weights="adapters") == 1


def test_adapters_act_where_they_are_trained_alone() -> None:
    with pytest.raises(errors.IneffectiveInput, match=r"'lora_rank' has no effect .* give trained_weights='adapters'"):
        rs.value("training_step_time", BASE, lora_rank=16)
    with pytest.raises(errors.MissingInput, match="lora_rank"):
        rs.value("training_step_time", BASE, trained_weights="adapters")
    with pytest.raises(errors.UnknownName, match="adapters"):
        rs.value("training_step_time", BASE, trained_weights="adapter")
