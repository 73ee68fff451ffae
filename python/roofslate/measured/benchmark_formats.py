"""Formats of benchmark results: fields that recognize each, and fields of columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from roofslate.presets.frameworks import framework_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["FORMATS_OF_FILES", "Format", "Statistics", "field_of"]


class Statistics(NamedTuple):
    """Fields of one measured column: mean, pattern of percentiles, seconds in a unit."""

    mean: str
    percentiles: str
    seconds: float


@dataclass(frozen=True)
class Format:
    """A format of benchmark results.

    Fields are dotted paths. Several paths of one column are names in different versions, and the first that exists
    counts. A path ``a / b`` is a quotient.

    Attributes
    ----------
    name : str
    source : str
        Writer, version and date of the shape.
    recognized_by : tuple of str
        Fields of which a file of this format has most.
    columns : dict
        Fields by column of the table.
    measured : dict of Statistics
        Fields by measured column.
    required : tuple of str
        Columns that each file of this format gives.
    known : str
        Further fields at the top level, which no column needs.
    rows : str
        Field with a list of results, if a file has several.
    version : tuple of str
        Fields with the version of the writer.
    framework : str
        Engine that is assumed if the file does not name one.
    finish : callable, optional
        Adds columns of one result that need more than a field.
    """

    name: str
    source: str
    recognized_by: tuple[str, ...]
    columns: Mapping[str, str | tuple[str, ...]]
    measured: Mapping[str, Statistics]
    required: tuple[str, ...]
    known: str = ""
    rows: str = ""
    version: tuple[str, ...] = ()
    framework: str = ""
    finish: Callable[[Mapping[str, Any], dict[str, Any]], None] | None = None
    together: tuple[str, ...] = field(default=("time_to_first_token_s", "time_per_output_token_s"))


def field_of(entry: Any, path: str) -> Any:
    """Value at a dotted path, or None if a part of it is missing."""
    for key in path.split("."):
        if isinstance(entry, list) and key.isdecimal() and int(key) < len(entry):
            entry = entry[int(key)]
        elif isinstance(entry, dict):
            entry = entry.get(key)
        else:
            return None
    return entry


def _engine(entry: Mapping[str, Any], row: dict[str, Any]) -> None:
    """Set the framework from the client's backend, unless that names an interface."""
    backend = entry.get("backend")
    bare = framework_name(str(backend).removesuffix("-chat").removesuffix("-oai").removesuffix("-native"))
    if isinstance(backend, str) and bare in ("vllm", "sglang", "trtllm"):
        row["framework"] = bare


def _number(x: Any) -> float | None:
    return float(x) if isinstance(x, (int, float)) and not isinstance(x, bool) and abs(x) < 1e300 else None


def _layout(row: dict[str, Any], tensor: Any, pipeline: Any, copies: Any, *, shares_attention: bool) -> None:
    """Set the layout of one replica. The caller gives it for several behind one address."""
    tensor, pipeline, copies = (_number(x) for x in (tensor, pipeline, copies))
    if tensor is None:
        return
    copies = copies or 1.0
    row["pipeline_parallel"] = pipeline or 1.0
    if copies > 1 and not shares_attention:
        row["tensor_parallel"] = tensor
        return
    row["chips"] = tensor * (pipeline or 1.0)
    row["attention_data_parallel"] = copies
    row["tensor_parallel"] = tensor / copies


# ---------------------------------------------------------------------------------------------------- vLLM and SGLang


_TOTALS = {
    "arrival_rate": "request_rate",
    "input_tokens": "total_input_tokens / completed",
    "output_tokens": "total_output_tokens / completed",
    "request_throughput": "request_throughput",
    "output_throughput": "output_throughput",
    "requests": "completed",
}


def _latencies(times: str, total: str) -> dict[str, Statistics]:
    """Statistics by vLLM's names, with patterns for token times and request latency."""
    scale = 1e-3 if times.endswith("_ms") else 1.0
    each = {
        "time_to_first_token_s": times.replace("X", "ttft"),
        "time_per_output_token_s": times.replace("X", "tpot"),
        "request_latency_s": total,
    }
    return {
        column: Statistics(name.replace("{}", "mean"), name, 1e-3 if name.endswith("_ms") else scale)
        for column, name in each.items()
    }


