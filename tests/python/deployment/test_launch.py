"""Launch commands: round trips, documented flags, quoting, refusals, manifests."""

from __future__ import annotations

import json
import pickle
import shlex
import subprocess

import pytest
import roofslate as rs
import yaml
from roofslate.deployment.launch_options import ENGINES as KEYS
from roofslate.deployment.launch_options import engine_options
from roofslate.errors import AxisError, IneffectiveInput, InputTypeError, MissingInput, UnknownName, ValueRangeError
from support.launches import DRAFT_CHECKPOINT, ENGINES, LOAD, NOT_CARRIED

TRIPS = [(engine, name) for engine, scenarios in ENGINES.items() for name in scenarios]
SERVED = {"model": "DeepSeek-V3", "hardware": "H200", "chips": 8, "tensor_parallel": 8, "expert_parallel": 8}


def written(engine, scenario, **options):
    if "speculator" in scenario:
        options.setdefault("draft_model", DRAFT_CHECKPOINT)
    return rs.launch_command(scenario, engine, **options)


# --------------------------------------------------------------------------------------------------------- round trips


def test_there_are_32_scenarios_for_each_engine():
    assert {engine: len(scenarios) for engine, scenarios in ENGINES.items()} == dict.fromkeys(KEYS, 32)


@pytest.mark.parametrize(("engine", "name"), TRIPS, ids=[f"{engine}, {name}" for engine, name in TRIPS])
def test_round_trip(engine, name):
    """The scenario comes back from the text, all but its load, and the prediction with it."""
    scenario = ENGINES[engine][name]
    load = {key: value for key, value in scenario.items() if key in NOT_CARRIED}
    read = rs.from_command(written(engine, scenario), **load)
    for key in scenario.keys() - NOT_CARRIED:
        assert read[key] == scenario[key], key
    by_engine = ("step_token_budget", "prefill_chunk", "max_graph_batch_size", "prefill_graphs", "prompt_policy")
    chosen = {key: read[key] for key in by_engine if key in read}
    assert read.keys() - scenario.keys() - chosen.keys() <= {"engine", "expert_parallel", "max_running_sequences"}
    assert read["max_running_sequences"] == scenario.get("max_running_sequences", LOAD["concurrency"])
    predicted = rs.value("time_per_output_token", read, calibration="serving")
    assert predicted == rs.value("time_per_output_token", {**scenario, **chosen}, calibration="serving")


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_share_of_memory_comes_back(engine):
    """The share of the memory left by weights is written as a share of the chip."""
    scenario = {**SERVED, "kv_cache_memory_share": 0.85}
    command = written(engine, scenario)
    flag = {"vllm": "--gpu-memory-utilization", "sglang": "--mem-fraction-static"}[engine]
    assert flag in command
    assert rs.from_command(command, hardware="H200")["kv_cache_memory_share"] == pytest.approx(0.85, abs=2e-5)
    assert flag in rs.from_command(command).ignored


@pytest.mark.parametrize("engine", KEYS)
def test_replicas_that_prefill_differ(engine):
    plan = rs.deploy(
        {"model": "DeepSeek-V3", "input_tokens": "4k", "output_tokens": 500, "chip_price": "$3/hour"},
        hardware="HGX H200",
        arrival_rate="50/s",
        attention_data_parallel=1,
        pipeline_stages=1,
        expert_parallel=8,
        prefill={"attention_data_parallel": 8},
        serving_mode="disaggregated",
        objective="cost_per_output_token",
        progress=False,
    )
    assert isinstance(plan, rs.PoolDeployments)
    command = plan.command(engine)
    decode, prefill = plan.best, plan.prefill_at(1)
    assert (decode["tensor_parallel"], prefill["tensor_parallel"]) == (8, 1)
    read = rs.from_command(command)
    assert (read["serving_mode"], read["tensor_parallel"]) == ("disaggregated", 8)
    flags = command.flags
    tensor = flags[flags["quantity"] == "tensor_parallel"].groupby("process")["number"].first()
    assert tensor.to_dict() == {"prefill": "1 chip", "decode": "8 chip"}


# ---------------------------------------------------------------------------------------------------- documented flags


