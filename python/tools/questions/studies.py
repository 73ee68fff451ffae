"""Questions on deployments, prices, measured runs, charts, timetables, ciphers, models."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import roofslate as rs

from questions.chart_inputs import CHART_INPUTS
from questions.draw import (
    CATALOGS,
    Call,
    Chance,
    all_presets,
    as_code,
    configs,
    names,
    number,
    quantity,
    spoiled,
)

__all__ = ["CALLS", "ONCE"]

_MODELS = ("DeepSeek-V3", "Llama-3.1-70B", "Mixtral-8x7B", "gpt-oss-120b", "Qwen3-235B-A22B", "Llama-3.1-8B", "Kimi-K2")
_SYSTEMS = ("HGX H100", "HGX H200", "GB200 NVL72", "MI300X", "GB300 NVL72", "B200", "HGX B200", "HGX A100", "TPU v5p")
_LIMITS = {
    "time_per_output_token": ("<=", 0.02),
    "time_to_first_token": ("<=", 0.7),
    "cost_per_output_token": ("<=", 2e-6),
    "tokens_per_second_per_user": (">=", 40.0),
    "chips": ("<=", 16.0),
    "concurrency": (">", 7.0),
}
_GOALS = (
    ("cost_per_output_token", False),
    ("time_per_output_token", False),
    ("time_to_first_token", False),
    ("tokens_per_second_per_chip", True),
    ("request_throughput", True),
    ("chips", False),
)
_LAYOUT = ("pipeline_stages", "attention_data_parallel", "tensor_parallel", "expert_parallel", "context_parallel")
CALIBRATIONS = ("serving", "FasterTransformer", "TensorRT-LLM", "training")


def one_or_more(chance: Chance, items: tuple[Any, ...], most: int = 2) -> str:
    chosen = chance.some(items, 1, most)
    return repr(chosen[0] if len(chosen) == 1 and chance.yes(0.8) else chosen)


def deploy(chance: Chance) -> str:
    goal, maximize = chance.choice(_GOALS)
    codes = {"objective": repr(goal)}
    if maximize != chance.yes(0.03):
        codes["maximize"] = "True"
    limits = [f"{n} {_LIMITS[n][0]} {chance.about(_LIMITS[n][1])!r}" for n in chance.some(tuple(_LIMITS), 0, 3)]
    if limits:
        codes["where"] = repr(limits if len(limits) > 1 or chance.yes(0.5) else limits[0])
    codes |= {"model": one_or_more(chance, _MODELS), "hardware": one_or_more(chance, _SYSTEMS)}
    codes |= {"input_tokens": chance.choice(["200", "'4k'", "[1000, 30000]"]), "output_tokens": "500"}
    codes |= {"chip_price": "'$3/h'", "expert_reads": repr(chance.choice(["all", "expected"]))}
    if chance.yes(0.8):
        codes["chips"] = repr(chance.some((1, 2, 4, 6, 8, 16, 32, 64, 72), 1, 3))
    if chance.yes(0.6):
        codes["concurrency"] = repr(chance.some((1, 2, 8, 50, 300, 4000), 1, 4))
    if chance.yes(0.3):
        codes["weight_format"] = chance.choice(["'fp8'", "['bf16', 'fp8']", "'fp4'"])
    if chance.yes(0.3):
        codes[chance.choice(_LAYOUT)] = chance.choice(["1", "2", "[1, 2, 4]", "7"])
    if chance.yes(0.3):
        codes["also"] = repr(chance.some(("hbm_used", "pass_time", "bottleneck", "queue_time", "kv_bytes"), 1, 2))
    if goal.startswith("cost") and chance.yes(0.4):
        codes["units"] = "{'cost_per_output_token': 'USD/Mtoken'}"
    call = Call("rs.deploy", **codes)
    code = str(spoiled(chance, call, ["input_tokens", "model", "hardware", "chips"]) if chance.yes(0.06) else call)
    part = chance.choice(
        ["", "", "", "", "", ".best", ".at(2)", ".pareto(minimize=['time_per_output_token', 'chips'])"]
    )
    return code + part


def deploy_training(chance: Chance) -> str:
    codes = {
        "objective": repr(chance.choice(["pretraining_cost", "pretraining_time", "pretraining_chip_time"])),
        "model": repr(chance.choice(["Llama-3.1-8B", "Llama-3.1-70B", "Mixtral-8x7B"])),
        "hardware": repr(chance.choice(["H100", "HGX H100"])),
        "chips": repr(chance.some((8, 48, 64, 96), 1, 3)),
        "chip_price": "'$2/h'",
        "pretraining_tokens": "'15T'",
        "global_batch_size": repr(chance.choice([96, 128])),
        "sequence_length": "8192",
        "weight_format": "'bf16'",
        "activation_policy": repr(chance.choice(["selective", "block", "all"])),
        "activation_bytes_per_element": "2",
        "sharded_state": repr(chance.choice(["optimizer", "none", "gradients"])),
    }
    if chance.yes(0.4):
        codes["where"] = f"'pretraining_time <= {chance.randint(20, 2000)} day'"
    return str(Call("rs.deploy", **codes))


_PRICES = {
    "cache_read": (0.1, "$/Mtok"),
    "cache_write_5m": (1.25, "$/Mtok"),
    "cache_write_1h": (2.0, "$/Mtok"),
    "long_input": (2.0, "$/Mtok"),
    "long_output": (7.5, "$/Mtok"),
    "long_cache_read": (0.2, "$/Mtok"),
}


def infer(chance: Chance) -> str:
    if chance.yes(0.4):
        prices = repr(chance.choice(tuple(rs.api_prices)))
    else:
        first = chance.about(3.0)
        given = {"input": f"${first:.3g}/Mtok", "output": f"${first * chance.uniform(2, 8):.3g}/Mtok"}
        for name in chance.some(tuple(_PRICES), 0, 4):
            ratio, unit = _PRICES[name]
            given[name] = f"{chance.about(ratio * first, 0.5):.3g} {unit}"
        if any(name.startswith("long") for name in given) and chance.yes(0.95):
            given["long_context_threshold"] = chance.choice(["200k", "128k", "32k"])
        prices = repr(given)
    call = Call("rs.infer", prices)
    for name in chance.some(
        ("active_parameters", "chip_price", "shortest_context", "longest_context", "bytes_per_weight"), 0, 2
    ):
        call.keywords[name] = as_code(chance, name, number(chance, name))
    if chance.yes(0.2):
        call.keywords["compute_efficiency"] = "(0.4, 0.7)"
    if chance.yes(0.2):
        call.keywords["model"] = repr(chance.choice(_MODELS))
    if chance.yes(0.2):
        call.keywords["hardware"] = repr(chance.choice(_SYSTEMS))
    if chance.yes(0.15):
        call.keywords["rounding"] = chance.choice(["0", "0.01", "0.2", "0.05"])
    if chance.yes(0.15):
        call.keywords["tiers"] = repr(
            chance.some(("HBM", "DDR", "LPDDR", "NVMe", "HDD", "QLC") if chance.yes(0.9) else tuple(rs.storage), 1, 3)
        )
    return str(call)


def measured_row(chance: Chance) -> dict[str, Any]:
    row: dict[str, Any] = {
        "model": chance.choice(["Qwen3-32B", "Llama-3.1-70B", "gpt-oss-120b", "DeepSeek-V3"]),
        "hardware": chance.choice(["H100", "H200", "B200"]),
        "framework": chance.choice(["vllm", "sglang", "TensorRT-LLM", "mine"]),
        "mode": "aggregated",
        "weight_format": chance.choice(["fp8", "bf16"]),
        "chips": chance.choice([2, 4, 8]),
        "concurrency": chance.choice([1, 16, 128]),
        "input_tokens": 1000,
        "output_tokens": 500,
        "time_per_output_token_s": round(chance.about(0.02), 5),
        "time_to_first_token_s": round(chance.about(0.3), 4),
    }
    return row


def validate(chance: Chance) -> str:
    rows = [measured_row(chance) for _ in range(chance.randint(1, 5))]
    if chance.yes(0.2):
        name = chance.choice(sorted(rows[0]))
        for row in rows:
            del row[name]
    options = chance.choice(["", "", "", ", bands=0.5", ", bands=0.99", ", calibration=rs.calibration('TensorRT-LLM')"])
    return f"rs.validate(pd.DataFrame({rows!r}){options})" + ("" if chance.yes(0.7) else ".explain(0)")


def calibrate(chance: Chance) -> str:
    noise = chance.choice([0.0, 0.1, 0.3])
    table = f"measured_runs({chance.randint(30, 120)}, seed={chance.randint(0, 99)}, noise={noise})"
    terms = chance.choice(
        [
            "{'bandwidth_efficiency': (0.1, 1)}",
            "{'bandwidth_efficiency': (0.1, 1), 'compute_efficiency': (0.1, 1)}",
            "['bandwidth_efficiency']",
        ]
    )
    codes = {"output": "'pass_time'", "measured": "'seconds'"}
    if chance.yes(0.5):
        codes["hold_out"] = chance.choice(["'model'", "['model', 'hardware', 'framework']", "['hardware']"])
    if chance.yes(0.2):
        codes["by"] = "{'bandwidth_efficiency': 'framework'}"
    if chance.yes(0.2):
        codes["residual"] = repr(chance.choice(["relative", "logarithm", "absolute"]))
    if "framework" not in str(codes):
        codes["ignore"] = "'framework'"
    return str(Call("rs.calibrate", table, terms, **codes))


def calibration(chance: Chance) -> str:
    loaded = f"rs.calibration({chance.choice(CALIBRATIONS)!r})"
    output = chance.choice(["time_per_output_token", "time_to_first_token", "pass_time", None])
    kinds = chance.choice(["", ", model='Qwen3-32B'", ", hardware='H100', model='nobody'", ", framework='trt'"])
    return chance.choice(
        [
            loaded,
            f"{loaded}.band({chance.choice(['0.8', '0.5', '0.99', '1'])}, {output!r}{kinds})",
            f"{loaded}.at(framework={chance.choice(['vllm', 'sglang', 'nobody'])!r})",
            f"{loaded}.compare(rs.calibration({chance.choice(CALIBRATIONS)!r}))",
            f"rs.calibration({chance.choice(['servin', 'x', ''])!r})",
            f"rewritten({loaded})",
        ]
    )


def chart(chance: Chance) -> str:
    name = chance.choice(sorted(CHART_INPUTS))
    call = Call(f"rs.charts.{name}.data")
    for key, x in chance.some(tuple(CHART_INPUTS[name].items()), 0, 3):
        if isinstance(x, bool) or key in ("seed", "key", "block"):
            call.keywords[key] = repr(not x if isinstance(x, bool) else chance.randint(0, 99))
        elif isinstance(x, int):
            call.keywords[key] = repr(max(0, x + chance.randint(-2, 3)))
        elif isinstance(x, float):
            call.keywords[key] = repr(chance.about(x, 1))
        elif key in CATALOGS:
            call.keywords[key] = repr(chance.choice(all_presets(key)))
        else:
            call.keywords[key] = repr(chance.choice(quantity(key).choices))
    if chance.yes(0.3):
        key = chance.choice(("model", "hardware", "context_length", "batch_size", "prices"))
        call.keywords[key] = repr(chance.choice(all_presets(key))) if key in CATALOGS else repr(number(chance, key))
    return str(spoiled(chance, call, list(call.keywords)) if chance.yes(0.06) else call)


def timetable(chance: Chance) -> str:
    kind = chance.randrange(6)
    batch_slots, seed = chance.choice([4, 20, 300]), chance.randint(0, 99)
    if kind < 2:
        policy = chance.choice(["interval", "idle", "threshold", "never"])
        codes = {
            "batch_slots": repr(batch_slots),
            "seed": repr(seed),
            "trains": chance.choice(["20", "100"]),
            "policy": repr(policy),
        }
        if policy == "interval":
            codes |= {"period": chance.choice(["0.02", "'20 ms'"]), "load": f"{chance.uniform(0.2, 0.98):.3g}"}
        else:
            codes |= {"arrival_rate": repr(chance.about(500.0)), "fixed_pass_time": "'5 ms'"}
            codes |= {"pass_time_per_sequence": "1e-4"}
            if policy == "threshold":
                codes |= {"threshold": repr(chance.randint(1, batch_slots)), "timeout": "'30 ms'"}
        return str(Call(f"rs.schedules.train{'_timetable' if kind else ''}", **codes))
    if kind == 2:
        return f"rs.schedules.left_behind({batch_slots}, {chance.uniform(0.1, 1.02):.3g})"
    stages, batches = chance.randint(1, 6), chance.choice([None, 1, 3, 8])
    layout = {"pipeline_stages": repr(stages), "microbatches": repr(batches)}
    if kind == 5:
        times = [chance.randint(1, 9) for _ in range(chance.choice([6, 8, 12]))]
        return f"rs.schedules.stage_times({times!r}, pipeline_stages={stages})"
    if kind == 3:
        latency = chance.choice(["0", "0.001"])
        call = Call("rs.schedules.pipeline_inference", **layout, stage_time="'5 ms'", hop_latency=latency)
    else:
        layout["pipeline_schedule"] = repr(chance.choice(["gpipe", "1f1b", "zb_h1", "zb_h2", "none"]))
        layout["backward_forward_ratio"] = chance.choice(["2", "1", "2.5", "-1"])
        call = Call("rs.schedules.pipeline_training", **layout)
    return str(call) if chance.yes(0.5) else f"rs.schedules.stage_use({call})"


def cipher(chance: Chance) -> str:
    seed, rounds = chance.randint(0, 2**40), chance.randint(0, 14)
    bits, dtype = chance.choice([1, 16, 32, 64, 65]), chance.choice(["float32", "float64", "int8"])
    blocks = [chance.randint(0, 2**64 - 1) for _ in range(4)]
    return chance.choice(
        [
            f"rs.ciphers.encrypt({blocks!r}, {seed}, rounds={rounds})",
            f"rs.ciphers.decrypt({blocks!r}, {seed}, rounds={rounds})",
            f"rs.ciphers.round_trip(blocks=20, bits={bits}, rounds={rounds}, seed={seed})",
            f"rs.ciphers.restored_blocks(blocks=50, seed={seed})",
            f"rs.ciphers.avalanche(rounds={rounds}, samples=20, seed={seed})",
            f"rs.ciphers.avalanche_coefficient(samples=20, seed={seed})",
            f"rs.ciphers.revnet(layers=3, width=8, tokens=4, seed={seed}, dtype={dtype!r})",
            f"rs.ciphers.network_avalanche(layers=3, width=8, samples=20, seed={seed})",
            f"rs.ciphers.encrypt([{blocks[0]}, -1], 'key')",
        ]
    )


def scaling(chance: Chance) -> str:
    codes = {name: as_code(chance, name, number(chance, name)) for name in ("active_parameters", "inference_tokens")}
    codes["decode_inefficiency"] = repr(chance.uniform(1, 5))
    if chance.yes(0.1):
        del codes["inference_tokens"]
    laws = () if chance.yes(0.4) else (one_or_more(chance, all_presets("loss_law")[: 7 if chance.yes(0.2) else 4]),)
    return str(Call("rs.scaling.optimum", *laws, **codes))


def config(chance: Chance) -> str:
    given = copy.deepcopy(configs()[chance.choice(sorted(configs()))])
    for key in chance.some([k for k, x in given.items() if type(x) is int], 0, 2) if chance.yes(0.5) else []:
        given[key] = (
            chance.choice([given[key], 2 * given[key], 1])
            if chance.yes(0.8)
            else chance.choice([0, -1, None, "x", 2.5])
        )
    if chance.yes(0.1):
        del given[chance.choice(sorted(given))]
    model = Call("rs.Model.from_config", repr(given), name="'test'")
    if chance.yes(0.3):
        model.keywords["weight_format"] = repr(chance.choice(["bf16", "fp8", "fp4", "int8"]))
    if chance.yes(0.2):
        model.keywords["kv_format"] = repr(chance.choice(["bf16", "fp8", "int8"]))
    kind = chance.randrange(5)
    if kind == 0:
        grid = "hardware='HGX H100', batch_size=[1, 64], context_length=[1000, 9000]"
        return f"rs.evaluate(['pass_time', 'kv_bytes'], model={model}, {grid})"
    if kind == 1:
        return f"{model}.cache_bytes({chance.choice(['4096', '[100, 5000]', repr('128k'), '1e6'])})"
    if kind == 2:
        return f"{model}.parameter_table({chance.choice(['1', '64', '1e4'])})"
    return str(model)


def preset(chance: Chance) -> str:
    section = chance.choice(("models", "hardware", "prices", "loss_laws", "api_prices", "storage"))
    name = chance.choice(tuple(getattr(rs, section)))
    kind = chance.randrange(8)
    if kind == 0:
        k = chance.randrange(len(name))
        return f"rs.{section}[{name[:k] + chance.choice(['', 'x', ' ', '-']) + name[k + 1 :]!r}]"
    if kind == 1:
        return f"rs.{section}[{name!r}].to_frame()"
    if kind == 2:
        return f"rs.{section}[{name!r}][{chance.choice(sorted(getattr(rs, section)[name].values))!r}]"
    if kind == 3 and chance.yes(0.3):
        return f"rs.{section}[{name!r}][{chance.choice(names())!r}]"
    if kind == 4:
        wrong = chance.choice(["peak_flops='3 GB'", "peak_flops=-1", "peak=1", "", "chip_price=True", "base='x'"])
        return (
            f"rs.{section}.define({chance.choice([name, 'H100', 'x' * 9])!r}, {wrong})"
            if wrong
            else f"rs.{section}.define('mine')"
        )
    if kind == 5:
        return f"rs.{section}.on({chance.choice(['2026-01-01', '2025-06-01', '2024-02-29', 'x'])!r})"
    return f"rs.{section}[{name!r}]"


_TOML = """
[hardware."mine"]
note = "made up"
sources = [{ source = "a data sheet", date = "2026", read = true }]
[hardware."mine".values]
peak_flops = "2 PFLOP/s"
hbm_bandwidth = "5 TB/s"
hbm_capacity = "100 GB"
"""


def preset_files(chance: Chance) -> str:
    """Load invalid files, and sometimes a valid one, in another interpreter."""
    codes = []
    for _ in range(12):
        text = _TOML
        for _ in range(chance.choice([1, 1, 2])):
            k = chance.randrange(len(text))
            text = text[:k] + chance.choice(["", "x", '"', "]", "=", "\n", "-", "1"]) + text[k + 1 :]
        codes.append(f"loaded_presets({text!r})")
    return str(Call("in_child", *map(repr, codes)))


def serving_presets(chance: Chance) -> str:
    """Cover every preset in some question."""
    keyword = chance.choice(("model", "hardware"))
    name = chance.choice(all_presets(keyword))
    other = {"model": ("hardware", "GB200 NVL72"), "hardware": ("model", "DeepSeek-V3")}[keyword]
    outputs = ["pass_time", "hbm_used", "kv_bytes", "balance_batch", "cost_per_token", "hbm_drain_time"]
    chosen = chance.some(outputs, 1, 6)
    codes = {keyword: repr(name), other[0]: repr(other[1]), "batch_size": "[1, 100]", "context_length": "[1000, 90000]"}
    if keyword == "hardware" and "chips" not in rs.hardware[name].values:
        codes["chips"] = "8"
    return str(Call("rs.evaluate", repr(chosen), **codes, prices=repr(chance.choice(all_presets("prices")))))


CALLS: Mapping[str, tuple[int, Callable[[Chance], str]]] = {
    "deploy": (80, deploy),
    "deploy, training": (12, deploy_training),
    "infer": (100, infer),
    "validate": (30, validate),
    "calibrate": (15, calibrate),
    "calibration": (50, calibration),
    "charts": (300, chart),
    "schedules": (120, timetable),
    "ciphers": (80, cipher),
    "scaling": (30, scaling),
    "Model.from_config": (150, config),
    "presets": (250, preset),
    "load_presets": (4, preset_files),
    "evaluate, presets": (150, serving_presets),
}

_MINE = "'mine', base='B200', hbm_bandwidth='10 TB/s'"
_DEPLOYED = (
    "rs.deploy(model='Llama-3.1-8B', hardware='HGX H100', objective='cost_per_output_token', input_tokens='2k', "
    "output_tokens=500, chip_price='$3/h', where='time_per_output_token <= 30 ms')"
)
_OF_A_CHART = (".data()", ".inputs", ".paragraph", "")
ONCE: Mapping[str, tuple[str, ...]] = {
    "registry": ("rs.quantities()", *(f"every_quantity({k}, 8)" for k in range(8)), "rs.__all__", "rs.typing.__all__"),
    "validate": ("rs.validate()", "rs.validate(bands=0.5)", *(f"rs.validate().explain({k})" for k in (0, 100, 1500))),
    "calibration": tuple(f"rs.calibration({name!r})" for name in CALIBRATIONS),
    "charts": (
        *(f"rs.charts.{name}{part}" for name in sorted(CHART_INPUTS) for part in _OF_A_CHART),
        *(f"picture(rs.charts.{name})" for name in sorted(CHART_INPUTS)),
        "[chart.name for chart in rs.charts.all()]",
        "rs.charts.find('C2')",
        "rs.charts.find('C99')",
        "rs.charts.drain_tims",
    ),
    "lecture": (
        "rs.answers()",
        *(f"rs.answers({k})" for k in (1, 2, 3, 5, 6, 7)),
        "rs.claims()",
        "rs.claims('prediction')",
        "rs.claims('x')",
        "rs.inconsistencies()",
        "rs.inconsistencies(3)",
        "rs.flashcards()",
        "pages_of_lecture(2)",
    ),
    "presets": tuple(
        f"{text}(rs.{section})"
        for section in ("models", "hardware", "prices", "loss_laws", "api_prices", "storage")
        for text in ("repr", "list", "dict", "frame_of")
    ),
    "own presets": tuple(
        str(Call("in_child", *map(repr, codes)))
        for codes in (
            (f"rs.hardware.define({_MINE}, note='n', aliases=['m'])", "rs.value('hbm_drain_time', hardware='m')"),
            (f"rs.hardware.define({_MINE})", "rs.value('hbm_drain_time', hardware='min')"),
            (f"loaded_presets({_TOML!r})", "rs.explain('hbm_drain_time', hardware='mine')"),
            ("rs.define('mine', 's', lambda pass_time: 2 * pass_time, brief='b')", "rs.quantities('mine')"),
        )
    ),
    "plot": (
        "picture(lambda: rs.compare({'hardware': 'H100'}, {'hardware': 'B200'}, 'hbm_drain_time').plot())",
        "picture(lambda: rs.infer('Claude Opus 5').plot())",
        "picture(lambda: rs.validate().plot())",
        "picture(lambda: rs.tornado('hbm_drain_time', hbm_capacity=(1e11, 2e11), hbm_bandwidth=(1e12, 8e12)).plot())",
        f"picture(lambda: {_DEPLOYED}.plot())",
    ),
    "command line": tuple(
        f"command({arguments!r})"
        for arguments in (
            ["evaluate", "hbm_drain_time", "hardware=H100"],
            ["evaluate", "hbm_drain_time", "hardware=H100,B200", "--format", "csv"],
            [
                "evaluate",
                "pass_tokens",
                "cost_per_token",
                "batch_size=1:64:5:log",
                "pass_time=20ms",
                "replica_price=$3/h",
            ],
            ["evaluate", "pass_tim"],
            ["explain", "hbm_drain_time", "hardware=H100"],
            ["quantities", "drain"],
            ["quantities", "hbm_drain_time"],
            ["presets", "B200"],
            ["presets"],
            ["validate"],
            ["nothing"],
        )
    ),
}