def _vllm(entry: Mapping[str, Any], row: dict[str, Any]) -> None:
    _engine(entry, row)
    written = {str(key).lstrip("-").replace("-", "_"): x for key, x in entry.items()}  # a sweep adds launch options
    copies = written.get("data_parallel_size", written.get("dp"))
    tensor = written.get("tensor_parallel_size", written.get("tp"))
    _layout(row, tensor, written.get("pipeline_parallel_size"), copies, shares_attention=False)
    if any(str(key).startswith("spec_decode_") for key in entry):
        row["speculation"] = "yes"


_VLLM = Format(
    name="vllm bench serve",
    source="vllm-project/vllm, vllm/benchmarks/serve.py and sweep/serve.py, read 2026-11 (checked in source)",
    recognized_by=(
        *("model_id", "tokenizer_id", "num_prompts", "burstiness", "request_throughput", "total_token_throughput"),
        *("total_input_tokens", "total_output_tokens"),
    ),
    columns={
        "model": "model_id",
        "concurrency": "max_concurrency",
        "measured": "date",
        **_TOTALS,
        "failed_requests": "failed",
    },
    measured=_latencies("{}_X_ms", "{}_e2el_ms"),
    required=(
        *("model", "input_tokens", "output_tokens", "time_to_first_token_s", "time_per_output_token_s"),
        *("request_throughput", "output_throughput"),
    ),
    known=(
        r"date|endpoint_type|backend|label|tokenizer_id|num_prompts|burstiness|duration|total_token_throughput"
        r"|(mean|median|std|p[\d.]+)_\w+_ms|request_goodput:?|max_output_tokens_per_s|max_concurrent_requests|rtfx"
        r"|input_lens|output_lens|ttfts|itls|start_times|generated_texts|errors|ramp_up_\w+|run_number|best_of"
        r"|spec_decode_\w+|(--)?(tensor|data|pipeline)[-_]parallel[-_]size|tp|dp"
    ),
    framework="vllm",
    finish=_vllm,
)


def _sglang(entry: Mapping[str, Any], row: dict[str, Any]) -> None:
    _engine(entry, row)
    server = entry.get("server_info")
    server = server if isinstance(server, dict) else {}
    shares = server.get("enable_dp_attention") is True
    _layout(row, server.get("tp_size"), server.get("pp_size"), server.get("dp_size"), shares_attention=shares)
    if server:
        row["speculation"] = "yes" if server.get("speculative_algorithm") else "none"
    if entry.get("accept_length") is not None:
        row["speculation"] = "yes"


_SGLANG = Format(
    name="sglang bench_serving",
    source="sgl-project/sglang, python/sglang/bench_serving.py, read 2026-11 (checked in source)",
    recognized_by=(
        *("backend", "dataset_name", "random_input_len", "random_range_ratio", "total_throughput"),
        *("mean_e2e_latency_ms", "total_input_tokens", "total_output_tokens"),
    ),
    columns={
        "model": ("server_info.model_path", "model_id"),
        "framework_version": "server_info.version",
        "weight_format": ("server_info.quantization", "server_info.dtype"),
        "expert_parallel": "server_info.ep_size",
        "concurrency": ("max_concurrency", "concurrency"),
        **_TOTALS,
    },
    measured=_latencies("{}_X_ms", "{}_e2e_latency_ms"),
    required=(
        *("input_tokens", "output_tokens", "time_to_first_token_s", "time_per_output_token_s", "request_latency_s"),
        *("request_throughput", "output_throughput"),
    ),
    known=(
        r"tag|backend|dataset_name|sharegpt_output_len|random_\w+|server_info|duration|(total|input)_throughput"
        r"|total_(in|out)put_\w+|(mean|median|std|max|p[\d.]+)_\w+_ms|concurrency|accept_length"
        r"|max_output_tokens_per_s|max_concurrent_requests|input_lens|output_lens|ttfts|itls|generated_texts|errors"
    ),
    version=("server_info.version",),
    framework="sglang",
    finish=_sglang,
)


