"""No measured row of the package is below the lower bound, except explained ones."""

import functools

import numpy as np
import pandas as pd
import roofslate as rs
from roofslate.grid.read import Settled
from roofslate.measured.runs import Table, shipped
from roofslate.measured.validate import bound_inputs

# 16 clients of a model that leaves a chip 14 GB wait 7 to 31 s for a first token: fewer than 16 find room.
QUEUES = {
    "qwen_qwen3_32b_qwen_qwen3_32b_h100_sxm_sglang_agg_1024x128_c16_tp1_epnone_1",
    "qwen_qwen3_32b_qwen_qwen3_32b_h100_sxm_sglang_agg_2048x128_c16_tp1_epnone_4",
    "qwen_qwen3_32b_qwen_qwen3_32b_h100_sxm_sglang_agg_2048x256_c16_tp1_epnone_5",
}
# The measured time is met where no prompt is read between tokens: prompts that are repeated hit the prefix cache.
PROMPTS = {
    "nvidia_llama_3_1_8b_instruct_fp8_nvidia_llama_3_1_8b_instruct_fp8_h200_sxm_vllm_agg_2000x100_c64_tp1_epnone_2",
    "nvidia_llama_3_1_8b_instruct_fp8_nvidia_llama_3_1_8b_instruct_fp8_h200_sxm_vllm_agg_4000x100_c32_tp1_epnone_5",
    "nvidia_llama_3_1_8b_instruct_fp8_nvidia_llama_3_1_8b_instruct_fp8_h200_sxm_vllm_agg_8000x1000_c64_tp1_epnone_19",
    "nvidia_llama_3_1_8b_instruct_fp8_nvidia_llama_3_1_8b_instruct_fp8_h200_sxm_vllm_agg_8000x500_c48_tp1_epnone_16",
}
# The source's own name of the run has no number of clients.
CLIENTS_UNSAID = {
    "qwen3_32b_qwen3_32b_h100_sxm_vllm_agg_4000x1000_c_tp1_0_epnone_4",
    "qwen3_32b_qwen3_32b_h100_sxm_vllm_agg_4000x1000_c_tp2_0_epnone_3",
    "qwen3_32b_qwen3_32b_h100_sxm_vllm_disagg_4000x1000_c_tp_epnone_2",
}
EXCEPTIONS = QUEUES | PROMPTS | CLIENTS_UNSAID
FACTS = ("serving_mode", "concurrency")  # among a table's settings; the others are the calibration's


@functools.cache
def tables() -> dict[str, Table]:
    return {table.name: table for table in shipped()}


def floors(table: Table, **changes: object) -> pd.DataFrame:
    """The outputs of a table's rows with ideal constants."""
    inputs = bound_inputs(table.runs).assign(**changes)
    same = {name: table.settings[name] for name in FACTS if name in table.settings and name not in inputs}
    return rs.frame(inputs, list(dict.fromkeys(table.runs.targets.values())), Settled(same))


def above(table: Table, column: str) -> np.ndarray:
    """Rows that were measured to be better than their floor."""
    floor, measured = floors(table)[table.runs.targets[column]], table.runs.rows[column]
    better = floor > measured if column.endswith("_s") else floor < measured
    return (better & table.runs.plain).to_numpy()


def test_the_floor_lies_above_no_other_row() -> None:
    for name, table in tables().items():
        for column in table.runs.targets:
            rows = above(table, column)
            listed = EXCEPTIONS if column == "time_per_output_token_s" and name == "serving" else set()
            assert set(table.runs.rows["id"][rows] if rows.any() else ()) == listed, (name, column)


def test_what_is_compared_is_a_floor() -> None:
    """Ideal constants: a slower machine, or links that take time, would be above more rows."""
    serving = tables()["serving"]
    least = floors(serving)["time_per_output_token"] * (1 - 1e-12)  # sums round
    assert (floors(serving, bandwidth_efficiency=0.8)["time_per_output_token"] >= least).all()
    assert (floors(serving, communication="exposed")["time_per_output_token"] >= least).all()
    assert (serving.runs.rows["time_per_output_token_s"] / least)[serving.runs.plain].median() > 1.5


def exceptions(ids: set[str]) -> pd.DataFrame:
    rows = tables()["serving"].runs.rows
    return rows[rows["id"].isin(ids)]


def decoding_share(rows: pd.DataFrame) -> pd.Series:
    """Return the fraction of a request's time spent decoding, by Little's law."""
    answer = rows["output_tokens"] * rows["time_per_output_token_s"]
    return answer / (answer + rows["time_to_first_token_s"])


def test_at_most_25_rows_are_listed() -> None:
    assert len(EXCEPTIONS) <= 25
    assert len(exceptions(EXCEPTIONS)) == len(EXCEPTIONS)


def test_rows_with_a_queue_wait_longer_than_they_decode() -> None:
    rows = exceptions(QUEUES)
    assert decoding_share(rows).max() < 1 / 3
    running = tables()["serving"].runs.inputs["concurrency"].mul(decoding_share(rows), fill_value=1)
    floor = floors(tables()["serving"], concurrency=running)["time_per_output_token"]
    assert (floor[rows.index] < rows["time_per_output_token_s"]).all()


def test_rows_whose_concurrency_is_not_the_batch_are_doubtful() -> None:
    """Ten requests per slot arrive at once, so that the mean waits for 4.5 answers."""
    runs = tables()["serving"].runs
    rows = runs.rows[runs.doubtful]
    assert len(rows) == 9
    assert (1 / decoding_share(rows) - 1).between(4.2, 4.9).all()
    long = runs.rows[(runs.rows["mode"] == "aggregated") & (decoding_share(runs.rows) < 1 / 4)].drop(rows.index)
    assert set(long["chips"]) == {1}, "others have little room next to the weights"
    assert set(long["model"]) == {"Qwen3-32B"}


def test_rows_with_repeated_prompts_are_met_without_prompts() -> None:
    rows = exceptions(PROMPTS)
    floor = floors(tables()["serving"], serving_mode="disaggregated")["time_per_output_token"]
    assert (floor[rows.index] < rows["time_per_output_token_s"]).all()


def test_rows_without_clients_in_their_name() -> None:
    assert all("_c_tp" in name for name in CLIENTS_UNSAID)
    assert not any("_c_tp" in name for name in EXCEPTIONS - CLIENTS_UNSAID)