@pytest.mark.parametrize("engine", KEYS)
def test_every_flag_is_documented(engine):
    """Each flag of each scenario is in the list of its version, and its value too."""
    options = engine_options(engine)
    for scenario in ENGINES[engine].values():
        for process in written(engine, scenario)._processes:
            program = process.words[-1] if engine == "dynamo" else ""
            known = options.spellings(program)
            for flag in [*process.flags, *(process.worker_flags or [])]:
                if flag.name.startswith("config: "):
                    assert flag.name.removeprefix("config: ").split(".")[0] in options.config_keys
                    continue
                option = known.get(flag.name) or known[f"--{flag.name.removeprefix('--no-')}"]
                assert option.takes_value == (flag.value is not None), flag.name
                if option.choices:
                    assert flag.value in option.choices, flag.name


@pytest.mark.parametrize("engine", KEYS)
def test_lists_of_flags(engine):
    """Every flag has a source and a date, and every setting a quantity and words that exist."""
    options = engine_options(engine)
    assert options.version
    assert len(options.options) >= 50
    for option in options.options:
        assert option.source
        assert option.date.startswith("2026")
        assert option.kind in ("switch", "flag", "maybe", "int", "float", "text", "choice", "list", "json")
        assert bool(option.choices) or option.kind != "choice", option.name
    for flag, setting in options.settings.items():
        if setting.quantity:
            rs.quantity(setting.quantity)
        if not flag.startswith("--"):
            assert flag.split(".")[0] in options.config_keys
            continue
        program = options.programs[0] if engine == "dynamo" and flag != "--router-mode" else "dynamo.frontend"
        option, _ = options.find(flag, program if engine == "dynamo" else "")
        if option.choices:
            assert {*setting.words.values(), *setting.read_as} <= {*option.choices}
        for word in [*setting.words, *setting.read_as.values()]:
            assert word in rs.quantity(setting.quantity).choices


@pytest.mark.parametrize(
    ("engine", "inputs", "text", "note"),
    [
        ("sglang", {"prompt_policy": "chunked"}, "--enable-mixed-chunk", ""),
        ("sglang", {"prompt_policy": "first"}, "", ""),
        ("sglang", {"prefill_graphs": "none"}, "--disable-prefill-cuda-graph", ""),
        ("sglang", {"prefill_graphs": "piecewise"}, "--cuda-graph-backend-prefill breakable", ""),  # latent attention
        ("vllm", {"prompt_policy": "first"}, "", "prompt_policy='chunked' predicts so"),
        ("trtllm", {"prompt_policy": "first"}, "", "prompt_policy='chunked' predicts so"),
        ("vllm", {"prefill_graphs": "none"}, "", "--enforce-eager is for decode too"),
        ("vllm", {"prefill_graphs": "none", "max_graph_batch_size": 0}, "--enforce-eager", ""),
        ("trtllm", {"prefill_graphs": "piecewise"}, '"enable_piecewise_cuda_graph": true', ""),
        ("trtllm", {"prefill_graphs": "none"}, "", ""),
    ],
)
def test_prefill_as_a_command_writes_it(engine, inputs, text, note):
    command = written(engine, {**SERVED, **inputs})
    plain = written(engine, SERVED)
    assert (text in str(command)) if text else (str(command) == str(plain))
    assert [*command.notes][: len(plain.notes)] == [*plain.notes]
    added = command.notes[len(plain.notes) :]
    assert [note in line for line in added] == ([True] if note else [])
    if not note:
        read = rs.from_command(command)
        assert all(read[name] == value for name, value in inputs.items())


# ------------------------------------------------------------------------------------------------ numbers behind flags


def test_flags_have_numbers():
    command = rs.launch_command({**SERVED, "step_token_budget": 16384, "draft_length": 2, "acceptance_rate": 0.8})
    table = command.flags.set_index("flag")
    assert table.loc["--max-num-batched-tokens", ["value", "quantity", "number"]].tolist() == [
        "16384",
        "step_token_budget",
        "16,384 token",
    ]
    assert table.loc["--speculative-config", "quantity"] == "draft_length"
    assert (table["why"] != "").all()
    assert command.engine == "vLLM 0.29.0"
    text = command.explain()
    assert all(flag in text for flag in table.index)
    assert "note: not part of a launch command: acceptance_rate" in text
    assert "--max-num-batched-tokens" in command._repr_html_()
    assert repr(command) == str(command) == command
    copied = pickle.loads(pickle.dumps(command))
    assert (copied, copied.notes, copied.explain()) == (command, command.notes, text)