# ------------------------------------------------------------------------------------------------------- InferenceX


def _is_true(x: Any) -> bool:
    return x is True or str(x).casefold() == "true"


def _inferencex(entry: Mapping[str, Any], row: dict[str, Any]) -> None:
    drafts = entry.get("spec_decoding", entry.get("mtp"))
    row["speculation"] = "none" if drafts in (None, "", "none", "off", False) else "yes"
    if _is_true(entry.get("is_multinode")) or _is_true(entry.get("disagg")):
        replicas = _number(entry.get("decode_num_workers")) or 1.0
        chips = (_number(entry.get("num_decode_gpu")) or math.nan) / replicas
        row |= {"mode": "disaggregated decode pool", "chips": chips, "concurrency": row["concurrency"] / replicas}
        row["tensor_parallel"], row["attention_data_parallel"] = chips, 1.0
        row["expert_parallel"] = _number(entry.get("decode_ep")) or 1.0
        row["tokens_per_second_per_chip"] = None  # of the pool that decodes, without chips that prefill
        shares = _is_true(entry.get("decode_dp_attention"))
    else:
        pipeline = _number(entry.get("pp")) or 1.0
        tensor = (_number(entry.get("tp")) or math.nan) * (_number(entry.get("pcp_size")) or 1.0)
        row |= {"mode": "aggregated", "pipeline_parallel": pipeline, "chips": tensor * pipeline}
        row["tensor_parallel"], row["attention_data_parallel"] = tensor, 1.0
        shares = _is_true(entry.get("dp_attention"))
    if shares:
        row["tensor_parallel"], row["attention_data_parallel"] = 1.0, row["tensor_parallel"]


_INFERENCEX = Format(
    name="InferenceX",
    source="SemiAnalysisAI/InferenceX, utils/process_result.py, read 2026-11 (checked in source)",
    recognized_by=("hw", "conc", "model", "framework", "precision", "tput_per_gpu", "mean_ttft", "mean_tpot"),
    columns={
        "model": "model",
        "hardware": "hw",
        "framework": "framework",
        "weight_format": "precision",
        "concurrency": "conc",
        "input_tokens": "isl",
        "output_tokens": "osl",
        "expert_parallel": "ep",
        "tokens_per_second_per_chip": "output_tput_per_gpu",
    },
    measured=_latencies("{}_X", "{}_e2el"),
    required=(
        *("model", "hardware", "framework", "weight_format", "concurrency", "time_to_first_token_s"),
        "time_per_output_token_s",
    ),
    known=(
        r"tp|pp|ep|dcp_size|pcp_size|dp_attention|image|infmax_model_prefix|spec_decoding|mtp|disagg|is_multinode"
        r"|prefill_\w+|decode_\w+|num_(prefill|decode)_gpu|(input_)?tput_per_gpu|router|kv_p2p_transfer"
        r"|(mean|median|std|p[\d.]+)_(ttft|tpot|itl|e2el|intvty)"
    ),
    finish=_inferencex,
)


# ------------------------------------------------------------------------------------------------- TensorRT-LLM


def _tensorrt_llm(entry: Mapping[str, Any], row: dict[str, Any]) -> None:
    row["framework"] = "trtllm"
    row["speculation"] = "yes" if entry.get("decoding_stats") else "none"


