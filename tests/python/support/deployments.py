"""Random questions to `deploy`, and their answers by looking at every layout."""

import itertools
import math

import numpy as np
import roofslate as rs
import xarray as xr
from hypothesis import strategies as st

PARTS = ("chips", "pipeline_stages", "attention_data_parallel", "tensor_parallel", "expert_parallel")


def is_legal(chips, stages, groups, tensor, spread, model):
    """The rules for serving, number by number."""
    if chips % stages or model["layers"] < stages or chips != stages * groups * tensor:
        return False
    if model["attention_heads"] % tensor:
        return False
    heads = model["kv_heads"]
    if not model.get("kv_latent_size") and heads % tensor and tensor % heads:
        return False
    experts, stage = model.get("experts", 1), chips // stages
    if (experts == 1 or model.get("dense_layers")) and model["intermediate_size"] % tensor:
        return False
    if experts == 1:
        return spread == 1
    shared = min(stage // spread, tensor)
    return stage % spread == 0 and stage // spread % shared == 0 and model["expert_intermediate_size"] % shared == 0


def every_layout(chips, model):
    """All layouts, looked for one by one."""
    return [
        (n, stages, groups, n // stages // groups, spread)
        for n in sorted(set(chips))
        for stages in range(1, n + 1)
        if n % stages == 0
        for groups in range(1, n // stages + 1)
        if n // stages % groups == 0
        for spread in range(1, n // stages + 1)
        if is_legal(n, stages, groups, n // stages // groups, spread, model)
    ]


MODELS = ("DeepSeek-V3", "Llama-3.1-70B", "Mixtral-8x7B", "gpt-oss-120b", "Qwen3-235B-A22B", "Llama-3.1-8B")
CHIPS = ("HGX H100", "HGX H200", "GB200 NVL72", "MI300X", "GB300 NVL72", "B200")
LIMITS = {
    "time_per_output_token": ("<=", st.floats(1e-3, 0.2), "s*sequence/token"),
    "time_to_first_token": ("<=", st.floats(0.01, 5), "s"),
    "cost_per_output_token": ("<=", st.floats(1e-8, 1e-4), "USD/token"),
    "tokens_per_second_per_user": (">=", st.floats(5, 500), "token/s/sequence"),
    "chips": ("<=", st.sampled_from([4.0, 16.0, 64.0]), "chip"),
    "concurrency": (">", st.sampled_from([1.0, 7.0, 200.0]), "sequence"),
    "kv_fetch_time": ("<", st.floats(1e-4, 0.1), "s"),
}
OBJECTIVES = (
    ("cost_per_output_token", False),
    ("time_per_output_token", False),
    ("time_to_first_token", False),
    ("tokens_per_second_per_chip", True),
    ("request_throughput", True),
    ("chips", False),
    ("concurrency", True),
)
HOLDS = {"<=": np.less_equal, "<": np.less, ">=": np.greater_equal, ">": np.greater}
# Outputs that depend on the reading of prompts and on drafts. An axis of either is an error for others.
TIMED = {
    "time_per_output_token",
    "time_to_first_token",
    "cost_per_output_token",
    "tokens_per_second_per_user",
    "tokens_per_second_per_chip",
    "request_throughput",
}
DRAFTS = {"acceptance_rate": 0.7, "draft_cost": 0.05}
COMPARED = ("model", "hardware", "weight_format", "kv_format")
SEARCHED = ("concurrency", "input_tokens", "draft_length", "prefill_chunk")


@st.composite
def questions(draw):
    limited = draw(st.lists(st.sampled_from(sorted(LIMITS)), max_size=3, unique=True))
    limits = [(name, LIMITS[name][0], draw(LIMITS[name][1])) for name in limited]
    objective = draw(st.sampled_from(OBJECTIVES))
    more = {}
    if not TIMED.isdisjoint({objective[0], *limited}):
        drafts = draw(st.sampled_from([None, 2, [0, 1, 3], [2, 5]]))
        chunk = draw(st.sampled_from([None, 512, [300, 2048, math.inf], [1000, 8192]]))
        more |= {} if drafts is None else {"draft_length": drafts, **DRAFTS}
        more |= {} if chunk is None else {"prefill_chunk": chunk}
    return {
        "objective": objective,
        "limits": limits,
        "model": draw(st.lists(st.sampled_from(MODELS), min_size=1, max_size=2, unique=True)),
        "hardware": draw(st.lists(st.sampled_from(CHIPS), min_size=1, max_size=2, unique=True)),
        "chips": draw(st.lists(st.sampled_from([1, 2, 4, 6, 8, 16, 32, 64, 72]), min_size=1, max_size=4, unique=True)),
        "concurrency": draw(st.lists(st.sampled_from([1, 2, 8, 50, 300, 4000]), min_size=1, max_size=4, unique=True)),
        "more": {
            "input_tokens": draw(st.sampled_from([200, 4000, [1000, 30000]])),
            "output_tokens": draw(st.sampled_from([50, 1000])),
            "chip_price": 3 / 3600,
            "expert_reads": draw(st.sampled_from(["all", "expected"])),
            "arithmetic": draw(st.sampled_from(["weights", "full"])),
            **more,
        },
        "weight_format": draw(st.sampled_from([["bf16"], ["fp8"], ["bf16", "fp8"], ["nvfp4", "int4"]])),
        "kv_format": draw(st.sampled_from([["bf16"], ["fp8"], ["bf16", "fp8"]])),
        "calibration": draw(st.sampled_from([None, "floor", "serving"])),
    }


def keywords(question):
    """Return the keyword arguments of a question."""
    name, maximize = question["objective"]
    return {
        "objective": name,
        "maximize": maximize,
        "where": [f"{n} {relation} {limit!r}" for n, relation, limit in question["limits"]],
        **{key: names if len(names) > 1 else names[0] for key in COMPARED for names in [question[key]]},
        "chips": question["chips"],
        "concurrency": question["concurrency"],
        **({"calibration": question["calibration"]} if question["calibration"] else {}),
    }


def own_columns(question):
    """Columns of a result that distinguish its rows."""
    return [*(key for key in COMPARED if len(question[key]) > 1), *PARTS]


def brute(question, evaluate=rs.evaluate):
    """Return the best value of each legal layout, NaN if it meets the conditions nowhere.

    All layouts are evaluated at all points.
    """
    name, maximize = question["objective"]
    relations = [
        *question["limits"],
        ("min_deployed_bytes", "<=", "replica_hbm_capacity"),
        ("concurrency", ">=", "min_concurrency"),
    ]
    expected = {name, "chips", *(n for n, _, _ in relations), "replica_hbm_capacity", "min_concurrency"}
    result = {}
    for kind in itertools.product(*(question[key] for key in COMPARED)):
        model, hardware, weight_format, kv_format = kind
        ways = every_layout(question["chips"], rs.models[model].values)
        if not ways:
            continue
        parts = {part: xr.DataArray([float(layout[k]) for layout in ways], dims="way") for k, part in enumerate(PARTS)}
        inputs = {**question["more"], **parts, "concurrency": question["concurrency"], "weight_format": weight_format}
        inputs["kv_format"] = kv_format
        inputs["calibration"] = question["calibration"] or "serving"
        data = evaluate(sorted(expected), {**inputs, "model": model, "hardware": hardware})
        chips = math.prod(data[dim] for dim in SEARCHED if dim in data.coords) * data["chips"]
        values = data[name].broadcast_like(chips)
        for n, relation, limit in relations:
            values = values.where(HOLDS[relation](data[n], data[limit] if isinstance(limit, str) else limit))
        values = values.stack(point=[dim for dim in values.dims if dim != "way"])
        best = values.max("point") if maximize else values.min("point")
        compared = [word for word, key in zip(kind, COMPARED, strict=True) if len(question[key]) > 1]
        result |= {(*compared, *layout): x for layout, x in zip(ways, best.to_numpy().tolist(), strict=True)}
    return result