def test_plan_writes_its_best_row():
    plan = rs.deploy(
        {"model": "Llama-3.1-70B", "hardware": "H100", "chip_price": "$2/hour", **LOAD, "chips": [4, 8]},
        objective="cost_per_output_token",
        attention_data_parallel=1,
        progress=False,
    )
    command = plan.command("vllm")
    assert command == rs.launch_command(plan.best)
    assert f"--tensor-parallel-size {plan.best['tensor_parallel']:.0f}" in command
    assert plan.command("sglang", 2) == rs.launch_command(plan.at(2), "sglang")
    kinds = [document["kind"] for document in yaml.safe_load_all(plan.manifest("vllm", name="llama"))]
    assert kinds == ["Deployment", "Service"]


def test_techniques_without_a_flag_are_noted():
    command = rs.launch_command({**SERVED, "kv_compression": 0.5, "receive_interval": 30, "prefill_chunk": 512})
    assert any("kv_compression" in note and "no flag" in note for note in command.notes)
    assert any("receive_interval" in note for note in command.notes)
    smaller = rs.launch_command({**SERVED, "step_token_budget": 8192, "prefill_chunk": 512}, "sglang")
    assert any("prefill_chunk=512" in note for note in smaller.notes)
    rounded = rs.launch_command(
        {**SERVED, "tensor_parallel": 1, "attention_data_parallel": 8, "step_token_budget": 1001}
    )
    assert any("step_token_budget=1001" in note for note in rounded.notes)
    assert "--max-num-batched-tokens 125" in rounded


# ------------------------------------------------------------------------------------------------------------- quoting


@pytest.mark.parametrize("engine", KEYS)
@pytest.mark.parametrize("name", ["a b", "x;rm -rf ~", "$(id)", "`id`", "it's", 'say "x"', "a&b|c>d", "#x", "EOF"])
def test_names_are_quoted(engine, name):
    """A shell passes each name on as one word, and carries nothing out."""
    scenario = {**SERVED, "speculator": "Kimi-K2.5 EAGLE-3", "draft_length": 2}
    command = rs.launch_command(scenario, engine, checkpoint=name, draft_model=name)
    script = "\n".join(block.removesuffix(" &") for block in str(command).split("\n\n"))
    shadow = 'vllm() { printf \'%s\\0\' "$@"; }; python() { vllm "$@"; }; trtllm-serve() { vllm "$@"; }; cat() { :; }\n'
    ran = subprocess.run(["bash", "-c", shadow + script], capture_output=True, check=True, cwd="/tmp", timeout=20)
    words = ran.stdout.decode().split("\0")
    assert name in words
    assert rs.from_command(command, model="DeepSeek-V3")["draft_length"] == 2
    manifest = yaml.safe_load_all(command.manifest()) if engine != "dynamo" else ()
    for document in manifest:
        if document["kind"] == "Deployment":
            (container,) = document["spec"]["template"]["spec"]["containers"]
            assert name in shlex.split(container["command"][2])


# ------------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("engine", "change", "error", "words"),
    [
        ("vllm", {"expert_parallel": 4}, ValueRangeError, "expert_parallel=4 chip.*nearest: 1 or 8"),
        ("trtllm", {"tensor_parallel": 4, "attention_data_parallel": 2}, ValueRangeError, "nearest: 1 or 8"),
        ("sglang", {"tensor_parallel": 2, "attention_data_parallel": 4, "expert_parallel": 2}, ValueRangeError,
         "expert_parallel=2.*nearest: 4"),
        ("sglang", {"kv_format": "int8"}, ValueRangeError, "kv_format=int8: SGLang.*fp8"),
        ("vllm", {"chips": [8, 16]}, AxisError, "chips: a launch command is of one deployment"),
        ("vllm", {"max_running_sequences": 64, "kv_block_size": 16.5}, ValueRangeError, "kv_block_size.*16.5"),
        ("sglang", {"prefill_context_parallel": 8, "tensor_parallel": 1, "attention_data_parallel": 8}, ValueRangeError,
         "prefill_context_parallel=8.*nearest: 1"),
        ("vllm", {"draft_length": 1.5}, ValueRangeError, "draft_length.*1.5"),
        ("llama.cpp", {}, UnknownName, "unknown engine 'llama.cpp'"),
    ],
)  # fmt: skip
def test_refusals(engine, change, error, words):
    with pytest.raises(error, match=words):
        rs.launch_command({**SERVED, **change}, engine)