_PERFORMANCE = "performance.request_latency_percentiles_ms"
_TENSORRT_LLM = Format(
    name="trtllm-bench",
    source="NVIDIA/TensorRT-LLM, tensorrt_llm/bench/dataclasses/reporting.py, read 2026-11 (checked in source)",
    recognized_by=("engine", "world_info", "request_info", "performance", "dataset", "engine.backend"),
    columns={
        "model": "engine.model",
        "hardware": "machine.name",
        "framework_version": "engine.version",
        "weight_format": ("engine.quantization", "engine.dtype"),
        "chips": "world_info.world_size",
        "tensor_parallel": "world_info.tp_size",
        "pipeline_parallel": "world_info.pp_size",
        "expert_parallel": "world_info.ep_size",
        "concurrency": "request_info.avg_num_concurrent_requests",
        "input_tokens": "request_info.avg_input_length",
        "output_tokens": "request_info.avg_output_length",
        "tokens_per_second_per_chip": "performance.output_throughput_per_gpu_tok_s",
        "request_throughput": "performance.request_throughput_req_s",
        "output_throughput": "performance.system_output_throughput_tok_s",
        "requests": "request_info.num_requests",
    },
    measured={
        "time_to_first_token_s": Statistics(
            "streaming_metrics.ttft_percentiles.average", "streaming_metrics.ttft_percentiles.{}", 1e-3
        ),
        "time_per_output_token_s": Statistics(
            "streaming_metrics.tpot_percentiles.average", "streaming_metrics.tpot_percentiles.{}", 1e-3
        ),
        "request_latency_s": Statistics(f"{_PERFORMANCE}.average", f"{_PERFORMANCE}.{{}}", 1e-3),
    },
    required=(
        *("model", "chips", "tensor_parallel", "concurrency", "input_tokens", "output_tokens", "request_latency_s"),
        "tokens_per_second_per_chip",
    ),
    known=r"engine|machine|world_info|request_info|performance|streaming_metrics|decoding_stats|dataset",
    version=("engine.version",),
    finish=_tensorrt_llm,
)


# ------------------------------------------------------------------------------------------- aiperf and genai-perf


def _only(names: Any) -> str | None:
    """The one name of a list, or None for several."""
    names = names if isinstance(names, list) else [names]
    first = names[0] if len(names) == 1 else None
    first = first.get("name") if isinstance(first, dict) else first
    return first if isinstance(first, str) and first else None


def _aiperf(entry: Mapping[str, Any], row: dict[str, Any]) -> None:
    settings = entry.get("input_config") or {}
    lists = ("models.items", "models", "model_names", "endpoint.model_names")
    names = [_only(field_of(settings, path)) for path in lists]
    row["model"] = next((name for name in names if name), None)
    phases = [phase for phase in field_of(settings, "phases") or [] if isinstance(phase, dict)]
    counted = [phase for phase in phases if "profiling" in (phase.get("kind"), phase.get("name"))]
    phase = (counted or phases or [{}])[-1]
    paths = ("loadgen.{}", "perf_analyzer.stimulus.{}", "load_generator.{}")
    for column, key in (("concurrency", "concurrency"), ("arrival_rate", "request_rate")):
        given = [phase.get({"request_rate": "rate"}.get(key, key))]
        given += [field_of(settings, path.format(key)) for path in paths]
        row[column] = next((x for x in map(_number, given) if x), None)


def _aiperf_statistics(metric: str) -> Statistics:
    return Statistics(f"{metric}.avg", f"{metric}.{{}}", 1e-3)


_AIPERF = Format(
    name="aiperf",
    source="aiperf 0.13.0, aiperf/common/models/export_models.py, 2026-11 (checked in source)",
    recognized_by=(
        *("request_throughput", "request_latency", "output_sequence_length", "input_sequence_length", "request_count"),
        *("input_config", "aiperf_version", "schema_version"),
    ),
    columns={
        "input_tokens": "input_sequence_length.avg",
        "output_tokens": "output_sequence_length.avg",
        "request_throughput": "request_throughput.avg",
        "output_throughput": "output_token_throughput.avg",
        "requests": "request_count.avg",
        "failed_requests": "error_request_count.avg",
        "measured": "start_time",
    },
    measured={
        "time_to_first_token_s": _aiperf_statistics("time_to_first_token"),
        "time_per_output_token_s": _aiperf_statistics("inter_token_latency"),
        "request_latency_s": _aiperf_statistics("request_latency"),
    },
    required=("input_tokens", "output_tokens", "request_latency_s", "request_throughput", "output_throughput"),
    known=(
        r"schema_version|aiperf_version|benchmark_id|time_to_second_token|inter_token_latency|time_to_first_token"
        r"|\w+_throughput(_per_user)?|goodput|request_goodput|\w*request_count|\w+_token_count|\w+_timestamp"
        r"|inter_chunk_latency|total_\w+|benchmark_duration|error_\w+|input_config|run_info|was_cancelled"
        r"|is_complete|incomplete_reason|start_time|end_time|branch_stats|warmup_metrics|metadata|telemetry_\w+"
        r"|sessions|\w*sequence_length\w*|pooled_\w+|request_latency|gpu_\w+"
    ),
    version=("aiperf_version", "schema_version"),
    finish=_aiperf,
)
_GENAI_PERF = replace(
    _AIPERF,
    name="genai-perf",
    source="genai-perf 0.0.16, genai_perf/export_data/json_exporter.py, 2026-11 (checked in source)",
    recognized_by=(*_AIPERF.recognized_by[:6], "input_config.perf_analyzer", "input_config.model_names"),
    version=(),
)


