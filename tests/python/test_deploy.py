"""Deployments: every legal layout and nothing else, the same answers as looking at all of them, and what the others miss."""

import itertools
import math

import matplotlib
import numpy as np
import pytest
import roofslate as rs
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from roofslate.errors import InputTypeError, MissingInput, UnknownName, ValueRangeError
from roofslate.layouts import check_layout, legal_layouts

matplotlib.use("Agg")

SERVER = {"input_tokens": "2k", "output_tokens": 500, "chip_price": "$3/h", "expert_reads": "expected"}
GOALS = ["time_per_output_token <= 30 ms", "time_to_first_token <= 2 s"]
PARTS = ("chips", "pipeline_stages", "attention_data_parallel", "tensor_parallel")
RACKS = ["HGX H200", "GB200 NVL72"]


# ------------------------------------------------------------------------------------------------------ brute force


def is_legal(chips, stages, groups, tensor, model):
    """The rules for serving, number by number."""
    if chips % stages or model["layers"] % stages or chips != stages * groups * tensor:
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
        return True
    return any(
        experts % spread == 0 and stage % spread == 0 and model["expert_intermediate_size"] % (stage // spread) == 0
        for spread in range(1, stage + 1)
    )


def every_layout(chips, model):
    """All layouts, looked for one by one."""
    return [
        (n, stages, groups, n // stages // groups)
        for n in sorted(set(chips))
        for stages in range(1, n + 1)
        if n % stages == 0
        for groups in range(1, n // stages + 1)
        if n // stages % groups == 0 and is_legal(n, stages, groups, n // stages // groups, model)
    ]


def test_layouts_are_those_found_one_by_one():
    chips = [1, 2, 6, 8, 16, 48, 64, 72, 96]
    for name in ("DeepSeek-V3", "Llama-3.1-70B", "Mixtral-8x7B", "gpt-oss-120b", "Kimi-K2", "Qwen3-32B"):
        model = rs.models[name].values
        found = legal_layouts({"chips": chips, "pipeline_stages": None, "attention_data_parallel": None}, model)
        assert set(zip(*(found[part].tolist() for part in PARTS), strict=True)) == set(every_layout(chips, model)), name


MODELS = ("DeepSeek-V3", "Llama-3.1-70B", "Mixtral-8x7B", "gpt-oss-120b", "Qwen3-235B-A22B", "Llama-3.1-8B")
CHIPS = ("HGX H100", "HGX H200", "GB200 NVL72", "MI300X", "GB300 NVL72", "B200")
LIMITS = {
    "time_per_output_token": ("<=", st.floats(1e-3, 0.2), "s*sequence/token"),
    "time_to_first_token": ("<=", st.floats(0.01, 5), "s"),
    "cost_per_output_token": ("<=", st.floats(1e-8, 1e-4), "USD/token"),
    "tokens_per_second_per_user": (">=", st.floats(5, 500), "token/s/sequence"),
    "chips": ("<=", st.sampled_from([4.0, 16.0, 64.0]), "chip"),
    "clients": (">", st.sampled_from([1.0, 7.0, 200.0]), "sequence"),
    "step_kv_fetch_time": ("<", st.floats(1e-4, 0.1), "s"),
}
OBJECTIVES = (
    ("cost_per_output_token", False),
    ("time_per_output_token", False),
    ("time_to_first_token", False),
    ("tokens_per_second_per_chip", True),
    ("request_rate", True),
    ("chips", False),
    ("clients", True),
)
HOLDS = {"<=": np.less_equal, "<": np.less, ">=": np.greater_equal, ">": np.greater}


@st.composite
def questions(draw):
    limited = draw(st.lists(st.sampled_from(sorted(LIMITS)), max_size=3, unique=True))
    limits = [(name, LIMITS[name][0], draw(LIMITS[name][1])) for name in limited]
    return {
        "objective": draw(st.sampled_from(OBJECTIVES)),
        "limits": limits,
        "model": draw(st.lists(st.sampled_from(MODELS), min_size=1, max_size=2, unique=True)),
        "hardware": draw(st.lists(st.sampled_from(CHIPS), min_size=1, max_size=2, unique=True)),
        "chips": draw(st.lists(st.sampled_from([1, 2, 4, 6, 8, 16, 32, 64, 72]), min_size=1, max_size=4, unique=True)),
        "clients": draw(st.lists(st.sampled_from([1, 2, 8, 50, 300, 4000]), min_size=1, max_size=4, unique=True)),
        "more": {
            "input_tokens": draw(st.sampled_from([200, 4000, [1000, 30000]])),
            "output_tokens": draw(st.sampled_from([50, 1000])),
            "chip_price": 3 / 3600,
            "expert_reads": draw(st.sampled_from(["all", "expected"])),
            "attention_arithmetic": draw(st.sampled_from(["left_out", "counted"])),
        },
        "weight_format": draw(st.sampled_from([["bf16"], ["fp8"], ["bf16", "fp8"]])),
    }


def brute(question):
    """Best value of each legal layout, NaN where it meets the conditions nowhere: all of them at all points."""
    name, maximize = question["objective"]
    relations = [
        *question["limits"],
        ("least_deployed_bytes", "<=", "cell_capacity"),
        ("clients", ">=", "least_clients"),
    ]
    wanted = {name, "chips", *(n for n, _, _ in relations), "cell_capacity", "least_clients"}
    formats = question["weight_format"]
    found = {}
    for model, hardware, weight_format in itertools.product(question["model"], question["hardware"], formats):
        ways = every_layout(question["chips"], rs.models[model].values)
        if not ways:
            continue
        parts = {part: xr.DataArray([float(way[k]) for way in ways], dims="way") for k, part in enumerate(PARTS)}
        inputs = {**question["more"], **parts, "clients": question["clients"], "weight_format": weight_format}
        data = rs.evaluate(sorted(wanted), model=model, hardware=hardware, progress=False, **inputs)
        whole = data["chips"] * data["clients"] * data.get("input_tokens", 1)
        values = data[name].broadcast_like(whole)
        for n, relation, limit in relations:
            values = values.where(HOLDS[relation](data[n], data[limit] if isinstance(limit, str) else limit))
        values = values.stack(point=[dim for dim in values.dims if dim != "way"])
        best = values.max("point") if maximize else values.min("point")
        kind = [model] * (len(question["model"]) > 1) + [hardware] * (len(question["hardware"]) > 1)
        kind += [weight_format] * (len(formats) > 1)
        found |= {(*kind, *way): x for way, x in zip(ways, best.to_numpy().tolist(), strict=True)}
    return found


@settings(max_examples=200, deadline=None)
@given(questions())
def test_as_looking_at_every_layout(question):
    name, maximize = question["objective"]
    several = {key: question[key] for key in ("model", "hardware", "weight_format")}
    asked = {
        "objective": name,
        "maximize": maximize,
        "where": [f"{n} {relation} {limit!r}" for n, relation, limit in question["limits"]],
        **{key: names if len(names) > 1 else names[0] for key, names in several.items()},
        "chips": question["chips"],
        "clients": question["clients"],
        **question["more"],
    }
    expected = brute(question)
    if not expected:
        with pytest.raises(ValueRangeError, match="divide|make up"):
            rs.deploy(**asked)
        return
    plan = rs.deploy(**asked, progress=False)
    own = [*(key for key, names in several.items() if len(names) > 1), *PARTS]
    met = {key: x for key, x in expected.items() if not math.isnan(x)}
    assert dict(zip(plan.table[own].itertuples(index=False, name=None), plan.table[name], strict=True)) == met
    values = plan.table[name].to_numpy()
    assert np.array_equal(values, np.sort(values)[:: -1 if maximize else 1])
    rejected = plan.rejected.dropna(subset="margin")
    others = set(rejected[own].itertuples(index=False, name=None)) if len(rejected) else set()
    assert others == set(expected) - set(met)
    assert (rejected["margin"] <= 0).all()