def test_missing_inputs():
    with pytest.raises(MissingInput, match="needs a model"):
        rs.launch_command({"chips": 8})
    with pytest.raises(MissingInput, match="needs chips"):
        rs.launch_command({"model": "DeepSeek-V3"})
    with pytest.raises(MissingInput, match="draft_model="):
        rs.launch_command({"model": "Llama-3.1-70B", "chips": 8, "draft_length": 3})
    with pytest.raises(MissingInput, match="draft_model="):
        rs.launch_command({**SERVED, "draft_length": 3, "speculator": "Kimi-K2.5 EAGLE-3"})
    with pytest.raises(MissingInput, match="draft_length="):
        rs.launch_command(SERVED, draft_model="a/b")
    with pytest.raises(IneffectiveInput, match="prefill="):
        rs.launch_command(SERVED, prefill=SERVED)
    with pytest.raises(InputTypeError, match="engine"):
        rs.launch_command(SERVED, 3)
    with pytest.raises(ValueRangeError, match="chips_per_node"):
        rs.launch_command(SERVED, chips_per_node=0)
    with pytest.raises(ValueRangeError, match="checkpoint"):
        rs.launch_command(SERVED, checkpoint="--api-key x")


# ----------------------------------------------------------------------------------------------------------- manifests


def documents(command, **options):
    return list(yaml.safe_load_all(command.manifest(**options)))


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
def test_manifest_of_one_node(engine):
    command = rs.launch_command({**SERVED, "replicas": 3, "kv_block_size": 64}, engine)
    *config, deployment, service = documents(command, name="my-model", namespace="serving", port=9000)
    assert [each["kind"] for each in config] == (["ConfigMap"] if engine == "trtllm" else [])
    assert deployment["spec"]["replicas"] == 3
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 8}
    assert deployment["metadata"]["namespace"] == service["metadata"]["namespace"] == "serving"
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    assert service["spec"]["ports"][0]["targetPort"] == container["ports"][0]["containerPort"] == 9000
    read = rs.from_command(
        container["command"][2].removeprefix("exec "),
        config=json.loads(config[0]["data"]["serve.yaml"]) if config else None,
    )
    assert read["kv_block_size"] == 64
    assert read.ignored == {"--host": "0.0.0.0", "--port": "9000"}
    names = {volume["name"] for volume in pod["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == names


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
@pytest.mark.parametrize("groups", [1, 16])
def test_manifest_of_two_nodes(engine, groups):
    layout = {"chips": 16, "tensor_parallel": 16 // groups, "attention_data_parallel": groups, "expert_parallel": 16}
    workers, service = documents(rs.launch_command({**SERVED, **layout}, engine))
    assert workers["kind"] == "LeaderWorkerSet"
    templates = workers["spec"]["leaderWorkerTemplate"]
    assert templates["size"] == 2
    for role in ("leaderTemplate", "workerTemplate"):
        (container,) = templates[role]["spec"]["containers"]
        assert container["resources"]["requests"] == {"nvidia.com/gpu": 8}
        assert "LWS_LEADER_ADDRESS" in container["command"][2]
        subprocess.run(["bash", "-n", "-c", container["command"][2]], check=True, timeout=20)
    assert service["spec"]["selector"]["role"] == "leader"


def test_chips_of_other_makers():
    scenario = {**SERVED, "hardware": "MI300X"}
    command = rs.launch_command(scenario, "sglang")
    deployment, _ = documents(command, image="lmsysorg/sglang:rocm")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"amd.com/gpu": 8}
    with pytest.raises(ValueRangeError, match="give image= for AMD"):
        command.manifest()
    with pytest.raises(ValueRangeError, match=r"TensorRT-LLM.*built for chips of NVIDIA, got AMD"):
        rs.launch_command(scenario, "trtllm")
    gaudi = rs.launch_command({**SERVED, "hardware": "Gaudi 3"})
    assert any("plugin" in note for note in gaudi.notes)
    with pytest.raises(ValueRangeError, match="chips of Intel have no known resource"):
        gaudi.manifest(image="x")


def test_manifest_refusals():
    command = rs.launch_command(SERVED)
    with pytest.raises(ValueRangeError, match="name: expected lower-case"):
        command.manifest("My Model")
    with pytest.raises(ValueRangeError, match="image"):
        command.manifest(image="x; y")
    with pytest.raises(ValueRangeError, match="port"):
        command.manifest(port=0)
    with pytest.raises(ValueRangeError, match="operator"):
        rs.launch_command(SERVED, "dynamo").manifest()
    with pytest.raises(ValueRangeError, match="MPI"):
        rs.launch_command({**SERVED, "chips": 16, "tensor_parallel": 16}, "trtllm").manifest()