# ------------------------------------------------------------------------------------------------------- GuideLLM


def _guidellm(entry: Mapping[str, Any], row: dict[str, Any]) -> None:
    paths = ("config.strategy", "args.strategy", "scheduler.strategy")
    strategy: dict[str, Any] = next((s for s in (field_of(entry, path) for path in paths) if isinstance(s, dict)), {})
    kind = strategy.get("type_", strategy.get("strategy_type"))
    if kind == "concurrent":
        row["concurrency"] = _number(strategy.get("streams"))
    elif kind == "synchronous":
        row["concurrency"] = 1.0
    elif kind in ("constant", "poisson"):
        row["arrival_rate"] = _number(strategy.get("rate"))


def _guidellm_statistics(metric: str, seconds: float) -> Statistics:
    path = f"metrics.{metric}.successful"
    return Statistics(f"{path}.mean", f"{path}.percentiles.{{}}", seconds)


_GUIDELLM = Format(
    name="GuideLLM",
    source="guidellm 0.8.1, guidellm/benchmark/schemas/report.py and metrics.py, 2026-11 (checked in source)",
    recognized_by=(
        *("metrics.request_latency", "metrics.request_concurrency", "metrics.requests_per_second"),
        *("metrics.prompt_token_count", "metrics.output_token_count", "requests"),
    ),
    columns={
        "model": (
            *("config.backend.model", "report.config.backend.model", "report.config.model", "args.backend.model"),
            *("report.args.model", "worker.backend_model"),
        ),
        "concurrency": "metrics.request_concurrency.successful.mean",
        "input_tokens": "metrics.prompt_token_count.successful.mean",
        "output_tokens": "metrics.output_token_count.successful.mean",
        "request_throughput": "metrics.requests_per_second.successful.mean",
        "output_throughput": "metrics.output_tokens_per_second.successful.mean",
        "requests": "metrics.request_totals.successful",
        "failed_requests": "metrics.request_totals.errored",
        "measured": "start_time",
    },
    measured={
        "time_to_first_token_s": _guidellm_statistics("time_to_first_token_ms", 1e-3),
        "time_per_output_token_s": _guidellm_statistics("inter_token_latency_ms", 1e-3),  # without the first token
        "request_latency_s": _guidellm_statistics("request_latency", 1.0),
    },
    required=(
        *("concurrency", "input_tokens", "output_tokens", "time_to_first_token_s", "time_per_output_token_s"),
        *("request_latency_s", "request_throughput", "output_throughput"),
    ),
    known=(
        r"type_|id_|run_id|config|args|report|scheduler\w*|metrics|requests|warnings|(start|end)_time|\w*duration"
        r"|run_stats|benchmarker|worker|request_loader|extras|env_args|request_totals"
    ),
    rows="benchmarks",
    version=("report.metadata.guidellm_version", "report.metadata.version"),
    finish=_guidellm,
)

FORMATS_OF_FILES = (_VLLM, _SGLANG, _INFERENCEX, _TENSORRT_LLM, _AIPERF, _GENAI_PERF, _GUIDELLM)
